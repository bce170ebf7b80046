"""Every parser of what strangers send, what it is sent, and what it may answer: a value, or the error that it names."""

import json
import struct
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from hypothesis import strategies as st

from mfu_operator.adapters.capture_api import Described, Progress, RankApi, RankError
from mfu_operator.adapters.forges import AppTokens, Web, forge
from mfu_operator.adapters.prometheus.api import PrometheusApi
from mfu_operator.adapters.scrape.exposition import samples_of
from mfu_operator.api import decode as spec_of
from mfu_operator.errors import MfuError, Unreadable
from mfu_operator.gitops.blame.hunks import hunks
from mfu_operator.gitops.manifests import NotStructuredError, leaves
from mfu_operator.gitops.rendered.objects import things
from mfu_operator.gitops.rendered.reading import UnreadableText, embedded, yaml_documents
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.masking import masked
from mfu_operator.model.proposal import Closing, Proposal, ProposalKind
from mfu_operator.ports import AppKey, Credentials
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.termination_message import decode as account_of
from mfu_probe.daemon.marks import Marks
from mfu_probe.daemon.protocol import NotUnderstood, decoded
from mfu_probe.live.session import CaptureSession, Refused
from mfu_probe.live.storage import Storage
from tests.fuzz import examples
from tests.fuzz.shapes import JSON, TEXTS, changed, damaged, texts_of, with_depth
from tests.support import soundness
from tests.unit.mfu_probe.test_capture_session import RecorderDouble

NOW_S = 1_800_000_000.0
PROPOSAL = Proposal(ProposalKind.REVERT, "b", "main", "t", "b", "m", revert_sha="1" * 40)


@dataclass(frozen=True, slots=True)
class Target:
    """What is sent to a parser, and what is done with it: anything raised that `read` does not expect is a finding."""

    sent: st.SearchStrategy[Any]
    read: Callable[[Any], object]
    examples: int = 100


def trace(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_bytes(content)
        with suppress(Unreadable):
            soundness.check(analyze([path]))


def exposition(sent: tuple[str, str]) -> None:
    with suppress(Unreadable):
        for kind, labels, value in samples_of(sent[0], sent[1], examples.NAMES, NOW_S):
            assert isinstance(kind, str) and isinstance(labels, Mapping) and isinstance(value, float)


def prometheus(answer: Any) -> None:
    body = answer if isinstance(answer, bytes) else dumped(answer)
    transport = httpx.MockTransport(lambda request: httpx.Response(200, content=body))
    api = PrometheusApi("https://prometheus.example", None, None, transport, lambda: NOW_S)
    with suppress(MfuError), api.rows("query", {"query": "up"}) as rows:
        for row in rows:
            assert all(isinstance(at_s, float) for at_s, _ in row.points())


def manifests(text: str) -> None:
    for read in (yaml_documents, things, masked, lambda each: hunks(each, examples.MANIFEST)):
        with suppress(UnreadableText):
            read(text)
    for path in ("a.yaml", "a.json", "a.toml", "a.py", "values.yaml", ".env", "a.ini"):
        with suppress(NotStructuredError):
            leaves(path, text)
        with suppress(UnreadableText):
            embedded(path, text)


def kineto_ipc(content: bytes) -> None:
    with suppress(NotUnderstood):
        decoded(content)
    marks = Marks()
    marks.feed(content)


def capture_request(body: Any) -> None:
    session = CaptureSession(RecorderDouble(), Storage(Path("/nonexistent")))
    session.before_step(5)
    with suppress(Refused):
        session.request(body, None)


def capture_answer(content: Any) -> None:
    api = RankApi(examples.POD, 0, "t")
    for kind in (Described, Progress):
        with suppress(RankError):
            api._decoded(dumped(content), kind)
    api._refusal(409, dumped(content))


def forge_answer(kind: ForgeKind) -> Callable[[Any], None]:
    def read(answers: list[Any]) -> None:
        left = list(answers)

        def handle(request: httpx.Request) -> httpx.Response:
            body = left.pop(0) if left else []
            return httpx.Response(201 if request.method == "POST" else 200, content=dumped(body))

        web = Web(transport=httpx.MockTransport(handle))
        found = forge(kind, "https://git.example.org/team/_git/models", None, Credentials(password="t"), web)
        asks: list[Callable[[], object]] = [
            lambda: found.find("b"),
            lambda: found.get(1),
            lambda: found.commit_message("1" * 40),
            lambda: found.ensure(PROPOSAL),
            lambda: found.withdraw(1, "because", Closing.NOT_NEEDED),
            lambda: found.note(1, "text"),
        ]
        for ask in asks:
            left[:] = answers
            with suppress(MfuError):
                ask()

    return read


def app_token(answer: Any) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(201, content=dumped(answer)))
    given = Credentials(app=AppKey("1", examples.APP_KEY))
    with suppress(MfuError):
        AppTokens(Web(transport=transport), lambda: NOW_S).exchange(None, "https://github.com/a/b", None, given)


def account(text: str) -> None:
    with suppress(Unreadable):
        account_of(text)


def spec(body: Any) -> None:
    with suppress(MfuError):
        spec_of.spec({"metadata": {"namespace": "a", "name": "b"}, "spec": body})


def dumped(value: Any) -> bytes:
    return text(value).encode("utf-8", "surrogatepass")


def text(value: Any) -> str:
    return with_depth(json.dumps(value))


def forges() -> dict[str, Target]:
    return {
        f"answers of {kind}": Target(
            st.lists(st.one_of([changed(each) for each in examples.FORGE_ANSWERS[kind]]), max_size=3),
            forge_answer(kind),
            60,
        )
        for kind in examples.FORGE_ANSWERS
    }


TARGETS: Mapping[str, Target] = {
    "Kineto traces": Target(changed(examples.KINETO).map(dumped) | damaged(dumped(examples.KINETO)), trace, 50),
    "nsys exports": Target(damaged(examples.NSYS), trace, 60),
    "metrics pages": Target(
        st.tuples(st.sampled_from(["text/plain", "application/openmetrics-text; version=1.0.0"]), examples.PAGES),
        exposition,
        200,
    ),
    "answers of Prometheus": Target(changed(examples.SERIES) | st.binary(max_size=200), prometheus, 40),
    "manifests": Target(texts_of(*examples.YAML_PIECES) | changed(examples.OBJECT).map(text), manifests, 150),
    "Kineto's daemon protocol": Target(
        damaged(struct.pack("=Q32siiqii", 24, b"req", 2, 2, 5, 7, 1)) | st.binary(max_size=300), kineto_ipc, 200
    ),
    "requests of the capture API": Target(
        changed(examples.CAPTURE).filter(lambda body: isinstance(body, dict)), capture_request
    ),
    "answers of the capture API": Target(
        changed(examples.DESCRIBED) | changed(examples.PROGRESS) | JSON, capture_answer
    ),
    "results of profiling pods": Target(changed(examples.ACCOUNT).map(text) | TEXTS, account),
    "TrainingBaselines": Target(changed(examples.SPEC), spec, 150),
    "tokens of GitHub Apps": Target(changed(examples.APP_TOKEN) | JSON, app_token, 40),
    **forges(),
}

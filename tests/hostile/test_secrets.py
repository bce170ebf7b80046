"""A token stands in nobody's arguments, files or logs, and in no environment but git's own, for as long as git runs."""

import base64
import json
import logging
import os
import re
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mfu_operator.adapters import tls
from mfu_operator.adapters.capture_api import RankApi, RankError
from mfu_operator.adapters.forges import AppTokens, Web, forge
from mfu_operator.adapters.git.process import run
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus.api import PrometheusApi
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import AppKey, Credentials
from mfu_operator.profiling.live.request import TargetPod
from tests.cluster.pki import Authority
from tests.fuzz.examples import APP_KEY
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream

TOKEN = "gh0st-t0ken-of-this-test"
SIGNING = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
KEYS = {"a signing key": SIGNING.splitlines()[2], "an App's key": APP_KEY.splitlines()[5]}
OWN = "MFU_GIT_PASSWORD"


@dataclass
class Watch:
    """What every process of the machine shows, looked at again and again, and what lies in a folder."""

    folder: Path
    arguments: set[str] = field(default_factory=set)
    environment: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)

    def look(self) -> None:
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                with suppress(OSError):
                    self._look_at(process)
        with suppress(OSError):  # git takes folders away while they are walked: the next look comes at once
            for file in self.folder.rglob("*"):
                self._read(file)

    def _read(self, file: Path) -> None:
        with suppress(OSError):
            if file.is_file() and any(each.encode() in file.read_bytes() for each in (TOKEN, *KEYS.values())):
                self.files.add(file.name)

    def _look_at(self, process: Path) -> None:
        arguments = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        if any(each in arguments for each in (TOKEN, *KEYS.values())):
            self.arguments.add(arguments)
        for variable in (process / "environ").read_bytes().split(b"\0"):
            name, _, value = variable.partition(b"=")
            if any(each.encode() in value for each in (TOKEN, *KEYS.values())):
                self.environment.add(name.decode())
                self.programs.add((process / "comm").read_text().strip())


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    watch, over = Watch(folder), threading.Event()

    def look() -> None:
        while not over.is_set():
            watch.look()
            time.sleep(0.005)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def test_while_git_clones_and_pushes_the_token_is_where_git_reads_it_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "made"))
    upstream = GitUpstream(tmp_path)
    upstream.commit({"apps/gpt/train.yaml": "workers: 4\n"}, "Begin")
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "None")
    proposal = Proposal(ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "t", "b", "Undo\n", revert_sha=slow)
    with served(tmp_path, TOKEN) as base, watched(tmp_path / "made") as watch:
        source = Source(f"{base}/models.git", "main", "apps/gpt", (), None)
        diff = GitRepository(transports=("http",)).preview(source, proposal, Credentials(password=TOKEN))
        given = Credentials(password=TOKEN, signing_key=SIGNING)
        head = GitRepository(transports=("http",)).ensure_branch(source, proposal, given)
    assert "+workers: 4" in diff and upstream.git("rev-parse", "mfu-operator/gpt-1", folder=upstream.bare) == head
    assert "git" in watch.programs, "git was never seen at work"
    assert watch.environment == {OWN}
    assert (watch.arguments, watch.files) == (set(), set())
    assert "gpgsig" in upstream.git("cat-file", "commit", head, folder=upstream.bare)
    assert TOKEN not in caplog.text and KEYS["a signing key"] not in caplog.text
    assert list((tmp_path / "made").iterdir()) == []


class Echo(BaseHTTPRequestHandler):
    """Refuses everything, and repeats in its refusal all that it was sent, also decoded."""

    said = ""

    def do_POST(self) -> None:
        first = sorted(self.headers.items(), key=lambda each: each[0] not in ("Authorization", "PRIVATE-TOKEN"))
        sent = [f"{name}: {value}" for name, value in first]
        sent += [decoded(value.rpartition(" ")[2]) for value in self.headers.values()]
        words = "; ".join(sent)
        Echo.said += words
        body = {"status": "error", "errorType": "bad_data", "error": words, "message": words}
        if "Authorization" not in self.headers and "PRIVATE-TOKEN" not in self.headers:
            body = {"message": "who are you", "recorder": "mfu_probe"}
        content = json.dumps(body).encode()
        self.send_response(422)
        self.send_header("Mfu-Pod-Uid", "u")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.do_POST()

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


def decoded(text: str) -> str:
    try:
        return base64.b64decode(text + "==").decode()
    except ValueError:
        return ""


def asks_forge(kind: ForgeKind, path: str = "team/models.git") -> Callable[[str], object]:
    return lambda base: forge(kind, f"{base}/{path}", base, Credentials(password=TOKEN)).get(1)


def asks_prometheus(given: Credentials) -> Callable[[str], object]:
    def ask(base: str) -> object:
        with PrometheusApi(base, given, None, None, time.time).rows("/api/v1/query", {"query": "up"}) as rows:
            return rows

    return ask


def asks_rank(base: str) -> object:
    return RankApi(TargetPod("u", "p", "127.0.0.1", None, int(base.rpartition(":")[2])), 0, TOKEN).progress("x")


def asks_as_app(base: str) -> object:
    given = Credentials(app=AppKey("7", APP_KEY, "9"))
    return AppTokens(Web()).exchange(ForgeKind.GITHUB, f"{base}/team/models.git", base, given)


SENDERS: Mapping[str, Callable[[str], object]] = {
    "a Prometheus' token": asks_prometheus(Credentials(password=TOKEN)),
    "a Prometheus' password": asks_prometheus(Credentials("reader", TOKEN)),
    "the capture token": asks_rank,
    "an App's key": asks_as_app,
    "GitHub's token": asks_forge(ForgeKind.GITHUB),
    "GitLab's token": asks_forge(ForgeKind.GITLAB),
    "Gitea's token": asks_forge(ForgeKind.GITEA),
    "Azure's token": asks_forge(ForgeKind.AZURE_DEVOPS, "team/_git/models"),
    "Bitbucket's token": asks_forge(ForgeKind.BITBUCKET),
}


@pytest.mark.parametrize("ask", SENDERS.values(), ids=SENDERS)
def test_whoever_is_sent_a_secret_and_repeats_it_is_not_quoted(
    ask: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Echo.said = ""
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server, watched(tmp_path) as watch:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        with pytest.raises((MfuError, RankError)) as caught:
            ask(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
    sent = re.search(r"Bearer (eyJ[\w.-]+)", Echo.said)
    secrets = [sent[1] if sent else TOKEN, *KEYS.values()]
    assert sent or TOKEN in Echo.said, "nothing was sent"
    forms = [*secrets, *(base64.b64encode(each.encode()).decode().rstrip("=")[:-1] for each in secrets)]
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caplog.text
    assert [each for each in forms if each in told] == []
    assert base64.b64encode(f"reader:{TOKEN}".encode()).decode() not in told
    assert "***" in told, "the refusal is quoted"
    assert (watch.arguments, watch.environment, watch.files) == (set(), set(), set())


def test_a_client_certificates_key_is_on_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    authority = Authority(tmp_path / "pki")
    pair = authority.issue("client")
    given = Credentials(certificate=pair.certificate.read_text(), private_key=pair.key.read_text())
    opened = list[str]()
    monkeypatch.setattr("builtins.open", lambda *of, **named: opened.append(str(of[0])))
    tls.context_of(given)
    assert opened == []


def test_what_the_git_process_is_told_lies_on_no_disk(tmp_path: Path) -> None:
    shown = "import os; print(os.readlink('/proc/self/fd/0'))"
    ended = run([sys.executable, "-c", shown], SIGNING.encode(), dict(os.environ), str(tmp_path), 60.0, 1000)
    assert ended.out.decode().startswith("/memfd:")

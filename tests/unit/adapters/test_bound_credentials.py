"""The keys of a Secret reach no address but its own, whoever names another beside it."""

import subprocess
from collections.abc import Callable

import httpx
import pytest

from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.forges import forge
from mfu_operator.adapters.forges.http import Web
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.api.bound_address import Bound
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ForgeKind, MetricsSource, SecretRef, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Credentials

TOKEN = Credentials(password="t0ken", bound=(Bound("team-a", "kept", ("https://ours.example.org/team",)),))
ELSEWHERE = "https://evil.example.org/team/models.git"
SENT: list[httpx.Request] = []


def note(request: httpx.Request) -> httpx.Response:
    SENT.append(request)
    return httpx.Response(200, json=[])


WEB = Web(Egress(), httpx.MockTransport(note))


def measure(address: str | None, fleet: str | None = None) -> object:
    sources = PrometheusSources(MetricsSource(address=fleet), None, httpx.MockTransport(note), Egress())
    return sources.open(MetricsSource(address=address, secret=SecretRef("kept")), TOKEN)


def propose(repository: str, base: str | None = None) -> object:
    return forge(ForgeKind.GITEA, repository, base, TOKEN, WEB).find("x")


def clone(url: str) -> object:
    workload = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
    question = Question(Source(url, "main", "", (), None), "1" * 40, "2" * 40, workload, None)
    return GitRepository().investigate(question, TOKEN)


SENDERS: dict[str, Callable[[], object]] = {
    "a Prometheus that a baseline names": lambda: measure(ELSEWHERE),
    "the operator's own Prometheus": lambda: measure(None, ELSEWHERE),
    "the forge of a repository": lambda: propose(ELSEWHERE),
    "another forge than the repository's": lambda: propose(
        "https://ours.example.org/team/models", "https://evil.example.org"
    ),
    "another group of the same forge": lambda: propose("https://ours.example.org/others/models"),
    "a repository": lambda: clone(ELSEWHERE),
    "a repository by ssh": lambda: clone("git@evil.example.org:team/models.git"),
}


@pytest.mark.parametrize("send", SENDERS.values(), ids=SENDERS)
def test_no_sender_sends_a_secret_to_another_address(
    send: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    SENT.clear()
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("git was started"))
    with pytest.raises(Stall, match=r"Secret team-a/kept is for https://ours\.example\.org/team alone") as raised:
        send()
    assert raised.value.reason == "CredentialsUnbound" and "t0ken" not in raised.value.message
    assert SENT == []


def test_to_its_own_address_it_is_sent() -> None:
    SENT.clear()
    assert propose("https://ours.example.org/team/models.git") is None
    assert "t0ken" in SENT[0].headers["authorization"]
    assert measure("https://ours.example.org/team/prometheus") is not None

"""Every request has one deadline for everything, whatever a server sends and however slowly."""

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from kubernetes.client import ApiClient, Configuration, CustomObjectsApi

from mfu_operator.adapters.bounded_http import Until
from mfu_operator.adapters.cluster import kubernetes
from mfu_operator.adapters.cluster.bounded import bounded
from mfu_operator.adapters.cluster.kubernetes import RETRIES, KubernetesCluster
from mfu_operator.adapters.cluster.objects import REQUEST_TIMEOUT_S
from mfu_operator.adapters.delivery import objects
from mfu_operator.adapters.egress import ANYWHERE, Egress, resolved
from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.forges import http as forges
from mfu_operator.adapters.git import process
from mfu_operator.adapters.git import repository as git
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.guarded_http import Guarded, client
from mfu_operator.adapters.prometheus import api as prometheus
from mfu_operator.adapters.prometheus.api import INSTANT, PrometheusApi
from mfu_operator.errors import Retry
from mfu_operator.handlers import probes
from mfu_operator.model.baseline import ForgeKind, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Credentials
from tests.support.awaited import awaited
from tests.support.certificates import Authority
from tests.support.metrics_page import Page, serving_page
from tests.support.trickling import PAUSE_S, trickling

DEADLINE_S = 0.5
PATIENCE_S = 5.0
"""More than any of them may take on a machine that is busy; each would go on for ever."""

OK = b"HTTP/1.1 200 OK\r\n"
TRICKLES = {
    "the status line": (b"", b"H"),
    "the header": (OK, b"X-Patience: 1\r\n"),
    "the body": (OK + b"Content-Type: application/json\r\n\r\n", b" "),
    "chunks of the body": (OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "an interim answer": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
}
BEGINS_A_RECORD = b"\x16\x03\x03\x40\x00"
"""Of a TLS handshake."""

over_trickles = pytest.mark.parametrize(("at_once", "then"), TRICKLES.values(), ids=TRICKLES)


def took_s(ask: Callable[[], object], error: type[Exception], match: str | None = None) -> float:
    begun_s = time.monotonic()
    with pytest.raises(error, match=match):
        ask()
    return time.monotonic() - begun_s


@over_trickles
def test_a_forge_that_trickles_is_given_up_at_the_deadline(at_once: bytes, then: bytes) -> None:
    with trickling(at_once, then) as port:
        address = f"http://127.0.0.1:{port}"
        slow = forge(ForgeKind.GITEA, f"{address}/a/b.git", address, Credentials(None, "t"), Web(deadline_s=DEADLINE_S))
        assert DEADLINE_S <= took_s(lambda: slow.get(1), Retry, r"did not answer within 0\.5 s") < PATIENCE_S


@over_trickles
def test_a_prometheus_that_trickles_is_given_up_at_the_deadline(at_once: bytes, then: bytes) -> None:
    with trickling(at_once, then) as port:
        api = PrometheusApi(f"http://127.0.0.1:{port}", None, None, None, time.time, DEADLINE_S)
        found_s = took_s(lambda: api.rows(INSTANT, {"query": "up"}).__enter__(), Retry, r"did not answer within 0\.5 s")
    assert DEADLINE_S <= found_s < PATIENCE_S


def api_server(port: int, scheme: str = "http", authority: Path | None = None) -> ApiClient:
    """A client of the API server at a port."""
    configuration = Configuration(host=f"{scheme}://127.0.0.1:{port}")
    configuration.retries = RETRIES
    configuration.ssl_ca_cert = None if authority is None else str(authority)
    return bounded(configuration, DEADLINE_S)


@over_trickles
def test_an_api_server_that_trickles_is_given_up_at_the_deadline(
    at_once: bytes, then: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "REQUEST_TIMEOUT_S", DEADLINE_S)
    with trickling(at_once, then) as port:
        cluster = KubernetesCluster(api_server(port))
        found_s = took_s(lambda: cluster.baseline("team-a", "gpt"), Retry, "is the API server reachable")
    assert DEADLINE_S <= found_s < PATIENCE_S


def test_what_deploys_a_workload_is_read_within_a_deadline_too() -> None:
    with trickling(*TRICKLES["the body"]) as port:
        api: Any = CustomObjectsApi(api_server(port))
        found_s = took_s(lambda: objects.find(api, "argoproj.io", "v1alpha1", "applications", "argocd", "gpt"), Retry)
    assert DEADLINE_S <= found_s < PATIENCE_S


def test_an_api_server_that_trickles_through_the_tls_handshake_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kubernetes, "REQUEST_TIMEOUT_S", DEADLINE_S)
    with trickling(BEGINS_A_RECORD, b"\x02") as port:
        cluster = KubernetesCluster(api_server(port, "https"))
        assert took_s(lambda: cluster.baseline("team-a", "gpt"), Retry) < PATIENCE_S


def test_an_api_server_that_reads_nothing_is_given_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "REQUEST_TIMEOUT_S", DEADLINE_S)
    large = {"metadata": {"namespace": "team-a", "name": "x" * (16 << 20)}}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        cluster = KubernetesCluster(api_server(listener.getsockname()[1]))
        assert took_s(lambda: cluster.ensure_job(large), Retry) < PATIENCE_S


def test_a_kept_connection_to_the_api_server_gives_each_request_a_deadline_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "REQUEST_TIMEOUT_S", DEADLINE_S)
    authority, page = Authority(tmp_path), Page('{"kind": "TrainingBaseline"}', "application/json")
    with serving_page(page, authority.issue("server")) as port:
        cluster = KubernetesCluster(api_server(port, "https", authority.certificate))
        assert cluster.baseline("team-a", "gpt") == {"kind": "TrainingBaseline"}
        threading.Event().wait(1.2 * DEADLINE_S)
        assert cluster.baseline("team-a", "gpt") == {"kind": "TrainingBaseline"}
        page.trickle = lambda: threading.Event().wait(DEADLINE_S / 4)
        assert DEADLINE_S <= took_s(lambda: cluster.baseline("team-a", "gpt"), Retry) < PATIENCE_S


@pytest.mark.parametrize("part", ["the header", "chunks of the body"])
def test_a_git_host_that_trickles_is_given_up_at_the_deadline(part: str) -> None:
    repository = GitRepository(deadline_s=2 * DEADLINE_S)
    with trickling(*TRICKLES[part]) as port:
        source = Source(f"http://127.0.0.1:{port}/a/b.git", "main", "", (), None)
        question = Question(source, "1" * 40, "2" * 40, WorkloadRef("batch/v1", "Job", "team-a", "gpt"), None)
        found_s = took_s(lambda: repository.investigate(question, None), Retry, "did not answer within 1 s")
    assert found_s < PATIENCE_S


def test_a_proxy_whose_answer_trickles_is_given_up_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    with trickling(OK, b"X-Patience: 1\r\n") as port:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        http = client("https://forge.example", ANYWHERE, {}, DEADLINE_S, proxied=True)
        assert took_s(lambda: http.get("https://forge.example/"), httpx.TimeoutException) < PATIENCE_S


def test_a_server_that_trickles_through_the_tls_handshake_is_given_up_at_the_deadline() -> None:
    with trickling(BEGINS_A_RECORD, b"\x02") as port:
        http = client(f"https://127.0.0.1:{port}", ANYWHERE, {}, DEADLINE_S)
        assert took_s(lambda: http.get(f"https://127.0.0.1:{port}/"), httpx.TimeoutException) < PATIENCE_S


def test_a_server_that_reads_nothing_is_given_up_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        http = client(url, ANYWHERE, {}, DEADLINE_S)
        assert took_s(lambda: http.post(url, content=b"x" * (64 << 20)), httpx.TimeoutException) < PATIENCE_S


def test_the_next_address_of_a_host_gets_what_the_ones_before_it_left() -> None:
    left_s: list[float] = []

    class Hanging(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            until = request.extensions["timeout"]["connect"]
            assert isinstance(until, Until)
            left_s.append(until.left_s)
            threading.Event().wait(PAUSE_S)
            raise httpx.ConnectTimeout("swallowed")

    egress = Egress(refused=(), resolve=lambda host, port: ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    with pytest.raises(httpx.ConnectTimeout):
        Guarded(Hanging(), egress, DEADLINE_S).handle_request(httpx.Request("GET", "http://forge.example/"))
    assert len(left_s) == 3
    assert left_s[1] <= left_s[0] - PAUSE_S and left_s[2] <= left_s[1] - PAUSE_S


def test_a_kept_connection_gives_each_request_a_deadline_of_its_own() -> None:
    with serving_page(Page("ok")) as port:
        url = f"http://127.0.0.1:{port}/"
        http = client(url, ANYWHERE, {}, DEADLINE_S)
        assert http.get(url).text == "ok"
        threading.Event().wait(1.2 * DEADLINE_S)
        assert http.get(url).text == "ok"


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        silent.wait(PATIENCE_S)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    try:
        assert took_s(lambda: resolved("forge.example", 443, 0.1), OSError, "no name server answered") < PATIENCE_S
    finally:
        silent.set()


def test_a_forges_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mfu_operator.adapters.forges.http.LARGEST_ANSWER", 1 << 20)
    with serving_page(Page("x" * ((1 << 20) + 1))) as port:
        address = f"http://127.0.0.1:{port}"
        with pytest.raises(Retry, match="larger than 1 MiB") as caught:
            forge(ForgeKind.GITEA, f"{address}/a/b.git", address, Credentials(None, "t")).get(1)
    assert caught.value.reason == "ForgeUnreachable"


def test_a_forges_list_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mfu_operator.adapters.forges.http.LISTING_DEADLINE_S", 2 * PAUSE_S)
    asked: list[httpx.URL] = []

    def full_page(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        threading.Event().wait(PAUSE_S)
        return httpx.Response(200, json=[{"head": {"ref": "another"}}] * 50)

    web = Web(transport=httpx.MockTransport(full_page))
    gitea = forge(ForgeKind.GITEA, "https://git.example/a/b.git", None, Credentials(None, "t"), web)
    with pytest.raises(Retry, match="did not list"):
        gitea.find("nobody")
    assert len(asked) <= 3


def test_nothing_that_a_tick_waits_for_takes_longer_than_two_minutes() -> None:
    longest = [
        forges.DEADLINE_S + forges.LISTING_DEADLINE_S,
        git.DEADLINE_S,
        prometheus.DEADLINE_S,
        REQUEST_TIMEOUT_S,
    ]
    assert max(longest) <= 120.0
    assert 5 * max(longest) <= probes.STUCK_S


HANGS_ALONE = """
import os, subprocess, sys
left = subprocess.Popen(["sleep", "60"])
open(sys.argv[1], "w").write(str(left.pid))
"""
SAYS_NOTHING_MORE = "import os, time; os.close(1); os.close(2); time.sleep(60)"


def test_a_process_that_ends_and_leaves_another_behind_is_ended_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with pytest.raises(TimeoutError):
        process.run([sys.executable, "-c", HANGS_ALONE, str(note)], b"", {}, str(tmp_path), 2.0, 1)
    left = int(note.read_text())
    assert awaited(lambda: _state(left), lambda state: state in (None, "Z"), PATIENCE_S) in (None, "Z")


def _state(pid: int) -> str | None:
    """A process' state by /proc; None where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None


def test_a_process_under_way_is_ended_when_ours_ends(tmp_path: Path) -> None:
    ended: list[process.Ended] = []
    command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    waiting = threading.Thread(target=lambda: ended.append(process.run(command, b"", {}, str(tmp_path), 60.0, 10)))
    waiting.start()
    awaited(lambda: len(process._under_way), bool, PATIENCE_S)
    process.end_all()
    waiting.join(PATIENCE_S)
    assert [each.status for each in ended] == [-signal.SIGKILL]
    assert not process._under_way


def test_a_process_that_closes_its_output_and_goes_on_is_ended_at_the_deadline(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SAYS_NOTHING_MORE]
    assert took_s(lambda: process.run(command, b"", {}, str(tmp_path), 0.5, 1), TimeoutError) < PATIENCE_S

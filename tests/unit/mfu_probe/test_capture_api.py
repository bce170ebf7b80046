"""The capture API over HTTP, as a coordinator and a stranger use it."""

import gzip
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mfu_probe import RankIdentity
from mfu_probe.live.server import LONGEST_BODY, ProbeServer
from mfu_probe.probe import Probe
from tests.unit.mfu_probe.test_capture_session import TRACE, Run

RIGHT = {"Authorization": "Bearer s3cret"}


class Served:
    """A probe's server on loopback over a run's session."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.token = folder / "token"
        self.token.write_text("s3cret\n")
        environment = {"MFU_PROBE_TOKEN_FILE": str(self.token)}
        self.server = ProbeServer(Probe().snapshot, run.session, RankIdentity(3, 8, 1), environment)
        self.port = self.server.start(0, "127.0.0.1")

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, path, raw, RIGHT if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def told(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, text = self.ask(method, path, body)
        return status, json.loads(text)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "traces"
    folder.mkdir()
    made = Served(Run(folder), tmp_path)
    yield made
    made.server.stop()


WANTED = {"id": "a", "firstStep": 103, "steps": 5}


def test_a_rank_says_who_and_where_it_is(served: Served) -> None:
    status, said = served.told("GET", "/capture")
    assert status == 200
    assert (said["schemaVersion"], said["recorder"], said["busy"]) == (1, "torch.profiler", False)
    assert (said["rank"], said["worldSize"], said["localRank"], said["step"]) == (3, 8, 1, 100)
    assert set(said["limits"]) == {"steps", "seconds", "bytes"}


def test_a_capture_goes_from_request_to_trace_and_away(served: Served) -> None:
    assert served.told("POST", "/capture", WANTED) == (202, WANTED)
    assert served.told("POST", "/capture", WANTED) == (202, WANTED)
    assert served.told("GET", "/capture/a")[1]["state"] == "waiting"
    served.run.steps(8)
    assert served.told("GET", "/capture/a")[1]["state"] == "done"
    for _ in range(2):
        status, body = served.ask("GET", "/capture/a/trace")
        assert (status, gzip.decompress(body)) == (200, TRACE)
    assert served.ask("DELETE", "/capture/a")[0] == 200
    assert served.ask("GET", "/capture/a/trace")[0] == 410


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}])
def test_without_the_token_nothing_is_answered_but_metrics(served: Served, headers: dict[str, str]) -> None:
    for method, path in (
        ("GET", "/capture"),
        ("GET", "/capture/a"),
        ("GET", "/capture/a/trace"),
        ("DELETE", "/capture/a"),
    ):
        assert served.ask(method, path, headers=headers)[0] == 401
    assert served.ask("POST", "/capture", WANTED, headers)[0] == 401
    assert served.ask("GET", "/metrics", headers=headers)[0] == 200
    assert not served.run.session.busy


def test_who_asks_without_a_token_hears_which_pod_it_speaks_to(served: Served) -> None:
    served.server.pod = "uid-7"
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    for _ in range(2):  # on one connection, so that the token can follow on the same
        connection.request("GET", "/capture")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Mfu-Pod-Uid"]) == (401, "uid-7")
        answer.read()
    connection.close()


def test_where_no_token_is_configured_nobody_may_ask(served: Served) -> None:
    served.token.unlink()
    assert served.ask("GET", "/capture")[0] == 403
    served.token.write_text("")
    assert served.ask("POST", "/capture", WANTED)[0] == 403


def test_a_renewed_token_counts_at_once(served: Served) -> None:
    served.token.write_text("other")
    assert served.ask("GET", "/capture")[0] == 401
    assert served.ask("GET", "/capture", headers={"Authorization": "Bearer other"})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/capture", b"{", 400),
        ("POST", "/capture", b"[1]", 400),
        ("POST", "/capture", b"[" * 4000, 400),
        ("POST", "/capture", {"id": "a"}, 400),
        ("POST", "/capture/a", WANTED, 404),
        ("GET", "/capture/none", None, 404),
        ("GET", "/capture/none/trace", None, 404),
        ("GET", "/capture/a/b", None, 404),
        ("GET", "/nothing", None, 404),
        ("DELETE", "/capture/none", None, 404),
        ("POST", "/capture", {**WANTED, "firstStep": 1}, 412),
    ],
)
def test_what_cannot_be_is_refused_with_its_status(
    served: Served, method: str, path: str, body: Any, status: int
) -> None:
    answer, text = served.ask(method, path, body)
    assert answer == status
    assert json.loads(text)["error"]


def test_a_body_without_end_is_not_read(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as stranger:
        stranger.sendall(f"POST /capture HTTP/1.1\r\nHost: x\r\nContent-Length: {LONGEST_BODY + 1}\r\n\r\n".encode())
        assert b"400" in stranger.recv(100)
    assert served.ask("GET", "/capture")[0] == 200


def test_many_who_hold_their_connections_do_not_stop_the_loop(served: Served) -> None:
    held = [socket.create_connection(("127.0.0.1", served.port), timeout=10) for _ in range(40)]
    try:
        served.run.steps(100)
        assert served.ask("GET", "/capture")[0] == 200
    finally:
        for each in held:
            each.close()

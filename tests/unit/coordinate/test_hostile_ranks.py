"""Ranks that answer what no rank means: they are left out by name, and the others are captured."""

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.capture_api import RankApi, RankUnreachable
from mfu_operator.coordinate import run
from mfu_operator.coordinate.run import Captured
from mfu_operator.profiling.live.request import TargetPod
from mfu_operator.profiling.live.steps import window_of
from mfu_probe.live.session import Refused
from tests.support.rank_servers import TOKEN, RankServers, torchrec
from tests.unit.coordinate.test_capture import HASTY

OTHERS = [0, 1, 2]
LIAR = 3


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[RankServers]:
    folder = tmp_path / "run"
    folder.mkdir()
    made = RankServers(folder, torchrec())
    yield made
    made.stop()


def captured(servers: RankServers, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Captured:
    place = folder / "traces"
    place.mkdir()
    return run.captured(servers.request(), TOKEN, place, tell, HASTY)


def lie(servers: RankServers, monkeypatch: pytest.MonkeyPatch, said: Mapping[str, Any]) -> None:
    server = servers.ranks[LIAR].server
    true = server.description
    monkeypatch.setattr(server, "description", lambda: {**true(), **said})


@pytest.mark.parametrize(
    "said",
    [
        {"rank": -1},
        {"rank": 1 << 60},
        {"worldSize": 0},
        {"step": -5},
        {"step": 1 << 60},
        {"stepSeconds": -1.0},
        {"limits": {"steps": 0}},
        {"limits": {"steps": -3}},
    ],
)
def test_a_rank_that_says_what_cannot_be_is_left_out(
    said: Mapping[str, Any], servers: RankServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(servers, monkeypatch, said)
    found = captured(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == OTHERS
    assert [one.why for one in found.missing] == ["AnswerUnreadable"]


@pytest.mark.parametrize(
    "said", [{"stepSeconds": 5e-324}, {"stepSeconds": 1e-9}, {"stepSeconds": 1e8}, {"limits": {"steps": 1}}]
)
def test_what_one_rank_says_moves_no_other_rank_s_steps(
    said: Mapping[str, Any], servers: RankServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that is over in no time would put the first one beyond what any rank reaches."""
    lie(servers, monkeypatch, said)
    told: list[str] = []
    found = captured(servers, tmp_path, told.append)
    assert {*OTHERS} <= {one.rank.number for one in found.recorded}
    first, last = next(re.findall(r"steps (\d+) to (\d+)", one)[0] for one in told if "record steps" in one)
    assert int(last) - int(first) == servers.request().steps - 1


def test_a_rank_that_is_busy_without_end_costs_one_wait_and_no_other_rank(
    servers: RankServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Mapping[str, Any]) -> dict[str, Any]:
        raise Refused(423, "the run is in phase checkpoint")

    lie(servers, monkeypatch, {"busy": True})
    monkeypatch.setattr(servers.ranks[LIAR].server, "request", refuse)
    begun_s = time.monotonic()
    found = captured(servers, tmp_path)
    assert [one.rank.number for one in found.recorded] == OTHERS
    assert [one.why for one in found.missing] == ["OtherPhase"]
    assert time.monotonic() - begun_s < 2 * HASTY.ready_s + 10


def test_steps_of_ranks_are_asked_for_by_what_most_of_them_say() -> None:
    assert window_of([100] * 3, [0.5, 0.5, 1e-9], 12, 30, margin_s=3.0) == window_of([100], [0.5], 12, 30, 3.0)
    assert window_of([100] * 3, [0.5, 0.5, 1e8], 12, 30, margin_s=3.0) == window_of([100], [0.5], 12, 30, 3.0)
    assert window_of([100] * 2, [0.5, 1.0], 12, 30, margin_s=3.0).first == 108


class Trickling:
    """A listener on loopback that answers each request with the next of `at_once`, and then sends a byte now and then,
    without end."""

    def __init__(self, *at_once: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.ended = threading.Event()
        self.at_once = at_once
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while not self.ended.is_set():
                connection, _ = self.listener.accept()
                threading.Thread(target=self._trickle, args=(connection,), daemon=True).start()

    def _trickle(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            for answer in self.at_once:
                connection.recv(1 << 16)
                connection.sendall(answer)
            while not self.ended.wait(0.05):
                connection.sendall(b"x")

    def stop(self) -> None:
        self.ended.set()
        self.listener.close()


@pytest.mark.parametrize(
    "at_once",
    [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nMfu-Pod-Uid: u\r\nContent-Length: 60000\r\n\r\n"],
    ids=["no status", "a header without end", "a body without end"],
)
def test_an_answer_has_one_deadline_however_its_bytes_come(at_once: bytes) -> None:
    server = Trickling(at_once)
    port = server.listener.getsockname()[1]
    api = RankApi(TargetPod("u", "gpt-0", "127.0.0.1", "node-0", port), 0, TOKEN, timeout_s=0.4)
    begun_s = time.monotonic()
    with pytest.raises(RankUnreachable):
        api.describe()
    assert time.monotonic() - begun_s < 5
    server.stop()


def test_a_trace_that_comes_a_byte_at_a_time_ends_with_the_time_for_it(tmp_path: Path) -> None:
    known = b"HTTP/1.1 200 OK\r\nMfu-Pod-Uid: u\r\nContent-Length: 2\r\n\r\n{}"
    server = Trickling(known, b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
    port = server.listener.getsockname()[1]
    api = RankApi(TargetPod("u", "gpt-0", "127.0.0.1", "node-0", port), 0, TOKEN, timeout_s=60.0)
    begun_s = time.monotonic()
    with pytest.raises(RankUnreachable, match="stopped sending"):
        api.fetch("a", tmp_path / "trace", 1 << 20, within_s=0.5)
    assert time.monotonic() - begun_s < 5
    server.stop()

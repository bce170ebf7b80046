"""The capture sidecar: Kineto's daemon protocol on one side, the capture API on the other, and strangers on both."""

import gzip
import http.client
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_probe.daemon.marks import Marks
from mfu_probe.daemon.processes import GONE_SECONDS, MOST_PROCESSES, Processes, identity_of
from mfu_probe.daemon.protocol import LONGEST_MESSAGE, NotUnderstood, Poll, Registered, decoded, written
from mfu_probe.daemon.service import RankServer, Service, main, sender_of
from mfu_probe.daemon.session import AGAIN_SECONDS, DaemonSession
from mfu_probe.identity import RankIdentity
from mfu_probe.live.session import EXPIRES_SECONDS, LONGEST_SECONDS, PAUSE_SECONDS, Refused

WANTED = {"id": "a", "roundUp": 100, "steps": 5}
STEPS_NS = [1_700_000_000_000_000_000 + step * 50_000_000 for step in range(5)]


def message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("=Q32s", len(body), kind) + body


def poll(*pids: int, kinds: int = 2) -> bytes:
    return message(b"req", struct.pack(f"=iiq{len(pids)}i", kinds, len(pids), 0, *pids))


def trace(starts_ns: list[int]) -> bytes:
    """As libkineto writes it: each field on a line of its own."""
    events = [
        f'  {{\n    "ph": "X", "cat": "user_annotation", "name": "{name}", "pid": 7, "tid": 7,\n'
        f'    "ts": {at_ns / 1000:.3f}, "dur": 9.0\n  }}'
        for at_ns in starts_ns
        for name in ("gloo:all_reduce", "Optimizer.step#AdamW.step")
    ]
    base = '"schemaVersion": 1, "baseTimeNanoseconds": 1000, "traceEvents": ['
    return ("{" + base + ",\n".join(events) + '], "traceName": "a" }\n').encode()


class Run:
    """One process that polls, on a clock of its own; `writes` is libkineto when it is done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now_s, self.pid = folder, 1000.0, 41
        self.session = DaemonSession(self.pid, folder, lambda: self.now_s)

    def polls(self, seconds: float = 5.0) -> dict[str, str]:
        self.now_s += seconds
        return dict(line.split("=") for line in self.session.handed().splitlines())

    def writes(self, handed: dict[str, str], content: bytes | None = None) -> Path:
        path = written(Path(handed["ACTIVITIES_LOG_FILE"]), self.pid)
        path.write_bytes(trace(STEPS_NS) if content is None else content)
        return path

    def looks(self, times: int = 2, polls: bool = True) -> dict[str, Any]:
        for _ in range(times):
            self.session.look(polls)
        return self.session.state("a")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_poll_is_read_as_libkineto_of_torch_2_15_sends_it() -> None:
    seen = bytes.fromhex("02000000060000000000000000000000b45c0000b25c0000375c0000365c0000d9050000d7050000")
    assert decoded(message(b"req", seen)) == Poll(0x5CB4, (0x5CB2, 0x5C37, 0x5C36, 0x5D9, 0x5D7))
    assert decoded(message(b"ctxt", bytes(16))) == Registered()


@pytest.mark.parametrize(
    "stranger",
    [b"", b"x", bytes(40),
     message(b"req", b""), message(b"req", bytes(16)), poll(), poll(0), poll(-1), poll(1, kinds=1),
     poll(*range(1, 66)), poll(1) + b"x", message(b"other", b""), struct.pack("=Q32s", 2**63, b"req")],
)  # fmt: skip
def test_what_is_no_poll_is_not_understood(stranger: bytes) -> None:
    with pytest.raises(NotUnderstood):
        decoded(stranger)


@given(st.binary(max_size=LONGEST_MESSAGE) | st.binary(max_size=300).map(lambda body: message(b"req", body)))
def test_any_bytes_are_a_poll_or_are_not_understood(stranger: bytes) -> None:
    try:
        found = decoded(stranger)
    except NotUnderstood:
        return
    assert isinstance(found, Registered) or (found.pid > 0 and len(found.ancestors) < 64)


def test_a_capture_goes_from_request_to_trace_and_away(run: Run) -> None:
    assert run.session.request(WANTED) == {"id": "a", "firstStep": None, "steps": 5}
    assert run.session.request(WANTED) == {"id": "a", "firstStep": None, "steps": 5}
    handed = run.polls()
    assert handed["PROFILE_START_ITERATION_ROUNDUP"] == "100"
    assert (handed["ACTIVITIES_ITERATIONS"], handed["ACTIVITIES_DURATION_MSECS"]) == ("5", "0")
    assert run.session.state("a")["state"] == "recording"
    assert run.polls() == {}, "once is enough"
    plain = run.writes(handed)
    done = run.looks()
    assert done["state"] == "done"
    assert (done["optimizerSteps"], done["startNs"], done["firstStep"]) == (5, STEPS_NS[0] + 1000, None)
    assert run.session.step_seconds == pytest.approx(0.05)
    assert gzip.decompress(run.session.trace("a").read_bytes()) == trace(STEPS_NS)
    assert not plain.exists() and not list(run.folder.iterdir()), "the kept one has no name"
    run.session.forget("a")
    with pytest.raises(Refused) as raised:
        run.session.trace("a")
    assert raised.value.status == 410


def test_a_first_step_is_handed_on_as_it_is(run: Run) -> None:
    run.session.request({"id": "a", "firstStep": 110, "steps": 5})
    handed = run.polls()
    assert handed["PROFILE_START_ITERATION"] == "110"
    assert "PROFILE_START_ITERATION_ROUNDUP" not in handed


def test_a_configuration_that_led_to_nothing_is_handed_over_again(run: Run) -> None:
    """libkineto refuses one that comes before the first step, and says so in its own log only."""
    run.session.request(WANTED)
    first = run.polls()
    again = run.polls(AGAIN_SECONDS)
    assert again["ACTIVITIES_LOG_FILE"] != first["ACTIVITIES_LOG_FILE"]
    run.writes(again)
    assert run.looks()["state"] == "done"
    late = run.writes(first)
    run.session.forget("a")
    assert not late.exists()


def test_a_trace_that_still_grows_is_not_taken(run: Run) -> None:
    run.session.request(WANTED)
    path = run.writes(run.polls(), b"{")
    assert run.looks(1)["state"] == "exporting"
    path.write_bytes(b"{...")
    assert run.looks(1)["state"] == "exporting"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (trace(STEPS_NS)[:-10], "the folder of the traces is full"),
        (b'{"traceEvents": []}', "no step of an optimizer"),
        (b"\0" * 5000, "is full"),
    ],
)
def test_a_trace_of_no_use_is_a_failure_with_its_reason(run: Run, content: bytes, reason: str) -> None:
    run.session.request(WANTED)
    run.writes(run.polls(), content)
    state = run.looks()
    assert state["state"] == "failed"
    assert reason in state["reason"]
    assert not list(run.folder.iterdir())


def test_a_link_is_not_followed(run: Run, tmp_path: Path) -> None:
    """The folder is the training container's too: what it links to there is not read with the sidecar's rights."""
    secret = tmp_path / "token"
    secret.write_text("{s3cret}")
    run.session.request(WANTED)
    written(Path(run.polls()["ACTIVITIES_LOG_FILE"]), run.pid).symlink_to(secret)
    state = run.looks()
    assert state["state"] == "failed"
    assert "cannot be read" in state["reason"]


def test_a_pipe_holds_nobody(run: Run) -> None:
    run.session.request(WANTED)
    os.mkfifo(written(Path(run.polls()["ACTIVITIES_LOG_FILE"]), run.pid))
    assert run.looks(3)["state"] != "done"


def test_a_process_that_never_steps_or_ends_is_told(run: Run) -> None:
    run.session.request(WANTED)
    run.now_s += LONGEST_SECONDS + 1
    assert "does the process step" in run.looks(1)["reason"]
    run.now_s += PAUSE_SECONDS
    run.session.request({**WANTED, "id": "b"})
    run.session.look(polls=False)
    assert run.session.state("b")["reason"] == "the process does not poll any more"


def test_one_at_a_time_with_pauses_and_for_five_minutes(run: Run) -> None:
    run.session.request(WANTED)
    for body, status in (({**WANTED, "id": "b"}, 409), ({**WANTED, "steps": 6}, 409)):
        with pytest.raises(Refused) as raised:
            run.session.request(body)
        assert raised.value.status == status
    run.writes(run.polls())
    run.looks()
    with pytest.raises(Refused) as raised:
        run.session.request({**WANTED, "id": "b"})
    assert raised.value.status == 429
    run.now_s += EXPIRES_SECONDS + 1
    run.looks(1)
    with pytest.raises(Refused) as raised:
        run.session.trace("a")
    assert raised.value.status == 410


@pytest.mark.parametrize(
    "body",
    [{}, {"id": "a", "steps": 5}, {**WANTED, "firstStep": 1}, {**WANTED, "roundUp": 0}, {**WANTED, "roundUp": True},
     {**WANTED, "steps": 31}, {**WANTED, "id": "../a"}, {**WANTED, "roundUp": 1e3}, {**WANTED, "roundUp": 10**9}],
)  # fmt: skip
def test_a_wrong_body_is_refused(run: Run, body: dict[str, Any]) -> None:
    with pytest.raises(Refused) as raised:
        run.session.request(body)
    assert raised.value.status == 400


def test_the_ranks_are_the_launchers_children_in_their_order(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    for pid, ancestors in ((10, (1,)), (12, (10, 1)), (11, (10, 1)), (30, (12, 10, 1))):
        processes.polled(Poll(pid, ancestors), pid)
    assert [each.pid for each in processes.ranks()] == [11, 12]


def test_ranks_without_a_launcher_that_polls_are_told_apart_too(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.polled(Poll(11, (5, 1)), "a")
    assert [each.pid for each in processes.ranks()] == [11]
    processes.polled(Poll(12, (5, 1)), "b")
    processes.polled(Poll(30, (12, 5, 1)), "c")
    assert [each.pid for each in processes.ranks()] == [11, 12]


def test_a_rank_is_known_where_its_environment_can_be_seen(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "environ").write_bytes(b"RANK=5\0WORLD_SIZE=8\0LOCAL_RANK=1\0BAD\0NAME=a=b\0")
    assert identity_of(7, tmp_path) == RankIdentity(rank=5, world_size=8, local_rank=1)
    (tmp_path / "7" / "environ").write_bytes(b"WORLD_SIZE=8\0")
    assert identity_of(7, tmp_path) is None, "a launcher is not a rank"
    (tmp_path / "7" / "environ").write_bytes(b"RANK=first\0")
    assert identity_of(7, tmp_path) is None
    assert identity_of(8, tmp_path) is None and identity_of(None, tmp_path) is None


@pytest.mark.parametrize("control", [[], [(1, 2, b"")], [(1, 2, bytes(12))], [(1, 1, bytes(12))]])
def test_a_sender_in_another_process_namespace_has_no_number(control: list[tuple[int, int, bytes]]) -> None:
    assert sender_of(control) is None
    assert sender_of([(1, 2, struct.pack("=3i", 41, 0, 0))]) == 41


def test_who_has_ended_is_forgotten_and_there_are_never_too_many(tmp_path: Path) -> None:
    now_s = [0.0]
    processes = Processes(tmp_path, lambda: now_s[0])
    for pid in range(1, 2 * MOST_PROCESSES):
        processes.polled(Poll(pid, ()), f"/run/{pid}")
    assert processes.count == MOST_PROCESSES
    now_s[0] += GONE_SECONDS + 1
    processes.look()
    assert processes.count == 0


@given(st.lists(st.binary(max_size=3000), max_size=20), st.integers(1, 700))
def test_marks_do_not_depend_on_how_the_trace_is_cut(noise: list[bytes], cut: int) -> None:
    """And nothing of what a stranger writes is kept."""
    content = trace(STEPS_NS)
    marks = Marks()
    for start in range(0, len(content), cut):
        marks.feed(content[start : start + cut])
    assert marks.starts_ns == [at + 1000 for at in STEPS_NS]
    strange = Marks()
    for each in noise:
        strange.feed(each)
        strange.feed(b'"name": "Optimizer.step#')
        assert len(strange._tail) <= 2 * 4096 + 3000


class Sidecar:
    """The service on a socket and a port of its own, turning in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.traces = folder / "traces"
        self.traces.mkdir()
        self.service = Service(folder, self.traces, 0, "127.0.0.1")
        self.service._servers[0].environment = {"MFU_PROBE_TOKEN": "s3cret"}
        bound = self.service._servers[0]._server
        assert bound is not None
        self.port = int(bound.server_address[1])
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._turn)
        self.thread.start()

    def _turn(self) -> None:
        while not self.ended.is_set():
            self.service.turn()

    def close(self) -> None:
        self.ended.set()
        self.thread.join()
        self.service.close()

    def ask(self, method: str, path: str, body: Any = None, token: str = "s3cret") -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        raw = None if body is None else json.dumps(body).encode()
        connection.request(method, path, raw, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if answer.headers["Content-Type"] == "application/json" else text

    def client(self, name: str) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.bind(str(self.folder / name))
        made.connect(str(self.folder / "dynolog"))
        made.settimeout(10)
        return made


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path)
    yield made
    made.close()


def test_a_process_that_polls_is_captured_over_http(sidecar: Sidecar) -> None:
    assert sidecar.ask("GET", "/capture")[0] == 404
    with sidecar.client("libkineto") as process:
        process.send(poll(77, 1))
        assert process.recv(100) == message(b"req", b"")
        status, said = sidecar.ask("GET", "/capture")
        assert (status, said["recorder"]) == (200, "kineto")
        assert [said[name] for name in ("rank", "worldSize", "step", "phase", "stepSeconds")] == [None] * 5
        assert sidecar.ask("POST", "/capture", WANTED, token="wrong")[0] == 401
        assert sidecar.ask("POST", "/capture", WANTED)[0] == 202
        process.send(poll(77, 1))
        configuration = process.recv(LONGEST_MESSAGE)[40:].decode()
        assert f"ACTIVITIES_LOG_FILE={sidecar.traces}/a-0.json\n" in configuration
    assert sidecar.ask("GET", "/metrics", token="")[1].endswith(b"mfu_capture_processes 1\n")
    assert sidecar.ask("DELETE", "/capture/a")[0] == 200


@settings(max_examples=30)
@given(stranger=st.lists(st.binary(max_size=6000), min_size=1, max_size=8))
def test_strangers_at_the_socket_change_nothing(stranger: list[bytes], shared: Sidecar) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as nameless:
        nameless.connect(str(shared.folder / "dynolog"))
        for each in stranger:
            nameless.send(each)
    with suppress(FileNotFoundError):
        (shared.folder / "client").unlink()
    with shared.client("client") as process:
        process.send(poll(77, 1))
        assert process.recv(100) == message(b"req", b"")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    made = Sidecar(tmp_path_factory.mktemp("shared"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("traces", "folder", "said"), [("", "/run", "TRACE_DIR"), ("/run", "/" + "x" * 54, "too long")]
)
def test_a_setting_that_cannot_work_is_told_at_the_start(
    traces: str, folder: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["mfu-capture"])
    monkeypatch.setenv("KINETO_ONDEMAND_TRACE_DIR", traces)
    monkeypatch.setenv("KINETO_IPC_SOCKET_DIR", folder)
    assert main() == 2
    assert said in capsys.readouterr().err


def test_a_port_is_opened_for_each_rank(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    server = RankServer(processes, 1)
    with pytest.raises(Refused):
        server.description()
    for pid in (11, 12):
        processes.polled(Poll(pid, (5,)), pid)
    assert server.description()["localRank"] == 1

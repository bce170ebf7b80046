"""What goes wrong around a capture at the worst moment: nothing records on, nothing is kept, nobody is kept out."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from mfu_probe.identity import DEFAULT_PORT, configured_port
from mfu_probe.live.interrupt import on_main_thread
from mfu_probe.live.server import MOST_CONNECTIONS
from mfu_probe.live.session import EXPIRES_SECONDS, LATER_SECONDS, LEAST_SECONDS, LONGEST_SECONDS
from mfu_probe.probe import Probe
from tests.unit.mfu_probe.test_capture_api import Served
from tests.unit.mfu_probe.test_capture_session import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "traces"
    folder.mkdir()
    made = Served(Run(folder), tmp_path)
    yield made
    made.server.stop()


def test_a_capture_that_is_deleted_while_the_profiler_starts_does_not_record_on(run: Run) -> None:
    """The first start of a process may take seconds, in which a coordinator that gives up deletes it."""
    begin = run.recorder.start

    def start(activities: Sequence[str]) -> None:
        run.session.forget("a")
        begin(activities)

    run.recorder.start = start  # type: ignore[method-assign]
    run.ask()
    run.steps(4)
    assert run.recorder.told[-1] == "discard"
    assert run.state()["reason"] == "the capture was deleted"
    assert not run.session.busy


@pytest.mark.parametrize("first", [10**6, 2**63, 10**4000], ids=["million", "2^63", "4000-digits"])
def test_a_step_that_never_comes_keeps_others_out_for_ten_minutes_at_most(run: Run, first: int) -> None:
    run.ask("a", first)
    assert run.refusal("b") == 409
    run.now_s += LONGEST_SECONDS + 1
    run.ask("b")
    assert run.state("a")["state"] == "failed"
    assert "did not begin within 600 s" in run.state("a")["reason"]
    run.steps(8)
    assert run.state("b")["state"] == "done"


def test_a_trace_goes_after_five_minutes_though_nobody_asks_any_more(run: Run, tmp_path: Path) -> None:
    run.ask()
    run.steps(8)
    assert list(tmp_path.rglob("*.gz"))
    run.passes(EXPIRES_SECONDS + LATER_SECONDS)
    assert not list(tmp_path.rglob("*.gz"))


def test_a_script_that_evaluates_and_says_nothing_of_it_is_not_recorded_on(run: Run) -> None:
    run.ask()
    run.steps(3)
    run.passes(LEAST_SECONDS)
    assert run.state()["state"] == "recording"
    run.passes(LATER_SECONDS)
    assert run.recorder.told[-1] == "discard"
    assert run.state()["reason"] == "no step began within 60 s of step 103"
    assert not run.session.busy
    run.steps(10)
    assert run.recorder.told[-1] == "discard"


def test_what_ended_in_time_is_not_ended_again(run: Run) -> None:
    run.ask()
    run.steps(8)
    told = list(run.recorder.told)
    run.passes(LEAST_SECONDS + LATER_SECONDS)
    assert run.recorder.told == told
    assert run.state()["state"] == "done"


def test_a_profiler_is_never_ended_on_another_thread_than_the_one_that_began_it(run: Run) -> None:
    run.ask()
    loop = threading.Thread(target=run.steps, args=(4,))
    loop.start()
    loop.join()
    run.passes(LEAST_SECONDS + LATER_SECONDS)
    assert "discard" not in run.recorder.told
    run.steps(1)
    assert run.recorder.told[-1] == "discard"


def test_the_main_thread_is_interrupted_where_it_is_at_work() -> None:
    where: list[int] = []
    other = threading.Thread(target=lambda: on_main_thread(lambda: where.append(threading.get_ident())))
    other.start()
    ends_s = time.monotonic() + 10
    while not where and time.monotonic() < ends_s:
        pass
    other.join()
    assert where == [threading.get_ident()]


def test_what_interrupts_the_main_thread_and_fails_does_not_reach_it() -> None:
    done: list[str] = []

    def fails() -> None:
        done.append("called")
        raise ValueError("in the middle of somebody's step")

    other = threading.Thread(target=lambda: on_main_thread(fails))
    other.start()
    other.join()
    ends_s = time.monotonic() + 10
    while not done and time.monotonic() < ends_s:
        pass
    assert done == ["called"]


def test_connections_of_strangers_are_as_many_as_there_are_threads_for_them(served: Served) -> None:
    before = threading.active_count()
    with ExitStack() as held:
        for _ in range(MOST_CONNECTIONS + 40):
            held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=10))
        last = held.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=10))
        assert last.recv(1) == b""  # closed at once
        assert threading.active_count() <= before + MOST_CONNECTIONS
        served.run.steps(100)
    ends_s = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < ends_s:
        select.select([], [], [], 0.01)
    assert served.ask("GET", "/metrics")[0] == 200


def test_a_client_that_resets_its_connection_leaves_nothing_in_the_log(
    served: Served, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(5):
        stranger = socket.create_connection(("127.0.0.1", served.port), timeout=10)
        stranger.sendall(b"GET /metr")
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        stranger.close()
    assert served.ask("GET", "/metrics")[0] == 200
    served.server.stop()
    served.server._server = None
    assert capfd.readouterr().err == ""


FORKS = """
import os, sys, time
import mfu_probe
probe = mfu_probe.start(port=int(sys.argv[1]))
worker = os.fork()
if worker == 0:
    time.sleep(60)
print(probe.serving, worker, flush=True)
time.sleep(60)
"""


def test_a_loaders_worker_that_outlives_its_rank_does_not_keep_its_port(tmp_path: Path) -> None:
    """torchrun starts a rank again at once, and the workers of the killed one notice seconds later."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    rank = subprocess.Popen(
        [sys.executable, "-c", FORKS, str(port)], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert rank.stdout is not None
    serving, worker = rank.stdout.readline().split()
    try:
        assert serving == "True"
        rank.kill()
        rank.wait()
        probe = Probe()
        probe.serve(port)
        assert probe.serving
        probe.close()
    finally:
        os.kill(int(worker), signal.SIGKILL)
        rank.stdout.close()


@pytest.mark.parametrize(
    ("said", "port"),
    [
        ({}, DEFAULT_PORT),
        ({"MFU_PROBE_PORT": "9600"}, 9600),
        ({"MFU_PROBE_PORT": "tcp://10.96.7.1:9400"}, DEFAULT_PORT),
    ],
    ids=["none", "moved", "a Service named mfu-probe"],
)
def test_the_address_of_a_service_of_that_name_is_no_port(said: dict[str, str], port: int) -> None:
    assert configured_port(said) == port


def test_a_port_beyond_the_last_one_is_only_a_warning() -> None:
    probe = Probe()
    with pytest.warns(UserWarning, match="serves no metrics"):
        probe.serve(65_536)
    assert not probe.serving

"""A capture from the request to the trace, and everything that can go wrong with it: the loop goes on."""

import gzip
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mfu_probe.live.recorder import RecorderUnavailable
from mfu_probe.live.session import EXPIRES_SECONDS, PAUSE_SECONDS, CaptureSession, Refused
from mfu_probe.live.storage import Storage

TRACE = b'{"traceEvents": []}'


class RecorderDouble:
    """Notes what it is told; `fails` names the call that raises."""

    name = "torch.profiler"

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.fails: dict[str, Exception] = {}

    def _note(self, what: str, *said: Any) -> None:
        self.told.append((what, *said) if said else what)
        if what in self.fails:
            raise self.fails[what]

    def start(self, activities: Sequence[str]) -> None:
        self._note("start")

    def mark(self, step: int | None) -> None:
        self._note("mark", step)

    def stop(self) -> None:
        self._note("stop")

    def export(self, path: Path) -> None:
        self._note("export")
        path.write_bytes(TRACE)

    def discard(self) -> None:
        self._note("discard")


class Run:
    """A loop of steps with a session beside it, on a clock of its own."""

    def __init__(self, folder: Path, in_background: Callable[[Callable[[], None]], None] | None = None) -> None:
        self.now_s = 1000.0
        self.recorder = RecorderDouble()
        self.folder = folder
        beside = in_background or (lambda act: act())
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.session = CaptureSession(
            self.recorder, Storage(folder), lambda: self.now_s, beside, self._later, lambda act: act()
        )
        self.step = 100
        self.session.before_step(self.step)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self.timers.append((self.now_s + seconds, act))

    def passes(self, seconds: float) -> None:
        """Time in which the loop comes to no boundary."""
        self.now_s += seconds
        due = [each for each in self.timers if each[0] <= self.now_s]
        self.timers = [each for each in self.timers if each not in due]
        for _, act in due:
            act()

    def steps(self, count: int, seconds: float = 1.0) -> None:
        for _ in range(count):
            self.step += 1
            self.now_s += seconds
            self.session.before_step(self.step)

    def ask(self, name: str = "a", first: int = 103, steps: int = 5, **more: Any) -> dict[str, Any]:
        return self.session.request({"id": name, "firstStep": first, "steps": steps, **more}, step_seconds=1.0)

    def state(self, name: str = "a") -> dict[str, Any]:
        return self.session.state(name)

    def refusal(self, *arguments: Any, **more: Any) -> int:
        with pytest.raises(Refused) as raised:
            self.ask(*arguments, **more)
        return raised.value.status


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_exactly_the_steps_that_were_asked_for_are_recorded(run: Run) -> None:
    assert run.ask() == {"id": "a", "firstStep": 103, "steps": 5}
    assert run.state()["state"] == "waiting"
    run.steps(2)
    assert run.recorder.told == []
    run.steps(1)
    assert run.state()["state"] == "recording"
    run.steps(5)
    marks = [("mark", step) for step in range(103, 108)]
    assert run.recorder.told == ["start", *marks, ("mark", None), "stop", "export"]
    assert run.state()["state"] == "done"
    trace = run.session.trace("a")
    assert gzip.decompress(trace.read_bytes()) == TRACE
    assert run.state()["bytes"] == trace.stat().st_size


def test_the_same_request_again_gives_the_same_answer_and_another_body_is_refused(run: Run) -> None:
    assert run.ask() == run.ask()
    assert run.refusal(steps=6) == 409


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": "A", "firstStep": 103, "steps": 5},
        {"id": "a" * 64, "firstStep": 103, "steps": 5},
        {"id": "../x", "firstStep": 103, "steps": 5},
        {"id": "a", "firstStep": -1, "steps": 5},
        {"id": "a", "firstStep": True, "steps": 5},
        {"id": "a", "firstStep": 103, "steps": 31},
        {"id": "a", "firstStep": 103, "steps": 0},
        {"id": "a", "firstStep": 103, "steps": "5"},
        {"id": "a", "roundUp": 10, "steps": 5},
        {"id": "a", "firstStep": 103, "steps": 5, "activities": ["everything"]},
    ],
)
def test_a_wrong_body_is_refused(run: Run, body: dict[str, Any]) -> None:
    with pytest.raises(Refused) as raised:
        run.session.request(body, None)
    assert raised.value.status == 400


def test_one_capture_runs_at_a_time(run: Run) -> None:
    run.ask()
    assert run.refusal("b") == 409


def test_a_step_that_has_begun_is_too_late(run: Run) -> None:
    assert run.refusal(first=100) == 412
    assert run.ask(first=101)


def test_nothing_is_captured_while_the_run_checkpoints_or_starts(run: Run, tmp_path: Path) -> None:
    run.session.enter_phase("checkpoint")
    assert run.refusal() == 423
    young = CaptureSession(RecorderDouble(), Storage(tmp_path))
    with pytest.raises(Refused) as raised:
        young.request({"id": "a", "firstStep": 3, "steps": 1}, None)
    assert raised.value.status == 423


def test_a_checkpoint_within_the_asked_steps_ends_the_capture_and_says_so(run: Run) -> None:
    run.ask()
    run.steps(4)
    run.session.enter_phase("checkpoint")
    assert run.state()["state"] == "failed"
    assert "checkpoint began at step 104" in run.state()["reason"]
    assert run.recorder.told[-1] == "discard"


def test_captures_are_half_a_minute_apart(run: Run) -> None:
    run.ask()
    run.steps(8)
    assert run.refusal("b", first=200) == 429
    run.now_s += PAUSE_SECONDS
    assert run.ask("b", first=200)


def test_steps_that_take_too_long_end_the_capture(run: Run) -> None:
    run.ask()
    run.steps(3)
    run.steps(1, seconds=61)
    assert run.state()["state"] == "failed"
    assert "longer than 60 s" in run.state()["reason"]


@pytest.mark.parametrize("call", ["start", "mark", "stop", "export"])
def test_a_recorder_that_fails_ends_the_capture_and_not_the_loop(run: Run, call: str) -> None:
    run.recorder.fails[call] = RuntimeError("CUPTI")
    run.ask()
    run.steps(9)
    assert run.state()["state"] == "failed"
    assert "CUPTI" in run.state()["reason"]
    assert not run.session.busy
    assert call == "export" or run.recorder.told[-1] == "discard", "nothing is recorded for ever"
    with pytest.raises(Refused):
        run.session.trace("a")


def test_without_torch_the_reason_is_said(run: Run) -> None:
    run.recorder.fails["start"] = RecorderUnavailable("torch.profiler cannot be imported: no module named torch")
    run.ask()
    run.steps(3)
    assert run.state()["reason"] == "torch.profiler cannot be imported: no module named torch"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "absent")
    run.ask()
    run.steps(3)
    assert run.state()["state"] == "failed"
    assert "absent cannot be written" in run.state()["reason"]


def test_a_trace_goes_after_five_minutes_and_is_gone_then(run: Run, tmp_path: Path) -> None:
    run.ask()
    run.steps(8)
    run.now_s += EXPIRES_SECONDS + 1
    with pytest.raises(Refused) as raised:
        run.session.trace("a")
    assert raised.value.status == 410
    assert not list(tmp_path.rglob("*.gz"))


def test_a_deleted_trace_is_gone(run: Run, tmp_path: Path) -> None:
    run.ask()
    run.steps(8)
    run.session.forget("a")
    with pytest.raises(Refused) as raised:
        run.session.trace("a")
    assert raised.value.status == 410
    assert not list(tmp_path.rglob("*.gz"))


def test_a_capture_that_is_deleted_while_it_records_ends_at_the_next_step(run: Run) -> None:
    run.ask()
    run.steps(4)
    run.session.forget("a")
    run.steps(1)
    assert run.recorder.told[-1] == "discard"
    assert not run.session.busy
    assert run.state()["reason"] == "the capture was deleted"


def test_a_capture_that_is_deleted_while_its_trace_is_written_leaves_none(tmp_path: Path) -> None:
    later: list[Callable[[], None]] = []
    run = Run(tmp_path, later.append)
    run.ask()
    run.steps(8)
    run.session.forget("a")
    for act in later:
        act()
    assert not list(tmp_path.rglob("a.json*"))
    assert run.state()["reason"] == "the capture was deleted"


def test_what_torch_wrote_before_the_disk_was_full_is_removed(run: Run, tmp_path: Path) -> None:
    """It writes beside the name, and leaves that file where it fails."""

    def full(path: Path) -> None:
        path.with_name(path.name + ".tmp").write_bytes(b"{")
        raise OSError(28, "No space left on device")

    run.recorder.export = full  # type: ignore[method-assign]
    run.ask()
    run.steps(8)
    assert run.state()["state"] == "failed"
    assert not list(tmp_path.rglob("a.*"))


def test_a_trace_that_the_disk_cut_short_is_told(run: Run) -> None:
    """torch's writer stops without a word where the disk is full."""
    run.recorder.export = lambda path: path.write_bytes(TRACE[:-1])  # type: ignore[method-assign, assignment]
    run.ask()
    run.steps(8)
    assert run.state()["state"] == "failed"
    assert "is full: the trace ends after 18 bytes" in run.state()["reason"]


def test_a_capture_that_is_deleted_while_it_waits_never_records(run: Run) -> None:
    run.ask()
    run.session.forget("a")
    run.steps(5)
    assert run.recorder.told == []
    assert not run.session.busy
    assert run.ask("b", first=run.step + 2), "another step is agreed on at once"


def test_what_is_unknown_is_not_found(run: Run) -> None:
    for act in (run.session.state, run.session.trace, run.session.forget):
        with pytest.raises(Refused) as raised:
            act("none")
        assert raised.value.status == 404


def test_what_the_loop_waited_for_is_reported(run: Run) -> None:
    run.ask()
    run.steps(3)
    mark = run.recorder.mark

    def slowly(step: int | None) -> None:
        run.now_s += 0.03
        mark(step)

    run.recorder.mark = slowly  # type: ignore[method-assign]
    run.steps(2)
    assert run.state()["pauseSeconds"] == pytest.approx(0.06)


def test_nothing_is_left_when_the_process_ends(run: Run, tmp_path: Path) -> None:
    run.ask()
    run.steps(8)
    run.session.close()
    assert list(tmp_path.iterdir()) == []


def test_a_thousand_captures_are_not_remembered(run: Run) -> None:
    for index in range(200):
        run.ask(f"c{index}", first=run.step + 1, steps=1)
        run.steps(2)
        run.now_s += PAUSE_SECONDS
    with pytest.raises(Refused):
        run.state("c0")
    assert run.state("c199")["state"] == "done"


def test_what_a_killed_process_left_is_removed_and_a_living_ones_is_not(tmp_path: Path) -> None:
    """A killed rank cannot remove its trace from the memory; the next one that records does."""
    script = (
        "import os, sys; from pathlib import Path; from mfu_probe.live.storage import Storage\n"
        "path = Storage(Path(sys.argv[1])).path('a'); path.write_text('x'); print(path, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    left = Path(killed.stdout.strip())
    assert left.exists()
    living = Storage(tmp_path).path("b").parent
    Storage(tmp_path).path("c")
    assert not left.parent.exists()
    assert living.exists()


def test_a_capture_that_was_deleted_before_it_began_asks_for_no_pause(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.session.request({"id": "a", "firstStep": 110, "steps": 5}, 1.0)
    run.session.forget("a")
    assert run.session.request({"id": "b", "firstStep": 110, "steps": 5}, 1.0)["id"] == "b"

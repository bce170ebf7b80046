"""What goes wrong with a capture of a real job. Training never stops, and the answer says what is missing."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.trace.analyze import analyze
from tests.live.conftest import Table
from tests.live.job import AHEAD, Job

pytestmark = pytest.mark.torch
STEPS = 7
AFTER = 30
"""Steps that every rank does after the fault: training goes on."""


def goes_on(job: Job) -> None:
    for rank in range(job.ranks):
        job.trained(len(job.ends_s(rank)) + AFTER, rank)


def test_a_rank_that_is_killed_while_it_is_captured(tmp_path: Path, port: int, table: Table) -> None:
    """torchrun starts all ranks again, as it does without a capture; then they are captured, and nothing is left."""
    with Job(tmp_path / "job", 4, port) as job:
        job.serving()
        first = job.capture("a", steps=30)
        job.trained(first + 3)
        attempt = job.attempt()
        os.kill(job.process_of(1), signal.SIGKILL)
        job.started_again(attempt)
        goes_on(job)
        job.serving()
        status, said = job.ask(0, "GET", "/capture/a")
        assert status == 404, said
        job.capture("b", STEPS)
        assert {job.state("b", rank)["state"] for rank in range(4)} == {"done"}
        left = list((tmp_path / "job" / "traces").iterdir())
        assert len(left) == 4, left
        assert job.finish() == 0
    table.row(
        "rank 1 killed while captured", "mfu_probe run", 4, "torchrun restarts; capture unknown (404); next is done"
    )


def test_a_disk_that_is_full(tmp_path: Path, port: int, table: Table) -> None:
    """No file may grow beyond 200 KB, which reads like a full disk to who writes it; torch's writer says nothing."""
    with Job(tmp_path / "job", 2, port, largest_file=200_000) as job:
        job.serving()
        job.capture("a", STEPS)
        states = [job.state("a", rank) for rank in range(2)]
        assert {state["state"] for state in states} == {"failed"}, states
        assert all("is full" in state["reason"] for state in states), states
        assert not list((tmp_path / "job" / "traces").rglob("a.json*"))
        goes_on(job)
        assert job.finish() == 0
    table.row("disk full", "mfu_probe run", 2, f"failed: {states[0]['reason'][:60]}…")


def test_a_wrong_token_and_none(tmp_path: Path, port: int, table: Table) -> None:
    with Job(tmp_path / "job", 2, port) as job:
        job.serving()
        wanted = {"id": "a", "firstStep": job.step() + AHEAD, "steps": STEPS}
        assert job.ask(0, "POST", "/capture", wanted, token="wrong")[0] == 401
        (tmp_path / "job" / "token").unlink()
        assert job.ask(0, "POST", "/capture", wanted)[0] == 403
        goes_on(job)
        assert job.finish() == 0
    table.row("wrong token; none", "mfu_probe run", 2, "401; 403")


def test_two_requests_at_once(tmp_path: Path, port: int, table: Table) -> None:
    with Job(tmp_path / "job", 2, port) as job:
        job.serving()
        first = job.step() + 2 * AHEAD
        answers: list[tuple[str, int]] = []

        def ask(name: str) -> None:
            answers.append((name, job.ask(0, "POST", "/capture", {"id": name, "firstStep": first, "steps": STEPS})[0]))

        asking = [threading.Thread(target=ask, args=(f"c{number}",)) for number in range(6)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert sorted(status for _, status in answers) == [202] + [409] * 5
        taken = next(name for name, status in answers if status == 202)
        assert job.state(taken, 0)["state"] == "done"
        goes_on(job)
        assert job.finish() == 0
    table.row("six requests at once", "mfu_probe run", 2, "one 202, five 409")


def test_a_checkpoint_at_the_agreed_step(tmp_path: Path, port: int, table: Table) -> None:
    with Job(tmp_path / "job", 2, port, words=("--probe", "one-line", "--checkpoint-at", "400"), probed=False) as job:
        job.serving()
        assert job.step() < 380
        job.capture("a", STEPS, first=398)
        states = [job.state("a", rank) for rank in range(2)]
        assert {state["state"] for state in states} == {"failed"}, states
        assert all("phase checkpoint began at step" in state["reason"] for state in states), states
        goes_on(job)
        assert job.finish() == 0
        assert (tmp_path / "job" / "checkpoint-1.pt").exists()
    table.row("checkpoint at the agreed step", "one line", 2, f"failed: {states[0]['reason']}")


def test_a_rank_that_is_past_the_asked_step(tmp_path: Path, port: int, table: Table) -> None:
    """The others are told to forget it, and another step is agreed on at once."""
    with Job(tmp_path / "job", 4, port) as job:
        job.serving()
        wanted = {"id": "a", "firstStep": job.told(0, "/capture")["step"], "steps": STEPS}
        assert job.ask(0, "POST", "/capture", wanted)[0] == 412
        ahead = {**wanted, "firstStep": job.step() + 10 * AHEAD}
        assert [job.ask(rank, "POST", "/capture", ahead)[0] for rank in (1, 2, 3)] == [202, 202, 202]
        assert [job.ask(rank, "DELETE", "/capture/a")[0] for rank in (1, 2, 3)] == [200, 200, 200]
        job.capture("b", STEPS)
        assert {job.state("b", rank)["state"] for rank in range(4)} == {"done"}
        goes_on(job)
        assert job.finish() == 0
    table.row("a rank past the asked step", "mfu_probe run", 4, "412; asked again at once: done")


@pytest.mark.parametrize("own", ["recording", "begins"])
def test_a_script_that_profiles_itself(own: str, tmp_path: Path, port: int, table: Table) -> None:
    """Its own profile is whole, and the capture says that it gave way."""
    with Job(tmp_path / "job", 2, port, words=("--profile", "150:40")) as job:
        job.serving()
        first = {"recording": 160, "begins": 140}[own]
        assert job.step() < first
        job.capture("a", steps=30, first=first)
        states = [job.state("a", rank) for rank in range(2)]
        assert {state["state"] for state in states} == {"failed"}, states
        assert all("profile" in state["reason"] for state in states), states
        job.trained(220)
        goes_on(job)
        assert job.finish() == 0
        for rank in range(2):
            assert _steps_in(tmp_path / "job" / f"own-{rank}.json") == 40
    table.row(f"the script's own profiler {own}", "mfu_probe run", 2, f"failed: {states[0]['reason']}; its own whole")


def _steps_in(path: Path) -> int:
    return path.read_text().count('"name": "Optimizer.step#AdamW.step"')


def test_the_training_is_asked_for_one_rank_only(tmp_path: Path, port: int, table: Table) -> None:
    """Ranks that do not answer are left out: the others' traces say what they can."""
    with Job(tmp_path / "job", 4, port) as job:
        job.serving()
        wanted: dict[str, Any] = {"id": "a", "firstStep": job.step() + AHEAD, "steps": STEPS}
        for rank in (0, 2):
            assert job.ask(rank, "POST", "/capture", wanted)[0] == 202
        assert {job.state("a", rank)["state"] for rank in (0, 2)} == {"done"}
        folder = job.fetch("a", (0, 2))
        assert job.finish() == 0
    found = analyze([folder])
    assert [trace.rank for trace in found.traces] == [0, 2]
    table.row("two of four ranks answer", "mfu_probe run", 4, "account of ranks 0 and 2")

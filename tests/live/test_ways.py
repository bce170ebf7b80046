"""The same steps of every rank of a real job, captured while it trains, and what the analysis says of them."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Ranks
from tests.live.conftest import Table
from tests.live.job import Job, step_seconds

pytestmark = pytest.mark.torch
STEPS = 7
ONE_LINE = ("--probe", "one-line")
SAID = ("--probe", "steps")
WAYS = {"mfu_probe run": (True, ()), "one line": (False, ONE_LINE), "probe.steps": (False, SAID)}


def captured(job: Job, name: str = "a") -> tuple[Path, int, list[float]]:
    """Every rank's trace of the same steps, the first of them, and how long each rank says its loop waited."""
    first = job.capture(name, STEPS)
    states = [job.state(name, rank) for rank in range(job.ranks)]
    assert {state["state"] for state in states} == {"done"}, states
    return job.fetch(name), first, [state["pauseSeconds"] for state in states]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("way", WAYS)
def test_every_rank_gives_the_same_steps(way: str, ranks: int, tmp_path: Path, port: int, table: Table) -> None:
    probed, words = WAYS[way]
    with Job(tmp_path / "job", ranks, port, words=words, probed=probed) as job:
        job.serving()
        folder, first, pauses = captured(job)
        behind = len(job.ends_s(0))
        job.trained(behind + 20)
        assert job.finish() == 0, job.log.read_text()[-2000:]
    found = analyze([folder])
    assert [trace.rank for trace in found.traces] == list(range(ranks))
    assert {trace.world_size for trace in found.traces} == {ranks}
    for device in found.devices:
        names = [f"ProfilerStep#{step}" for step in range(first, first + STEPS)]
        assert {step.name for step in device.steps} <= set(names)
        assert len(device.steps) >= STEPS - 3
    assert isinstance(found.ranks, Ranks)
    table.row("none", way, ranks, f"{STEPS} steps of every rank; the loop waited {max(pauses):.2f} s at most")
    assert not list((tmp_path / "job" / "traces").iterdir()), "nothing is left behind"


@pytest.mark.parametrize(("late_in", "slow_in"), [("forward", "compute"), ("loader", "input")])
def test_the_late_rank_is_named(late_in: str, slow_in: str, tmp_path: Path, port: int, table: Table) -> None:
    late = ("--late-rank", "2", "--late-seconds", "0.3", "--late-in", late_in)
    with Job(tmp_path / "job", 4, port, words=late) as job:
        job.serving()
        folder, _, _ = captured(job)
        job.finish()
    found = analyze([folder])
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.diagnosis.bottleneck) == (2, "Straggler"), found.ranks
    assert found.ranks.slow_in == slow_in
    table.row(f"rank 2 late by 300 ms in {late_in}", "mfu_probe run", 4, f"Straggler: rank 2, {slow_in}")


def test_the_trace_says_what_the_script_measured(tmp_path: Path, port: int) -> None:
    """The recorded steps are the asked ones by the script's own count, and as long as the script saw them."""
    with Job(tmp_path / "job", 2, port) as job:
        job.serving()
        folder, first, _ = captured(job)
        job.trained(first + STEPS + 10)
        ends = job.ends_s(0)
        job.finish()
    steps = {step.name: step for step in analyze([folder]).devices[0].steps}
    seen = _by_name(step_seconds(ends), first)
    differences = [abs((step.end_ns - step.start_ns) / 1e9 - seen[name]) for name, step in steps.items()]
    assert statistics.median(differences) < 0.005, (steps, seen)


def _by_name(lasted: Sequence[float], first: int) -> dict[str, float]:
    """The hook's step N ends with the script's step N + 1, because the first end begins the first whole step."""
    return {f"ProfilerStep#{step}": lasted[step] for step in range(first, first + STEPS)}

"""Collectives of the host (gloo) tell the late rank, too."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mfu_operator.trace import answer
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Ranks
from tests.support.gloo_loop import GlooJob, GlooRank

EVEN = (GlooRank(),) * 4


def late(rank: int, **changed: float) -> tuple[GlooRank, ...]:
    return tuple(replace(one, **changed) if place == rank else one for place, one in enumerate(EVEN))


@pytest.mark.parametrize("marks", ["ProfilerStep", "Optimizer"])
@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_that_computes_longer_is_waited_for(rank: int, marks: str, tmp_path: Path) -> None:
    found = analyze([GlooJob(late(rank, late_ms=150.0), marks=marks).write(tmp_path / "ranks")])
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.ranks.slow_in, found.ranks.clock) == (rank, "compute", "aligned")
    assert 140e6 < found.ranks.skew_ns < 230e6, "150 ms, and what the others would have computed meanwhile"
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", "SlowCompute")


def test_a_rank_whose_loader_is_slow_is_slow_in_input(tmp_path: Path) -> None:
    found = analyze([GlooJob(late(1, input_ms=120.0)).write(tmp_path / "ranks")])
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.ranks.slow_in) == (1, "input")
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", "SlowInput")


@pytest.mark.parametrize("marks", ["ProfilerStep", "Optimizer"])
def test_it_is_blamed_against_a_baseline_too(marks: str, tmp_path: Path) -> None:
    before = GlooJob(EVEN, marks=marks).write(tmp_path / "before")
    now = GlooJob(late(3, late_ms=60.0), marks=marks).write(tmp_path / "now", seed=2)
    found = analyze([now], [before]).diagnosis
    assert (found.bottleneck, found.cause) == ("Straggler", "SlowCompute")


def test_ranks_that_share_few_cores_are_a_baseline_all_the_same(tmp_path: Path) -> None:
    """Their even waits scatter too much to name anybody, and still say how long ranks waited while all was well."""
    before = GlooJob(EVEN, scatter_ms=25.0).write(tmp_path / "before")
    now = GlooJob(late(2, late_ms=400.0), scatter_ms=25.0).write(tmp_path / "now", seed=2)
    even = analyze([before])
    assert isinstance(even.ranks, Ranks) and even.ranks.clock == "unaligned"
    assert even.diagnosis.bottleneck != "Straggler", "nobody is named where the ends do not agree"
    found = analyze([now], [before]).diagnosis
    assert (found.bottleneck, found.cause) == ("Straggler", "SlowCompute")


def test_a_slower_network_is_no_straggler(tmp_path: Path) -> None:
    before = GlooJob(EVEN).write(tmp_path / "before")
    now = GlooJob(EVEN, transfer_ms=60.0).write(tmp_path / "now", seed=2)
    found = analyze([now], [before])
    assert isinstance(found.ranks, Ranks)
    assert found.diagnosis.bottleneck != "Straggler"
    assert found.ranks.skew_ns < 20e6


def test_even_ranks_have_no_straggler_and_an_answer_in_json(tmp_path: Path) -> None:
    found = analyze([GlooJob(EVEN).write(tmp_path / "ranks")])
    assert found.diagnosis.bottleneck == "KernelBound"
    assert json.loads(answer.encode(found))["ranks"]["inTurns"] is True


def test_steps_are_cut_at_the_optimizers_where_nothing_else_marks_them(tmp_path: Path) -> None:
    found = analyze([GlooJob(EVEN, steps=6, marks="Optimizer").write(tmp_path / "ranks")])
    steps = found.devices[0].steps
    assert len(steps) == 5
    assert all(one.end_ns - one.start_ns == pytest.approx(200e6, rel=0.15) for one in steps)
    assert any("the optimizer's step" in one for one in found.traces[0].warnings)

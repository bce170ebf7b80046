"""The front door of measuring, held to the same contract behind it: the sweep over a source, and the double that the
loop and the tick are tested with."""

from dataclasses import replace
from typing import Protocol

import pytest

from mfu_operator.errors import Retry
from mfu_operator.measure.front import Measuring
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import Comparable, Signal
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Verdict
from tests.support import worlds
from tests.support.adapters_double import SweepDouble
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench

DOWN = Retry("PrometheusUnreachable", "it did not answer")
KEYED = replace(SPEC, comparable=Comparable("gpt", global_batch=256))


class Arena(Protocol):
    """Something that measures, and the world that it measures."""

    @property
    def measuring(self) -> Measuring: ...

    def view(self, key: str = "uid") -> SweepView: ...

    def run(self, loss: float = 0.0, pods: str = "a", batch: int = 256) -> None:
        """The job runs for half an hour, so much slower than the baseline, and is swept."""

    def lose_source(self) -> None:
        """The source answers no more."""


class SweepArena(Bench):
    """The sweep itself, over a source in memory."""

    @property
    def measuring(self) -> Measuring:
        return self.sweep

    def run(self, loss: float = 0.0, pods: str = "a", batch: int = 256) -> None:  # type: ignore[override]
        for _ in range(60):
            self.now_s += 30
            info = {"global_batch": str(batch)}
            self.metrics.add(JOB, Reading(self.now_s, {Signal.MFU: 0.46 * (1 - loss)}, incarnation=pods, info=info))
            self.sweep.run_once()

    def lose_source(self) -> None:
        self.metrics.fails = DOWN
        self.now_s += 30
        self.sweep.run_once()


class DoubleArena:
    """The double, which is told what a sweep would find."""

    def __init__(self) -> None:
        self.measuring = SweepDouble(fills=False)
        self.now_s = worlds.NOW_S

    def view(self, key: str = "uid") -> SweepView:
        return self.measuring.view(key, self.now_s)

    def run(self, loss: float = 0.0, pods: str = "a", batch: int = 256) -> None:
        double = self.measuring
        self.now_s += 1800
        values, info = {Signal.MFU: 0.46 * (1 - loss)}, {"global_batch": str(batch)}
        double.fills, double.runs = True, pods
        double.held = (Reading(self.now_s, values, incarnation=pods, info=info),)
        double.says = worlds.regressed() if loss else worlds.judgement()

    def lose_source(self) -> None:
        self.measuring.problem = DOWN


@pytest.fixture(params=[SweepArena, DoubleArena])
def arena(request: pytest.FixtureRequest) -> Arena:
    made: Arena = request.param()
    return made


def test_nothing_is_known_of_what_is_not_registered(arena: Arena) -> None:
    arena.run()
    assert arena.view() == SweepView()


def test_nothing_is_judged_before_the_history_is_read(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    view = arena.view()
    assert (view.filled, view.judgement, view.symptoms, view.readings, view.run) == (False, None, None, (), None)


def test_a_run_that_holds_its_baseline_is_healthy(arena: Arena) -> None:
    arena.measuring.register("uid", KEYED, BASELINE)
    arena.run()
    view = arena.view()
    assert view.judgement is not None
    assert view.judgement.verdict is Verdict.HEALTHY
    assert (view.filled, view.symptoms, view.problem, view.mismatches) == (True, (), None, ())
    assert view.latest is not None
    assert view.readings == (view.latest,)


def test_a_loss_that_lasts_is_regressed(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.run()
    arena.run(loss=0.2)
    judgement = arena.view().judgement
    assert judgement is not None
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.onset_s is not None
    assert arena.view().ruling().findings == ()


def test_other_pods_are_another_run(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.run(pods="a")
    first = arena.view().run
    arena.run(pods="a")
    assert first is not None
    assert arena.view().run == first
    arena.run(pods="b")
    assert arena.view().run != first


def test_in_what_the_job_differs_is_said(arena: Arena) -> None:
    arena.measuring.register("uid", KEYED, BASELINE)
    arena.run(batch=512)
    assert arena.view().mismatches == ("global batch 512 instead of 256",)


def test_what_the_object_says_counts_where_the_readings_say_nothing(arena: Arena) -> None:
    spec = replace(SPEC, comparable=Comparable("gpt", sequence_length=4096))
    arena.measuring.register("uid", spec, BASELINE, facts={"sequence_length": "8192"})
    arena.run()
    assert arena.view().mismatches == ("sequence length 8192 instead of 4096",)


def test_a_source_that_fails_is_a_problem_and_what_was_read_stays(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.run()
    read = arena.view()
    arena.lose_source()
    view = arena.view()
    assert view.problem == DOWN
    assert (view.filled, view.latest, view.run) == (True, read.latest, read.run)


def test_a_source_that_never_answered_is_a_problem(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.lose_source()
    assert (arena.view().filled, arena.view().problem) == (False, DOWN)


def test_registering_the_same_twice_changes_nothing(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.run()
    before = arena.view()
    arena.measuring.register("uid", SPEC, BASELINE)
    assert arena.view() == before


def test_what_is_forgotten_is_not_known_any_more(arena: Arena) -> None:
    arena.measuring.register("uid", SPEC, BASELINE)
    arena.run()
    arena.measuring.forget("uid")
    arena.measuring.forget("never seen")
    assert arena.view() == SweepView()

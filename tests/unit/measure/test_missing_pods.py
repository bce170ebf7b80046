"""A run of which some pods are in the part of the data that a source could not reach."""

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Signal, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Verdict
from tests.support.metrics_double import MetricsDouble
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench

BOTH, ONE = "gpt-0,gpt-1", "gpt-0"
UNEQUAL = {BOTH: 0.46, ONE: 0.35}
"""The first stage of a pipeline has more to do than the second: MFU of both, and of the first alone."""


class InPart(MetricsDouble):
    """A source that says whether its answers lack a part of its data."""

    whole = True

    def absence(self, workload: WorkloadRef) -> Retry | None:
        return None if self.whole else Retry("PrometheusIncomplete", "a store is down")


@pytest.fixture
def source(bench: Bench) -> InPart:
    found = InPart()
    bench.read_from(found)
    bench.sweep.register("uid", SPEC, BASELINE)
    return found


def run(bench: Bench, minutes: int, pods: str, steps: bool = True) -> None:
    for _ in range(2 * minutes):
        bench.now_s += 30
        step = bench.now_s if steps else 1e6
        bench.metrics.add(JOB, Reading(bench.now_s, {Signal.MFU: UNEQUAL[pods]}, step=step, incarnation=pods))
        bench.sweep.run_once()


def test_the_mean_of_those_that_came_is_no_reading_of_the_run(bench: Bench, source: InPart) -> None:
    run(bench, 30, BOTH)
    assert bench.verdict() is Verdict.HEALTHY
    source.whole = False
    run(bench, 60, ONE)
    assert bench.verdict() is Verdict.NO_DATA
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "PrometheusIncomplete"
    source.whole = True
    run(bench, 20, BOTH)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None


def test_a_run_all_of_whose_pods_came_is_judged(bench: Bench, source: InPart) -> None:
    source.whole = False
    run(bench, 30, BOTH)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None


def test_a_hang_of_those_that_came_is_told(bench: Bench, source: InPart) -> None:
    run(bench, 30, BOTH)
    source.whole = False
    run(bench, 20, ONE, steps=False)
    judgement = bench.view().judgement
    assert judgement is not None
    assert Gate.HUNG in judgement.gates


def test_half_the_pods_of_a_whole_answer_are_no_reading_of_the_run_either(bench: Bench, source: InPart) -> None:
    """Their scrapes fail, or a shard was dropped in silence."""
    run(bench, 30, BOTH)
    run(bench, 60, ONE)
    assert bench.verdict() is Verdict.NO_DATA
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "PodsMissing"
    assert "1 of the run's 2 pods are not read (gpt-1)" in problem.message
    run(bench, 20, BOTH)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None


def test_one_scrape_that_failed_is_nothing_to_speak_of(bench: Bench, source: InPart) -> None:
    run(bench, 30, BOTH)
    run(bench, 1, ONE)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None


def test_a_tenth_of_the_pods_that_is_missing_holds_nothing_up(bench: Bench, source: InPart) -> None:
    pods = [f"gpt-{rank}" for rank in range(10)]
    for read in (pods, pods[1:]):
        for _ in range(60):
            bench.now_s += 30
            loss = 0.9 if read is not pods else 1.0
            values = {Signal.MFU: UNEQUAL[BOTH] * loss}
            bench.metrics.add(JOB, Reading(bench.now_s, values, step=bench.now_s, incarnation=",".join(read)))
            bench.sweep.run_once()
    assert bench.verdict() is Verdict.REGRESSED

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Level, RecordPlan, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.vitals import Ailment, Fill, Streak, Vitals
from tests.support.metrics_double import MetricsDouble
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench


class WithVitals(MetricsDouble):
    """A source that knows the memory and the losses of its jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.now: dict[WorkloadRef, Vitals] = {}
        self.before: dict[WorkloadRef, tuple[Vitals, ...]] = {}
        self.looks: list[int] = []
        self.recalled: list[int] = []
        self.fails_for: Retry | None = None

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        if self.fails_for is not None:
            raise self.fails_for
        self.looks.append(len(workloads))
        return {ref: replace(self.now[ref], time_s=now_s) for ref in workloads if ref in self.now}

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        self.recalled.append(len(workloads))
        return {ref: self.before[ref] for ref in workloads if ref in self.before}


@pytest.fixture
def vital(bench: Bench) -> WithVitals:
    source = WithVitals()
    bench.read_from(source)
    return source


def test_a_lost_loss_is_a_symptom_within_two_minutes_and_no_regression(bench: Bench, vital: WithVitals) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    assert bench.view().symptoms is None
    bench.run(30)
    assert bench.view().symptoms == ()
    vital.now[JOB] = Vitals(0.0, nonfinite=Streak(7, "gpt-0"))
    bench.run(2)
    symptoms = bench.view().symptoms
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.LOSS_NOT_FINITE]
    assert bench.verdict() is Verdict.HEALTHY


def test_a_hang_is_seen_before_there_is_a_baseline(bench: Bench) -> None:
    bench.sweep.register("uid", replace(SPEC, record=RecordPlan(1200, 60)), None, recording_since_s=bench.now_s)
    for _ in range(30):
        bench.now_s += 30
        bench.metrics.add(JOB, Reading(bench.now_s, {}, Phase.RUNNING, step=7.0, incarnation="a"))
        bench.sweep.run_once()
    symptoms = bench.view().symptoms
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.HUNG]


def test_a_sweep_looks_at_the_vitals_of_a_quarter_of_the_baselines(bench: Bench, vital: WithVitals) -> None:
    for index in range(20):
        bench.sweep.register(str(index), replace(SPEC, workload=replace(JOB, name=f"job-{index}")), BASELINE)
    for _ in range(5):
        bench.sweep.run_once()
    assert vital.recalled == [20]
    assert vital.looks == [20, 5, 5, 5, 5, 5]


def test_after_a_restart_the_memory_of_a_day_is_read_of_some_baselines_a_sweep(bench: Bench, vital: WithVitals) -> None:
    for index in range(600):
        bench.sweep.register(str(index), replace(SPEC, workload=replace(JOB, name=f"job-{index}")), BASELINE)
    for _ in range(4):
        bench.sweep.run_once()
    assert vital.recalled == [250, 250, 100]


def test_a_leak_that_was_seen_before_the_operator_was_restarted_is_still_one(bench: Bench, vital: WithVitals) -> None:
    bench.run(30, swept=False)
    vital.before[JOB] = tuple(
        Vitals(bench.now_s - (90 - index) * 960, allocated=Fill(30 + index / 1.8, 100.0, "gpt-0"))
        for index in range(90)
    )
    vital.now[JOB] = Vitals(0.0, allocated=Fill(80.0, 100.0, "gpt-0"))
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    symptoms = bench.view().symptoms
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.MEMORY_LEAK]


def test_vitals_that_cannot_be_read_cost_nothing_but_themselves(bench: Bench, vital: WithVitals) -> None:
    vital.fails_for = Retry("PrometheusUnavailable", "too many samples")
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None
    assert bench.view().symptoms == ()


def test_another_level_forgets_no_symptom(bench: Bench, vital: WithVitals) -> None:
    vital.now[JOB] = Vitals(0.0, nonfinite=Streak(7, "gpt-0"))
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    bench.sweep.register("uid", SPEC, replace(BASELINE, level=Level(mfu=0.60)))
    bench.run(1)
    symptoms = bench.view().symptoms
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.LOSS_NOT_FINITE]

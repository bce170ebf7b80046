import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mfu_operator.detect.record import record
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import (
    Baseline,
    BaselineSpec,
    Comparable,
    Detection,
    Level,
    MetricsSource,
    Provenance,
    RecordPlan,
    Signal,
    Spread,
    WorkloadRef,
)
from mfu_operator.model.series import HardwareReading, Phase, Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.model.vitals import Ailment, Fill, Streak, Vitals
from mfu_operator.runtime.sweep import Sweep
from tests.support.metrics_double import MetricsDouble, SourcesDouble

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SPEC = BaselineSpec(workload=JOB, comparable=Comparable("gpt"), detection=Detection())
BASELINE = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)


class Bench:
    """A sweep with a clock that is moved by hand and a source that scrapes whenever it moves."""

    def __init__(self) -> None:
        self.now_s = 10_000.0
        self.metrics = MetricsDouble()
        self.sources = SourcesDouble(self.metrics)
        self.sweep = self.another()

    def read_from(self, metrics: MetricsDouble) -> None:
        """Another source, and a sweep that knows no other."""
        self.metrics = metrics
        self.sources = SourcesDouble(metrics)
        self.sweep = self.another()

    def another(self) -> Sweep:
        """The operator after a restart."""
        return Sweep(self.sources, lambda: self.now_s, 30.0)

    def run(self, minutes: float, loss: float = 0.0, *, swept: bool = True, job: WorkloadRef = JOB) -> None:
        for _ in range(round(minutes * 2)):
            self.now_s += 30
            self.metrics.add(job, Reading(self.now_s, {Signal.MFU: 0.46 * (1 - loss)}, incarnation="a"))
            if swept:
                self.sweep.run_once()

    def verdict(self) -> Verdict | None:
        judgement = self.sweep.judgement("uid", self.now_s)
        return judgement.verdict if judgement else None


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_loss_is_judged_from_memory(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    bench.run(12, loss=0.1)
    assert bench.verdict() is Verdict.REGRESSED


def test_a_restart_refills_the_memory_and_loses_no_evidence(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(9, loss=0.1)
    before = bench.sweep.judgement("uid", bench.now_s)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    assert not bench.sweep.filled("uid")
    bench.sweep.run_once()
    after = bench.sweep.judgement("uid", bench.now_s)
    assert before is not None
    assert after is not None
    assert after.evidence_s == before.evidence_s
    assert after.onset_s == before.onset_s


def test_an_incident_older_than_the_history_is_still_open_after_a_restart(bench: Bench) -> None:
    bench.run(30, loss=0.1, swept=False)
    onset_s = bench.now_s - 86_400
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert (judgement.verdict, judgement.onset_s) == (Verdict.REGRESSED, onset_s)


def test_a_loss_that_took_anothers_place_is_confirmed_by_readings_of_its_own(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(60, loss=0.1)
    first = bench.sweep.judgement("uid", bench.now_s)
    assert first is not None and first.onset_s is not None and first.confirmed
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=first.onset_s)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=first.onset_s + 0.4)
    kept = bench.sweep.judgement("uid", bench.now_s)
    assert kept is not None and kept.confirmed, "the same onset, as the status has it"
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s)
    anew = bench.sweep.judgement("uid", bench.now_s)
    assert anew is not None
    assert (anew.verdict, anew.confirmed, anew.onset_s, anew.drop) == (Verdict.REGRESSED, False, bench.now_s, None)
    bench.run(20, loss=0.1)
    assert not getattr(bench.sweep.judgement("uid", bench.now_s), "confirmed", None)
    bench.run(15, loss=0.1)
    assert getattr(bench.sweep.judgement("uid", bench.now_s), "confirmed", None)


def test_after_a_restart_too_a_loss_is_confirmed_by_readings_since_its_own_onset(bench: Bench) -> None:
    bench.run(30, swept=False)
    bench.run(60, loss=0.1, swept=False)
    onset_s = bench.now_s
    bench.run(20, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    early = bench.sweep.judgement("uid", bench.now_s)
    assert early is not None
    assert (early.verdict, early.onset_s, early.confirmed) == (Verdict.REGRESSED, onset_s, False)
    assert early.confirm_evidence_s == pytest.approx(20 * 60, abs=60), "what was read since then is not lost"
    bench.run(11, loss=0.1)
    assert getattr(bench.sweep.judgement("uid", bench.now_s), "confirmed", None)


def test_an_incident_whose_recovery_history_shows_is_recovered(bench: Bench) -> None:
    bench.run(30, swept=False)
    onset_s = bench.now_s
    bench.run(30, loss=0.1, swept=False)
    bench.run(15, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert judgement.recovered


def test_all_baselines_of_a_source_are_asked_for_together(bench: Bench) -> None:
    for index in range(20):
        spec = replace(SPEC, workload=replace(JOB, name=f"job-{index}"))
        bench.sweep.register(str(index), spec, BASELINE)
    bench.sweep.run_once()
    bench.sweep.run_once()
    assert bench.metrics.asked == [("history", 20), ("latest", 20), ("latest", 20)]


def test_registering_the_same_again_keeps_the_evidence(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(5, loss=0.1)
    bench.sweep.register("uid", SPEC, replace(BASELINE, revision="abc"))
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert judgement.evidence_s > 0


def test_another_level_is_judged_from_history_anew(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.sweep.register("uid", SPEC, replace(BASELINE, level=Level(mfu=0.60)))
    bench.sweep.run_once()
    assert bench.verdict() is Verdict.REGRESSED


def test_a_forgotten_baseline_is_neither_asked_for_nor_judged(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.forget("uid")
    bench.sweep.run_once()
    assert bench.metrics.asked == []
    assert bench.sweep.judgement("uid", bench.now_s) is None
    assert bench.sweep.readings("uid") == ()


def test_readings_are_kept_while_a_baseline_is_recorded(bench: Bench) -> None:
    spec = replace(SPEC, record=RecordPlan(duration_s=1200, warmup_s=60))
    bench.sweep.register("uid", spec, None, recording_since_s=bench.now_s)
    began_s = bench.now_s
    bench.run(25)
    assert len(bench.sweep.readings("uid")) == 50
    baseline = record(bench.sweep.readings("uid"), RecordPlan(1200, 60), began_s)
    assert isinstance(baseline, Baseline)
    assert bench.sweep.judgement("uid", bench.now_s) is None
    bench.sweep.register("uid", spec, baseline)
    bench.run(1)
    assert bench.verdict() is Verdict.HEALTHY
    assert len(bench.sweep.readings("uid")) == 1


def test_a_recording_survives_a_restart(bench: Bench) -> None:
    spec = replace(SPEC, record=RecordPlan(duration_s=1200, warmup_s=60))
    began_s = bench.now_s
    bench.run(120, swept=False)
    bench.sweep.register("uid", spec, None, recording_since_s=began_s)
    bench.sweep.run_once()
    assert len(bench.sweep.readings("uid")) == 240


def test_a_recording_that_is_said_to_begin_a_little_later_keeps_what_it_has(bench: Bench) -> None:
    for _ in range(5):
        bench.sweep.register("uid", SPEC, None, recording_since_s=bench.now_s)
        bench.run(1)
    assert bench.sweep.filled("uid")
    assert len(bench.sweep.readings("uid")) == 10


def test_readings_while_a_gate_is_closed_count_nothing(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.sweep.gate("uid", Gate.PROFILING, bench.now_s)
    bench.run(10, loss=0.3)
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert (judgement.evidence_s, judgement.gates) == (0.0, (Gate.PROFILING,))
    bench.sweep.gate("uid", Gate.PROFILING, bench.now_s - 600, bench.now_s)
    bench.run(14, loss=0.3)
    assert bench.verdict() is Verdict.REGRESSED


def test_what_was_read_from_the_history_is_gated_by_every_span_that_is_told(bench: Bench) -> None:
    bench.run(30)
    begun_s = bench.now_s
    bench.run(10, loss=0.3)
    spans = ((begun_s, begun_s + 150), (begun_s + 150, begun_s + 900))
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: spans})
    bench.sweep.run_once()
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert (judgement.evidence_s, judgement.gates) == (0.0, (Gate.PROFILING,))
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ()})
    bench.run(14, loss=0.3)
    assert bench.verdict() is Verdict.REGRESSED


def test_a_source_that_fails_is_named_and_asked_less_and_less(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    bench.metrics.asked.clear()
    bench.metrics.fails = Retry("PrometheusUnreachable", "it did not answer")
    attempts = 0
    for _ in range(40):
        bench.now_s += 30
        bench.metrics.asked.clear()
        bench.sweep.run_once()
    problem = bench.sweep.source_problem("uid")
    assert problem is not None
    assert problem.reason == "PrometheusUnreachable"
    bench.metrics.fails = None
    for _ in range(11):
        bench.now_s += 30
        bench.sweep.run_once()
        attempts += len(bench.metrics.asked) > 0
    assert attempts >= 1
    assert bench.sweep.source_problem("uid") is None


def test_one_source_that_fails_leaves_the_others_alone(bench: Bench) -> None:
    broken = MetricsDouble()
    broken.fails = Retry("PrometheusUnreachable", "it did not answer")
    bench.sweep = Sweep(SourcesDouble(bench.metrics, {"http://broken": broken}), lambda: bench.now_s, 30.0)
    bench.sweep.register("broken", replace(SPEC, metrics=MetricsSource(address="http://broken")), BASELINE)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.sweep.source_problem("uid") is None
    assert bench.sweep.source_problem("broken") is not None


class Broken(MetricsDouble):
    """A source with a fault that nobody thought of."""

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        raise ZeroDivisionError


def test_a_fault_in_one_source_is_logged_and_its_problem_alone(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.sources = SourcesDouble(bench.metrics, {"http://broken": Broken()})
    bench.sweep = bench.another()
    broken = replace(SPEC, metrics=MetricsSource(address="http://broken"))
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.register("broken", broken, BASELINE)
    bench.run(30)
    problem = bench.sweep.source_problem("broken")
    assert isinstance(problem, Retry)
    assert (problem.reason, "ZeroDivisionError" in problem.message) == ("SweepFailed", True)
    assert "Traceback" in caplog.text
    assert bench.sweep.source_problem("uid") is None
    assert bench.verdict() is Verdict.HEALTHY


def test_a_declaration_that_cannot_work_is_its_own_problem(bench: Bench) -> None:
    bench.sources.refuses = Stall("NoPrometheus", "no Prometheus is known")
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.sweep.source_problem("uid")
    assert isinstance(problem, Stall)
    bench.sources.refuses = None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    assert bench.sweep.source_problem("uid") is None


def test_what_is_in_memory_outlives_credentials_that_cannot_be_read_for_a_while(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(4, loss=0.1)
    bench.sources.refuses = Stall("CredentialsUnfit", "key token is no text")
    bench.sweep.register("uid", SPEC, BASELINE)
    told = bench.sweep.source_problem("uid")
    assert told is not None and told.reason == "CredentialsUnfit"
    bench.run(4, loss=0.1)
    bench.sources.refuses = None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(4, loss=0.1)
    assert bench.sweep.source_problem("uid") is None
    assert bench.verdict() is Verdict.REGRESSED
    assert [call for call, _ in bench.metrics.asked].count("history") == 1


def test_another_source_that_cannot_be_opened_is_not_replaced_by_the_one_before(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    bench.sources.refuses = Stall("CertificateUnreadable", "ca.crt holds no certificate in PEM")
    elsewhere = replace(SPEC, metrics=MetricsSource(address="https://elsewhere"))
    bench.sweep.register("uid", elsewhere, BASELINE)
    bench.run(1)
    assert bench.verdict() is Verdict.NO_DATA


def test_a_source_that_answers_without_this_job_says_no_series(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.sweep.source_problem("uid")
    assert problem is not None
    assert problem.reason == "NoSeries"
    assert "team-a/gpt" in problem.message
    assert bench.verdict() is Verdict.NO_DATA


class WithHardware(MetricsDouble):
    """A source that knows one GPU, whose link is what `width` says; `at` notes when it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.width, self.bits, self.xid = 16, 4, 0
        self.at: list[float] = []
        self.fails_for: MfuError | None = None

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        self.at.append(now_s)
        if self.fails_for is not None:
            raise self.fails_for
        gpu = HardwareReading(
            "node-1", "H200 0", link_width=self.width, link_max_width=16, throttle_bits=self.bits, xid=self.xid
        )
        return dict.fromkeys(workloads, (gpu,))


@pytest.fixture
def hardware(bench: Bench) -> WithHardware:
    source = WithHardware()
    bench.read_from(source)
    return source


def causes(bench: Bench) -> list[str]:
    return [finding.cause for finding in bench.sweep.ruling("uid").findings]


def test_hardware_is_looked_at_now_and_then_while_all_is_well_and_always_with_a_loss(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60)
    assert 5 <= len(hardware.at) <= 6
    assert causes(bench) == []
    hardware.width = 8
    bench.run(15, loss=0.2)
    assert bench.sweep.ruling("uid").findings[0].text == "PCIe link width 8 of 16 on node-1 H200 0"
    looks = len(hardware.at)
    bench.run(5, loss=0.2)
    assert len(hardware.at) == looks + 10


def test_what_a_run_reads_before_it_is_at_work_is_not_usual(bench: Bench, hardware: WithHardware) -> None:
    """Idle at the start, at its power cap in every healthy minute after: no fault when it is slow."""
    hardware.bits = 0x1
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    hardware.bits = 0x4
    bench.run(60)
    bench.run(15, loss=0.2)
    assert causes(bench) == []


def test_a_bit_that_comes_and_goes_in_healthy_hours_is_usual(bench: Bench, hardware: WithHardware) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(20)
    hardware.bits = 0x24
    bench.run(20)
    hardware.bits = 0x4
    bench.run(20)
    hardware.bits = 0x20
    bench.run(15, loss=0.2)
    assert causes(bench) == []
    hardware.bits = 0x80
    bench.run(1, loss=0.2)
    assert causes(bench) == ["Throttled"]


def test_after_a_restart_with_a_loss_the_hardware_of_the_time_before_it_is_asked_for(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.run(30)
    onset_s = bench.now_s
    bench.run(30, loss=0.2)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    assert not bench.sweep.filled("uid")
    bench.sweep.run_once()
    assert bench.sweep.filled("uid")
    before_s, now_s = hardware.at
    assert now_s == bench.now_s
    assert onset_s - 1200 <= before_s < onset_s


def test_no_ruling_is_given_before_the_hardware_was_looked_at(bench: Bench, hardware: WithHardware) -> None:
    """Three losses that began hours apart: two of them are looked back upon in one sweep, the third in the next."""
    began_s = bench.now_s
    bench.run(30, swept=False)
    for index in range(3):
        spec = replace(SPEC, workload=replace(JOB, name=f"job-{index}"))
        bench.sweep.register(str(index), spec, BASELINE, incident_since_s=began_s - 7200 * index)
    bench.sweep.run_once()
    assert [bench.sweep.filled(str(index)) for index in range(3)].count(True) == 2
    bench.sweep.run_once()
    assert all(bench.sweep.filled(str(index)) for index in range(3))


def test_hardware_that_cannot_be_read_holds_nothing_up(bench: Bench, hardware: WithHardware) -> None:
    hardware.fails_for = Retry("PrometheusUnavailable", "too many samples")
    bench.run(30)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 600)
    bench.sweep.run_once()
    assert not bench.sweep.filled("uid")
    for _ in range(9):
        bench.sweep.run_once()
    assert bench.sweep.filled("uid")
    assert "not ruled out" in bench.sweep.ruling("uid").unmeasured[0]


def test_a_look_back_that_failed_is_made_again_and_an_old_error_stays_an_old_one(
    bench: Bench, hardware: WithHardware
) -> None:
    hardware.xid = 79
    hardware.fails_for = Retry("PrometheusUnavailable", "503")
    bench.run(30, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s - 1500)
    bench.sweep.run_once()
    assert not bench.sweep.filled("uid")
    hardware.fails_for = None
    bench.sweep.run_once()
    assert bench.sweep.filled("uid")
    assert causes(bench) == []


def test_an_incident_that_recovered_while_the_operator_was_away_is_ruled_on(
    bench: Bench, hardware: WithHardware
) -> None:
    bench.run(30, swept=False)
    onset_s = bench.now_s
    bench.run(60, loss=0.2, swept=False)
    bench.run(35, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.run(5)
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert judgement.recovered
    assert bench.sweep.filled("uid")


def test_a_slow_rank_is_told_by_the_median_of_its_last_readings(bench: Bench) -> None:
    def run(minutes: float, slow_s: float) -> None:
        for _ in range(round(minutes * 2)):
            bench.now_s += 30
            ranks = {"gpt-0": 2.0, "gpt-1": 2.0, "gpt-2": slow_s, "gpt-3": 2.02}
            reading = Reading(bench.now_s, {Signal.MFU: 0.36}, incarnation="a", rank_step_s=ranks)
            bench.metrics.add(JOB, reading)
            bench.sweep.run_once()

    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    run(20, slow_s=2.0)
    assert causes(bench) == []
    run(0.5, slow_s=2.6)
    assert causes(bench) == []
    run(2, slow_s=2.6)
    (finding,) = bench.sweep.ruling("uid", {"gpt-2": "node-7"}).findings
    assert (finding.cause, finding.where) == ("SlowRank", "node-7 gpt-2")


def test_a_run_on_a_node_where_it_never_held_the_baseline_is_told(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    ruling = bench.sweep.ruling("uid", {"gpt-0": "node-1", "gpt-1": "node-7"}, ("node-1", "node-2"))
    assert [(finding.cause, finding.where) for finding in ruling.findings] == [("NodesChanged", "node-7")]
    assert not bench.sweep.ruling("uid", {"gpt-0": "node-1"}, ()).blocks


class WithVitals(MetricsDouble):
    """A source that knows the memory and the losses of its jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.now: dict[WorkloadRef, Vitals] = {}
        self.before: dict[WorkloadRef, tuple[Vitals, ...]] = {}
        self.looks: list[int] = []
        self.recalled: list[int] = []

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
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
    assert bench.sweep.symptoms("uid", bench.now_s) is None
    bench.run(30)
    assert bench.sweep.symptoms("uid", bench.now_s) == ()
    vital.now[JOB] = Vitals(0.0, nonfinite=Streak(7, "gpt-0"))
    bench.run(2)
    symptoms = bench.sweep.symptoms("uid", bench.now_s)
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.LOSS_NOT_FINITE]
    assert bench.verdict() is Verdict.HEALTHY


def test_a_hang_is_seen_before_there_is_a_baseline(bench: Bench) -> None:
    bench.sweep.register("uid", replace(SPEC, record=RecordPlan(1200, 60)), None, recording_since_s=bench.now_s)
    for _ in range(30):
        bench.now_s += 30
        bench.metrics.add(JOB, Reading(bench.now_s, {}, Phase.RUNNING, step=7.0, incarnation="a"))
        bench.sweep.run_once()
    symptoms = bench.sweep.symptoms("uid", bench.now_s)
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
    symptoms = bench.sweep.symptoms("uid", bench.now_s)
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.MEMORY_LEAK]


def test_vitals_that_cannot_be_read_cost_nothing_but_themselves(bench: Bench, vital: WithVitals) -> None:
    def fails(*_: object) -> Mapping[WorkloadRef, Vitals]:
        raise Retry("PrometheusUnavailable", "too many samples")

    vital.vitals = fails  # type: ignore[method-assign]
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.sweep.source_problem("uid") is None
    assert bench.sweep.symptoms("uid", bench.now_s) == ()


def test_another_level_forgets_no_symptom(bench: Bench, vital: WithVitals) -> None:
    vital.now[JOB] = Vitals(0.0, nonfinite=Streak(7, "gpt-0"))
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    bench.sweep.register("uid", SPEC, replace(BASELINE, level=Level(mfu=0.60)))
    bench.run(1)
    symptoms = bench.sweep.symptoms("uid", bench.now_s)
    assert symptoms is not None
    assert [symptom.reason for symptom in symptoms] == [Ailment.LOSS_NOT_FINITE]


def test_a_source_without_hardware_rules_nothing_out(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    ruling = bench.sweep.ruling("uid")
    assert not ruling.blocks
    assert "not ruled out" in ruling.unmeasured[0]


def test_the_thread_sweeps_and_stops_cleanly(bench: Bench) -> None:
    swept = threading.Event()
    bench.metrics.add(JOB, Reading(bench.now_s - 10, {Signal.MFU: 0.46}))
    plain = bench.metrics.latest

    def latest(*arguments: object) -> object:
        swept.set()
        return plain(*arguments)  # type: ignore[arg-type]

    bench.metrics.latest = latest  # type: ignore[assignment, method-assign]
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.start()
    assert swept.wait(10)
    assert (bench.sweep.alive, bench.sweep.started_s) == (True, bench.now_s)
    bench.sweep.stop()
    assert bench.sweep.finished_s == bench.now_s
    assert bench.sweep.readings("uid")


THREE_RUNS = Spread(0.005, 0.001, 0.001, 5)


class Throughputs(Bench):
    """A job that exports throughput, MFU where it says so, and what it is."""

    def show(self, minutes: float, throughput: float, mfu: float | None = None, **info: str) -> None:
        values = {Signal.THROUGHPUT: throughput} | ({} if mfu is None else {Signal.MFU: mfu})
        for _ in range(round(minutes * 2)):
            self.now_s += 30
            self.metrics.add(JOB, Reading(self.now_s, values, incarnation="a", info=info))
            self.sweep.run_once()

    def judgement(self) -> Judgement:
        found = self.sweep.judgement("uid", self.now_s)
        assert found is not None
        return found


COMPUTED = replace(
    SPEC,
    comparable=Comparable("gpt", gpu="NVIDIA H100 80GB HBM3", precision="bf16"),
    metrics=MetricsSource(model_flops_per_token=4.2e10),
)
"""0.42 at 10,000 tokens a second of 989.4 TFLOP/s."""


def test_mfu_is_computed_from_throughput_and_judged() -> None:
    bench = Throughputs()
    bench.sweep.register("uid", COMPUTED, Baseline(Level(mfu=0.4245), THREE_RUNS, Provenance.DECLARED))
    bench.show(30, 10_000)
    assert bench.judgement().verdict is Verdict.HEALTHY
    assert bench.judgement().value == pytest.approx(0.4245, abs=1e-4)
    bench.show(12, 9_000)
    assert (bench.judgement().verdict, bench.judgement().signal) == (Verdict.REGRESSED, "mfu")


def test_mfu_that_falls_while_tokens_do_not_is_the_formula_and_alarms_nobody() -> None:
    bench = Throughputs()
    level = Level(mfu=0.46, throughput=10_000)
    bench.sweep.register("uid", SPEC, Baseline(level, THREE_RUNS, Provenance.DECLARED))
    bench.show(30, 10_000, mfu=0.46)
    bench.show(60, 10_000, mfu=0.40)
    judgement = bench.judgement()
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "SignalsDisagree")
    assert "the formula of MFU changed" in judgement.message
    assert (judgement.evidence_s, judgement.onset_s) == (0.0, None)


def test_a_peak_that_is_not_known_is_the_problem_of_a_level_of_mfu() -> None:
    bench = Throughputs()
    spec = replace(COMPUTED, comparable=Comparable("gpt", gpu="H100", precision="bf16"))
    bench.sweep.register("uid", spec, Baseline(Level(mfu=0.42), THREE_RUNS, Provenance.DECLARED))
    bench.show(1, 10_000)
    problem = bench.sweep.source_problem("uid")
    assert problem is not None
    assert problem.reason == "UnknownPeak"


KEYED = replace(SPEC, comparable=Comparable("gpt", global_batch=256))
PLAIN = Baseline(Level(throughput=10_000), THREE_RUNS, Provenance.DECLARED)


def test_readings_of_another_configuration_are_evidence_of_nothing() -> None:
    """A batch of 512 is slower for an hour, then 256 runs again: no loss was ever comparable."""
    bench = Throughputs()
    bench.sweep.register("uid", KEYED, PLAIN)
    bench.show(30, 10_000, global_batch="256")
    bench.show(60, 8_000, global_batch="512")
    assert bench.judgement().gates == (Gate.INCOMPARABLE,)
    bench.show(5, 10_000, global_batch="256")
    judgement = bench.judgement()
    assert (judgement.verdict, judgement.evidence_s, judgement.confirmed) == (Verdict.HEALTHY, 0.0, False)


def test_what_the_workloads_object_says_makes_readings_incomparable_too() -> None:
    bench = Throughputs()
    bench.sweep.register("uid", KEYED, PLAIN, facts={"global_batch": "512"})
    bench.show(30, 8_000)
    assert bench.judgement().gates == (Gate.INCOMPARABLE,)
    bench.sweep.register("uid", KEYED, PLAIN, facts={"global_batch": "256"})
    bench.show(30, 8_000)
    assert bench.judgement().verdict is Verdict.REGRESSED


def test_a_level_is_not_recorded_from_another_configuration() -> None:
    bench = Throughputs()
    spec = replace(KEYED, record=RecordPlan(duration_s=1200, warmup_s=60))
    bench.sweep.register("uid", spec, None, recording_since_s=bench.now_s)
    bench.show(30, 8_000, global_batch="512")
    assert bench.sweep.readings("uid") == ()
    assert bench.sweep.source_problem("uid") is None
    latest = bench.sweep.latest("uid")
    assert latest is not None
    assert latest.info == {"global_batch": "512"}
    bench.show(10, 10_000, global_batch="256")
    assert {reading.values[Signal.THROUGHPUT] for reading in bench.sweep.readings("uid")} == {10_000}


class Silent(MetricsDouble):
    """A source that knows why it has nothing."""

    def absence(self, workload: WorkloadRef) -> Retry:
        return Retry("PodUnreachable", "nothing listens there")


def test_a_source_that_knows_why_it_has_nothing_is_asked(bench: Bench) -> None:
    bench.metrics = Silent()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.sweep.source_problem("uid")
    assert problem is not None
    assert problem.reason == "PodUnreachable"


def test_a_job_that_was_read_before_and_cannot_be_read_for_minutes_says_why(bench: Bench) -> None:
    bench.metrics = Silent()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    assert bench.sweep.source_problem("uid") is None
    bench.now_s += 299
    assert bench.sweep.source_problem("uid") is None
    bench.now_s += 1
    problem = bench.sweep.source_problem("uid")
    assert problem is not None
    assert problem.reason == "PodUnreachable"


class Idle(WithHardware):
    """A GPU whose SMs do next to nothing."""

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        gpu = HardwareReading("node-1", "H200 0", sm_active=0.02, tensor_active=0.0)
        return dict.fromkeys(workloads, (gpu,))


def test_sm_and_tensor_activity_alone_alarm_nobody(bench: Bench) -> None:
    bench.metrics = Idle()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60)
    judgement = bench.sweep.judgement("uid", bench.now_s)
    assert judgement is not None
    assert (judgement.verdict, judgement.evidence_s) == (Verdict.HEALTHY, 0.0)


def test_ten_thousand_histories_are_read_some_at_a_time(bench: Bench) -> None:
    for index in range(600):
        spec = replace(SPEC, workload=replace(JOB, name=f"job-{index}"))
        bench.sweep.register(str(index), spec, BASELINE)
    bench.sweep.run_once()
    assert bench.metrics.asked == [("history", 250), ("history", 250), ("history", 100), ("latest", 600)]


def test_a_gate_that_is_told_after_the_history_was_read_has_it_read_again(bench: Bench) -> None:
    bench.run(30, swept=False)
    profiled_s = bench.now_s
    bench.run(12, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    assert bench.verdict() is Verdict.REGRESSED
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ((profiled_s, bench.now_s),)})
    assert not bench.sweep.filled("uid")
    bench.sweep.run_once()
    assert bench.verdict() is Verdict.HEALTHY


def test_a_gate_of_long_ago_has_nothing_read_again(bench: Bench) -> None:
    bench.run(30, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ((0.0, 600.0),)})
    assert bench.sweep.filled("uid")


def test_a_gate_that_comes_later_has_nothing_read_again(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ()})
    bench.run(30)
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ((bench.now_s - 20, bench.now_s),)})
    assert bench.sweep.filled("uid")


def test_another_set_of_pods_is_another_run(bench: Bench) -> None:
    assert bench.sweep.run("uid") is None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    before = bench.sweep.run("uid")
    bench.run(5)
    assert bench.sweep.run("uid") == before
    bench.metrics.add(JOB, Reading(bench.now_s + 1, {Signal.MFU: 0.46}, incarnation="b"))
    bench.now_s += 1
    bench.sweep.run_once()
    assert bench.sweep.run("uid") != before

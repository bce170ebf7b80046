from dataclasses import replace

import pytest

from mfu_operator.model.baseline import (
    Baseline,
    Comparable,
    Level,
    MetricsSource,
    Provenance,
    RecordPlan,
    Signal,
    Spread,
)
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from tests.support.sweep_bench import JOB, SPEC, Bench

THREE_RUNS = Spread(0.005, 0.001, 0.001, 5)
COMPUTED = replace(
    SPEC,
    comparable=Comparable("gpt", gpu="NVIDIA H100 80GB HBM3", precision="bf16"),
    metrics=MetricsSource(model_flops_per_token=4.2e10),
)
"""0.42 at 10,000 tokens a second of 989.4 TFLOP/s."""

KEYED = replace(SPEC, comparable=Comparable("gpt", global_batch=256))
PLAIN = Baseline(Level(throughput=10_000), THREE_RUNS, Provenance.DECLARED)


class Throughputs(Bench):
    """A job that exports throughput, MFU where it says so, and what it is."""

    def show(self, minutes: float, throughput: float, mfu: float | None = None, **info: str) -> None:
        values = {Signal.THROUGHPUT: throughput} | ({} if mfu is None else {Signal.MFU: mfu})
        for _ in range(round(minutes * 2)):
            self.now_s += 30
            self.metrics.add(JOB, Reading(self.now_s, values, incarnation="a", info=info))
            self.sweep.run_once()

    def judgement(self) -> Judgement:
        found = self.view().judgement
        assert found is not None
        return found


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
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "UnknownPeak"


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
    assert bench.view().readings == ()
    assert bench.view().problem is None
    latest = bench.view().latest
    assert latest is not None
    assert latest.info == {"global_batch": "512"}
    bench.show(10, 10_000, global_batch="256")
    assert {reading.values[Signal.THROUGHPUT] for reading in bench.view().readings} == {10_000}


def test_a_series_that_switches_its_unit_is_no_loss_and_no_recovery() -> None:
    """MFU in per cent for half an hour, at a loss and after it."""
    bench = Throughputs()
    bench.sweep.register("uid", SPEC, Baseline(Level(mfu=0.46), THREE_RUNS, Provenance.DECLARED))
    bench.show(30, 10_000, mfu=0.46)
    bench.show(30, 10_000, mfu=46.0)
    judgement = bench.judgement()
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "UnitChanged")
    assert (judgement.evidence_s, judgement.onset_s) == (0.0, None)
    bench.show(30, 10_000, mfu=0.38)
    assert bench.judgement().verdict is Verdict.REGRESSED
    bench.show(30, 10_000, mfu=38.0)
    judgement = bench.judgement()
    assert (judgement.verdict, judgement.recovered) == (Verdict.NOT_COMPARABLE, False)
    bench.show(15, 10_000, mfu=0.38)
    assert bench.judgement().verdict is Verdict.REGRESSED

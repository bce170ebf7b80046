from dataclasses import replace

import pytest

from mfu_operator.model.baseline import Level, RecordPlan
from mfu_operator.model.verdict import Gate, Verdict
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench


def test_a_restart_refills_the_memory_and_loses_no_evidence(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(9, loss=0.1)
    before = bench.view().judgement
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    assert not bench.view().filled
    bench.sweep.run_once()
    after = bench.view().judgement
    assert before is not None
    assert after is not None
    assert after.evidence_s == before.evidence_s
    assert after.onset_s == before.onset_s


def test_an_incident_older_than_the_history_is_still_open_after_a_restart(bench: Bench) -> None:
    bench.run(30, loss=0.1, swept=False)
    onset_s = bench.now_s - 86_400
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    judgement = bench.view().judgement
    assert judgement is not None
    assert (judgement.verdict, judgement.onset_s) == (Verdict.REGRESSED, onset_s)


def test_after_a_restart_too_a_loss_is_confirmed_by_readings_since_its_own_onset(bench: Bench) -> None:
    bench.run(30, swept=False)
    bench.run(60, loss=0.1, swept=False)
    onset_s = bench.now_s
    bench.run(20, loss=0.1, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    early = bench.view().judgement
    assert early is not None
    assert (early.verdict, early.onset_s, early.confirmed) == (Verdict.REGRESSED, onset_s, False)
    assert early.confirm_evidence_s == pytest.approx(20 * 60, abs=60), "what was read since then is not lost"
    bench.run(11, loss=0.1)
    assert getattr(bench.view().judgement, "confirmed", None)


def test_an_incident_whose_recovery_history_shows_is_recovered(bench: Bench) -> None:
    bench.run(30, swept=False)
    onset_s = bench.now_s
    bench.run(30, loss=0.1, swept=False)
    bench.run(15, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=onset_s)
    bench.sweep.run_once()
    judgement = bench.view().judgement
    assert judgement is not None
    assert judgement.recovered


def test_another_level_is_judged_from_history_anew(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.sweep.register("uid", SPEC, replace(BASELINE, level=Level(mfu=0.60)))
    bench.sweep.run_once()
    assert bench.verdict() is Verdict.REGRESSED


def test_a_recording_survives_a_restart(bench: Bench) -> None:
    spec = replace(SPEC, record=RecordPlan(duration_s=1200, warmup_s=60))
    began_s = bench.now_s
    bench.run(120, swept=False)
    bench.sweep.register("uid", spec, None, recording_since_s=began_s)
    bench.sweep.run_once()
    assert len(bench.view().readings) == 240


def test_what_was_read_from_the_history_is_gated_by_every_span_that_is_told(bench: Bench) -> None:
    bench.run(30)
    begun_s = bench.now_s
    bench.run(10, loss=0.3)
    spans = ((begun_s, begun_s + 150), (begun_s + 150, begun_s + 900))
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: spans})
    bench.sweep.run_once()
    judgement = bench.view().judgement
    assert judgement is not None
    assert (judgement.evidence_s, judgement.gates) == (0.0, (Gate.PROFILING,))
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ()})
    bench.run(14, loss=0.3)
    assert bench.verdict() is Verdict.REGRESSED


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
    assert not bench.view().filled
    bench.sweep.run_once()
    assert bench.verdict() is Verdict.HEALTHY


def test_a_gate_of_long_ago_has_nothing_read_again(bench: Bench) -> None:
    bench.run(30, swept=False)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ((0.0, 600.0),)})
    assert bench.view().filled


def test_a_gate_that_comes_later_has_nothing_read_again(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ()})
    bench.run(30)
    bench.sweep.register("uid", SPEC, BASELINE, gated={Gate.PROFILING: ((bench.now_s - 20, bench.now_s),)})
    assert bench.view().filled


def test_a_run_under_a_new_name_goes_on_from_the_evidence_of_the_one_before(bench: Bench) -> None:
    first = replace(JOB, selector=(("app", "gpt"),), name="gpt-1")
    spec = replace(SPEC, workload=first)
    bench.sweep.register("uid", spec, BASELINE)
    bench.run(30, job=first)
    bench.run(9, loss=0.1, job=first)
    before = bench.view().judgement
    second = replace(first, name="gpt-2", earlier=("gpt-1",))
    bench.sweep.register("uid", spec.of_run("gpt-2", ("gpt-1",)), BASELINE)
    bench.run(1, loss=0.1, job=second)
    after = bench.view().judgement
    assert before is not None
    assert after is not None
    assert after.evidence_s > before.evidence_s > 0
    assert after.onset_s == before.onset_s

import threading
from dataclasses import replace

from mfu_operator.detect.record import record
from mfu_operator.model.baseline import Baseline, RecordPlan, Signal
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Verdict
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench


def test_a_loss_is_judged_from_memory(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    bench.run(12, loss=0.1)
    assert bench.verdict() is Verdict.REGRESSED


def test_a_loss_that_took_anothers_place_is_confirmed_by_readings_of_its_own(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(60, loss=0.1)
    first = bench.view().judgement
    assert first is not None and first.onset_s is not None and first.confirmed
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=first.onset_s)
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=first.onset_s + 0.4)
    kept = bench.view().judgement
    assert kept is not None and kept.confirmed, "the same onset, as the status has it"
    bench.sweep.register("uid", SPEC, BASELINE, incident_since_s=bench.now_s)
    again = bench.view().judgement
    assert again is not None
    assert (again.verdict, again.confirmed, again.onset_s, again.drop) == (Verdict.REGRESSED, False, bench.now_s, None)
    bench.run(20, loss=0.1)
    assert not getattr(bench.view().judgement, "confirmed", None)
    bench.run(15, loss=0.1)
    assert getattr(bench.view().judgement, "confirmed", None)


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
    judgement = bench.view().judgement
    assert judgement is not None
    assert judgement.evidence_s > 0


def test_a_forgotten_baseline_is_neither_asked_for_nor_judged(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.forget("uid")
    bench.sweep.run_once()
    assert bench.metrics.asked == []
    assert bench.view().judgement is None
    assert bench.view().readings == ()


def test_readings_are_kept_while_a_baseline_is_recorded(bench: Bench) -> None:
    spec = replace(SPEC, record=RecordPlan(duration_s=1200, warmup_s=60))
    bench.sweep.register("uid", spec, None, recording_since_s=bench.now_s)
    began_s = bench.now_s
    bench.run(25)
    assert len(bench.view().readings) == 50
    baseline = record(bench.view().readings, RecordPlan(1200, 60), began_s)
    assert isinstance(baseline, Baseline)
    assert bench.view().judgement is None
    bench.sweep.register("uid", spec, baseline)
    bench.run(1)
    assert bench.verdict() is Verdict.HEALTHY
    assert len(bench.view().readings) == 1


def test_a_recording_that_is_said_to_begin_a_little_later_keeps_what_it_has(bench: Bench) -> None:
    for _ in range(5):
        bench.sweep.register("uid", SPEC, None, recording_since_s=bench.now_s)
        bench.run(1)
    assert bench.view().filled
    assert len(bench.view().readings) == 10


def test_readings_while_a_gate_is_closed_count_nothing(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.sweep.gate("uid", Gate.PROFILING, bench.now_s)
    bench.run(10, loss=0.3)
    judgement = bench.view().judgement
    assert judgement is not None
    assert (judgement.evidence_s, judgement.gates) == (0.0, (Gate.PROFILING,))
    bench.sweep.gate("uid", Gate.PROFILING, bench.now_s - 600, bench.now_s)
    bench.run(14, loss=0.3)
    assert bench.verdict() is Verdict.REGRESSED


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
    assert swept.wait(60)
    assert (bench.sweep.alive, bench.sweep.started_s) == (True, bench.now_s)
    bench.sweep.stop()
    assert bench.sweep.finished_s == bench.now_s
    assert bench.view().readings


def test_another_set_of_pods_is_another_run(bench: Bench) -> None:
    assert bench.view().run is None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    before = bench.view().run
    bench.run(5)
    assert bench.view().run == before
    bench.metrics.add(JOB, Reading(bench.now_s + 1, {Signal.MFU: 0.46}, incarnation="b"))
    bench.now_s += 1
    bench.sweep.run_once()
    assert bench.view().run != before

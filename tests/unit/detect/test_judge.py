import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import reopened, resumed
from mfu_operator.detect.judge import judge
from mfu_operator.model.baseline import Baseline, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate, Verdict
from tests.unit.detect.series import BASELINE, MINUTE, QUIET, RULE, alarm_time, counted, flat, joined, judged, last

SMOOTHING = 1.25 * MINUTE
"""A running median over 2.5 minutes sees a change after half of them."""

DEMO = Detection(tolerance=0.10, sustain_s=40, confirm_s=40, recover_s=40, warmup_s=10)


def test_a_run_at_its_level_is_healthy() -> None:
    judgement = judged(flat(60))
    assert judgement.verdict is Verdict.HEALTHY
    assert judgement.reason == "WithinTolerance"
    assert judgement.message == "MFU 0.460, limit 0.451 = baseline 0.460 − 2 %"
    assert judgement.change == pytest.approx(0)


def test_a_loss_is_regressed_after_ten_minutes_of_evidence() -> None:
    readings = joined(flat(60), flat(30, loss=0.06))
    assert alarm_time(readings) == pytest.approx(70 * MINUTE + SMOOTHING, abs=30)


def test_a_job_that_exports_its_phase_needs_seven_minutes() -> None:
    readings = joined(flat(60, phase=Phase.RUNNING), flat(30, loss=0.06, phase=Phase.RUNNING))
    assert alarm_time(readings) == pytest.approx(67 * MINUTE + SMOOTHING, abs=30)


def test_a_regression_carries_value_limit_baseline_onset_and_drop() -> None:
    judgement = judged(joined(flat(60), flat(12, loss=0.172)), rule=replace(RULE, tolerance=0.05))
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.message == "MFU 0.381 for 12 min, limit 0.437 = baseline 0.460 − 5 %"
    assert judgement.onset_s == pytest.approx(60 * MINUTE, abs=30)
    assert judgement.drop == pytest.approx(0.172)
    assert judgement.change == pytest.approx(-0.172)
    assert not judgement.confirmed


def test_evidence_that_is_not_enough_yet_says_how_much_is_missing() -> None:
    judgement = judged(joined(flat(60), flat(7.5, loss=0.06)))
    assert judgement.verdict is Verdict.HEALTHY
    assert judgement.reason == "EvidenceCollecting"
    assert judgement.message.endswith("; 6.5 of 10 min of evidence for a loss")


def test_a_loss_is_confirmed_after_thirty_more_minutes() -> None:
    assert not judged(joined(flat(60), flat(39, loss=0.06))).confirmed
    assert judged(joined(flat(60), flat(41, loss=0.06))).confirmed


def test_a_loss_that_comes_and_goes_after_the_alarm_is_not_confirmed() -> None:
    wave = joined(*[part for _ in range(10) for part in (flat(2, loss=0.06), flat(3, loss=0.012))])
    judgement = judged(joined(flat(60), flat(11, loss=0.06), wave))
    assert judgement.verdict is Verdict.REGRESSED
    assert not judgement.confirmed


def test_a_small_loss_is_not_confirmed_against_a_single_run_unless_a_tolerance_was_declared() -> None:
    single = replace(BASELINE, spread=replace(QUIET, runs=1, between=None))
    readings = joined(flat(60), flat(90, loss=0.04))
    judgement = judged(readings, single)
    assert judgement.verdict is Verdict.REGRESSED
    assert not judgement.confirmed
    assert "not confirmed below 5 % with a baseline of 1 run" in judgement.message
    assert judged(readings, single, replace(RULE, tolerance=0.02)).confirmed
    assert judged(joined(flat(60), flat(90, loss=0.06)), single).confirmed


@pytest.mark.parametrize("small_min", [18.0, 300.0])
def test_a_loss_that_grew_is_confirmed_with_the_onset_and_the_drop_of_what_it_grew_to(small_min: float) -> None:
    """Levels drift below the tolerance for hours, and what somebody deploys then is not what made them drift."""
    single = replace(BASELINE, spread=replace(QUIET, runs=1, between=None))
    readings = joined(flat(60), flat(small_min, loss=0.03), flat(75, loss=0.14))
    small = judged(joined(flat(60), flat(small_min, loss=0.03)), single)
    assert (small.verdict, small.confirmed) == (Verdict.REGRESSED, False)
    grown = judged(readings, single)
    assert grown.confirmed
    assert grown.onset_s == pytest.approx((60 + small_min) * MINUTE, abs=60)
    assert grown.drop == pytest.approx(0.14, abs=0.002)


def test_a_loss_that_is_barely_confirmed_keeps_its_onset() -> None:
    single = replace(BASELINE, spread=replace(QUIET, runs=1, between=None))
    wave = joined(*[part for _ in range(40) for part in (flat(2, loss=0.06), flat(1, loss=0.045))])
    judgement = judged(joined(flat(60), wave), single)
    assert judgement.confirmed
    assert judgement.onset_s == pytest.approx(60 * MINUTE, abs=60)


@pytest.mark.parametrize("every_s", [15.0, 60.0, 120.0, 300.0])
def test_the_onset_lies_between_the_last_good_reading_and_the_first_slow_one(every_s: float) -> None:
    good, slow = flat(60, every_s=every_s), flat(45, loss=0.06, every_s=every_s)
    readings = joined(good, slow)
    onset_s = judged(readings).onset_s
    assert onset_s is not None
    first_slow_s = readings[len(good)].time_s
    assert first_slow_s - min(every_s, 120) <= onset_s <= first_slow_s


def test_a_run_back_at_its_level_has_recovered_after_ten_minutes() -> None:
    readings = joined(flat(60), flat(45, loss=0.06), flat(11))
    judgement = judged(readings)
    assert judgement.verdict is Verdict.HEALTHY
    assert judgement.recovered
    assert not judged(readings[:-4]).recovered


def test_half_of_the_tolerance_is_not_recovered() -> None:
    judgement = judged(joined(flat(60), flat(45, loss=0.06), flat(60, loss=0.015)))
    assert judgement.verdict is Verdict.REGRESSED
    assert not judgement.recovered


def test_short_horizons_of_a_demonstration_scale_everything() -> None:
    healthy = flat(3, every_s=2, phase=Phase.RUNNING, incarnation="a")
    slow = flat(3, loss=0.4, every_s=2, phase=Phase.RUNNING, incarnation="b")
    readings = joined(healthy, slow)
    raised = alarm_time(readings, rule=DEMO)
    assert raised is not None
    armed_s, evidence_s = 1.5 * 40, 0.7 * 40
    assert raised == pytest.approx(180 + armed_s + evidence_s, abs=4)
    judgement = judged(readings, rule=DEMO)
    assert judgement.onset_s == pytest.approx(180, abs=4)
    assert judgement.confirmed
    assert judged(joined(readings, flat(2, every_s=2, phase=Phase.RUNNING, incarnation="c")), rule=DEMO).recovered


def test_an_incident_in_the_status_survives_a_restart_of_the_operator() -> None:
    state = resumed(alarmed=True, onset_s=100.0)
    for reading in flat(5, loss=0.06, start_s=1000):
        state = advance(state, reading, BASELINE, RULE)
    judgement = judge(state, BASELINE, RULE, 1300)
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.onset_s == 100.0


def test_a_history_that_shows_the_recovery_is_not_reopened() -> None:
    recovered = last(joined(flat(60), flat(45, loss=0.06), flat(11)))
    assert reopened(recovered, 1.0) is recovered
    assert reopened(last(flat(5)), 1.0).alarmed


def test_no_reading_at_all_is_no_data() -> None:
    judgement = judge(resumed(False, None), BASELINE, RULE, 0.0)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoReadings")


def test_readings_that_stopped_are_no_data() -> None:
    state = last(flat(60))
    judgement = judge(state, BASELINE, RULE, 66 * MINUTE)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Stale")
    assert judge(state, BASELINE, RULE, 64 * MINUTE).verdict is Verdict.HEALTHY


def test_a_short_horizon_does_not_make_every_late_scrape_a_silence() -> None:
    state = last(flat(3, every_s=2), rule=DEMO)
    assert judge(state, BASELINE, DEMO, 180 + 45).verdict is Verdict.HEALTHY
    assert judge(state, BASELINE, DEMO, 180 + 61).reason == "Stale"


def test_readings_without_the_declared_signal_are_no_data() -> None:
    readings = [replace(reading, values={Signal.STEP_TIME: 1.0}) for reading in flat(10)]
    judgement = judged(readings)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoUsableSignal")


@pytest.mark.parametrize("value", [math.nan, 0.0])
def test_readings_that_say_nothing_of_the_speed_are_no_data_after_a_while_and_not_healthy(value: float) -> None:
    silent = [replace(reading, values={Signal.MFU: value}) for reading in flat(30)]
    assert judged(joined(flat(60), silent[:30])).verdict is Verdict.HEALTHY
    judgement = judged(joined(flat(60), silent))
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoUsableSignal")
    assert "none of the last 30 min" in judgement.message
    assert judged(joined(flat(60), silent, flat(1))).verdict is Verdict.HEALTHY


def test_a_gauge_that_nobody_sets_any_more_is_no_data_after_a_while_and_not_healthy() -> None:
    chance = random.Random(3)
    moving = [replace(each, values={Signal.MFU: 0.46 * (1 + chance.gauss(0, 0.003))}) for each in flat(60)]
    still = [replace(each, values=moving[-1].values) for each in flat(60)]
    judgement = judged(joined(moving, still))
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "NoUsableSignal")


def test_a_job_of_another_configuration_is_not_comparable() -> None:
    judgement = judge(last(flat(60)), BASELINE, RULE, 3600, ("global batch 512 instead of 256",))
    assert judgement.verdict is Verdict.NOT_COMPARABLE
    assert "global batch 512 instead of 256" in judgement.message


def test_a_baseline_noisier_than_the_widest_tolerance_says_so() -> None:
    noisy = replace(BASELINE, spread=Spread(within=0.03, between=0.02, slow=0.02, runs=5))
    judgement = judged(flat(60), noisy)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "BaselineTooNoisy")
    assert judged(flat(60), noisy, replace(RULE, tolerance=0.15)).verdict is Verdict.HEALTHY
    assert judged(joined(flat(60), flat(20, loss=0.4)), noisy).verdict is Verdict.REGRESSED


def test_step_time_is_better_when_lower() -> None:
    baseline = Baseline(Level(step_time_s=2.0), QUIET, Provenance.DECLARED)
    slow = [replace(reading, values={Signal.STEP_TIME: 2.5}) for reading in flat(60)]
    judgement = judged(slow, baseline)
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.drop == pytest.approx(0.2)
    assert "step time 2.5 s" in judgement.message


def test_readings_that_our_own_profiling_disturbs_count_nothing() -> None:
    state = last(flat(60))
    for reading in flat(60, loss=0.3, start_s=3600):
        state = advance(state, reading, BASELINE, RULE, frozenset({Gate.PROFILING}))
    judgement = judge(state, BASELINE, RULE, 3600 + 10 * MINUTE)
    assert judgement.verdict is Verdict.HEALTHY
    assert judgement.gates == (Gate.PROFILING,)
    assert judgement.message.endswith("; gated: Profiling")


def test_a_window_that_holds_part_of_a_checkpoint_is_corrected_by_its_running_share() -> None:
    dipped = [
        replace(reading, values={Signal.MFU: 0.46 * 0.7}, running_ratio=0.7, phase=Phase.RUNNING)
        for reading in flat(60)
    ]
    assert judged(dipped).change == pytest.approx(0)


@given(
    minutes=st.floats(0.5, 9.0),
    loss=st.floats(0.02, 0.99),
    every_s=st.sampled_from([5.0, 15.0, 30.0, 60.0]),
)
@settings(max_examples=60, deadline=None)
def test_no_dip_shorter_than_the_horizon_alarms_whatever_its_depth(minutes: float, loss: float, every_s: float) -> None:
    readings = joined(flat(30, every_s=every_s), flat(minutes, loss=loss, every_s=every_s), flat(20, every_s=every_s))
    assert alarm_time(readings) is None


@given(loss=st.floats(0.05, 0.5), every_s=st.sampled_from([1.0, 5.0, 15.0, 60.0, 120.0]))
@settings(max_examples=40, deadline=None)
def test_the_alarm_comes_at_the_horizon_and_the_smoothing_at_every_scrape_interval(loss: float, every_s: float) -> None:
    raised = alarm_time(joined(flat(40, every_s=every_s), flat(30, loss=loss, every_s=every_s)))
    assert raised is not None
    assert 50 * MINUTE <= raised <= 50 * MINUTE + SMOOTHING + every_s


@given(
    losses=st.lists(st.floats(-0.5, 0.9), min_size=1, max_size=80),
    gaps=st.lists(st.floats(0.1, 2000), min_size=80, max_size=80),
)
@settings(max_examples=60, deadline=None)
def test_evidence_stays_between_nothing_and_the_horizon(losses: list[float], gaps: list[float]) -> None:
    time_s = 0.0
    state = resumed(False, None)
    for loss, gap in zip(losses, gaps, strict=False):
        time_s += gap
        state = advance(state, Reading(time_s, {Signal.MFU: 0.46 * (1 - loss)}), BASELINE, RULE)
        assert 0 <= state.evidence_s <= RULE.sustain_s
        assert len(state.loss.losses.values) <= 256


def test_a_reading_twice_or_out_of_order_changes_nothing() -> None:
    readings = joined(flat(60), flat(5, loss=0.06))
    state = last(readings)
    for reading in reversed(readings):
        assert advance(state, reading, BASELINE, RULE) is state


def test_steps_that_move_are_counted_once() -> None:
    assert judged(counted(joined(flat(60), flat(11, loss=0.06)))).verdict is Verdict.REGRESSED


@pytest.mark.parametrize(
    ("loss", "verdict"), [(0.06, Verdict.REGRESSED), (0.0, Verdict.NO_DATA)], ids=["a loss that stands", "no loss"]
)
def test_a_loss_is_not_taken_back_because_our_own_jobs_take_long_to_profile_it(loss: float, verdict: Verdict) -> None:
    readings = joined(flat(60), flat(30, loss=loss), flat(40, loss=loss))
    state = last(readings[:180])
    for reading in readings[180:]:
        state = advance(state, reading, BASELINE, RULE, frozenset({Gate.PROFILING}))
    assert judge(state, BASELINE, RULE, readings[-1].time_s).verdict is verdict

"""One more reading: what it makes of the state before it."""

import math

import pytest

from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import Alarm, Doubt, Gauge, Loss, Losses, Mean, Run, Start, State
from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Level, Provenance, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate
from tests.unit.detect.series import BASELINE, QUIET, RULE, about

WITH_STEPS = Baseline(Level(mfu=0.46, step_time_s=100.0), QUIET, Provenance.RECORDED)
EVIDENCE = Loss(300.0, 700.0, Losses((0.06,)), mean=Mean(0.6, 10.0))
RUNS = State(
    reading_s=1000.0, counted_s=1000.0, usable_s=1000.0, signal=Signal.MFU, recent=((1000.0, 0.46),),
    window=((1000.0, 0.0, 0.0),), run=Run("a"), start=Start(False, 100.0, 120.0),
    gauge=Gauge((0.46,), 100.0, 1000.0, 5),
)  # fmt: skip
"""A run that has started, at its level, without a step counter; read last at 1000 s."""
NONE = Doubt()
STEPS = RUNS._replace(run=Run("a", 0, 50.0, 1000.0))


def reading(
    time_s: float = 1030.0, loss: float = 0.0, *, phase: Phase = Phase.UNKNOWN, step: float | None = None,
    incarnation: str = "a", mfu: float | None = None, ratio: float | None = None,
) -> Reading:  # fmt: skip
    value = 0.46 * math.exp(-loss) if mfu is None else mfu
    return Reading(time_s, {Signal.MFU: value}, phase, step, incarnation, running_ratio=ratio)


def after(
    state: State, *readings: Reading, baseline: Baseline = BASELINE, gates: frozenset[Gate] = frozenset(),
    rule: Detection = RULE,
) -> State:  # fmt: skip
    for each in readings or (reading(),):
        state = advance(state, each, baseline, rule, gates)
    return state


@pytest.mark.parametrize("time_s", [1000.0, 999.0])
def test_a_reading_that_is_not_newer_changes_nothing(time_s: float) -> None:
    assert after(RUNS, reading(time_s, 0.5, phase=Phase.PAUSED)) == RUNS


def test_a_reading_at_its_level_is_counted_and_is_no_evidence() -> None:
    told = after(RUNS)
    assert (told.reading_s, told.counted_s, told.usable_s) == (1030.0, 1030.0, 1030.0)
    assert (told.gates, told.evidence_s, told.alarmed) == (frozenset(), 0.0, False)


def test_a_slow_reading_is_evidence_for_the_seconds_since_the_last_that_counted() -> None:
    slow = RUNS._replace(window=((990.0, 0.1, 0.1), (1000.0, 0.1, 0.1)))
    assert after(slow, reading(loss=0.1)).evidence_s == 30.0
    assert after(slow._replace(counted_s=1020.0), reading(loss=0.1)).evidence_s == 10.0
    assert after(slow._replace(counted_s=None), reading(loss=0.1)).evidence_s == 0.0


def test_of_two_signals_the_smaller_loss_is_the_loss() -> None:
    values = {Signal.MFU: 0.46 * math.exp(-0.1), Signal.STEP_TIME: 100.0 * math.exp(0.08)}
    told = after(RUNS._replace(loss=EVIDENCE), Reading(1030.0, values, incarnation="a"), baseline=WITH_STEPS)
    assert told.loss.losses.values == (0.06, about(0.08))


def test_a_run_that_has_started_is_not_waited_for_again() -> None:
    slow = RUNS._replace(start=Start(False, 900.0, 120.0), window=((1000.0, 0.1, 0.1),))
    assert after(slow, reading(loss=0.1)).evidence_s == 30.0


def test_a_reading_counts_for_a_quarter_of_the_horizon_at_most() -> None:
    slow = RUNS._replace(loss=EVIDENCE)
    assert after(slow, reading(1500.0, loss=0.1)).evidence_s == 450.0


@pytest.mark.parametrize(
    ("phase", "gate"),
    [(Phase.STARTING, Gate.STARTING), (Phase.CHECKPOINT, Gate.CHECKPOINT), (Phase.PAUSED, Gate.PAUSED)],
)
def test_a_phase_that_is_not_training_is_gated_and_counts_nothing(phase: Phase, gate: Gate) -> None:
    told = after(STEPS._replace(loss=EVIDENCE), reading(loss=0.9, phase=phase, step=50.0))
    assert told.gates == {gate}
    assert (told.counted_s, told.usable_s, told.loss) == (1030.0, 1000.0, EVIDENCE)
    assert told.run == Run("a", 0, 50.0, 1030.0, phase_known=True)


def test_a_gate_from_outside_does_not_move_the_step_counter() -> None:
    held = frozenset({Gate.PROFILING})
    told = after(STEPS, reading(step=50.0), gates=held)
    assert (told.gates, told.run.step_moved_s, told.counted_s) == (held, 1000.0, 1030.0)
    assert after(STEPS, reading(step=50.0, phase=Phase.PAUSED), gates=held).gates == {Gate.PROFILING, Gate.PAUSED}


def test_a_run_that_hangs_hangs_behind_a_gate_from_outside_until_a_step_moves() -> None:
    held = frozenset({Gate.PROFILING})
    hung = STEPS._replace(gates=frozenset({Gate.HUNG, Gate.STARTING}))
    assert after(hung, reading(step=50.0), gates=held).gates == {Gate.PROFILING, Gate.HUNG}
    assert after(hung, reading(), gates=held).gates == {Gate.PROFILING, Gate.HUNG}
    assert after(hung, reading(step=51.0), gates=held).gates == held
    assert after(hung, reading(step=50.0, phase=Phase.PAUSED), gates=held).gates == {Gate.PROFILING, Gate.PAUSED}


def test_the_first_reading_says_which_pods_run_and_starts_the_run() -> None:
    told = after(State(), reading(step=7.0, phase=Phase.RUNNING, incarnation="b"))
    assert told.run == Run("b", 0, 7.0, 1030.0, phase_known=True)
    assert (told.gates, told.start) == (frozenset({Gate.STARTING}), Start(True, 1030.0, 0.0))


def test_what_a_reading_does_not_say_is_as_it_was() -> None:
    known = STEPS._replace(run=STEPS.run._replace(phase_known=True))
    assert after(known, reading()).run == Run("a", 0, 50.0, 1000.0, phase_known=True)
    assert after(known, reading(step=51.0)).run == Run("a", 0, 51.0, 1030.0, phase_known=True)


def test_a_reading_without_the_step_counter_is_judged_by_its_value() -> None:
    assert after(STEPS, reading()).usable_s == 1030.0


def test_other_pods_start_anew_even_where_their_step_is_the_same() -> None:
    told = after(STEPS._replace(loss=EVIDENCE), reading(step=50.0, incarnation="b"))
    assert told.run == Run("b", 1, 50.0, 1030.0, born_s=1030.0)
    assert (told.gates, told.start.waiting, told.loss) == (frozenset({Gate.RESTARTING}), True, Loss())
    assert after(STEPS, reading(incarnation="b")).run == Run("b", 1, born_s=1030.0)


def test_the_first_step_after_a_hang_is_as_that_of_another_run() -> None:
    hung = STEPS._replace(gates=frozenset({Gate.HUNG}))
    assert after(hung, reading(step=51.0)).run.restarts == 1
    assert after(hung, reading(step=50.0)).run.restarts == 0
    assert after(STEPS, reading(step=51.0)).run.restarts == 0


@pytest.mark.parametrize(("time_s", "hangs"), [(1030.0, False), (1599.0, False), (1600.0, True)])
def test_a_step_counter_that_stands_still_for_the_horizon_hangs(time_s: float, hangs: bool) -> None:
    known = STEPS._replace(gates=frozenset({Gate.STARTING, Gate.RESTARTING, Gate.CHECKPOINT}))
    told = after(known, reading(time_s, loss=0.9, step=50.0))
    assert told.gates == ({Gate.HUNG} if hangs else {Gate.STARTING, Gate.RESTARTING})
    assert told.counted_s == (time_s if hangs else 1000.0)
    assert told.usable_s == 1000.0


def test_ten_steps_of_the_baseline_are_waited_for_before_a_counter_hangs() -> None:
    assert Gate.HUNG not in after(STEPS, reading(1999.0, step=50.0), baseline=WITH_STEPS).gates
    assert Gate.HUNG in after(STEPS, reading(2000.0, step=50.0), baseline=WITH_STEPS).gates


def test_a_short_horizon_is_the_limit_of_a_hang_where_no_step_time_is_known() -> None:
    assert after(STEPS, reading(1005.0, step=50.0), rule=Detection(sustain_s=5)).gates == {Gate.HUNG}


def test_a_hang_lasts_until_the_counter_moves() -> None:
    hung = STEPS._replace(gates=frozenset({Gate.HUNG}))
    assert after(hung, reading(1030.0, step=50.0)).gates == {Gate.HUNG}


@pytest.mark.parametrize(
    "told", [reading(mfu=0.0), reading(mfu=math.nan), reading(ratio=0.3), Reading(1030.0, {}, incarnation="a")]
)
def test_a_reading_without_a_usable_value_counts_nothing_and_opens_the_gates(told: Reading) -> None:
    known = RUNS._replace(gates=frozenset({Gate.CHECKPOINT}), loss=EVIDENCE)
    assert after(known, told) == known._replace(reading_s=1030.0, counted_s=1030.0, gates=frozenset())


def test_a_reading_of_half_of_the_pods_counts_nothing() -> None:
    known = RUNS._replace(run=Run("a,b"), gates=frozenset({Gate.CHECKPOINT}))
    assert after(known, reading(loss=0.5)) == known._replace(reading_s=1030.0, counted_s=1030.0, gates=frozenset())


def test_a_gauge_notes_since_when_it_shows_what_it_shows() -> None:
    assert after(RUNS, reading(mfu=0.46)).gauge == RUNS.gauge
    assert after(RUNS, reading(mfu=0.45)).gauge == Gauge((0.45,), 100.0, 1030.0, 6)
    assert after(RUNS._replace(gauge=Gauge()), reading(mfu=0.45)).gauge == Gauge((0.45,), 1030.0, 1030.0, 0)
    assert after(STEPS, reading(mfu=0.45, step=51.0)).gauge == STEPS.gauge


@pytest.mark.parametrize(
    ("moves", "moved_for_s", "still_s", "still"),
    [
        (19, 570.0, 5000.0, False),
        (20, 600.0, 1200.0, False),
        (20, 600.0, 1201.0, True),
        (20, 2400.0, 1201.0, True),
        (20, 4000.0, 2000.0, False),
        (20, 4000.0, 2001.0, True),
        (40, 4000.0, 1500.0, True),
    ],
)
def test_a_gauge_that_nobody_sets_says_nothing_new(moves: int, moved_for_s: float, still_s: float, still: bool) -> None:
    """For 20 minutes, and for ten times as long as it usually stands still."""
    gauge = Gauge((0.3,), 10_000.0 - moved_for_s, 10_000.0, moves)
    at_s = 10_000.0 + still_s
    known = RUNS._replace(gauge=gauge, reading_s=at_s - 30, counted_s=at_s - 30, usable_s=at_s - 30)
    told = after(known, reading(at_s, mfu=0.3))
    assert told.usable_s == (at_s - 30 if still else at_s)
    assert told.counted_s == at_s


def test_twenty_minutes_without_a_usable_reading_forget_what_was_collected() -> None:
    known = RUNS._replace(loss=EVIDENCE, window=((900.0, 0.1, 0.1),))
    assert after(known, reading(2200.0, loss=0.1)).evidence_s == 450.0
    forgotten = after(known, reading(2201.0, loss=0.1))
    assert forgotten.evidence_s == 0.0
    assert forgotten.window == ((2201.0, about(0.1), about(0.1)),)


def test_an_alarm_outlives_a_gap_and_its_recovery_begins_anew() -> None:
    known = RUNS._replace(loss=EVIDENCE, alarm=Alarm(raised=True, recover_s=200.0))
    assert after(known, reading(2200.0)).alarm.recover_s == 350.0
    gone = after(known, reading(2201.0))
    assert gone.alarm.recover_s == 0.0
    assert gone.alarmed
    assert gone.onset_s == 700.0


def test_values_are_smoothed_over_a_quarter_of_the_horizon_and_fifteen_readings() -> None:
    many = tuple((1000.0 - 9 * back, float(back), float(back)) for back in reversed(range(20)))
    fifteen = after(RUNS._replace(window=many), reading(1001.0)).window
    assert [entry[0] for entry in fifteen] == [*(1000.0 - 9 * back for back in reversed(range(14))), 1001.0]
    seldom = after(RUNS._replace(window=((880.0, 0.0, 0.0), (881.0, 0.0, 0.0))), reading(1030.0)).window
    assert [entry[0] for entry in seldom] == [881.0, 1030.0]


def test_the_window_has_what_every_signal_shows_and_the_worst() -> None:
    values = {Signal.MFU: 0.46 * math.exp(-0.03), Signal.STEP_TIME: 100.0 * math.exp(0.01)}
    told = after(RUNS, Reading(1030.0, values, incarnation="a"), baseline=WITH_STEPS)
    assert told.window[-1] == (1030.0, about(0.01), about(0.03))


def test_the_value_shown_is_of_the_last_five_minutes_and_sixty_four_readings() -> None:
    many = tuple((1000.0 - back, 0.4) for back in reversed(range(80)))
    kept = after(RUNS._replace(recent=many), reading(1001.0, mfu=0.41)).recent
    assert kept == (*((1000.0 - back, 0.4) for back in reversed(range(63))), (1001.0, 0.41))
    seldom = after(RUNS._replace(recent=((729.0, 0.4), (730.0, 0.4))), reading(mfu=0.41)).recent
    assert seldom == ((730.0, 0.4), (1030.0, 0.41))


def test_values_of_another_signal_are_not_shown_with_those_of_the_one_before() -> None:
    told = after(RUNS, Reading(1030.0, {Signal.STEP_TIME: 100.0}, incarnation="a"), baseline=WITH_STEPS)
    assert (told.signal, told.recent) == (Signal.STEP_TIME, ((1030.0, 100.0),))


@pytest.mark.parametrize("times", [51.0, 1 / 51])
def test_fifty_times_the_level_is_another_unit_and_counts_nothing(times: float) -> None:
    known = RUNS._replace(loss=EVIDENCE, doubt=Doubt(unusual_s=100.0))
    told = after(known, reading(mfu=0.46 * times))
    assert told.doubt.unusual_s == 130.0
    assert told.doubt.unusual == (Signal.MFU, about(-math.log(times)))
    assert (told.loss, told.window, told.usable_s, told.gates) == (EVIDENCE, RUNS.window, 1030.0, frozenset())
    assert after(known._replace(doubt=Doubt(unusual_s=590.0)), reading(mfu=0.46 * times)).doubt.unusual_s == 600.0


def test_less_than_fifty_times_the_level_is_a_speed() -> None:
    known = RUNS._replace(doubt=Doubt(unusual_s=100.0))
    assert after(known, reading(mfu=0.46 / 49)).doubt.unusual_s == 70.0
    assert after(RUNS._replace(doubt=Doubt(unusual_s=10.0))).doubt.unusual_s == 0.0


def test_another_unit_while_a_run_starts_waits_on() -> None:
    starts = RUNS._replace(start=Start())
    assert after(starts, reading(mfu=46.0)).gates == {Gate.STARTING}


def disagreeing(mfu: float, step_time: float, doubt: Doubt = NONE) -> Doubt:
    values = {Signal.MFU: 0.46 * math.exp(-mfu), Signal.STEP_TIME: 100.0 * math.exp(step_time)}
    known = RUNS._replace(doubt=doubt)
    return after(known, Reading(1030.0, values, incarnation="a"), baseline=WITH_STEPS).doubt


def test_signals_that_contradict_each_other_are_doubted_and_named_the_slowest_first() -> None:
    doubt = disagreeing(0.0, 0.1)
    assert doubt.contradiction_s == 30.0
    slowest, fastest = (Signal.STEP_TIME, about(0.1)), (Signal.MFU, about(0.0))
    assert doubt.contradicting == (slowest, fastest)
    assert disagreeing(0.0, 0.1, Doubt(contradiction_s=590.0)).contradiction_s == 600.0


def test_signals_that_agree_again_are_doubted_less_and_those_that_disagreed_stay_named() -> None:
    pair = (Signal.MFU, 0.1), (Signal.STEP_TIME, 0.0)
    again = disagreeing(0.05, 0.05, Doubt(contradiction_s=100.0, contradicting=pair))
    assert (again.contradiction_s, again.contradicting) == (70.0, pair)
    assert disagreeing(0.05, 0.05, Doubt(contradiction_s=30.0, contradicting=pair)).contradicting is None
    assert disagreeing(0.05, 0.05, Doubt(contradiction_s=30.5, contradicting=pair)).contradicting == pair


def test_signals_within_the_tolerance_of_each_other_contradict_nothing() -> None:
    assert disagreeing(0.0, 0.019) == Doubt()
    assert disagreeing(0.0, 0.0227).contradiction_s == pytest.approx(15.0, abs=0.1)


def starting(good_s: float = 0.0, since_s: float | None = 900.0) -> State:
    return RUNS._replace(start=Start(True, since_s, good_s))


def test_a_start_is_waited_for_until_it_was_good_for_the_warm_up() -> None:
    begun = after(starting(since_s=None))
    assert (begun.start, begun.gates) == (Start(True, 1030.0, 30.0), frozenset({Gate.STARTING}))
    assert after(starting(89.0)).start == Start(True, 900.0, 119.0)
    armed = after(starting(90.0))
    assert (armed.start, armed.gates) == (Start(False, 900.0, 120.0), frozenset())


def test_a_start_is_good_where_what_every_signal_shows_is_within_the_tolerance() -> None:
    kappa = tolerance_of(QUIET, RULE).kappa
    edge = starting(30.0)._replace(window=((990.0, kappa, 0.5), (1000.0, kappa, 0.5)))
    assert after(edge, reading(loss=0.5)).start.good_s == 60.0


def test_a_start_after_a_restart_is_told_as_one() -> None:
    assert after(starting()._replace(run=Run("a", 1))).gates == {Gate.RESTARTING}


def test_a_slow_start_has_to_be_good_without_a_break_and_is_no_evidence() -> None:
    slow = starting(89.0)._replace(window=((1000.0, 0.3, 0.3),))
    told = after(slow, reading(loss=0.3))
    assert told.start == Start(True, 900.0, 0.0)
    assert (told.bad_since_s, told.evidence_s) == (1000.0, 0.0)
    later = after(told, reading(1060.0, loss=0.3))
    assert later.bad_since_s == 1000.0
    assert after(later, reading(1090.0), reading(1120.0), reading(1150.0)).bad_since_s is None


def test_a_run_that_is_not_good_within_fifteen_minutes_is_slow_since_it_was_seen_to_be() -> None:
    slow = starting(since_s=130.0)._replace(window=((1000.0, 0.3, 0.3),), bad_since_s=200.0)
    assert after(slow, reading(1029.0, loss=0.3)).start.waiting
    told = after(slow, reading(1030.0, loss=0.3))
    assert (told.start.waiting, told.gates) == (False, frozenset())
    assert (told.evidence_s, told.onset_s) == (30.0, 200.0)


def test_a_run_whose_level_is_its_own_is_waited_for_until_the_level_was_known() -> None:
    slow = starting(since_s=100.0)._replace(window=((1000.0, 0.3, 0.3),), level_until_s=1100.0)
    assert after(slow, reading(1060.0, loss=0.3)).start.waiting
    assert not after(slow, reading(1100.0, loss=0.3)).start.waiting
    restarted = slow._replace(run=Run("a", 1))
    assert not after(restarted, reading(1060.0, loss=0.3)).start.waiting
    known = slow._replace(level_until_s=500.0)
    assert after(known, reading(1001.0 - 2, loss=0.3), reading(1001.0, loss=0.3)).start.waiting is False

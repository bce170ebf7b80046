"""The known ways to be wrong about a training job, each by its name."""

import math
import random
from dataclasses import replace

import pytest

from mfu_operator.detect.advance import advance
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.evidence import initial
from mfu_operator.detect.judge import judge
from mfu_operator.detect.record import record
from mfu_operator.model.baseline import Baseline, Comparable, Level, Provenance, RecordPlan, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate, Verdict
from tests.unit.detect.series import (
    BASELINE,
    MINUTE,
    QUIET,
    RULE,
    alarm_time,
    counted,
    flat,
    joined,
    judged,
    last,
    states,
)

ALL_SIGNALS = Baseline(Level(mfu=0.46, step_time_s=2.0, throughput=900.0), QUIET, Provenance.RECORDED)


def with_signals(readings: list[Reading], mfu: float, step_s: float, throughput: float) -> list[Reading]:
    values = {Signal.MFU: mfu, Signal.STEP_TIME: step_s, Signal.THROUGHPUT: throughput}
    return [replace(reading, values=values) for reading in readings]


def test_a_changed_mfu_formula_is_not_a_regression() -> None:
    readings = with_signals(flat(60), mfu=0.40, step_s=2.0, throughput=900)
    assert alarm_time(readings, ALL_SIGNALS) is None
    judgement = judged(readings, ALL_SIGNALS)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "SignalsDisagree")
    assert "the formula of MFU changed" in judgement.message


def test_a_changed_attention_schedule_is_not_a_regression() -> None:
    """A longer window costs time per token; the FLOPs that MFU counts grow with it."""
    readings = with_signals(flat(60), mfu=0.46, step_s=2.0 / 0.92, throughput=900 * 0.92)
    assert alarm_time(readings, ALL_SIGNALS) is None
    judgement = judged(readings, ALL_SIGNALS)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "SignalsDisagree")


@pytest.mark.parametrize(
    ("mfu", "step_s", "throughput", "told"),
    [
        (
            0.40,
            2.0,
            900,
            "MFU shows 13 % less speed and throughput that of the baseline: the formula of MFU changed, not",
        ),
        (
            0.55,
            2.0,
            900,
            "MFU shows 19.6 % more speed and throughput that of the baseline: the formula of MFU changed, not",
        ),
        (0.46, 2.0, 1100, "throughput shows 22.2 % more speed and MFU that of the baseline: the batch, "),
        (0.46, 2.2, 900, "step time shows 9.1 % less speed and MFU that of the baseline: the batch, "),
        (0.35, 2.2, 810, "MFU shows 23.9 % less speed and step time 9.1 % less: the formula of MFU changed; "),
    ],
)
def test_what_disagrees_is_told_by_what_moved(mfu: float, step_s: float, throughput: float, told: str) -> None:
    judgement = judged(with_signals(flat(60), mfu, step_s, throughput), ALL_SIGNALS)
    assert judgement.reason == "SignalsDisagree"
    assert judgement.message.startswith(told)


def test_a_loss_that_all_signals_show_is_one() -> None:
    readings = joined(with_signals(flat(30), 0.46, 2.0, 900), with_signals(flat(12), 0.46 * 0.9, 2.0 / 0.9, 900 * 0.9))
    assert judged(readings, ALL_SIGNALS).verdict is Verdict.REGRESSED


def test_a_changed_batch_shows_in_the_step_time_alone_and_is_not_a_regression() -> None:
    readings = with_signals(flat(60), mfu=0.46, step_s=4.0, throughput=900)
    judgement = judged(readings, ALL_SIGNALS)
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "SignalsDisagree")
    assert "batch" in judgement.message


def test_a_changed_batch_or_sequence_length_or_world_size_is_named() -> None:
    declared = Comparable("gpt", world_size=8, global_batch=256, sequence_length=4096)
    info = {"world_size": "16", "global_batch": "512", "sequence_length": "8192"}
    assert differences(declared, info, {}) == (
        "world size 16 instead of 8",
        "global batch 512 instead of 256",
        "sequence length 8192 instead of 4096",
    )


def test_a_sawtooth_within_incarnations_is_in_the_baseline_when_it_was_recorded_across_whole_ones() -> None:
    def incarnation(name: str) -> list[Reading]:
        return joined(*[flat(15, loss=0.002 * block, incarnation=name) for block in range(8)])

    runs = joined(*[incarnation(name) for name in "abc"])
    baseline = record(
        runs, RecordPlan(duration_s=2 * 3600 - 300, warmup_s=120, runs=3), 0.0, replace(RULE, tolerance=0.04)
    )
    assert isinstance(baseline, Baseline)
    assert baseline.spread.slow == pytest.approx(0.0048, abs=0.001)
    assert alarm_time(joined(*[incarnation(name) for name in "defgh"]), baseline) is None


def hang(minutes: float) -> tuple[list[Reading], list[Reading]]:
    """An hour of a healthy run, and then its step counter stands still."""
    running = counted(flat(60))
    return running, [replace(reading, step=running[-1].step, values={Signal.MFU: 0.0}) for reading in flat(minutes)]


def test_a_job_that_hangs_is_a_hang_and_not_a_regression() -> None:
    readings = joined(*hang(20))
    judgement = judged(readings)
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Hung")
    assert judgement.gates == (Gate.HUNG,)
    assert "stayed at 120 for 20 min" in judgement.message
    assert alarm_time(readings) is None


def test_a_hang_that_began_while_a_neighbour_was_profiled_is_as_long_as_it_is() -> None:
    running, stuck = hang(11)
    readings = joined(running, stuck)
    state = list(states(running))[-1]
    for index, reading in enumerate(readings[len(running) :]):
        gates = frozenset({Gate.PROFILING}) if index < 16 else frozenset()
        state = advance(state, reading, BASELINE, RULE, gates)
    assert state.gates == {Gate.HUNG}


def test_after_a_hang_readings_that_still_hold_a_part_of_it_are_no_loss() -> None:
    readings = joined(*hang(20), flat(5, loss=0.99), flat(5))
    moving = [replace(reading, step=200.0 + index) for index, reading in enumerate(readings[-20:])]
    after = list(states([*readings[:-20], *moving]))[-20:]
    assert max(state.evidence_s for state in after) == 0
    assert after[0].gates == {Gate.RESTARTING}
    assert after[-1].gates == frozenset()


def test_a_hang_that_ends_while_a_neighbour_is_profiled_is_followed_by_the_same_grace() -> None:
    running, stuck = hang(20)
    readings = joined(running, stuck, flat(2), flat(3, loss=0.99))
    moving = [replace(reading, step=200.0 + index) for index, reading in enumerate(readings[-10:])]
    state = last([*running, *readings[len(running) : -14]])
    assert state.gates == {Gate.HUNG}
    for reading in [*readings[-14:-10], *moving[:4]]:
        state = advance(state, reading, BASELINE, RULE, frozenset({Gate.PROFILING}))
    assert state.gates == {Gate.PROFILING}
    for reading in moving[4:]:
        state = advance(state, reading, BASELINE, RULE)
    assert state.gates == {Gate.RESTARTING}
    assert state.evidence_s == 0


def test_a_hang_is_told_on_while_a_neighbour_is_profiled() -> None:
    running, stuck = hang(20)
    readings = joined(running, stuck)
    state = last(readings[:-4])
    for reading in readings[-4:]:
        state = advance(state, reading, BASELINE, RULE, frozenset({Gate.PROFILING}))
    assert judge(state, BASELINE, RULE, readings[-1].time_s).reason == "Hung"


def test_a_run_that_is_slow_after_a_hang_is_found_after_the_grace_period_and_the_horizon() -> None:
    readings = joined(*hang(20), flat(40, loss=0.06))
    moving = [replace(reading, step=200.0 + index) for index, reading in enumerate(readings[-80:])]
    assert alarm_time([*readings[:-80], *moving]) == pytest.approx((60 + 20 + 15 + 10) * MINUTE, abs=60)


def test_a_restart_and_a_change_at_once_is_found_after_the_grace_period_and_the_horizon() -> None:
    readings = joined(flat(60, incarnation="a"), flat(40, loss=0.06, incarnation="b"))
    grace, horizon = 15 * MINUTE, 10 * MINUTE
    assert alarm_time(readings) == pytest.approx(60 * MINUTE + grace + horizon, abs=60)
    assert last(readings).onset_s == pytest.approx(60 * MINUTE, abs=30)


def test_a_restart_that_is_good_is_armed_after_two_minutes() -> None:
    readings = joined(flat(60, incarnation="a"), flat(3, incarnation="b"), flat(12, loss=0.06, incarnation="b"))
    assert alarm_time(readings) == pytest.approx(74 * MINUTE, abs=30)


def test_a_slow_start_after_a_restart_is_no_regression() -> None:
    readings = joined(flat(60, incarnation="a"), flat(10, loss=0.15, incarnation="b"), flat(60, incarnation="b"))
    assert alarm_time(readings) is None


def test_a_container_that_restarts_in_its_pod_is_seen_by_its_step_counter() -> None:
    readings = joined(counted(flat(60)), counted(flat(10, loss=0.15)), counted(flat(60), first=21))
    assert alarm_time(readings) is None
    assert last(readings).run.restarts == 1


def test_a_rank_whose_scrape_failed_once_is_no_restart() -> None:
    both = [replace(reading, incarnation="a-0,a-1") for reading in flat(30)]
    one = [replace(reading, incarnation="a-0") for reading in flat(1)]
    assert last(joined(both, one, both)).run.restarts == 0


def test_a_late_phase_label_cannot_alarm() -> None:
    late = flat(1, loss=0.9, phase=Phase.RUNNING)
    rounds = [(late, flat(4, loss=0.9, phase=Phase.CHECKPOINT), flat(20, phase=Phase.RUNNING)) for _ in range(20)]
    assert alarm_time(joined(*[part for parts in rounds for part in parts])) is None


def test_a_wrong_phase_label_that_is_never_taken_back_ends_in_no_data() -> None:
    judgement = judged(joined(flat(60, phase=Phase.RUNNING), flat(30, loss=0.2, phase=Phase.CHECKPOINT)))
    assert (judgement.verdict, judgement.reason) == (Verdict.NO_DATA, "Gated")


@pytest.mark.parametrize("late_s", [30, 60, 90, 120])
def test_a_label_that_comes_late_lets_a_whole_checkpoint_count_and_does_not_alarm(late_s: int) -> None:
    usual = flat(28, phase=Phase.RUNNING)
    dip = flat(2, loss=0.9, phase=Phase.RUNNING)
    series = joined(*[part for _ in range(40) for part in (usual, dip)])
    late = [
        replace(reading, phase=Phase.CHECKPOINT)
        if (reading.time_s - late_s) % (30 * MINUTE) > 28 * MINUTE and reading.time_s > 30 * MINUTE
        else reading
        for reading in series
    ]
    assert alarm_time(late) is None
    assert alarm_time(joined(late, flat(30, loss=0.06, phase=Phase.RUNNING))) is not None


def test_readings_whose_mean_is_not_told_from_their_noise_are_not_regressed_and_it_is_said() -> None:
    noisy = replace(BASELINE, spread=replace(QUIET, within=0.04))
    readings = joined(flat(60), flat(10, loss=0.045))
    assert alarm_time(readings, noisy) is None
    judgement = judged(joined(readings, flat(10, loss=0.045)), noisy)
    assert judgement.verdict is Verdict.HEALTHY
    assert judgement.message.endswith("whose mean is still within the readings' own noise")
    assert alarm_time(joined(readings, flat(180, loss=0.045)), noisy) is not None


def test_the_same_step_number_twice_is_no_new_information() -> None:
    long_steps = [
        replace(reading, step=float(index // 4)) for index, reading in enumerate(flat(60, loss=0.06, every_s=15))
    ]
    baseline = Baseline(Level(mfu=0.46, step_time_s=55.0), QUIET, Provenance.RECORDED)
    once = [reading for index, reading in enumerate(long_steps) if index % 4 == 0]
    assert last(long_steps, baseline).evidence_s == last(once, baseline).evidence_s


def jittered(minutes: float, loss: float = 0.0, every_s: float = 30.0, updated_s: float = 30.0) -> list[Reading]:
    """Readings without a step counter of a gauge that is set every `updated_s`, to another value each time."""
    chance = random.Random(11)
    readings = flat(minutes, loss, every_s=every_s)
    values: dict[int, float] = {}
    return [
        replace(
            reading,
            values={
                Signal.MFU: values.setdefault(
                    int(reading.time_s // updated_s), 0.46 * (1 - loss) * (1 + chance.gauss(0, 0.003))
                )
            },
        )
        for reading in readings
    ]


def test_a_gauge_that_stands_still_is_no_new_information_and_confirms_nothing() -> None:
    """A job that evaluates, or hangs, shows its last step for as long as it is scraped; that one was slow."""
    readings = joined(jittered(60), flat(120, loss=0.5))
    assert not any(state.confirmed for state in states(readings))
    usable_s = last(readings).usable_s
    assert usable_s is not None and usable_s <= 80 * MINUTE + 30


def test_a_gauge_that_is_seldom_set_is_confirmed_all_the_same() -> None:
    readings = joined(jittered(300, updated_s=300), jittered(90, loss=0.1, updated_s=300))
    assert last(readings).confirmed


def test_a_gauge_that_moves_again_counts_again() -> None:
    readings = joined(jittered(60), flat(120), jittered(60, loss=0.06))
    assert last(readings).confirmed


def test_a_series_that_never_moved_is_believed() -> None:
    assert last(joined(flat(60), flat(60, loss=0.06))).confirmed


def test_a_gap_of_twenty_minutes_forgets_the_evidence_and_a_missing_scrape_does_not() -> None:
    before = joined(flat(60), flat(8, loss=0.06))
    late = [replace(reading, time_s=reading.time_s + before[-1].time_s + 21 * MINUTE) for reading in flat(1, loss=0.06)]
    assert last([*before, *late]).evidence_s <= MINUTE
    soon = [replace(reading, time_s=reading.time_s + before[-1].time_s + 2 * MINUTE) for reading in flat(1, loss=0.06)]
    assert last([*before, *soon]).evidence_s >= 10 * MINUTE


def test_averages_are_poisoned_by_one_checkpoint_and_the_evidence_is_not() -> None:
    readings = joined(flat(60), flat(3, loss=0.95), flat(60))
    shown = [reading.values[Signal.MFU] for reading in readings[110:150]]
    assert sum(shown) / len(shown) < 0.46 * 0.95
    assert max(state.evidence_s for state in states(readings)) <= 3 * MINUTE + 30


def test_a_series_that_switches_to_per_cent_or_milliseconds_is_not_comparable() -> None:
    percent = [replace(reading, values={Signal.MFU: 46.0}) for reading in flat(30)]
    judgement = judged(joined(flat(60), percent))
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "UnitChanged")
    baseline = Baseline(Level(step_time_s=2.0), QUIET, Provenance.DECLARED)
    milliseconds = [replace(reading, values={Signal.STEP_TIME: 2000.0}) for reading in flat(30)]
    assert judged(milliseconds, baseline).reason == "UnitChanged"


def test_of_several_signals_the_one_that_switched_its_unit_is_named() -> None:
    judgement = judged(
        joined(with_signals(flat(60), 0.46, 2.0, 900), with_signals(flat(30), 0.46, 2000, 900)), ALL_SIGNALS
    )
    assert (judgement.verdict, judgement.reason) == (Verdict.NOT_COMPARABLE, "UnitChanged")
    assert judgement.message.startswith("step time reads 2000 against a baseline of 2:")


def test_zero_nan_and_infinity_are_no_speed() -> None:
    wild = [
        replace(reading, values={Signal.MFU: value})
        for reading, value in zip(flat(30), [0.0, math.nan, math.inf, -1.0, 1e308, 1e-308] * 10, strict=True)
    ]
    state = last(joined(flat(60), wild))
    assert state.evidence_s == 0
    assert state.usable_s == 60 * MINUTE
    assert judged(wild).reason == "NoUsableSignal"


def test_a_clock_that_runs_ahead_makes_no_reading_stale_and_no_time_negative() -> None:
    state = initial()
    for reading in flat(60, start_s=500):
        state = advance(state, reading, BASELINE, RULE)
    judgement = judge(state, BASELINE, RULE, now_s=3600)
    assert judgement.verdict is Verdict.HEALTHY


def test_a_loss_below_the_tolerance_is_no_loss_however_long_it_lasts() -> None:
    assert alarm_time(flat(24 * 60, loss=0.019)) is None


def test_isolated_slow_steps_do_not_alarm() -> None:
    chance = random.Random(7)
    readings = [
        replace(reading, values={Signal.MFU: 0.46 * (chance.uniform(0.5, 0.94) if chance.random() < 0.05 else 1.0)})
        for reading in flat(7 * 24 * 60)
    ]
    assert alarm_time(readings) is None

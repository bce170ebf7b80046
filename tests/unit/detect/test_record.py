import random
from dataclasses import replace

import pytest

from mfu_operator.detect.record import record
from mfu_operator.model.baseline import Baseline, Detection, RecordPlan, Signal
from mfu_operator.model.incident import Recording
from mfu_operator.model.series import Phase, Reading
from tests.unit.detect.series import flat, joined

PLAN = RecordPlan(duration_s=1800, warmup_s=300)
SLOWER_BY_CHANCE = 1
"""A seed whose noise of 4 % moves the last third of half an hour by 1.3 %."""


def noisy(readings: list[Reading], sigma: float, seed: int = 1) -> list[Reading]:
    chance = random.Random(seed)
    return [
        replace(reading, values={k: v * (1 + chance.gauss(0, sigma)) for k, v in reading.values.items()})
        for reading in readings
    ]


def test_a_recording_says_how_far_it_is() -> None:
    progress = record(flat(20), PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.collected_s == pytest.approx(900, abs=31)
    assert (progress.needed_s, progress.run, progress.runs, progress.problem) == (1800, 1, 1, None)


def test_nothing_read_yet_is_a_recording_of_nothing() -> None:
    progress = record([], PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.collected_s == 0


def test_a_steady_run_becomes_a_baseline_with_every_signal_it_showed() -> None:
    readings = [
        replace(reading, values={Signal.MFU: 0.46, Signal.STEP_TIME: 2.0, Signal.THROUGHPUT: 900.0})
        for reading in flat(40)
    ]
    baseline = record(noisy(readings, 0.005), PLAN, 0.0)
    assert isinstance(baseline, Baseline)
    assert baseline.level.mfu == pytest.approx(0.46, rel=0.005)
    assert baseline.level.step_time_s == pytest.approx(2.0, rel=0.005)
    assert baseline.level.throughput == pytest.approx(900, rel=0.005)
    assert baseline.spread.within == pytest.approx(0.005, rel=0.5)
    assert (baseline.spread.runs, baseline.spread.between) == (1, None)


def test_warm_up_and_checkpoints_are_not_part_of_the_level() -> None:
    readings = joined(
        flat(4, loss=0.2),
        flat(20, phase=Phase.RUNNING),
        flat(5, loss=0.9, phase=Phase.CHECKPOINT),
        flat(20, phase=Phase.RUNNING),
    )
    baseline = record(readings, PLAN, 0.0)
    assert isinstance(baseline, Baseline)
    assert baseline.level.mfu == pytest.approx(0.46)
    assert baseline.spread.within == 0


def test_a_run_that_slows_down_is_refused_with_the_reason() -> None:
    sagging = joined(*[flat(1, loss=0.001 * minute) for minute in range(40)])
    progress = record(sagging, PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.problem is not None
    assert "slower while recorded" in progress.problem


def test_a_run_that_was_unsteady_at_first_is_accepted_once_it_is_steady() -> None:
    settling = joined(*[flat(1, loss=0.1 - 0.005 * minute) for minute in range(20)])
    assert isinstance(record(joined(settling, flat(15)), PLAN, 0.0), Recording)
    assert isinstance(record(joined(settling, flat(40)), PLAN, 0.0), Baseline)


def test_a_run_that_is_too_noisy_is_refused_with_the_reason() -> None:
    progress = record(noisy(flat(60), 0.2), PLAN, 0.0, Detection(tolerance=0.1))
    assert isinstance(progress, Recording)
    assert progress.problem is not None


def test_a_trend_that_noise_alone_makes_is_said_to_be_that_with_the_remedy() -> None:
    progress = record(noisy(flat(40), 0.04, seed=SLOWER_BY_CHANCE), PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.problem is not None
    assert progress.problem.endswith("the noise of its readings does that in so short a time: record longer")
    slower = [reading for minute in range(40) for reading in flat(1, loss=0.002 * minute)]
    progress = record(joined(*[[reading] for reading in slower]), PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert (progress.problem or "").endswith(" at most")


@pytest.mark.parametrize(
    ("readings", "says"),
    [
        (flat(20, phase=Phase.CHECKPOINT), "none of the readings counts: the job is in Checkpoint"),
        (
            [replace(reading, values={Signal.MFU: 0.0}) for reading in flat(20)],
            "none of the readings counts: they hold no mfu, throughput or step time above 0",
        ),
        (flat(4), None),
    ],
)
def test_readings_of_which_none_counts_are_told(readings: list[Reading], says: str | None) -> None:
    progress = record(readings, PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.problem == says


def test_several_runs_are_told_apart_by_their_pods_and_their_spread_is_kept() -> None:
    plan = replace(PLAN, runs=3)
    runs = [flat(40, loss=loss, incarnation=name) for name, loss in (("a", 0.0), ("b", 0.004), ("c", 0.002))]
    progress = record(joined(*runs[:2]), plan, 0.0)
    assert isinstance(progress, Recording)
    assert progress.run == 3
    baseline = record(joined(*runs), plan, 0.0)
    assert isinstance(baseline, Baseline)
    assert baseline.spread.runs == 3
    assert baseline.spread.between == pytest.approx(0.002, rel=0.1)
    assert baseline.level.mfu == pytest.approx(0.46 * 0.998)


def test_a_run_that_ended_early_is_named() -> None:
    progress = record(joined(flat(10, incarnation="a"), flat(10, incarnation="b")), PLAN, 0.0)
    assert isinstance(progress, Recording)
    assert progress.problem is not None
    assert "ended after" in progress.problem


def test_a_short_demonstration_can_record_too() -> None:
    rule = Detection(tolerance=0.1, sustain_s=40)
    baseline = record(noisy(flat(3, every_s=2), 0.008), RecordPlan(duration_s=60, warmup_s=10), 0.0, rule)
    assert isinstance(baseline, Baseline)


def test_a_run_that_is_scraped_seldom_is_recorded_longer() -> None:
    rule = Detection(tolerance=0.1, sustain_s=20)
    plan = RecordPlan(duration_s=40, warmup_s=10)
    assert isinstance(record(noisy(flat(1, every_s=5), 0.008), plan, 0.0, rule), Recording)
    assert isinstance(record(noisy(flat(2, every_s=5), 0.008), plan, 0.0, rule), Baseline)


def of(batch: str, name: str) -> list[Reading]:
    return [replace(reading, info={"global_batch": batch, "rank": "0"}) for reading in flat(40, incarnation=name)]


def test_runs_of_another_configuration_are_not_mixed_into_the_level() -> None:
    plan = replace(PLAN, runs=3)
    runs = [of("256", "a"), of("256", "b"), of("512", "c")]
    progress = record(joined(*runs), plan, 0.0)
    assert isinstance(progress, Recording)
    assert progress.run == 2
    assert progress.problem == "runs of another configuration do not count: global batch 256 instead of 512"
    assert isinstance(record(joined(*runs, of("512", "d"), of("512", "e")), plan, 0.0), Baseline)


def test_a_run_that_does_not_say_what_it_is_counts() -> None:
    runs = [of("256", "a"), flat(40, incarnation="b"), of("256", "c")]
    assert isinstance(record(joined(*runs), replace(PLAN, runs=3), 0.0), Baseline)

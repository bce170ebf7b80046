"""How a level comes of the readings of a run: which count, for how long, and when it is one."""

from dataclasses import replace

import pytest

from mfu_operator.detect.record import FirstLevel, record, record_first
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Baseline, Detection, Level, RecordPlan, Signal
from mfu_operator.model.incident import Recording
from mfu_operator.model.series import Phase, Reading

RULE = Detection()
PLAN = RecordPlan(duration_s=600, warmup_s=60)
EVERY_S = 30.0


def run(
    count: int, level: float = 0.5, *, begin_s: float = 0.0, incarnation: str = "a", wave: float = 0.001,
    phase: Phase = Phase.UNKNOWN,
) -> list[Reading]:  # fmt: skip
    """Readings every 30 s that vary a little."""
    return [
        Reading(
            begin_s + EVERY_S * index,
            {Signal.MFU: level * (1 + wave * (index % 3 - 1))},
            phase,
            incarnation=incarnation,
        )
        for index in range(count)
    ]


def progress(readings: list[Reading], plan: RecordPlan = PLAN, started_at: float = 0.0) -> Recording:
    found = record(readings, plan, started_at, RULE)
    assert isinstance(found, Recording)
    return found


def level(
    readings: list[Reading], plan: RecordPlan = PLAN, started_at: float = 0.0, rule: Detection = RULE
) -> Baseline:
    found = record(readings, plan, started_at, rule)
    assert isinstance(found, Baseline)
    return found


def test_the_warm_up_is_left_out_and_each_reading_counts_for_the_time_since_the_one_before() -> None:
    told = progress(run(12))
    assert (told.collected_s, told.needed_s, told.started_at) == (300.0, 600.0, 0.0)
    assert progress(run(3)).collected_s == 30.0
    assert progress(run(2)).collected_s == 0.0


def test_a_reading_counts_for_two_and_a_half_minutes_at_most() -> None:
    assert progress([*run(4), *run(2, begin_s=390)]).collected_s == 30 + 30 + 150 + 30


def test_a_run_is_long_enough_with_the_last_second_that_is_asked_for() -> None:
    assert isinstance(record(run(21), PLAN, 0.0, RULE), Recording)
    assert isinstance(record(run(22), PLAN, 0.0, RULE), Baseline)


def test_a_level_is_of_the_time_of_its_last_reading() -> None:
    assert level(run(22)).recorded_at == 21 * EVERY_S


def test_readings_from_before_the_recording_do_not_count() -> None:
    both = [*run(22, 0.4), *run(30, begin_s=660)]
    assert level(both, started_at=660.0).level.mfu == pytest.approx(0.5, rel=0.01)
    assert progress(run(12), started_at=30.0).collected_s == 270.0


def test_the_newest_part_of_a_longer_run_counts() -> None:
    assert level([*run(40, 0.4), *run(21, begin_s=1200)]).level.mfu == pytest.approx(0.5, rel=0.01)


def test_a_part_has_at_least_twelve_readings_however_long_each_counts() -> None:
    seldom = [replace(each, time_s=each.time_s * 5) for each in run(40)]
    early = [replace(each, values={Signal.MFU: 0.3}) for each in seldom[:28]]
    assert level([*early, *seldom[28:]]).level.mfu == pytest.approx(0.5, rel=0.01)


def test_checkpoints_are_left_out_and_what_comes_after_counts_for_its_own_time() -> None:
    told = progress([*run(6), *run(4, begin_s=180, phase=Phase.CHECKPOINT), *run(4, begin_s=300)])
    assert told.collected_s == 90 + 30 + 120


def test_the_same_step_twice_is_counted_once() -> None:
    steps = [replace(each, step=float(index // 2)) for index, each in enumerate(run(20))]
    assert progress(steps).collected_s == 60.0 * 9
    assert progress([replace(each, step=7.0) for each in run(12)]).collected_s == 0.0
    assert progress([replace(each, step=float(index)) for index, each in enumerate(run(12))]).collected_s == 300.0


def test_readings_of_half_of_the_pods_do_not_count() -> None:
    whole = run(6, incarnation="a,b")
    assert progress([*whole, *run(6, begin_s=180, incarnation="a")]).collected_s == 120.0


def test_as_many_runs_as_are_asked_for_make_a_level_and_the_newest_count() -> None:
    plan = replace(PLAN, runs=2)
    one, two = run(22), run(22, 0.502, begin_s=1000, incarnation="b")
    told = progress(one, plan)
    assert (told.run, told.runs) == (2, 2)
    found = level([*one, *two], plan)
    assert found.spread.runs == 2
    assert found.level.mfu == pytest.approx(0.501, rel=1e-3)
    three = run(22, 0.504, begin_s=2000, incarnation="c")
    assert level([*one, *two, *three], plan).level.mfu == pytest.approx(0.503, rel=1e-3)


def test_a_run_that_ended_early_is_told_and_the_one_that_runs_is_not() -> None:
    told = progress([*run(6), *run(6, begin_s=1000, incarnation="b")])
    assert told.problem == "a run ended after 2 min of usable readings"
    assert told.collected_s == 120.0
    assert progress(run(6)).problem is None
    assert isinstance(record([*run(6), *run(22, begin_s=1000, incarnation="b")], PLAN, 0.0, RULE), Baseline)


def test_the_strongest_signal_of_any_run_decides_and_every_level_is_told() -> None:
    both = [replace(each, values={**each.values, Signal.THROUGHPUT: 900.0, Signal.STEP_TIME: 2.0}) for each in run(22)]
    found = level(both)
    assert found.level == Level(mfu=0.5, step_time_s=2.0, throughput=900.0)
    assert found.spread.within > 0
    late = [replace(each, values={Signal.THROUGHPUT: 900.0}) for each in run(22)]
    assert level(late).level == Level(throughput=900.0)


def test_a_signal_that_was_there_now_and_then_has_a_level_of_what_was_seen() -> None:
    readings = [
        replace(each, values={Signal.MFU: 0.5} if index % 2 else {Signal.MFU: 0.5, Signal.STEP_TIME: 2.0})
        for index, each in enumerate(run(30))
    ]
    assert level(readings).level.step_time_s == 2.0


def test_too_few_readings_are_told() -> None:
    seldom = [replace(each, time_s=each.time_s * 5) for each in run(8)]
    told = progress(seldom)
    assert (told.problem or "").endswith(" are too few: record longer, or scrape more often")


def moving(by: float, count: int = 42) -> list[Reading]:
    """The last third of what counts is faster by so much than the first."""
    plain = run(count, wave=0.0002)
    return [
        replace(each, values={Signal.MFU: each.values[Signal.MFU] * (1 + by * (index > count / 2))})
        for index, each in enumerate(plain)
    ]


@pytest.mark.parametrize(
    ("by", "tolerance", "told"),
    [
        (0.009, None, None),
        (0.012, None, "it became 1.2 % faster while recorded, and a level permits 1 % at most"),
        (-0.012, None, "it became 1.2 % slower while recorded, and a level permits 1 % at most"),
        (0.012, 0.04, None),
        (0.024, 0.04, "it became 2.4 % faster while recorded, and a level permits 2 % at most"),
    ],
)
def test_a_run_whose_speed_moves_by_half_of_the_tolerance_is_not_steady(
    by: float, tolerance: float | None, told: str | None
) -> None:
    plan = RecordPlan(duration_s=1200, warmup_s=0)
    found = record(moving(by), plan, 0.0, replace(RULE, tolerance=tolerance))
    if told is None:
        assert isinstance(found, Baseline)
    else:
        assert isinstance(found, Recording)
        assert told in (found.problem or "")


def test_a_run_whose_readings_vary_by_more_than_five_per_cent_is_too_noisy_unless_more_was_declared() -> None:
    plan = RecordPlan(duration_s=3000, warmup_s=0)
    loud = [
        replace(each, values={Signal.MFU: 0.5 * (1 + 0.08 * (index % 3 - 1))}) for index, each in enumerate(run(120))
    ]
    assert "the run is too noisy: readings vary by" in (progress(loud, plan).problem or "")
    assert isinstance(record(loud, plan, 0.0, replace(RULE, tolerance=0.3)), Baseline)


def test_where_nothing_counts_it_is_told_why() -> None:
    assert progress([]).problem is None
    paused = progress([*run(3, phase=Phase.PAUSED), *run(3, begin_s=90, phase=Phase.CHECKPOINT)])
    assert paused.problem == "none of the readings counts: the job is in Checkpoint, Paused"
    empty = progress([replace(each, values={}) for each in run(6)])
    assert empty.problem == "none of the readings counts: they hold no mfu, throughput or step time above 0"
    mixed = progress([*run(1), *run(3, begin_s=30, phase=Phase.PAUSED)])
    assert mixed.problem is None


def test_a_run_of_another_configuration_does_not_count() -> None:
    def of(batch: str, begin_s: float, incarnation: str) -> list[Reading]:
        return [
            replace(each, info={"global_batch": batch}) for each in run(8, begin_s=begin_s, incarnation=incarnation)
        ]

    told = progress([*of("512", 0, "a"), *of("256", 1000, "b")])
    assert told.problem == "runs of another configuration do not count: global batch 512 instead of 256"
    late = run(4, begin_s=0)
    named = [*late[:2], replace(late[2], info={"global_batch": "1"}), replace(late[3], info={"global_batch": "2"})]
    assert progress([*named, *of("2", 1000, "b")]).problem == "a run ended after 60 s of usable readings"


def first(readings: list[Reading], span_s: float = 1200) -> FirstLevel:
    return record_first(readings, span_s, RULE)


def test_the_first_level_is_that_of_the_first_span_after_a_twentieth_of_it() -> None:
    found = first([*run(2, 0.1), *run(60, begin_s=60), *run(100, 0.4, begin_s=1860)])
    assert found.baseline.level.mfu == pytest.approx(0.5, rel=0.01)
    assert found.doubt is None
    assert 60 <= found.since_s <= 150
    assert found.baseline.recorded_at == pytest.approx(1320, abs=30)


def test_a_series_that_is_shorter_than_three_spans_gives_its_first_third() -> None:
    found = first([*run(60), *run(120, 0.4, begin_s=1800)], span_s=100_000)
    assert found.baseline.recorded_at == pytest.approx(1970, abs=40)


def test_a_span_that_is_not_steady_is_moved_on_and_the_doubt_is_told() -> None:
    moved = first([*run(22, 0.4), *run(200, begin_s=660)])
    assert moved.baseline.level.mfu == pytest.approx(0.5, rel=0.01)
    assert (moved.doubt or "").startswith("the first 20 min give no level, so it was recorded later: the run is not")
    assert moved.since_s > 300


def test_a_series_that_is_never_steady_is_taken_with_what_it_shows() -> None:
    drifting = [replace(each, values={Signal.MFU: 0.5 * 0.999**index}) for index, each in enumerate(run(400))]
    found = first(drifting)
    assert (found.doubt or "").startswith("no part of the series gives a level, so the operator would record none: ")
    assert found.since_s == 60.0
    assert found.baseline.recorded_at == 1200.0


@pytest.mark.parametrize(
    ("readings", "told"),
    [
        ([], "the series has no readings"),
        ([replace(each, values={}) for each in run(100)], "no baseline can be recorded from the series: none of the"),
    ],
)
def test_a_series_that_says_nothing_of_the_speed_gives_none(readings: list[Reading], told: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        first(readings)
    assert refusal.value.reason == "NothingToRecord"
    assert refusal.value.message.startswith(told)

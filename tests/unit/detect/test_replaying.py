"""What is said over a span of readings, and when: each transition once."""

import math
from dataclasses import replace

import pytest

from mfu_operator.detect.replay import Said, Span, replay, too_far_between
from mfu_operator.model.baseline import Baseline, Comparable, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict

BASELINE = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)
RULE = Detection()
MINUTE = 60.0


def series(
    minutes: float, loss: float = 0.0, *, begin_min: float = 0.0, every_s: float = 30.0, phase: Phase = Phase.UNKNOWN,
    incarnation: str = "a", info: dict[str, str] | None = None,
) -> list[Reading]:  # fmt: skip
    """Readings from a minute on, that minute included and the last not."""
    times = [begin_min * MINUTE + index * every_s for index in range(round(minutes * MINUTE / every_s))]
    values = {Signal.MFU: 0.46 * (1 - loss)}
    return [Reading(at_s, values, phase, incarnation=incarnation, info=info or {}) for at_s in times]


def events(*readings: list[Reading], baseline: Baseline = BASELINE, rule: Detection = RULE) -> list[Said]:
    return list(replay([each for part in readings for each in part], baseline, rule).said)


def test_nothing_is_said_of_nothing() -> None:
    found = replay([], BASELINE, RULE)
    assert (found.said, found.gated, found.last, found.usable_s) == ((), (), None, 0.0)


def test_an_incident_is_said_from_its_begin_to_its_end_each_step_once() -> None:
    said = events(series(60), series(60, 0.1, begin_min=60), series(30, begin_min=120))
    assert [each.event for each in said] == ["Regressed", "Confirmed", "Recovered"]
    regressed, confirmed, recovered = said
    assert 69 * MINUTE < regressed.time_s < 73 * MINUTE
    assert confirmed.time_s == pytest.approx(regressed.time_s + 30 * MINUTE, abs=30)
    assert recovered.time_s == pytest.approx(131.5 * MINUTE, abs=60)
    for each in said:
        assert each.onset_s == pytest.approx(60 * MINUTE, abs=30)
        assert each.drop == pytest.approx(0.1, abs=0.001)
    assert regressed.message.startswith("MFU 0.414")


def test_a_second_incident_is_said_again_with_its_own_numbers() -> None:
    said = events(
        series(60), series(60, 0.1, begin_min=60), series(30, begin_min=120), series(60, 0.3, begin_min=150),
        series(30, begin_min=210),
    )  # fmt: skip
    assert [each.event for each in said] == ["Regressed", "Confirmed", "Recovered"] * 2
    assert said[-1].drop == pytest.approx(0.3, abs=0.001)
    assert said[-1].onset_s == pytest.approx(150 * MINUTE, abs=30)


def test_a_silence_is_said_when_it_is_one_and_not_when_it_ends() -> None:
    said = events(series(60), series(60, begin_min=80))
    assert [each.event for each in said] == ["NoData"]
    assert said[0].time_s == 59.5 * MINUTE + 301
    assert (said[0].onset_s, said[0].drop) == (None, None)


def test_a_silence_after_an_incident_has_none_of_its_numbers() -> None:
    said = events(series(60), series(60, 0.1, begin_min=60), series(30, begin_min=120), series(30, begin_min=180))
    assert [each.event for each in said][-2:] == ["Recovered", "NoData"]
    assert (said[-1].onset_s, said[-1].drop) == (None, None)


@pytest.mark.parametrize(("gap_min", "is_silence"), [(4.5, False), (5.5, True)])
def test_five_minutes_without_a_reading_are_a_silence(gap_min: float, is_silence: bool) -> None:
    said = events(series(60), series(10, begin_min=59.5 + gap_min))
    assert [each.event for each in said] == (["NoData"] if is_silence else [])


@pytest.mark.parametrize(("gap_min", "is_silence"), [(19.5, False), (20.5, True)])
def test_a_job_that_evaluates_is_silent_for_longer(gap_min: float, is_silence: bool) -> None:
    parts = series(60), series(5, begin_min=60, phase=Phase.EVALUATION), series(10, begin_min=64.5 + gap_min)
    assert [each.event for each in events(*parts)] == (["NoData"] if is_silence else [])


@pytest.mark.parametrize(("gap_min", "is_silence"), [(29.0, False), (31.0, True)])
def test_a_log_that_is_written_seldom_is_silent_after_three_lines_that_did_not_come(
    gap_min: float, is_silence: bool
) -> None:
    seldom = series(200, every_s=600), series(50, begin_min=190 + gap_min, every_s=600)
    said = [each for each in events(*seldom, rule=Detection(sustain_s=3600)) if each.event == "NoData"]
    assert bool(said) is is_silence


def test_a_first_reading_that_says_nothing_is_no_transition() -> None:
    silent = [replace(each, values={}) for each in series(60)]
    assert events(silent) == []
    assert events([replace(each, values={Signal.MFU: math.nan}) for each in series(10)], series(30, begin_min=10)) == []


def test_nothing_is_said_before_the_level_was_known() -> None:
    recorded = replace(BASELINE, recorded_at=60 * MINUTE)
    heard: list[float] = []

    def hear(time_s: float, judgement: Judgement) -> None:
        heard.append(time_s)
        assert judgement.verdict is Verdict.HEALTHY

    found = replay(series(90), recorded, RULE, follow=hear)
    assert found.said == ()
    assert heard == [60.5 * MINUTE + 30 * index for index in range(59)]
    assert found.usable_s == 59 * 30


def test_a_run_that_had_begun_when_the_level_was_known_is_no_new_one() -> None:
    recorded = replace(BASELINE, recorded_at=60 * MINUTE)
    before, after = series(61, 0.1), series(60, 0.1, begin_min=61)
    [regressed] = [each for each in events(before, after, baseline=recorded) if each.event == "Regressed"]
    assert regressed.time_s > 69 * MINUTE
    assert regressed.onset_s is not None
    assert regressed.onset_s > 57 * MINUTE


def test_what_counted_is_summed_up_and_a_reading_stands_for_two_and_a_half_minutes_at_most() -> None:
    assert replay(series(60), BASELINE, RULE).usable_s == 3600 - 30
    assert replay([*series(10), *series(10, begin_min=13)], BASELINE, RULE).usable_s == 570 + 150 + 570
    gated = [*series(10), *series(10, begin_min=10, phase=Phase.EVALUATION), *series(10, begin_min=20)]
    assert replay(gated, BASELINE, RULE).usable_s == 570 + 600


def test_gated_readings_are_joined_to_spans() -> None:
    found = replay(
        [
            *series(2),
            *series(2, begin_min=2, phase=Phase.CHECKPOINT),
            *series(2, begin_min=4, phase=Phase.EVALUATION),
            *series(5, begin_min=6),
            *series(1, begin_min=11, phase=Phase.EVALUATION),
        ],
        BASELINE,
        replace(RULE, warmup_s=0.0),
    )
    assert found.gated == (
        Span(Gate.CHECKPOINT, 120.0, 210.0),
        Span(Gate.EVALUATION, 240.0, 330.0),
        Span(Gate.EVALUATION, 660.0, 690.0),
    )


def test_readings_of_another_job_count_nothing_where_it_is_known_what_they_are() -> None:
    slow = series(120, 0.3, begin_min=60, info={"global_batch": "512"})
    wanted = Comparable("gpt", global_batch=256)
    assert [each.event for each in replay([*series(60), *slow], BASELINE, RULE, wanted).said] == ["NotComparable"]
    assert "Regressed" in [each.event for each in replay([*series(60), *slow], BASELINE, RULE).said]
    unknown = series(120, 0.3, begin_min=60)
    assert "Regressed" in [each.event for each in replay([*series(60), *unknown], BASELINE, RULE, wanted).said]


def test_the_last_judgement_is_that_of_the_last_reading() -> None:
    last = replay(series(60), BASELINE, RULE).last
    assert last is not None
    assert (last.verdict, last.last_usable_s) == (Verdict.HEALTHY, 59.5 * MINUTE)


@pytest.mark.parametrize(
    ("every_s", "told"),
    [
        (150.0, None),
        (151.0, "a reading comes every 2.5 min and counts for 2.5 min at most: a loss is Regressed after 10 min, not"),
        (
            600.0,
            "a reading comes every 10 min and counts for 2.5 min at most: a loss is Regressed after 40 min, not 10",
        ),
        (1200.0, "a reading comes every 20 min and counts for 2.5 min at most"),
        (1201.0, "a reading comes every 20 min, and 20 min without one forget what was collected: no loss can be seen"),
    ],
)
def test_readings_that_come_too_seldom_are_told(every_s: float, told: str | None) -> None:
    found = too_far_between([Reading(index * every_s, {}) for index in range(5)], RULE)
    assert found == told if told is None else found is not None and found.startswith(told)


def test_one_reading_is_not_too_far_from_any_other() -> None:
    assert too_far_between(series(0.5), RULE) is None

"""What a confirmation needs beyond the alarm, and what ends an alarm: the bounds, from both sides."""

from dataclasses import replace

import pytest

from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import initial
from mfu_operator.model.baseline import Level, Signal
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Verdict
from tests.unit.detect.series import BASELINE, MINUTE, RULE, alarm_time, flat, joined, judged

TODAY_S = 1_790_000_000.0
"""A clock that does not begin at zero: a time that was never set differs from one that is."""

BOTH = replace(BASELINE, level=Level(mfu=0.46, step_time_s=1.0))


def moved(readings: list[Reading], by_s: float) -> list[Reading]:
    """The same readings at another time."""
    return [replace(each, time_s=each.time_s + by_s) for each in readings]


def spans(count: int, deep_minutes: float, every_s: float = 30.0) -> list[Reading]:
    """Spans of confirmation in which the loss is 10 % for so many minutes of 30, and within the tolerance otherwise."""
    span = (flat(deep_minutes, loss=0.10, every_s=every_s), flat(30 - deep_minutes, loss=0.018, every_s=every_s))
    return joined(flat(60), flat(12, loss=0.06), *(part for _ in range(count) for part in span))


def test_a_deep_loss_for_less_than_half_of_the_time_is_not_confirmed() -> None:
    judgement = judged(spans(4, deep_minutes=13.5))
    assert judgement.verdict is Verdict.REGRESSED
    assert not judgement.confirmed


def test_a_job_that_is_scraped_often_needs_as_much_of_the_span() -> None:
    assert not judged(spans(2, deep_minutes=13.5, every_s=2)).confirmed
    assert judged(spans(2, deep_minutes=20, every_s=2)).confirmed


def test_a_deep_loss_for_two_thirds_of_the_time_is_confirmed() -> None:
    assert judged(spans(4, deep_minutes=20)).confirmed


def test_a_run_that_is_slow_from_its_start_alarms() -> None:
    readings = flat(60, loss=0.10)
    alarm_s = alarm_time(readings)
    assert alarm_s is not None
    assert alarm_s < 45 * MINUTE


@pytest.mark.parametrize("now_s", [0.0, TODAY_S])
def test_a_gauge_that_nobody_sets_is_not_healthy_whatever_the_clock_says(now_s: float) -> None:
    moving = [replace(each, values={Signal.MFU: 0.46 + index % 2 / 1e4}) for index, each in enumerate(flat(60))]
    still = [replace(each, values=moving[-1].values) for each in flat(60)]
    assert judged(moved(joined(moving, still), now_s)).verdict is Verdict.NO_DATA


def both(readings: list[Reading], step_s: float) -> list[Reading]:
    """The readings with a second signal beside their MFU."""
    return [replace(each, values={**each.values, Signal.STEP_TIME: step_s}) for each in readings]


def test_a_loss_has_not_recovered_while_a_second_signal_lags() -> None:
    lost = joined(both(flat(60), 1.0), both(flat(45, loss=0.10), 1.11))
    assert judged(joined(lost, both(flat(30), 1.0)), BOTH, RULE).recovered
    lagging = judged(joined(lost, both(flat(30), 1.017)), BOTH, RULE)
    assert lagging.verdict is Verdict.REGRESSED
    assert not lagging.recovered


@pytest.mark.parametrize(("left", "recovered"), [(0.008, True), (0.012, False)])
def test_a_loss_has_recovered_once_less_than_half_of_the_tolerance_is_left(left: float, recovered: bool) -> None:
    readings = joined(flat(60), flat(30, loss=0.10), flat(120, loss=left))
    assert judged(readings).recovered is recovered


def test_a_confirmed_loss_began_when_it_was_confirmed_to_have_begun_whatever_comes_on_top_of_it() -> None:
    """The commit that is looked for is one from before the first loss."""
    first = joined(flat(60), flat(45, loss=0.10))
    assert judged(first).confirmed
    deeper = joined(first, flat(90, loss=0.018), flat(60, loss=0.15))
    assert judged(deeper).confirmed
    assert judged(deeper).onset_s == judged(first).onset_s


@pytest.mark.parametrize(("loss", "confirmed"), [(0.021, False), (0.03, True)])
def test_a_loss_that_noise_alone_may_carry_beyond_the_tolerance_is_not_confirmed(loss: float, confirmed: bool) -> None:
    judgement = judged(joined(flat(60), flat(180, loss=loss)))
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.confirmed is confirmed


def test_a_start_is_over_once_one_signal_is_good() -> None:
    """What two signals contradict each other in is not a slow start."""
    assert Gate.STARTING not in judged(both(flat(5), 1.05), BOTH, RULE).gates


def test_a_slow_start_began_after_the_last_good_reading() -> None:
    moment, rest = flat(1.5), flat(60, loss=0.10)
    begun = judged(joined(flat(5, loss=0.10), moment, flat(1.0), rest)).onset_s
    assert begun is not None
    assert begun >= 5 * MINUTE


@pytest.mark.parametrize("level_until_minutes", [None, 90])
def test_a_run_is_starting_until_its_own_level_was_recorded(level_until_minutes: int | None) -> None:
    recorded_s = None if level_until_minutes is None else level_until_minutes * MINUTE
    state, slow = initial(recorded_s), flat(60, loss=0.10)
    for reading in slow:
        state = advance(state, reading, BASELINE, RULE)
    assert state.alarmed is (recorded_s is None)
    for reading in joined(slow, flat(32, loss=0.10, incarnation="b"))[len(slow) :]:
        state = advance(state, reading, BASELINE, RULE)
    assert state.alarmed, "another run is not the one that the level was recorded of"

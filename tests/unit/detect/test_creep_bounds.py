"""What makes a rise a creep, from both sides of every bound. Shares of the limit, on the finest scale."""

import pytest

from mfu_operator.detect.creeping import FEWEST, FLOORS, SCALES_S, Creep, Trend, creep_of
from tests.unit.detect.series import about

WIDTH_S = SCALES_S[0]
DAY_S = 86_400.0


def line(start: float, step: float, count: int = FEWEST) -> list[float]:
    return [start + step * index for index in range(count)]


def with_steps(start: float, *steps: float) -> list[float]:
    floors = [start]
    for step in steps:
        floors.append(floors[-1] + step)
    return floors


def creeps(floors: list[float], horizon_s: float = DAY_S) -> bool:
    return creep_of(floors, 0, horizon_s) is not None


def test_a_straight_rise_is_told_with_its_ends_its_span_and_the_time_that_is_left() -> None:
    creep = creep_of(line(0.6, 0.02), 1, DAY_S)
    assert creep is not None
    assert (creep.scale, creep.from_ratio, creep.to_ratio) == (1, 0.6, about(0.82))
    assert creep.span_s == 11 * SCALES_S[1]
    assert creep.left_s == pytest.approx(9 * SCALES_S[1])
    assert Creep(0, 0.5, 0.6, 100.0, left_s=50.0, floor_s=1000.0).full_s == 1050.0
    assert Creep(0, 0.5, 0.6, 100.0, left_s=50.0).full_s == 50.0


def test_half_of_the_floors_are_the_least_that_is_judged() -> None:
    assert creeps(line(0.8, 0.01, FEWEST))
    assert not creeps(line(0.8, 0.01, FEWEST - 1))
    assert not creeps([])


@pytest.mark.parametrize(("rise", "told"), [(0.021, True), (0.019, False)])
def test_a_rise_within_two_per_cent_is_what_healthy_allocators_do(rise: float, told: bool) -> None:
    assert creeps(line(0.99 - rise, rise / 11)) is told


@pytest.mark.parametrize(("fall", "told"), [(0.018, True), (0.026, False)])
def test_a_fifth_of_the_rise_may_have_fallen_in_between(fall: float, told: bool) -> None:
    up, down = (0.1 + fall) / 8, -fall / 3
    assert creeps(with_steps(0.88, up, up, down, up, up, down, up, up, down, up, up)) is told


@pytest.mark.parametrize(("jump", "told"), [(0.033, True), (0.036, False)])
def test_a_third_of_the_rise_may_come_at_once(jump: float, told: bool) -> None:
    up = (0.1 - jump) / 10
    assert creeps(with_steps(0.88, *[up] * 5, jump, *[up] * 5)) is told


@pytest.mark.parametrize(("least", "told"), [(0.024, True), (0.014, False)])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_each_third_has_a_fifth_of_the_rise(where: int, least: float, told: bool) -> None:
    """Full at once: another part of the rule notices a rise that flattens."""
    steps = [(0.1 - least * 11 / 9) / 7.4] * 11
    for index in (range(4), range(4, 7), range(7, 11))[where]:
        steps[index] = least / 3
    assert creeps(with_steps(1 - sum(steps), *steps)) is told


@pytest.mark.parametrize(("last", "told"), [(0.99, True), (0.8, False)])
def test_a_rise_that_flattens_ends_below_the_limit_unless_it_is_near(last: float, told: bool) -> None:
    """Each step is 0.93 of the one before."""
    steps = [0.03 * 0.93**index for index in range(11)]
    assert creeps(with_steps(last - sum(steps), *steps)) is told


def test_a_rise_that_flattens_has_half_as_much_again_to_come_as_the_limit_is_away() -> None:
    """Thirds fall by 0.93³: a geometric series whose rest is known."""
    steps = [0.02 * 0.93**index for index in range(11)]
    floors = with_steps(0.0, *steps)
    cuts = [sum(floors[at - 1 : at + 2]) / 3 for at in (1, 4, 7, 10)]
    quotient = ((cuts[3] - cuts[2]) / (cuts[1] - cuts[0])) ** 0.5
    to_come = (cuts[3] - cuts[2]) * quotient / (1 - quotient)
    for limit_away, told in ((to_come / 1.4, False), (to_come / 1.6, True)):
        assert creeps([1 - limit_away - floors[-1] + floor for floor in floors], 10 * DAY_S) is told


@pytest.mark.parametrize(("steps_left", "told"), [(10.9, True), (11.1, False)])
def test_a_rise_is_drawn_on_for_as_long_as_it_was_seen(steps_left: float, told: bool) -> None:
    assert creeps(line(1 - 0.01 * (11 + steps_left), 0.01)) is told


def test_what_is_full_after_the_horizon_is_none_yet() -> None:
    assert creeps(line(0.8, 0.01), horizon_s=9.1 * WIDTH_S)
    assert not creeps(line(0.8, 0.01), horizon_s=8.9 * WIDTH_S)


def test_the_slower_of_the_whole_rise_and_its_newer_part_says_when_it_is_full() -> None:
    slower = with_steps(0.8, *[0.012] * 4, *[0.01] * 7)
    creep = creep_of(slower, 0, DAY_S)
    assert creep is not None
    newer = (slower[9] + slower[10] + slower[11] - slower[3] - slower[4] - slower[5]) / 3 / 6
    assert creep.left_s == pytest.approx((1 - slower[-1]) / newer * WIDTH_S)
    faster = with_steps(0.8, *[0.01] * 4, *[0.012] * 7)
    creep = creep_of(faster, 0, DAY_S)
    assert creep is not None
    assert creep.left_s == pytest.approx((1 - faster[-1]) / ((faster[-1] - 0.8) / 11) * WIDTH_S)


def test_what_is_full_already_has_no_time_left() -> None:
    creep = creep_of(line(0.95, 0.01), 0, DAY_S)
    assert creep is not None
    assert creep.left_s == 0.0


def fed(*floors: float, trend: Trend | None = None, begin: int = 0) -> Trend:
    """Two readings in each span, the lower one second."""
    trend = Trend() if trend is None else trend
    for index, floor in enumerate(floors):
        for offset_s, more in ((10.0, 0.01), (200.0, 0.0)):
            trend.add((begin + index) * WIDTH_S + offset_s, floor + more, DAY_S)
    return trend


def test_a_creep_is_known_when_the_twelfth_floor_is_closed() -> None:
    trend = fed(*line(0.8, 0.01, 12))
    assert (trend.creep, trend.since_s) == (None, None)
    trend.add(12 * WIDTH_S + 10, 0.93, DAY_S)
    assert trend.creep is not None
    assert trend.creep.from_ratio == pytest.approx(0.8)
    assert trend.creep.to_ratio == pytest.approx(0.91)
    assert trend.creep.floor_s == 11 * WIDTH_S
    assert trend.creep.full_s == pytest.approx(20 * WIDTH_S, rel=1e-4)
    assert trend.since_s == 12 * WIDTH_S + 10
    fed(*line(0.92, 0.01, 3), trend=trend, begin=12)
    assert trend.since_s == 12 * WIDTH_S + 10


def test_the_floor_rises_by_what_it_rose_within_the_span() -> None:
    trend = fed(*line(0.8, 0.01, 6))
    assert trend.rise(0, 2 * WIDTH_S) == pytest.approx(0.02, rel=1e-4)
    assert trend.rise(0, 4 * WIDTH_S) == pytest.approx(0.04, rel=1e-4)
    assert trend.rise(0, 5 * WIDTH_S) == 0.0


def test_a_creep_holds_on_while_it_is_full_within_three_times_as_long() -> None:
    trend = fed(*line(0.7, 0.015, 13))
    assert trend.creep is not None
    begun = trend.since_s
    slower = line(0.885, 0.004, 12)
    fed(*slower, trend=trend, begin=13)
    assert trend.creep is not None
    assert trend.since_s == begun
    ended = fed(*[0.93] * 14, trend=trend, begin=25)
    assert (ended.creep, ended.since_s) == (None, None)


def test_a_few_floors_that_are_missing_are_those_of_the_last_and_many_begin_anew() -> None:
    held = fed(0.5, 0.6, begin=0)
    held.add(8 * WIDTH_S, 0.7, DAY_S)
    assert held.rise(0, 7 * WIDTH_S) == pytest.approx(0.1, rel=1e-4)
    assert held.rise(0, 6 * WIDTH_S) == pytest.approx(0.0, abs=1e-6)
    anew = fed(0.5, 0.6, begin=0)
    anew.add(9 * WIDTH_S, 0.7, DAY_S)
    fed(0.8, trend=anew, begin=10)
    fed(0.9, trend=anew, begin=11)
    assert anew.rise(0, WIDTH_S) == pytest.approx(0.1, rel=1e-4)
    assert anew.rise(0, 2 * WIDTH_S) == pytest.approx(0.2, rel=1e-4)
    assert anew.rise(0, 3 * WIDTH_S) == 0.0


def given_back(by: float, rise: float = 0.04) -> float:
    """How much a rise that fell at its end shows of what was before the fall."""
    before = line(0.5, rise / 4, 5)
    trend = fed(*before, before[-1] - by, before[-1] - by)
    return trend.rise(0, WIDTH_S * 2)


def test_memory_is_given_back_where_a_quarter_of_the_rise_falls_and_more_than_noise() -> None:
    assert given_back(0.009) != 0.0
    assert given_back(0.011) == 0.0
    assert given_back(0.004, rise=0.008) != 0.0
    assert given_back(0.006, rise=0.008) == 0.0


def test_after_memory_was_given_back_a_creep_is_one_well_above_that_height() -> None:
    teeth = fed(*line(0.5, 0.03, 8), *line(0.5, 0.015, 16))
    assert teeth.creep is None
    higher = fed(*line(0.5, 0.03, 8), *line(0.5, 0.02, 20))
    assert higher.creep is not None


def test_of_two_creeps_the_one_that_is_full_first_is_told() -> None:
    trend = Trend()
    for index in range(60 * 4):
        trend.add(index * WIDTH_S, 0.4 + 0.55 * index / 240, 10 * DAY_S)
    assert trend.creep is not None
    assert trend.creep.scale == 0 or trend.creep.full_s < 300 * WIDTH_S


def test_the_last_floors_are_kept() -> None:
    trend = fed(*line(0.3, 0.001, FLOORS + 5))
    assert trend.rise(0, (FLOORS - 1) * WIDTH_S) == pytest.approx(0.001 * (FLOORS - 1), rel=1e-3)
    assert trend.rise(0, FLOORS * WIDTH_S) == 0.0

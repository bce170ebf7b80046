"""What creeps towards the limit, and what only looks like it. Shares of the limit, every two minutes."""

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.detect.creeping import FEWEST, FLOORS, SCALES_S, Trend, creep_of

EVERY_S = 120.0
HOUR_S = 3600.0
DAY_S = 24 * HOUR_S


def found(of_hours: Callable[[float], float], hours: float) -> float | None:
    """After how many hours a creep is found first, None where it never is."""
    return next((hour for hour, _ in finds(of_hours, hours)), None)


def finds(of_hours: Callable[[float], float], hours: float) -> Iterator[tuple[float, Trend]]:
    trend = Trend()
    for index in range(round(hours * HOUR_S / EVERY_S)):
        hour = index * EVERY_S / HOUR_S
        trend.add(index * EVERY_S, of_hours(hour), DAY_S)
        if trend.creep is not None:
            yield hour, trend


@pytest.mark.parametrize("full_in_h", [2, 4, 8, 16, 24, 48])
def test_a_leak_is_found_when_about_half_of_the_time_is_left(full_in_h: float) -> None:
    hour = found(lambda hour: 0.5 + 0.5 * hour / full_in_h, full_in_h)
    assert hour is not None
    assert 0.3 < 1 - hour / full_in_h < 0.65


def test_the_time_until_it_is_full_is_that_of_its_slope() -> None:
    _, trend = next(finds(lambda hour: 0.5 + hour / 16, 8))
    assert trend.creep is not None
    assert trend.creep.full_s == pytest.approx(8 * HOUR_S, rel=0.02)


def test_a_staircase_is_a_leak() -> None:
    assert found(lambda hour: 0.5 + 0.04 * math.floor(2 * hour), 6) is not None


def test_a_leak_that_starts_after_a_week_of_quiet_is_found() -> None:
    hour = found(lambda hour: 0.6 + max(0.0, hour - 168) / 20, 176)
    assert hour is not None
    assert 169 < hour < 174


@pytest.mark.parametrize(
    "healthy",
    [
        pytest.param(lambda hour: 0.97, id="a plateau just below the limit"),
        pytest.param(lambda hour: 0.3 + 0.65 * (1 - math.exp(-hour)), id="an allocator that warms up for hours"),
        pytest.param(lambda hour: 0.3 + 0.08 * math.log1p(20 * hour), id="ever rarer largest batches"),
        pytest.param(lambda hour: 0.6 if hour < 3 else 0.8, id="one step up"),
        pytest.param(lambda hour: 0.5 if hour % 2 > 0.2 else 0.9, id="evaluations that nobody labels"),
        pytest.param(lambda hour: 0.6 + 0.3 * (hour % 0.5), id="a cache that is dropped every half hour"),
        pytest.param(lambda hour: 0.4 + 0.2 * (hour % 6) / 6, id="a cache that is dropped every six hours"),
        pytest.param(lambda hour: 0.4 + 0.01 * hour / 24, id="what takes weeks"),
    ],
)
def test_what_only_looks_like_a_leak_is_none(healthy: Callable[[float], float]) -> None:
    assert found(healthy, 100) is None


def test_a_saw_whose_first_tooth_was_believed_is_not_believed_again() -> None:
    hours = [hour for hour, _ in finds(lambda hour: 0.6 + 0.3 * (hour % 8) / 8, 200)]
    assert hours
    assert max(hours) < 8.5


def test_memory_that_is_given_back_ends_the_creep() -> None:
    trend = Trend()
    for index in range(240):
        trend.add(index * EVERY_S, 0.5 + index / 600, DAY_S)
    assert trend.creep is not None
    for index in range(240, 250):
        trend.add(index * EVERY_S, 0.4, DAY_S)
    assert trend.creep is None
    assert trend.since_s is None


def test_a_rise_that_ends_is_let_go_of() -> None:
    hours = [hour for hour, _ in finds(lambda hour: 0.5 + min(hour, 2.0) / 5, 10)]
    assert hours
    assert max(hours) < 4


def test_evaluations_leave_holes_and_hide_no_leak() -> None:
    trend, at = Trend(), None
    for index in range(240):
        if (index % 30) < 25:
            trend.add(index * EVERY_S, 0.5 + index / 480, DAY_S)
        if trend.creep is not None and at is None:
            at = index * EVERY_S / HOUR_S
    assert at is not None
    assert at < 5


def test_after_a_long_outage_of_the_metrics_it_begins_anew() -> None:
    trend = Trend()
    for index in range(240):
        trend.add(index * EVERY_S, 0.5 + index / 600, DAY_S)
    trend.add(240 * EVERY_S + 3 * DAY_S, 0.91, DAY_S)
    assert trend.creep is None


FLOOR = st.floats(0.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(st.lists(FLOOR, min_size=0, max_size=FLOORS))
def test_a_creep_rises_is_not_full_yet_and_is_full_within_the_time_it_was_seen(floors: list[float]) -> None:
    creep = creep_of(floors, 0, DAY_S)
    if creep is not None:
        assert creep.from_ratio < creep.to_ratio
        assert 0 <= creep.left_s <= creep.span_s == (len(floors) - 1) * SCALES_S[0]


@settings(max_examples=200, deadline=None)
@given(FLOOR, st.lists(st.floats(-0.005, 0.005), min_size=FEWEST, max_size=FLOORS))
def test_noise_about_a_level_never_creeps(level: float, noise: list[float]) -> None:
    assert creep_of([level + one for one in noise], 0, DAY_S) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(FLOOR, min_size=FEWEST, max_size=FLOORS), st.integers(0, 2))
def test_what_falls_as_much_as_it_rises_never_creeps(floors: list[float], scale: int) -> None:
    assert creep_of([*floors, floors[0]], scale, DAY_S) is None


@settings(max_examples=100, deadline=None)
@given(st.floats(0.1, 0.8), st.integers(FEWEST, FLOORS), st.integers(0, 2))
def test_a_straight_line_to_the_limit_always_creeps(start: float, count: int, scale: int) -> None:
    """Drawn so that it is full after as many floors again, less one."""
    step = (1 - start) / (2 * count - 3)
    creep = creep_of([start + step * index for index in range(count)], scale, 10 * DAY_S)
    assert creep is not None
    assert creep.left_s == pytest.approx((count - 2) * SCALES_S[scale], rel=1e-6)

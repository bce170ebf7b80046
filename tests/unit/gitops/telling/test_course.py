"""A signal around a loss, drawn in characters."""

import math

import pytest

from mfu_operator.gitops.telling.course import columns
from mfu_operator.model.series import COURSE_POINTS, COURSE_SPAN_S

BEGAN_S = 1_699_999_800.0
"""22:10 UTC, when a span begins."""


def course(*values: float) -> tuple[tuple[float, float], ...]:
    return tuple((BEGAN_S + place * COURSE_SPAN_S, value) for place, value in enumerate(values) if value == value)


def drawn(*values: float, onset_s: float = BEGAN_S + 3 * COURSE_SPAN_S + 120) -> str:
    return columns(course(*values), onset_s, lambda value: f"{value:.3f}")


def test_the_highest_and_the_lowest_stand_beside_the_columns_and_the_onset_below() -> None:
    assert drawn(0.46, 0.46, 0.455, 0.38, 0.38) == (
        "0.460 ████▆▆\n"
        "      ██████\n"
        "      ██████\n"
        "0.380 ██████▆▆▆▆\n"
        "            ^ slow since 22:42\n"
        "      22:10 to 22:50 UTC, 10 minutes a column"
    )


def test_a_span_of_which_nothing_is_known_stays_empty() -> None:
    assert drawn(2.0, 2.0, math.nan, 1.0, 2.0).splitlines()[-3] == "1.000 ████  ▆▆██"


def test_no_more_than_twenty_columns_fit_into_a_phones_width_whatever_is_given() -> None:
    lines = drawn(*(100.0 + place for place in range(500))).splitlines()
    assert len(lines[3].removeprefix("580.000 ").replace(" ", "")) <= 2 * COURSE_POINTS
    assert max(map(len, lines)) <= 60


def test_an_onset_before_the_first_column_is_not_marked() -> None:
    assert "^" not in drawn(1.0, 1.1, 1.2, 1.3, onset_s=BEGAN_S - 1)
    assert "^ slow" in drawn(1.0, 1.1, 1.2, 1.3, onset_s=BEGAN_S).splitlines()[4]


@pytest.mark.parametrize("values", [(), (1.0, 2.0, 3.0), (1.0,) * 20])
def test_what_shows_no_course_is_not_drawn(values: tuple[float, ...]) -> None:
    assert drawn(*values) == ""

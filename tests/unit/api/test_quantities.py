"""Durations, percentages and times, as written and as meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.api import quantities


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400), ("500ms", 0.5), ("0s", 0), ("2m0.25s", 120.25)],
)
def test_durations(text: str, seconds: float) -> None:
    assert quantities.duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-5m", "1d", "10m ", "１０m"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="number and a unit"):
        quantities.duration_s(text)


def test_percentages() -> None:
    assert quantities.ratio("5%") == 0.05
    assert quantities.ratio("0.5%") == 0.005
    with pytest.raises(ValueError, match="percent sign"):
        quantities.ratio("0.05")


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1795243260.25, "2026-11-21T06:41:00.25Z"),
        (1795243260.9996, "2026-11-21T06:41:01Z"),
    ],
)
def test_times(time_s: float, text: str) -> None:
    assert quantities.rfc3339(time_s) == text


@pytest.mark.parametrize("text", ["2026-11-21T06:41:00Z", "2026-11-21t06:41:00.000z", "2026-11-21T08:41:00+02:00"])
def test_other_writers_times(text: str) -> None:
    assert quantities.unix_s(text) == 1795243260.0


def test_no_time() -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        quantities.unix_s("yesterday")


@given(st.integers(0, 4 * 10**12))
def test_a_time_survives(milliseconds: int) -> None:
    text = quantities.rfc3339(milliseconds / 1000)
    assert quantities.rfc3339(quantities.unix_s(text)) == text


@given(st.integers(-(10**14), 10**14))
def test_nanoseconds_survive(ns: int) -> None:
    assert quantities.nanoseconds(quantities.milliseconds(float(ns))) == ns

"""Healthy memory is not called a leak, and leaks are found in time: the seeded simulation, with fewer series."""

import pytest

from tests.detection.memory import HEALTHY, LEAKS, false_alarms, leaks

JOB_MONTHS = 12
NEVER = [name for name in HEALTHY if name != "saw-tooth of 1 to 48 h"]


@pytest.mark.parametrize("name", NEVER)
def test_healthy_memory_is_never_called_a_leak(name: str) -> None:
    assert false_alarms(HEALTHY[name], JOB_MONTHS) == 0


def test_a_saw_with_teeth_of_many_hours_is_believed_in_few_months() -> None:
    """Its first tooth is a leak until it falls."""
    assert false_alarms(HEALTHY["saw-tooth of 1 to 48 h"], 25) <= 4


@pytest.mark.parametrize("full_in_h", [2, 8, 24, 48])
@pytest.mark.parametrize("name", LEAKS)
def test_every_leak_is_found_with_a_quarter_of_the_time_left(name: str, full_in_h: float) -> None:
    found = leaks(LEAKS[name], full_in_h, 30)
    assert found.found == found.series
    assert found.left[len(found.left) // 2] >= 0.25

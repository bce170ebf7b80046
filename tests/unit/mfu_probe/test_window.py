"""The sliding window from which every reading is made."""

import pytest

from mfu_probe.window import StepWindow

SECOND = 1_000_000_000


def window_of(steps: int, *, step_seconds: float, window_seconds: float = 10.0, start_ns: int = 0) -> StepWindow:
    window = StepWindow(window_seconds)
    step_ns = round(step_seconds * 1e9)
    for number in range(steps):
        window.complete(start_ns + number * step_ns, start_ns + (number + 1) * step_ns)
    return window


def test_there_is_no_reading_before_the_first_completed_step() -> None:
    assert StepWindow(10.0).read(5 * SECOND) is None


def test_steady_steps_read_as_their_own_duration_whenever_the_scrape_comes() -> None:
    window = window_of(1000, step_seconds=0.02)
    for offset_ns in (0, 3_000_000, 19_000_000):
        reading = window.read(20 * SECOND + offset_ns)
        assert reading is not None
        assert reading.step_seconds == pytest.approx(0.02)


def test_mfu_is_achieved_over_peak_flops() -> None:
    reading = window_of(1000, step_seconds=0.02).read(20 * SECOND)
    assert reading is not None
    assert reading.mfu(flops_per_step=4e9, peak_flops=1e12) == pytest.approx(4e9 / 0.02 / 1e12)


def test_a_window_shorter_than_a_step_still_holds_one_whole_step() -> None:
    reading = window_of(5, step_seconds=55.0).read(5 * 55 * SECOND + 40 * SECOND)
    assert reading is not None
    assert (reading.steps, reading.step_seconds) == (1, 55.0)


def test_only_the_last_window_counts() -> None:
    window = window_of(100, step_seconds=1.0)
    for number in range(20):
        window.complete(100 * SECOND + number * SECOND // 2, 100 * SECOND + (number + 1) * SECOND // 2)
    reading = window.read(110 * SECOND)
    assert reading is not None
    assert reading.step_seconds == pytest.approx(0.5)


def test_a_run_that_stands_still_falls_to_zero_and_has_no_step_time() -> None:
    window = window_of(1000, step_seconds=0.02)
    halfway, stopped = window.read(25 * SECOND), window.read(40 * SECOND)
    assert halfway is not None and stopped is not None
    assert halfway.steps_per_second == pytest.approx(25, rel=0.02)
    assert stopped.steps_per_second == 0
    assert stopped.step_seconds is None


def test_memory_is_bounded_by_the_window() -> None:
    window = window_of(10_000, step_seconds=0.02)
    oldest = window.oldest_ns()
    assert oldest is not None
    assert oldest >= (200 - 10.03) * SECOND


def test_a_window_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        StepWindow(0.0)

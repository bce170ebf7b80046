import pytest

from mfu_operator.detect.formatting import bare, clock, duration, gibibytes, moment, per_cent, quantity
from mfu_operator.model.baseline import Signal


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (0.4, "0 s"),
        (40, "40 s"),
        (89.4, "89 s"),
        (90, "1.5 min"),
        (120, "2 min"),
        (122.4, "2 min"),
        (180, "3 min"),
        (384, "6.4 min"),
        (9.9 * 60, "9.9 min"),
        (9.95 * 60, "10 min"),
        (10.4 * 60, "10 min"),
        (12.4 * 60, "12 min"),
        (89 * 60, "89 min"),
        (90 * 60, "1.5 h"),
        (3.2 * 3600, "3.2 h"),
        (47 * 3600, "47.0 h"),
        (48 * 3600, "2 days"),
        (5 * 86400, "5 days"),
    ],
)
def test_a_length_of_time_has_two_digits_and_the_unit_that_fits_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("signal", "value", "told"),
    [
        (Signal.MFU, 0.3814, "0.381"),
        (Signal.MFU, 0.1, "0.100"),
        (Signal.MFU, 0.01234, "0.0123"),
        (Signal.MFU, 1.0, "1.000"),
        (Signal.MFU, 1.5, "1.500"),
        (Signal.MFU, 46.21, "46.210"),
        (Signal.THROUGHPUT, 12504.2, "12504"),
        (Signal.THROUGHPUT, 1000.2, "1000"),
        (Signal.THROUGHPUT, 999.94, "999.9"),
        (Signal.THROUGHPUT, 100.26, "100.3"),
        (Signal.THROUGHPUT, 99.99, "100"),
        (Signal.STEP_TIME, 0.08571, "0.0857"),
        (Signal.STEP_TIME, 12.345, "12.3"),
    ],
)
def test_a_value_has_the_digits_that_are_read(signal: Signal, value: float, told: str) -> None:
    assert bare(signal, value) == told


@pytest.mark.parametrize(
    ("signal", "told"),
    [(Signal.MFU, "0.381"), (Signal.THROUGHPUT, "0.381 tokens/s per GPU"), (Signal.STEP_TIME, "0.381 s")],
)
def test_a_quantity_has_its_unit_and_mfu_has_none(signal: Signal, told: str) -> None:
    assert quantity(signal, 0.381) == told


@pytest.mark.parametrize(
    ("time_s", "told"),
    [
        (0, "1970-01-01 00:00 UTC"),
        (0.5, "1970-01-01 00:01 UTC"),
        (60, "1970-01-01 00:01 UTC"),
        (61, "1970-01-01 00:02 UTC"),
        (1_790_000_000, "2026-09-21 14:14 UTC"),
    ],
)
def test_what_is_to_come_is_told_to_the_minute_that_has_begun_by_then(time_s: float, told: str) -> None:
    assert clock(time_s) == told


def test_what_is_past_is_told_to_the_second() -> None:
    assert moment(1_790_000_000) == "2026-09-21 14:13:20 UTC"


@pytest.mark.parametrize(
    ("ratio", "told"), [(0.05, "5 %"), (0.1724, "17.2 %"), (0.9996, "100 %"), (-0.031, "-3.1 %"), (0.0004, "0 %")]
)
def test_a_ratio_is_per_cent_with_one_digit_after_the_point_where_it_has_one(ratio: float, told: str) -> None:
    assert per_cent(ratio) == told


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (61.2 * 1024**3, "61.2 GiB"),
        (1024**3, "1 GiB"),
        (1024**3 - 1024**2, "1.02e+03 MiB"),
        (240 * 1024**2, "240 MiB"),
    ],
)
def test_bytes_are_gibibytes_and_below_one_mebibytes(size: float, told: str) -> None:
    assert gibibytes(size) == told

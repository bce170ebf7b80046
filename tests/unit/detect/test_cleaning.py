import math

import pytest

from mfu_operator.detect.cleaning import (
    gate_of,
    is_restart,
    level_of,
    log_speed,
    losses_of,
    missing_pods,
    tells_the_speed,
    values_of,
)
from mfu_operator.model.baseline import Level, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate

EACH = {Signal.MFU: 0.4, Signal.THROUGHPUT: 1000.0, Signal.STEP_TIME: 2.0}


def reading(
    incarnation: str = "a", step: float | None = None, values: dict[Signal, float] | None = None,
    ratio: float | None = None,
) -> Reading:  # fmt: skip
    return Reading(0.0, EACH if values is None else values, step=step, incarnation=incarnation, running_ratio=ratio)


def pods(first: int, count: int) -> str:
    return ",".join(f"pod-{number:03}" for number in range(first, first + count))


@pytest.mark.parametrize(
    ("phase", "gate"),
    [
        (Phase.STARTING, Gate.STARTING),
        (Phase.CHECKPOINT, Gate.CHECKPOINT),
        (Phase.EVALUATION, Gate.EVALUATION),
        (Phase.PAUSED, Gate.PAUSED),
        (Phase.RUNNING, None),
        (Phase.UNKNOWN, None),
    ],
)
def test_a_phase_that_is_not_training_closes_a_gate(phase: Phase, gate: Gate | None) -> None:
    assert gate_of(phase) is gate


def test_without_a_share_of_running_time_values_are_as_they_were_read() -> None:
    assert values_of(reading()) == EACH


def test_the_seconds_that_a_window_did_not_run_are_taken_out_again() -> None:
    assert values_of(reading(ratio=0.8)) == {
        Signal.MFU: pytest.approx(0.5),
        Signal.THROUGHPUT: pytest.approx(1250),
        Signal.STEP_TIME: pytest.approx(1.6),
    }


def test_a_window_that_was_mostly_something_else_has_no_values() -> None:
    assert values_of(reading(ratio=0.5)) == {
        Signal.MFU: pytest.approx(0.8),
        Signal.THROUGHPUT: pytest.approx(2000),
        Signal.STEP_TIME: pytest.approx(1.0),
    }
    assert values_of(reading(ratio=0.499)) == {}
    assert values_of(reading(ratio=math.nan)) == {}


def test_no_window_ran_for_longer_than_it_is() -> None:
    assert values_of(reading(ratio=1.7)) == EACH


@pytest.mark.parametrize("broken", [0.0, -1.0, math.nan, math.inf, -math.inf, 1e-30, 1e30, 1e-31, 1e31])
def test_a_value_that_no_job_can_have_is_dropped_and_the_others_stay(broken: float) -> None:
    assert values_of(reading(values={Signal.MFU: broken, Signal.STEP_TIME: 2.0})) == {Signal.STEP_TIME: 2.0}


@pytest.mark.parametrize("unit", [2e-30, 0.9e30])
def test_a_value_in_any_unit_is_one(unit: float) -> None:
    assert values_of(reading(values={Signal.MFU: unit})) == {Signal.MFU: unit}


def test_speed_grows_with_throughput_and_falls_with_the_time_of_a_step() -> None:
    assert log_speed(Signal.MFU, 2.0) == pytest.approx(math.log(2))
    assert log_speed(Signal.THROUGHPUT, 2.0) == pytest.approx(math.log(2))
    assert log_speed(Signal.STEP_TIME, 2.0) == pytest.approx(-math.log(2))


def test_each_signal_has_its_own_level() -> None:
    level = Level(mfu=1.0, step_time_s=2.0, throughput=3.0)
    assert [level_of(level, signal) for signal in (Signal.MFU, Signal.STEP_TIME, Signal.THROUGHPUT)] == [1.0, 2.0, 3.0]
    assert level_of(Level(), Signal.MFU) is None


def test_a_loss_is_positive_where_the_job_is_slower_and_the_strongest_signal_comes_first() -> None:
    level = Level(mfu=0.5, step_time_s=1.0, throughput=2000.0)
    losses = losses_of(EACH, level)
    assert list(losses) == [Signal.MFU, Signal.THROUGHPUT, Signal.STEP_TIME]
    assert losses == {
        Signal.MFU: pytest.approx(math.log(0.5 / 0.4)),
        Signal.THROUGHPUT: pytest.approx(math.log(2)),
        Signal.STEP_TIME: pytest.approx(math.log(2)),
    }


def test_a_signal_without_a_level_or_a_value_has_no_loss() -> None:
    assert list(losses_of(EACH, Level(throughput=2000.0))) == [Signal.THROUGHPUT]
    assert list(losses_of({Signal.MFU: 0.4}, Level(mfu=0.5, throughput=2000.0))) == [Signal.MFU]
    assert losses_of({}, Level(mfu=0.5)) == {}


@pytest.mark.parametrize(
    ("before", "now", "restarted"),
    [
        (("a", 100.0), ("a", 101.0), False),
        (("a", 100.0), ("a", 98.0), False),
        (("a", 100.0), ("a", 97.9), True),
        (("a", 100.0), ("a", 0.0), True),
        (("a", None), ("a", 0.0), False),
        (("a", 100.0), ("a", None), False),
        (("a", 100.0), ("b", 101.0), True),
        (("a", None), ("b", None), True),
        (("a,b,c", 100.0), ("a,c", 101.0), False),
        (("a,b,c", 100.0), ("a,c", 50.0), True),
        (("a,b,c", 100.0), ("a,d", 101.0), True),
        (("a,b", 100.0), ("a,b,c", 101.0), True),
        (("a,b", 100.0), ("b,a", 101.0), False),
    ],
)
def test_a_pod_that_was_not_there_or_a_counter_that_went_back_is_a_restart_and_a_missing_pod_is_none(
    before: tuple[str, float | None], now: tuple[str, float | None], restarted: bool
) -> None:
    assert is_restart(*before, reading(*now)) is restarted


@pytest.mark.parametrize(
    ("incarnation", "now", "missing"),
    [
        (None, "a", set()),
        ("a,b", "a,b", set()),
        ("a,b,c", "b", {"a", "c"}),
        ("a,b", "b,c", set()),
        ("a", "b", set()),
    ],
)
def test_pods_are_missing_where_the_others_of_their_incarnation_were_read(
    incarnation: str | None, now: str, missing: set[str]
) -> None:
    assert missing_pods(incarnation, reading(now)) == missing


@pytest.mark.parametrize(
    ("known", "read", "tells"),
    [(20, 20, True), (20, 19, True), (20, 18, True), (20, 17, False), (10, 9, True), (9, 8, False), (2, 1, False)],
)
def test_a_tenth_of_the_pods_may_be_missing(known: int, read: int, tells: bool) -> None:
    assert tells_the_speed(pods(0, known), reading(pods(0, read))) is tells


def test_pods_of_another_incarnation_tell_their_own_speed() -> None:
    assert tells_the_speed(pods(0, 20), reading(pods(50, 2)))
    assert tells_the_speed(None, reading("a"))

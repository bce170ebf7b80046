"""Counters on the pods' own pages are read as rates."""

import pytest

from mfu_operator.model.baseline import Signal
from tests.support.pods_double import JOB, Pods


def test_a_counter_of_tokens_is_read_as_its_rate() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for seconds in range(0, 300, 30):
        pods.run(JOB, gpt_0=f"tokens_total {1000 * seconds}\n")
        value = pods.value(Signal.THROUGHPUT)
        assert value == (None if seconds == 0 else pytest.approx(1000.0))


def test_a_counter_that_begins_anew_goes_on_from_there() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for tokens in (30_000, 60_000, 30_000):
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == pytest.approx(1000.0)


def test_a_rate_is_that_of_the_last_three_minutes() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    tokens = 0
    for minute in range(20):
        tokens += 60_000 if minute < 10 else 30_000
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT, after_s=60)
    assert value == pytest.approx(500.0)


def test_a_counter_of_steps_is_seconds_per_step() -> None:
    pods = Pods({"stepTime": "train_steps_total", "steps": "train_steps_total", "mfu": ""})
    for steps in (100, 115):
        pods.run(JOB, gpt_0=f"train_steps_total {steps}\n")
        reading = pods.reading()
    assert reading is not None
    assert (reading.values[Signal.STEP_TIME], reading.step) == (2.0, 115)


def test_a_counter_that_stands_still_has_no_seconds_per_step() -> None:
    pods = Pods({"stepTime": "train_steps_total", "steps": "train_steps_total", "mfu": ""})
    pods.run(JOB, gpt_0="train_steps_total 100\n")
    assert [pods.value(Signal.STEP_TIME) for _ in range(3)] == [None, None, None]


def test_a_gauge_that_a_profile_calls_a_counter_is_one() -> None:
    pods = Pods(profile="hf_trainer")
    for tokens in (0, 60_000):
        pods.run(JOB, gpt_0=f"train_num_input_tokens_seen {tokens}\nglobal_step 5\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == 2000.0


def test_a_counter_that_is_no_number_leaves_the_rate_alone() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for tokens in ("30000", "NaN", "90000"):
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == pytest.approx(1000.0)

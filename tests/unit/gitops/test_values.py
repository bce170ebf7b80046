"""Readings in their units."""

import pytest

from mfu_operator.gitops.values import signal_name, value


@pytest.mark.parametrize(
    ("signal", "amount", "told"),
    [
        ("mfu", 0.3812, "0.381"),
        ("stepTime", 0.0857, "85.7 ms"),
        ("stepTime", 0.9994, "999.4 ms"),
        ("stepTime", 1.0, "1.00 s"),
        ("stepTime", 2.5, "2.50 s"),
        ("throughput", 1250.4, "1,250 tokens/s per GPU"),
    ],
)
def test_a_value_has_its_unit(signal: str, amount: float, told: str) -> None:
    assert value(signal, amount) == told


@pytest.mark.parametrize(("signal", "name"), [("mfu", "MFU"), ("stepTime", "step time"), ("throughput", "throughput")])
def test_a_signal_has_a_name_in_a_sentence(signal: str, name: str) -> None:
    assert signal_name(signal) == name

"""Peak FLOP/s, declared or measured, and the FLOPs of a step."""

import pytest

from mfu_probe import UnknownGpuError, measure_peak, peak_of, training_flops
from tests.unit.mfu_probe.support import ManualClock


def test_names_are_those_of_the_driver() -> None:
    assert peak_of("NVIDIA H100 80GB HBM3") == 989.4e12
    assert peak_of("NVIDIA H100 PCIe") == 756.5e12
    assert peak_of("NVIDIA A100-SXM4-80GB", "tf32") == 156e12
    assert peak_of("NVIDIA L40S") == 362.05e12
    assert peak_of("NVIDIA GB200") == 2500e12
    assert peak_of("Tesla V100-SXM2-16GB", "fp16") == 125e12


def test_an_unknown_device_says_what_to_declare() -> None:
    with pytest.raises(UnknownGpuError, match="pass peak_flops"):
        peak_of("Abacus 3000")
    with pytest.raises(UnknownGpuError, match="bf16"):
        peak_of("Tesla V100-SXM2-16GB", "bf16")


def test_a_name_that_fits_several_cards_is_not_guessed() -> None:
    with pytest.raises(UnknownGpuError):
        peak_of("H100")


@pytest.mark.parametrize("gpu", ["NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"])
def test_a_slice_of_a_card_has_not_the_cards_peak(gpu: str) -> None:
    with pytest.raises(UnknownGpuError, match="pass peak_flops"):
        peak_of(gpu)


def test_the_fastest_call_is_the_peak() -> None:
    clock = ManualClock()
    durations = iter([0.4, 0.3, 0.2, 0.3, 5.0])
    peak = measure_peak(lambda: clock.advance(next(durations)), 1e9, seconds=0.7, clock=lambda: clock() / 1e9)
    assert peak == pytest.approx(1e9 / 0.2)


def test_training_flops_are_those_of_palm() -> None:
    assert training_flops(1000, 10) == 60_000
    assert training_flops(1000, 10, layers=2, width=64, sequence_length=48) == (6 * 1000 + 12 * 2 * 64 * 48) * 10

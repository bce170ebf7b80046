"""The table of peaks, which the probe and the operator share."""

from pathlib import Path

import pytest

from mfu_operator.detect.peaks import Peak, are_told_apart, dense_peak, is_slice, peaks
from mfu_operator.errors import Stall
from mfu_probe import peak_of

ROOT = Path(__file__).parents[3] / "operator"
PROBE_TABLE, TABLE = ROOT / "mfu_probe" / "gpu_peaks.tsv", ROOT / "mfu_operator" / "detect" / "gpu_peaks.tsv"


def test_probe_and_operator_have_the_same_table() -> None:
    assert PROBE_TABLE.read_text() == TABLE.read_text(), "run make generate"


@pytest.mark.parametrize("peak", peaks(), ids=lambda peak: f"{peak.name}-{peak.precision}")
def test_every_row_cites_its_source_and_can_be_reached(peak: Peak) -> None:
    assert len(peak.source) > 15
    assert dense_peak(f"NVIDIA {peak.name}", peak.precision) == peak.dense
    assert peak_of(f"NVIDIA {peak.name}", peak.precision) == peak.dense


@pytest.mark.parametrize("peak", [each for each in peaks() if each.sparse], ids=lambda it: f"{it.name}-{it.precision}")
def test_sparse_is_twice_dense_but_for_the_last_digits_of_the_data_sheet(peak: Peak) -> None:
    assert peak.sparse is not None
    twice = {("B300", "fp4"): 18_000 / 13_125, ("GB300", "fp4"): 20 / 15}.get((peak.name, peak.precision), 2.0)
    assert peak.sparse / peak.dense == pytest.approx(twice, rel=0.013)


def test_narrower_formats_are_never_slower() -> None:
    for name in {peak.name for peak in peaks()}:
        row = {peak.precision: peak.dense for peak in peaks() if peak.name == name}
        order = [row[precision] for precision in ("fp32", "tf32", "bf16", "fp8", "fp4") if precision in row]
        assert order == sorted(order), name


@pytest.mark.parametrize(
    ("gpu", "precision", "tera"),
    [
        ("NVIDIA H100 80GB HBM3", "bf16", 989.4),
        ("NVIDIA-H100-80GB-HBM3", "bfloat16", 989.4),
        ("nvidia-h100-80gb", "bf16-mixed", 989.4),
        ("NVIDIA H100 80GB HBM2e", "bf16", 756.5),
        ("NVIDIA H100 NVL", "amp_bf16", 835.5),
        ("NVIDIA GH200 480GB", "bf16", 989.5),
        ("NVIDIA H200", "fp8", 1979),
        ("NVIDIA H200 NVL", "bf16", 835.5),
        ("NVIDIA GB300", "bf16", 2500),
        ("NVIDIA H20", "bf16", 148),
        ("NVIDIA H20-3e", "fp8", 296),
        ("AMD Instinct MI325X", "bf16", 1307.4),
        ("AMD Instinct MI355X", "fp8", 5033.2),
        ("NVIDIA B200", "bf16", 2250),
        ("NVIDIA GB200", "bf16", 2500),
        ("NVIDIA A100-SXM4-80GB", "tf32", 156),
        ("NVIDIA A10", "bf16", 125),
        ("Tesla V100-SXM2-16GB", "fp16", 125),
        ("NVIDIA L40S", "bf16", 362.05),
        ("NVIDIA L4", "bf16", 121),
    ],
)
def test_names_are_those_of_the_driver_of_node_labels_and_of_frameworks(gpu: str, precision: str, tera: float) -> None:
    assert dense_peak(gpu, precision) == pytest.approx(tera * 1e12)


@pytest.mark.parametrize(
    ("gpu", "precision", "told"),
    [
        ("H100", "bf16", "fits several cards"),
        ("Abacus 3000", "bf16", "correct comparable.gpu"),
        ("NVIDIA A100-SXM4-80GB", "fp8", "write one of fp32, tf32, bf16, fp16"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "bf16", "a slice of a card"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "bf16", "a slice of a card"),
    ],
)
def test_what_the_table_does_not_hold_is_not_guessed(gpu: str, precision: str, told: str) -> None:
    with pytest.raises(Stall, match=told) as caught:
        dense_peak(gpu, precision)
    assert caught.value.reason == "UnknownPeak"
    assert "metrics.peakFlopsPerGpu" in caught.value.message


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("H200", "H200 NVL", True),
        ("NVIDIA H200 NVL", "NVIDIA H200", True),
        ("H100 80GB", "NVIDIA H100 80GB HBM3", False),
        ("H100", "H100 NVL", False),
        ("H100 NVL", "H100", False),
        ("L40S", "an accelerator of tomorrow", False),
        ("H200", "H200", False),
    ],
)
def test_cards_whose_peaks_differ_are_told_apart_and_a_name_of_several_from_none(
    one: str, other: str, apart: bool
) -> None:
    assert are_told_apart(one, other) is apart


def test_a_slice_is_told_by_its_name() -> None:
    assert is_slice("NVIDIA A100-SXM4-80GB MIG 1g.10gb")
    assert not is_slice("NVIDIA A100-SXM4-80GB")


def test_a_card_without_sparsity_has_no_sparse_peak() -> None:
    assert {peak.sparse for peak in peaks() if peak.precision == "fp32"} == {None}
    assert any(peak.sparse for peak in peaks())

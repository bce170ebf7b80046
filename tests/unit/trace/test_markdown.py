"""What a row of the kernels' table says of the grid."""

import pytest

from mfu_operator.trace.answer import KernelDelta
from mfu_operator.trace.markdown import grid_change


@pytest.mark.parametrize(
    ("grids", "told"),
    [
        ({"blocks_baseline": 64, "blocks_now": 96}, ", 64 → 96 blocks"),
        ({"blocks_baseline": 64}, ", 64 blocks"),
        ({"blocks_now": 96}, ", 96 blocks"),
        ({}, ""),
    ],
)
def test_a_grid_that_only_one_side_has_is_told_without_an_arrow(grids: dict[str, int], told: str) -> None:
    row = KernelDelta(name="gemm", category="gemm", delta_ns=1.0, calls_baseline=1.0, calls_now=2.0, **grids)
    assert grid_change(row) == told

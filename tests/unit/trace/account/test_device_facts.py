"""What a device did per mean counted step: kernels, grids, copies, calls and marks. Times in nanoseconds."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.model.account import KernelTotal, ShapeTotal
from mfu_operator.model.trace import NONE
from mfu_operator.trace.account import device_facts
from mfu_operator.trace.account.steps import in_counted
from mfu_operator.trace.columns.parts import COMMUNICATION, D2D, D2H, H2D, MEMSET
from mfu_operator.trace.names import kernels
from tests.support.recording import Op, Row, steps_of, trace_of

STEPS = steps_of(0, 100, 200, 300, 400)
"""The second and the third count."""

GEMM, ADD, REDUCE = "ampere_fp16_s16816gemm", "elementwise_add", "ncclDevKernel_AllReduce"


def flags(ops: Sequence[Op]) -> Any:
    trace = trace_of(ops=ops)
    return in_counted(trace.ops.start, STEPS, STEPS.counted)


def told(ops: Sequence[Op], **recorded: Any) -> Mapping[str, float | str]:
    trace = trace_of(ops=ops, **recorded)
    totals = device_facts.kernel_totals(trace, trace.ops, flags(ops), 2)
    found = device_facts.device_facts(trace, trace.ops, STEPS, totals)
    return {fact.name: value for fact, value in found.items()}


def totals_of(*ops: Op) -> tuple[KernelTotal, ...]:
    trace = trace_of(ops=ops)
    return device_facts.kernel_totals(trace, trace.ops, flags(ops), 2)


def test_kernels_are_totalled_by_name_the_most_expensive_first() -> None:
    found = totals_of(
        Op(ADD, 110, 120), Op(GEMM, 120, 150), Op(ADD, 210, 214), Op(GEMM, 20, 90), Op("copy", 130, 190, H2D),
        Op("exchange", 150, 152, COMMUNICATION),
    )  # fmt: skip
    assert found == (
        KernelTotal(GEMM, "gemm", 0.5, 15.0), KernelTotal(ADD, "elementwise", 1.0, 7.0),
        KernelTotal("exchange", "communication", 0.5, 1.0),
    )  # fmt: skip
    assert totals_of(Op("copy", 130, 190, MEMSET)) == ()
    assert totals_of() == ()


def test_kernels_without_length_are_calls_too() -> None:
    assert totals_of(Op(ADD, 110, 110)) == (KernelTotal(ADD, "elementwise", 0.5, 0.0),)


def test_a_kernels_launches_are_told_by_grid() -> None:
    (found,) = totals_of(
        Op(ADD, 110, 120, shape=8), Op(ADD, 120, 124, shape=4), Op(ADD, 130, 132, shape=8), Op(ADD, 10, 90, shape=2)
    )
    assert found.shapes == (ShapeTotal(4, 0.5, 2.0), ShapeTotal(8, 1.0, 6.0))


def test_grids_of_one_kernel_are_not_those_of_another() -> None:
    found = totals_of(Op(ADD, 110, 120, shape=8), Op(GEMM, 120, 160, shape=8), Op(ADD, 140, 150, shape=9))
    assert {one.name: one.shapes for one in found} == {
        GEMM: (ShapeTotal(8, 0.5, 20.0),), ADD: (ShapeTotal(8, 0.5, 5.0), ShapeTotal(9, 0.5, 5.0)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("grids", "known"), [([1], True), ([0], False), ([0, 1], False), (range(1, 17), True), (range(1, 18), False)]
)
def test_grids_are_told_where_all_are_known_and_not_more_than_sixteen(grids: Sequence[int], known: bool) -> None:
    (found,) = totals_of(*(Op(ADD, 110 + grid, 111 + grid, shape=grid) for grid in grids))
    assert len(found.shapes) == (len(grids) if known else 0)


def kernel(name: str, total_ns: float = 8.0, calls: float = 2.0) -> KernelTotal:
    return KernelTotal(name, kernels.category(name), calls, total_ns)


SGEMM, UNTOLD = "volta_sgemm_64x64_nt", "my_gemm"
CONVOLUTION = "cudnn_infer_volta_scudnn_winograd_fp16"


def test_time_of_tensor_cores_is_told_by_the_names_of_kernels_that_could_use_them() -> None:
    found = device_facts.tensor_core([kernel(GEMM, 5.0), kernel(SGEMM, 2.0), kernel(UNTOLD, 3.0), kernel(ADD, 99.0)])
    assert found == {"eligible": 10.0, "used": 5.0, "unknown": 3.0}


def test_matrix_kernels_are_told_by_the_numbers_that_they_read() -> None:
    found = device_facts._matrix_facts(
        [kernel(GEMM, 5.0), kernel("bf16_gemm", 4.0), kernel(SGEMM, 2.0), kernel(UNTOLD), kernel("add_bf16")]
    )
    assert {fact.name: value for fact, value in found.items()} == {
        "halfMatrixNs": 9.0, "halfMatrixCalls": 4.0, "singleMatrixNs": 2.0, "singleMatrixCalls": 2.0,
    }  # fmt: skip


def test_kernels_are_told_by_category_and_in_all() -> None:
    found = told([Op(GEMM, 110, 150), Op("other_gemm", 150, 160), Op(ADD, 220, 226), Op(GEMM, 310, 390)])
    expected = {"gemmNs": 25.0, "gemmCalls": 1.0, "elementwiseNs": 3.0, "elementwiseCalls": 0.5, "kernelCalls": 1.5}
    assert {name: found[name] for name in expected} == expected
    assert "optimizerNs" not in found


def test_copies_are_told_by_their_way() -> None:
    found = told([
        Op("a", 110, 120, H2D, size=8), Op("a", 210, 216, H2D, size=4, pageable=1), Op("b", 120, 124, D2H, size=2),
        Op("c", 130, 132, D2D, size=6), Op("a", 10, 90, H2D, size=99, pageable=1), Op(GEMM, 140, 152, pageable=1),
    ])  # fmt: skip
    expected = {
        "h2dCalls": 1.0, "h2dBytes": 6.0, "h2dTotalNs": 8.0, "d2hCalls": 0.5, "d2hBytes": 1.0, "d2hTotalNs": 2.0,
        "d2dCalls": 0.5, "d2dBytes": 3.0, "d2dTotalNs": 1.0, "pageableNs": 9.0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


def test_bytes_beyond_a_column_are_added_up() -> None:
    huge = (1 << 62) + (1 << 61)
    assert told([Op("a", 110, 120, H2D, size=huge), Op("a", 120, 130, H2D, size=huge)])["h2dBytes"] == float(huge)
    assert told([Op(ADD, 110, 120, shape=huge), Op(ADD, 120, 130, shape=huge)])["gridBlocks"] == float(huge)


def test_grids_graphs_and_tiny_kernels_are_those_of_counted_steps() -> None:
    wide = steps_of(0, 100_000, 200_000, 300_000, 400_000)
    ops = [
        Op(ADD, 110_000, 119_999, shape=8, graph=1), Op(ADD, 120_000, 130_000, shape=4),
        Op(ADD, 210_000, 210_002, shape=2),
        Op("copy", 220_000, 220_001, H2D), Op(ADD, 10, 20, shape=100, graph=1),
        Op(REDUCE, 230_000, 230_005, COMMUNICATION),
    ]  # fmt: skip
    trace = trace_of(ops=ops)
    found = device_facts.device_facts(trace, trace.ops, wide, ())
    assert found[facts.GRID_BLOCKS] == 7.0
    assert (found[facts.TINY_CALLS], found[facts.TINY_NS]) == (1.0, (9_999 + 2) / 2)
    assert found[facts.GRAPH_NS] == 9_999 / 2
    assert facts.GRAPH_NS not in device_facts.device_facts(trace, trace.ops, steps_of(200_000, 300_000), ())


def test_the_longest_collective_is_that_of_each_counted_step_in_the_mean() -> None:
    ops = [
        Op(REDUCE, 110, 120, COMMUNICATION), Op(REDUCE, 130, 160, COMMUNICATION), Op(REDUCE, 10, 90, COMMUNICATION),
        Op(GEMM, 210, 290), Op(REDUCE, 310, 390, COMMUNICATION),
    ]  # fmt: skip
    assert told(ops)["communicationLongestNs"] == 15.0
    assert "communicationLongestNs" not in told([Op(GEMM, 110, 190), Op(REDUCE, 10, 90, COMMUNICATION)])
    assert told([Op(REDUCE, 110, 111, COMMUNICATION)])["communicationLongestNs"] == 0.5


CALLS: list[Row] = [
    ("cudaLaunchKernel", 105, 109, 1), ("cudaStreamSynchronize", 120, 150, 1), ("cudaMalloc", 210, 214, 2),
    ("cudaLaunchKernel", 220, 222, 2), ("cudaLaunchKernel", 230, 290, 3), ("cudaStreamSynchronize", 20, 90, 1),
]  # fmt: skip
"""Threads 1 and 2 are of one process, 3 of another."""

PROCESSES = (0, 5, 5, 6)


def test_calls_are_those_of_the_process_that_drives_the_device() -> None:
    found = told([Op(GEMM, 110, 120, launch=0), Op(GEMM, 120, 130)], calls=CALLS, processes=PROCESSES)
    expected = {
        "syncCalls": 0.5, "syncCallNs": 15.0, "allocCalls": 0.5, "allocCallNs": 2.0,
        "launchCalls": 1.0, "launchCallNs": 3.0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    unlaunched = told([Op(GEMM, 110, 120)], calls=CALLS, processes=PROCESSES)
    assert "syncCalls" not in unlaunched
    both = told([Op(GEMM, 110, 120, launch=0), Op(GEMM, 240, 250, launch=4)], calls=CALLS, processes=PROCESSES)
    assert both["launchCalls"] == 1.5


def test_marks_of_compilers_and_debugging_aids_are_counted_wherever_they_stand() -> None:
    found = told(
        [Op("triton_compile_autotune", 150, 152), Op("isnan_check_nan", 160, 164)],
        ranges=[("compile_fx", 110, 130, 4), ("compile_fx", 10, 90)],
        host_ops=[("TorchDynamo", 140, 150), ("aten::isnan", 260, 266)],
        calls=[("cuModuleLoadDataEx", 210, 214)],
    )
    assert (found["compileCalls"], found["compileNs"]) == (3 / 2 + 0.5, 34 / 2 + 1.0)
    assert (found["debugCalls"], found["debugNs"]) == (0.5 + 0.5, 6 / 2 + 2.0)


@pytest.mark.parametrize(
    ("recorded", "count", "median"),
    [
        (
            {
                "host_ops": [
                    ("aten::mm", 110, 114),
                    ("aten::mm", 120, 130),
                    ("aten::mm", 210, 216),
                    ("aten::mm", 10, 90),
                ],
                "ranges": [("aten::mm", 110, 111)],
            },
            1.5,
            6.0,
        ),
        (
            {
                "ranges": [("aten::mm, op_id = 1", 110, 112), ("forward", 110, 190)],
                "calls": [("cudaLaunchKernel", 110, 119)],
            },
            0.5,
            2.0,
        ),
        ({"calls": [("cudaLaunchKernel", 110, 113), ("cudaStreamSynchronize", 120, 190)]}, 0.5, 3.0),
        ({"calls": [("cudaLaunchKernel", 10, 13)]}, None, None),
        ({"calls": [("cudaStreamSynchronize", 120, 190)]}, None, None),
        ({}, None, None),
    ],
)
def test_operators_are_told_by_themselves_or_by_their_ranges_or_by_launches(
    recorded: Mapping[str, Any], count: float | None, median: float | None
) -> None:
    found = told([Op(GEMM, 110, 120)], **recorded)
    assert (found.get("hostOps"), found.get("hostOpMedianNs")) == (count, median)


def test_the_driving_process_is_told_by_launches_that_are_known() -> None:
    trace = trace_of(
        ops=[Op(GEMM, 110, 120, launch=4), Op(GEMM, 120, 130, launch=NONE)], calls=CALLS, processes=PROCESSES
    )
    assert device_facts.of_driver(trace, trace.ops).thread.tolist() == [3]
    lost = trace_of(ops=[Op(GEMM, 110, 120)], calls=CALLS, processes=PROCESSES)
    assert len(device_facts.of_driver(lost, lost.ops)) == 0

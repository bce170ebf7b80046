"""Where every nanosecond of a device's step goes: busy parts by priority, gaps by what the host did meanwhile."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from mfu_operator.model.account import PARTS
from mfu_operator.model.trace import NONE, column
from mfu_operator.trace.account import accounting, batch, blind_spots
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.operator_shapes import CONVOLUTION, EMBEDDING, LINEAR
from mfu_operator.trace.columns.parts import COMMUNICATION, COMPUTE, D2D, D2H, H2D, MEMSET, UNKNOWN, WHOLE_GRAPH
from tests.support.recording import Op, Row, steps_of, trace_of

LAUNCH = "cudaLaunchKernel"


def parts_of(
    ops: Sequence[Op], steps: Steps, calls: Sequence[Row] = (), ranges: Sequence[Row] = ()
) -> list[dict[str, int]]:
    """What each step's account holds, without the parts that are zero."""
    trace = trace_of(ops=ops, calls=calls, ranges=ranges)
    found = accounting.account(trace, accounting.ops_of(trace, 0), steps)
    assert found.parts.sum(axis=1).tolist() == (steps.end - steps.start).tolist()
    return [{part: int(ns) for part, ns in zip(PARTS, row, strict=True) if ns} for row in found.parts]


def test_a_devices_operations_are_those_of_the_device_by_time() -> None:
    trace = trace_of(ops=[Op("b", 20, 30), Op("other", 0, 10, device=1), Op("a", 10, 20, size=5)])
    found = accounting.ops_of(trace, 0)
    assert (found.start.tolist(), found.size.tolist()) == ([10, 20], [5, 0])


def test_of_operations_at_the_same_time_the_first_part_counts() -> None:
    ops = [
        Op("k", 0, 10), Op("n", 5, 20, COMMUNICATION), Op("h", 15, 30, H2D), Op("d", 25, 40, D2H),
        Op("x", 35, 50, D2D), Op("m", 45, 60, MEMSET),
    ]  # fmt: skip
    expected = {"compute": 10, "communication": 10, "h2d": 10, "d2h": 10, "d2d": 10, "memset": 10}
    assert parts_of(ops, steps_of(0, 60)) == [expected]


def test_all_communication_is_told_hidden_or_not() -> None:
    trace = trace_of(ops=[Op("k", 0, 10), Op("n", 5, 20, COMMUNICATION), Op("n", 110, 130, COMMUNICATION)])
    found = accounting.account(trace, accounting.ops_of(trace, 0), steps_of(0, 100, 200))
    assert found.communication_total.tolist() == [15, 20]


CALLS: list[Row] = [(LAUNCH, 40, 41), (LAUNCH, 155, 156)]


def test_a_gap_is_the_hosts_until_the_launch_and_the_launchs_from_then_on() -> None:
    ops = [Op("k", 0, 10), Op("k", 50, 60, launch=0)]
    assert parts_of(ops, steps_of(0, 60), CALLS) == [{"compute": 20, "idleHost": 30, "idleLaunch": 10}]


def test_a_gap_before_an_operation_without_a_launch_or_after_the_last_is_unknown() -> None:
    assert parts_of([Op("k", 10, 20)], steps_of(0, 50)) == [{"compute": 10, "idleUnknown": 40}]
    assert parts_of([Op("k", 50, 60, launch=0, graph=1)], steps_of(0, 60), CALLS) == [
        {"compute": 10, "idleUnknown": 50}
    ]
    assert parts_of([Op("k", -90, -80)], steps_of(0, 50)) == [{"idleUnknown": 50}]
    assert parts_of([Op("k", 90, 100)], steps_of(0, 50)) == [{"idleUnknown": 50}]


def test_a_gap_is_cut_at_the_edges_of_steps_and_keeps_what_ended_it() -> None:
    ops = [Op("k", 0, 10), Op("k", 250, 260, launch=1)]
    assert parts_of(ops, steps_of(0, 100, 200, 300), CALLS) == [
        {"compute": 10, "idleHost": 90},
        {"idleHost": 55, "idleLaunch": 45},
        {"compute": 10, "idleLaunch": 50, "idleUnknown": 40},
    ]


def test_what_lies_outside_of_the_steps_is_in_no_account() -> None:
    ops = [Op("k", 0, 20), Op("k", 30, 40), Op("k", 90, 120), Op("k", 130, 150)]
    assert parts_of(ops, steps_of(35, 100)) == [{"compute": 15, "idleUnknown": 50}]
    apart = Steps(("a", "b"), column([0, 100]), column([35, 140]), 0)
    assert parts_of(ops, apart) == [
        {"compute": 25, "idleUnknown": 10}, {"compute": 30, "idleUnknown": 10},
    ]  # fmt: skip


def test_the_launch_of_the_operation_that_ends_a_gap_counts_and_none_of_one_without_length() -> None:
    ops = [Op("k", 0, 10), Op("empty", 50, 50), Op("k", 50, 60, launch=0)]
    assert parts_of(ops, steps_of(0, 60), CALLS) == [{"compute": 20, "idleHost": 30, "idleLaunch": 10}]
    none = [Op("empty", 50, 50, launch=0)]
    assert parts_of(none, steps_of(0, 60), CALLS) == [{"idleUnknown": 60}]
    both = [Op("k", 50, 60, launch=0), Op("k", 50, 55)]
    assert parts_of(both, steps_of(0, 60), CALLS) == [{"compute": 10, "idleHost": 40, "idleLaunch": 10}]


@pytest.mark.parametrize(
    ("calls", "ranges", "expected"),
    [
        ([], [("data", 10, 25)], {"idleInput": 15, "idleHost": 25}),
        ([("cudaStreamSynchronize", 10, 25)], [], {"idleSync": 15, "idleHost": 25}),
        ([("cudaMalloc", 10, 25)], [], {"idleAlloc": 15, "idleHost": 25}),
        # Input before synchronisation before allocation.
        (
            [("cudaStreamSynchronize", 20, 35), ("cudaMalloc", 30, 45)],
            [("data", 10, 25)],
            {"idleInput": 15, "idleSync": 10, "idleAlloc": 10, "idleHost": 5},
        ),
        ([("cudaStreamSynchronize", 10, 25, 1)], [("data", 10, 25, 1)], {"idleHost": 40}),
        ([("cudaGetDevice", 10, 25)], [("forward", 10, 25)], {"idleHost": 40}),
    ],
)
def test_the_hosts_part_of_a_gap_is_what_the_launching_thread_did(
    calls: Sequence[Row], ranges: Sequence[Row], expected: Mapping[str, int]
) -> None:
    ops = [Op("k", 50, 60, launch=0), Op("k", 0, 10)]
    assert parts_of(ops, steps_of(0, 60), [(LAUNCH, 50, 51), *calls], ranges) == [{"compute": 20, **expected}]


def test_each_gap_is_explained_by_the_thread_that_ended_it() -> None:
    calls: list[Row] = [(LAUNCH, 20, 21, 1), (LAUNCH, 50, 51, 2), ("cudaStreamSynchronize", 10, 45, 2)]
    ops = [Op("k", 20, 30, launch=0), Op("k", 50, 60, launch=1)]
    assert parts_of(ops, steps_of(0, 60), calls) == [{"compute": 20, "idleSync": 15, "idleHost": 25}]


def test_a_launch_long_before_or_after_its_gap_makes_it_all_launch_or_all_host() -> None:
    assert parts_of([Op("k", 50, 60, launch=0)], steps_of(0, 60), [(LAUNCH, -90, -89)]) == [
        {"compute": 10, "idleLaunch": 50}
    ]
    assert parts_of([Op("k", 50, 60, launch=0)], steps_of(0, 60), [(LAUNCH, 90, 99)]) == [
        {"compute": 10, "idleHost": 50}
    ]


def test_where_kernels_are_missing_all_idle_time_is_unknown() -> None:
    parts = column([range(1, 13), [0] * 12])
    accounting.forget_idle(parts)
    assert parts[0].tolist() == [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 7 + 8 + 9 + 10 + 11 + 12]
    assert parts[1].tolist() == [0] * 12
    assert UNKNOWN == 11


def test_the_mean_is_over_the_counted_steps() -> None:
    assert accounting.mean(column([[1, 10], [2, 20], [4, 40]]), (1, 2)) == (3.0, 30.0)


BATCHES = steps_of(0, 100, 200)


@pytest.mark.parametrize(
    ("rows", "size"),
    [
        ([], None),
        ([(10, CONVOLUTION, 32), (20, CONVOLUTION, 64), (110, CONVOLUTION, 32)], 32),
        ([(20, CONVOLUTION, 64), (10, CONVOLUTION, 32), (110, CONVOLUTION, 32)], 32),
        ([(10, CONVOLUTION, 32), (110, CONVOLUTION, 64)], None),
        ([(10, CONVOLUTION, 32)], 32),
        ([(10, EMBEDDING, 8), (20, EMBEDDING, 16), (110, EMBEDDING, 16), (120, EMBEDDING, 8)], 16),
        ([(10, LINEAR, 8), (20, LINEAR, 16), (110, LINEAR, 8)], 8),
        ([(5, LINEAR, 4), (6, EMBEDDING, 8), (10, CONVOLUTION, 32)], 32),
        ([(5, LINEAR, 4), (6, EMBEDDING, 8)], 8),
        ([(300, CONVOLUTION, 32), (10, EMBEDDING, 8)], 8),
        ([(10, CONVOLUTION, 32), (110, CONVOLUTION, 64), (10, EMBEDDING, 8)], None),
        ([(0, LINEAR, 4), (200, LINEAR, 8)], 4),
        ([(-5, LINEAR, 4)], None),
    ],
)
def test_a_steps_batch_is_told_by_the_surest_operators_of_all_steps_alike(
    rows: Sequence[tuple[int, int, int]], size: int | None
) -> None:
    assert batch.batch_size(trace_of(batches=rows), BATCHES) == size


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (("step 0", "step 1"), True),
        (("ProfilerStep#00*", "ProfilerStep#1"), True),
        (("step 10", "step 20"), False),
        (("step 1", "step 2"), False),
        (("step 0 of", "b"), False),
    ],
)
def test_the_first_iteration_is_known_by_its_number(names: tuple[str, ...], first: bool) -> None:
    steps = Steps(names, column([0, 100]), column([100, 200]), 0)
    assert {fact.name for fact in blind_spots.of_trace(trace_of(), steps)} == ({"firstIteration"} if first else set())


def test_a_first_iteration_that_does_not_count_does_not_matter() -> None:
    assert blind_spots.of_trace(trace_of(), steps_of(0, 100, 200, 300)) == {}


def test_why_events_are_missing_is_handed_on() -> None:
    said = blind_spots.of_trace(trace_of(incomplete="cut short"), steps_of(0, 100, 200, 300))
    assert {fact.name: value for fact, value in said.items()} == {"incomplete": "cut short"}


def test_graphs_that_were_kept_whole_are_told_per_counted_step() -> None:
    ops = [Op(WHOLE_GRAPH, 110, 120), Op(WHOLE_GRAPH, 115, 130), Op("k", 140, 190), Op(WHOLE_GRAPH, 10, 90)]
    trace = trace_of(ops=ops)
    steps = steps_of(0, 100, 200, 300, 400)
    assert {one.name: value for one, value in blind_spots.of_device(trace, trace.ops, steps).items()} == {
        "wholeGraphNs": 10.0
    }
    early = trace_of(ops=ops[2:])
    assert blind_spots.of_device(early, early.ops, steps) == {}
    plain = trace_of(ops=[Op("k", 110, 190)])
    assert blind_spots.of_device(plain, plain.ops, steps) == {}


@pytest.mark.parametrize(("part", "computes"), [(COMPUTE, True), (COMMUNICATION, True), (H2D, False)])
def test_kernels_are_lost_where_only_copies_were_recorded(part: int, computes: bool) -> None:
    trace = trace_of(ops=[Op("x", 110, 120, part), Op("copy", 130, 140, MEMSET)])
    assert blind_spots.computes(trace) is computes
    told = {one.name: value for one, value in blind_spots.of_device(trace, trace.ops, steps_of(0, 200)).items()}
    assert told == ({} if computes else {"kernelsLost": 1.0})


@pytest.mark.parametrize(
    ("name", "its"), [("nccl:all_reduce", True), ("ncclAllReduce", True), ("my nccl:x", False), ("nccl_wrapper", False)]
)
def test_nccls_own_ranges_are_known_by_their_beginning(name: str, its: bool) -> None:
    assert blind_spots.uses_nccl(trace_of(ranges=[("forward", 0, 1), (name, 0, 1)])) is its


def test_lengths_are_added_where_steps_repeat() -> None:
    parts = np.zeros((2, 12), dtype=np.int64)
    accounting._add(parts, column([1, 1, 0]), COMPUTE, column([5, 6, 7]))
    assert parts[:, COMPUTE].tolist() == [7, 11]
    assert accounting._at(column([5, 6]), column([NONE, 0, 1])).tolist() == [0, 5, 6]
    assert accounting._at(column(), column([NONE, NONE])).tolist() == [0, 0]

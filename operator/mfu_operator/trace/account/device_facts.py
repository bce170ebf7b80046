"""What a device did, in the numbers that causes are told by. Per mean counted step unless the name says otherwise."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mfu_operator.model import facts
from mfu_operator.model.account import KernelTotal, ShapeTotal
from mfu_operator.model.fact import Fact, Number, Observed
from mfu_operator.model.trace import NONE, DeviceOps, Flags, Spans, Trace
from mfu_operator.trace.account.steps import Steps, in_counted
from mfu_operator.trace.columns.distinct import distinct
from mfu_operator.trace.columns.parts import COMMUNICATION, COMPUTE, D2D, D2H, H2D
from mfu_operator.trace.names import kernels, range_names
from mfu_operator.trace.names.range_names import select

MOST_KERNELS = 100
"""Of an account, the most expensive first."""

MOST_SHAPES = 16
"""Grids of one kernel: one that is launched on more of them has grids that follow its data."""

TINY_NS = 10_000
"""A kernel that runs for less takes about as long to launch as to run."""

MATRIX_CATEGORIES = ("gemm", "convolution")
COPIES: Mapping[int, tuple[Number, Number, Number]] = {
    H2D: (facts.H2D_CALLS, facts.H2D_BYTES, facts.H2D_TOTAL_NS),
    D2H: (facts.D2H_CALLS, facts.D2H_BYTES, facts.D2H_TOTAL_NS),
    D2D: (facts.D2D_CALLS, facts.D2D_BYTES, facts.D2D_TOTAL_NS),
}
"""By part: the facts of its copies' number, bytes and time."""

CALLS: Mapping[str, tuple[Number, Number]] = {
    "sync": (facts.SYNC_CALLS, facts.SYNC_CALL_NS),
    "alloc": (facts.ALLOC_CALLS, facts.ALLOC_CALL_NS),
    "launch": (facts.LAUNCH_CALLS, facts.LAUNCH_CALL_NS),
}
"""By what the names' table calls CUDA calls: the facts of their number and time."""

MARKS: Mapping[str, tuple[Number, Number]] = {
    "compile": (facts.COMPILE_CALLS, facts.COMPILE_NS),
    "debug": (facts.DEBUG_CALLS, facts.DEBUG_NS),
}
"""By what the names' table marks: the facts of its number and time."""


def kernel_totals(trace: Trace, ops: DeviceOps, chosen: Flags, count: int) -> tuple[KernelTotal, ...]:
    """The kernels that start in the counted steps, by name, the most expensive first."""
    mine = chosen & (ops.part <= COMMUNICATION)
    length = np.bincount(ops.name[mine], (ops.end - ops.start)[mine])
    calls = np.bincount(ops.name[mine])
    used = np.flatnonzero(calls)
    ordered = used[np.argsort(-length[used], kind="stable")]
    communicating = set(ops.name[mine & (ops.part == COMMUNICATION)].tolist())
    shapes = _shapes(ops, mine, count)
    return tuple(
        KernelTotal(
            trace.names[one],
            "communication" if int(one) in communicating else kernels.category(trace.names[one]),
            float(calls[one]) / count,
            float(length[one]) / count,
            shapes.get(int(one), ()),
        )
        for one in ordered
    )


def _shapes(ops: DeviceOps, mine: Flags, count: int) -> dict[int, tuple[ShapeTotal, ...]]:
    """Each kernel's launches by grid, under the index of its name; none where grids are unknown or too many."""
    name, blocks, length = ops.name[mine], ops.shape[mine], (ops.end - ops.start)[mine]
    order = np.lexsort((blocks, name))
    name, blocks, length = name[order], blocks[order], length[order]
    first = np.flatnonzero(np.append(True, (name[1:] != name[:-1]) | (blocks[1:] != blocks[:-1]))[: len(name)])
    totals, calls = np.add.reduceat(length, first), np.diff(np.append(first, len(name)))
    found: dict[int, list[ShapeTotal]] = {}
    for row, each, total, launches in zip(first, name[first], totals, calls, strict=True):
        found.setdefault(int(each), []).append(
            ShapeTotal(int(blocks[row]), float(launches) / count, float(total) / count)
        )
    return {each: tuple(rows) for each, rows in found.items() if len(rows) <= MOST_SHAPES and rows[0].blocks > 0}


def tensor_core(totals: Sequence[KernelTotal]) -> dict[str, float]:
    """Kernel time that could use tensor cores, that did, and that cannot be told; overlapping kernels count twice."""
    eligible = [one for one in totals if one.category in kernels.ELIGIBLE_CATEGORIES]
    verdicts = [kernels.tensor_core(one.name) for one in eligible]
    return {
        "eligible": sum(one.total_ns for one in eligible),
        "used": _sum_where(eligible, verdicts, kernels.USED),
        "unknown": _sum_where(eligible, verdicts, kernels.UNKNOWN),
    }


def _sum_where(totals: Sequence[KernelTotal], verdicts: Sequence[str], wanted: str) -> float:
    return sum(one.total_ns for one, verdict in zip(totals, verdicts, strict=True) if verdict == wanted)


def device_facts(trace: Trace, ops: DeviceOps, steps: Steps, totals: Sequence[KernelTotal]) -> Observed:
    """Kernels and copies by kind, blocking calls, and how much of the account rests on what."""
    counted = steps.counted
    chosen = in_counted(ops.start, steps, counted)
    observed: dict[Fact, float | str] = {}
    for category in dict.fromkeys(one.category for one in totals):
        mine = [one for one in totals if one.category == category]
        observed[facts.CATEGORY_NS[category]] = sum(one.total_ns for one in mine)
        observed[facts.CATEGORY_CALLS[category]] = sum(one.calls for one in mine)
    observed[facts.KERNEL_CALLS] = sum(one.calls for one in totals)
    observed |= _matrix_facts(totals)
    observed |= _longest_collective(ops, steps, counted)
    observed |= _copy_facts(ops, chosen, len(counted))
    observed |= _call_facts(trace, ops, steps, counted)
    observed |= _mark_facts(trace, steps, counted, totals)
    observed[facts.GRID_BLOCKS] = float(ops.shape[chosen].sum(dtype=np.float64)) / len(counted)
    tiny = chosen & (ops.part == COMPUTE) & (ops.end - ops.start < TINY_NS)
    observed[facts.TINY_CALLS] = float(tiny.sum()) / len(counted)
    observed[facts.TINY_NS] = float((ops.end - ops.start)[tiny].sum()) / len(counted)
    graph = chosen & (ops.graph == 1)
    if graph.any():
        observed[facts.GRAPH_NS] = float((ops.end - ops.start)[graph].sum()) / len(counted)
    return observed


def _matrix_facts(totals: Sequence[KernelTotal]) -> Observed:
    """Calls and time of matrix products and convolutions by the numbers that they read, for each that occurs."""
    observed: dict[Fact, float | str] = {}
    matrices = [(kernels.number_format(one.name), one) for one in totals if one.category in MATRIX_CATEGORIES]
    for read in dict.fromkeys(read for read, _ in matrices if read != kernels.UNKNOWN):
        mine = [one for its, one in matrices if its == read]
        observed[facts.MATRIX_NS[read]] = sum(one.total_ns for one in mine)
        observed[facts.MATRIX_CALLS[read]] = sum(one.calls for one in mine)
    return observed


def _longest_collective(ops: DeviceOps, steps: Steps, counted: Sequence[int]) -> Observed:
    """The longest of each counted step, in the mean; absent where there is none."""
    mine = ops.part == COMMUNICATION
    length = (ops.end - ops.start)[mine]
    step = np.searchsorted(steps.start, ops.start[mine], side="right") - 1
    longest = [int(length[step == index].max(initial=0)) for index in counted]
    return {facts.COMMUNICATION_LONGEST_NS: sum(longest) / len(longest)} if any(longest) else {}


def _copy_facts(ops: DeviceOps, chosen: Flags, count: int) -> Observed:
    observed: dict[Fact, float | str] = {}
    length = ops.end - ops.start
    for part, (calls, size, spent) in COPIES.items():
        mine = chosen & (ops.part == part)
        observed[calls] = float(mine.sum()) / count
        observed[size] = float(ops.size[mine].sum(dtype=np.float64)) / count
        observed[spent] = float(length[mine].sum()) / count
    observed[facts.PAGEABLE_NS] = float(length[chosen & (ops.pageable == 1)].sum()) / count
    return observed


def _call_facts(trace: Trace, ops: DeviceOps, steps: Steps, counted: Sequence[int]) -> Observed:
    """Blocking calls of the process that drives the device."""
    calls = of_driver(trace, ops)
    if not len(calls):
        return {}
    inside = calls.where(in_counted(calls.start, steps, counted))
    observed: dict[Fact, float | str] = {}
    for word, (number, spent) in CALLS.items():
        mine = select(inside, trace.names, "cuda", word)
        observed[number] = len(mine) / len(counted)
        observed[spent] = float((mine.end - mine.start).sum()) / len(counted)
    return observed


def of_driver(trace: Trace, ops: DeviceOps) -> Spans:
    """The CUDA (HIP) calls of the processes that launched the device's operations."""
    launch = ops.launch[ops.launch != NONE]
    processes = distinct(trace.processes[trace.calls.thread[launch]])
    return trace.calls.where(np.isin(trace.processes, processes)[trace.calls.thread])


def _operators(spans: Sequence[Spans], names: Sequence[str]) -> Iterator[Spans]:
    """Where framework operators may stand: by themselves, among the ranges, or nowhere but for their launch calls."""
    ranges, host_ops, calls = spans
    yield host_ops
    yield select(ranges, names, "mark", "operator")
    yield select(calls, names, "cuda", "launch")


def _mark_facts(trace: Trace, steps: Steps, counted: Sequence[int], totals: Sequence[KernelTotal]) -> Observed:
    """Ranges, operators, calls and kernels that give away a compiler or a debugging aid; and how fast operators run.

    Where no operators were recorded, launch calls show how fast the host is.
    """
    observed: dict[Fact, float | str] = {}
    spans = [one.where(in_counted(one.start, steps, counted)) for one in (trace.ranges, trace.host_ops, trace.calls)]
    for word, (number, spent) in MARKS.items():
        marked = [select(one, trace.names, "mark", word) for one in spans]
        run = [one for one in totals if range_names.meaning("mark", one.name) == word]
        observed[number] = sum(len(one) for one in marked) / len(counted) + sum(one.calls for one in run)
        observed[spent] = float(sum(int((one.end - one.start).sum()) for one in marked)) / len(counted) + sum(
            one.total_ns for one in run
        )
    operators = next((one for one in _operators(spans, trace.names) if len(one)), spans[1])
    if len(operators):
        observed[facts.HOST_OPS] = len(operators) / len(counted)
        observed[facts.HOST_OP_MEDIAN_NS] = float(np.median(operators.end - operators.start))
    return observed

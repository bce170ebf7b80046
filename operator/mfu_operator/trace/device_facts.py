"""What a device did, in the numbers that causes are told by. Per mean counted step unless the name says otherwise."""

from collections.abc import Iterator, Sequence

import numpy as np

from mfu_operator.model.account import KernelTotal, ShapeTotal
from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Spans, Trace
from mfu_operator.trace import kernels, range_names
from mfu_operator.trace.accounting import COMMUNICATION, D2D, D2H, H2D
from mfu_operator.trace.distinct import distinct
from mfu_operator.trace.host_facts import Facts
from mfu_operator.trace.range_names import select
from mfu_operator.trace.steps import Steps

MOST_KERNELS = 100
"""Of an account, the most expensive first."""

MOST_SHAPES = 16
"""Grids of one kernel: one that is launched on more of them has grids that follow its data."""

MATRIX_CATEGORIES = ("gemm", "convolution")
COPIES = {H2D: "h2d", D2H: "d2h", D2D: "d2d"}


def in_counted(start: Ints, steps: Steps, counted: Sequence[int]) -> Flags:
    """Whether each event starts in a counted step."""
    index = np.searchsorted(steps.start, start, side="right") - 1
    wanted = np.zeros(len(steps) + 1, dtype=np.bool_)
    wanted[list(counted)] = True
    inside: Flags = (index >= 0) & wanted[index] & (start < steps.end[np.maximum(index, 0)])
    return inside


def kernel_totals(trace: Trace, ops: DeviceOps, chosen: Flags, count: int) -> tuple[KernelTotal, ...]:
    """The kernels that start in the counted steps, by name, the most expensive first."""
    mine = chosen & (ops.part <= COMMUNICATION)
    length = np.bincount(ops.name[mine], (ops.end - ops.start)[mine])
    calls = np.bincount(ops.name[mine])
    used = np.flatnonzero(calls)
    ordered = used[np.argsort(-length[used], kind="stable")]
    shapes = _shapes(ops, mine, count)
    return tuple(
        KernelTotal(
            trace.names[one],
            kernels.category(trace.names[one]),
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
    if not len(first):
        return {}
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


def device_facts(trace: Trace, ops: DeviceOps, steps: Steps, totals: Sequence[KernelTotal]) -> Facts:
    """Kernels and copies by kind, blocking calls, and how much of the account rests on what."""
    counted = steps.counted
    chosen = in_counted(ops.start, steps, counted)
    facts: Facts = {}
    for one in totals:
        facts[f"{one.category}Ns"] = _number(facts, f"{one.category}Ns") + one.total_ns
        facts[f"{one.category}Calls"] = _number(facts, f"{one.category}Calls") + one.calls
    facts["kernelCalls"] = sum(one.calls for one in totals)
    facts |= _matrix_facts(totals)
    facts |= _longest_collective(ops, steps, counted)
    facts |= _copy_facts(ops, chosen, len(counted))
    facts |= _call_facts(trace, ops, steps, counted)
    facts |= _mark_facts(trace, steps, counted, totals)
    facts["gridBlocks"] = float(ops.shape[chosen].sum(dtype=np.float64)) / len(counted)
    graph = chosen & (ops.graph == 1)
    if graph.any():
        facts["graphNs"] = float((ops.end - ops.start)[graph].sum()) / len(counted)
    return facts


def _number(facts: Facts, name: str) -> float:
    value = facts.get(name, 0.0)
    return 0.0 if isinstance(value, str) else value


def _matrix_facts(totals: Sequence[KernelTotal]) -> Facts:
    """Calls and time of matrix products and convolutions by the numbers that they read, for each that occurs."""
    facts: Facts = {}
    for one in totals:
        read = kernels.number_format(one.name) if one.category in MATRIX_CATEGORIES else kernels.UNKNOWN
        if read != kernels.UNKNOWN:
            facts[f"{read}MatrixNs"] = _number(facts, f"{read}MatrixNs") + one.total_ns
            facts[f"{read}MatrixCalls"] = _number(facts, f"{read}MatrixCalls") + one.calls
    return facts


def _longest_collective(ops: DeviceOps, steps: Steps, counted: Sequence[int]) -> Facts:
    """The longest of each counted step, in the mean; absent where there is none."""
    mine = ops.part == COMMUNICATION
    length = (ops.end - ops.start)[mine]
    step = np.searchsorted(steps.start, ops.start[mine], side="right") - 1
    longest = [int(length[step == index].max(initial=0)) for index in counted]
    return {"communicationLongestNs": sum(longest) / len(longest)} if any(longest) else {}


def _copy_facts(ops: DeviceOps, chosen: Flags, count: int) -> Facts:
    facts: Facts = {}
    length = ops.end - ops.start
    for part, word in COPIES.items():
        mine = chosen & (ops.part == part)
        facts[f"{word}Calls"] = float(mine.sum()) / count
        facts[f"{word}Bytes"] = float(ops.size[mine].sum(dtype=np.float64)) / count
        facts[f"{word}TotalNs"] = float(length[mine].sum()) / count
    facts["pageableNs"] = float(length[chosen & (ops.pageable == 1)].sum()) / count
    return facts


def _call_facts(trace: Trace, ops: DeviceOps, steps: Steps, counted: Sequence[int]) -> Facts:
    """Blocking calls of the process that drives the device."""
    calls = _of_driver(trace, ops)
    if not len(calls):
        return {}
    inside = calls.where(in_counted(calls.start, steps, counted))
    facts: Facts = {}
    for word in ("sync", "alloc", "launch"):
        mine = select(inside, trace.names, "cuda", word)
        facts[f"{word}Calls"] = len(mine) / len(counted)
        facts[f"{word}CallNs"] = float((mine.end - mine.start).sum()) / len(counted)
    return facts


def _of_driver(trace: Trace, ops: DeviceOps) -> Spans:
    launch = ops.launch[ops.launch != NONE]
    if not len(launch):
        return Spans()
    processes = distinct(trace.processes[trace.calls.thread[launch]])
    return trace.calls.where(np.isin(trace.processes, processes)[trace.calls.thread])


def _operators(spans: Sequence[Spans], names: Sequence[str]) -> Iterator[Spans]:
    """Where framework operators may stand: by themselves, among the ranges, or nowhere but for their launch calls."""
    ranges, host_ops, calls = spans
    yield host_ops
    yield select(ranges, names, "mark", "operator")
    yield select(calls, names, "cuda", "launch")


def _mark_facts(trace: Trace, steps: Steps, counted: Sequence[int], totals: Sequence[KernelTotal]) -> Facts:
    """Ranges, operators, calls and kernels that give away a compiler or a debugging aid; and how fast operators run.

    Where no operators were recorded, launch calls show how fast the host is.
    """
    facts: Facts = {}
    spans = [one.where(in_counted(one.start, steps, counted)) for one in (trace.ranges, trace.host_ops, trace.calls)]
    for word in ("compile", "debug"):
        marked = [select(one, trace.names, "mark", word) for one in spans]
        run = [one for one in totals if range_names.meaning("mark", one.name) == word]
        facts[f"{word}Calls"] = sum(len(one) for one in marked) / len(counted) + sum(one.calls for one in run)
        facts[f"{word}Ns"] = float(sum(int((one.end - one.start).sum()) for one in marked)) / len(counted) + sum(
            one.total_ns for one in run
        )
    operators = next((one for one in _operators(spans, trace.names) if len(one)), spans[1])
    if len(operators):
        facts["hostOps"] = len(operators) / len(counted)
        facts["hostOpMedianNs"] = float(np.median(operators.end - operators.start))
    return facts

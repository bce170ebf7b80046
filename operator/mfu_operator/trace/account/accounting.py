"""The account of a device: every nanosecond of every step goes to exactly one part.

The parts are taken in the order of PARTS on the union over the device's streams, so that communication and copies
count only where nothing computes. The idle rest is split by what the host did before it issued the operation that
ended the gap: the part up to the launch call by the launching thread's ranges and calls, the rest is launch latency.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfu_operator.model.account import PARTS
from mfu_operator.model.trace import NONE, DeviceOps, Ints, Spans, Trace
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.intervals import EMPTY, TimeSet
from mfu_operator.trace.columns.parts import ALLOC, BUSY, COMMUNICATION, HOST, INPUT, LAUNCH, MEMSET, SYNC, UNKNOWN
from mfu_operator.trace.names.range_names import select


@dataclass(frozen=True, slots=True)
class Accounts:
    """`parts`: nanoseconds, shape (steps, 12), rows summing to the steps' lengths. `communication_total`: overlapped
    and exposed communication of each step, shape (steps,)."""

    parts: Ints
    communication_total: Ints


@dataclass(frozen=True, slots=True)
class _Gaps:
    """Idle time: [start, end), shape (gaps,), and the row of the operation that ended it (NONE: none did)."""

    start: Ints
    end: Ints
    op: Ints


def ops_of(trace: Trace, device: int) -> DeviceOps:
    """The device's operations by time of start."""
    rows = np.flatnonzero(trace.ops.device == device)
    rows = rows[np.argsort(trace.ops.start[rows], kind="stable")]
    columns = (getattr(trace.ops, name)[rows] for name in DeviceOps.__slots__)
    return DeviceOps(*columns)


def account(trace: Trace, ops: DeviceOps, steps: Steps) -> Accounts:
    """The account of every step.

    Args:
        trace: where the launch calls and ranges are.
        ops: the operations of one device, by time of start (`ops_of`).
        steps: disjoint windows in order of time.
    """
    parts = np.zeros((len(steps), len(PARTS)), dtype=np.int64)
    taken = EMPTY
    for part in BUSY:
        mine = ops.part == part
        everywhere = intervals.union(ops.start[mine], ops.end[mine])
        together = intervals.join(taken, everywhere)
        parts[:, part] = intervals.within(together, steps.start, steps.end) - intervals.within(
            taken, steps.start, steps.end
        )
        if part == COMMUNICATION:
            communication_total = intervals.within(everywhere, steps.start, steps.end)
        taken = together
    _explain_idle(trace, ops, _gaps(taken, ops, steps), steps, parts)
    return Accounts(parts, communication_total)


def _gaps(busy: TimeSet, ops: DeviceOps, steps: Steps) -> _Gaps:
    """The idle intervals, cut at the steps' edges."""
    low = min(int(steps.start[0]), int(busy.start[0]) if len(busy.start) else int(steps.start[0]))
    high = max(int(steps.end[-1]), int(busy.end[-1]) if len(busy.end) else int(steps.end[-1]))
    start = np.concatenate(([low], busy.end))
    end = np.concatenate((busy.start, [high]))
    op = np.append(np.searchsorted(ops.start, busy.start, side="left"), NONE)
    op = _earliest_launch(ops, op)
    return _cut(_Gaps(start, end, op), steps)


def _earliest_launch(ops: DeviceOps, op: Ints) -> Ints:
    """Of operations without length before the one that ends a gap, none counts: step over them."""
    longest = ops.end > ops.start
    rows = np.flatnonzero(longest)
    place = np.searchsorted(rows, np.maximum(op, 0), side="left")
    found = rows[np.minimum(place, len(rows) - 1)] if len(rows) else op
    return np.where(op == NONE, NONE, found)


def _cut(gaps: _Gaps, steps: Steps) -> _Gaps:
    """The pieces of gaps that lie in steps; each keeps the operation that ended its gap."""
    first = np.searchsorted(steps.end, gaps.start, side="right")
    last = np.searchsorted(steps.start, gaps.end, side="left")
    count = np.maximum(last - first, 0)
    row = np.repeat(np.arange(len(gaps.start)), count)
    step = np.repeat(first, count) + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    start = np.maximum(gaps.start[row], steps.start[step])
    end = np.minimum(gaps.end[row], steps.end[step])
    keep = end > start
    return _Gaps(start[keep], end[keep], gaps.op[row][keep])


def _explain_idle(trace: Trace, ops: DeviceOps, gaps: _Gaps, steps: Steps, parts: Ints) -> None:
    step = np.searchsorted(steps.start, gaps.start, side="right") - 1
    launch = np.where(gaps.op == NONE, NONE, _at(ops.launch, gaps.op))
    known = (launch != NONE) & (_at(ops.graph, gaps.op) == 0)
    issued = np.clip(_at(trace.calls.start, launch), gaps.start, gaps.end)
    _add(parts, step[~known], UNKNOWN, (gaps.end - gaps.start)[~known])
    _add(parts, step[known], LAUNCH, (gaps.end - issued)[known])
    thread = _at(trace.calls.thread, launch)
    for one in used(thread[known]):
        mine = known & (thread == one)
        _explain_host(trace, int(one), gaps.start[mine], issued[mine], step[mine], parts)


def _explain_host(trace: Trace, thread: int, start: Ints, end: Ints, step: Ints, parts: Ints) -> None:
    taken = EMPTY
    for part, times in ((INPUT, "range"), (SYNC, "cuda"), (ALLOC, "cuda")):
        together = intervals.join(taken, _doing(trace, thread, part, times))
        _add(parts, step, part, intervals.within(together, start, end) - intervals.within(taken, start, end))
        taken = together
    _add(parts, step, HOST, (end - start) - intervals.within(taken, start, end))


_MEANINGS = {INPUT: ("idleInput",), SYNC: ("sync",), ALLOC: ("alloc",)}


def _doing(trace: Trace, thread: int, part: int, where: str) -> TimeSet:
    """When the thread was waiting for input, synchronising or allocating."""
    spans = trace.ranges if where == "range" else trace.calls
    chosen = select(on_thread(spans, thread), trace.names, where, *_MEANINGS[part])
    return intervals.union(chosen.start, chosen.end)


def on_thread(spans: Spans, thread: int) -> Spans:
    """The spans of one thread."""
    return spans.where(spans.thread == thread)


def _at(values: Ints, rows: Ints) -> Ints:
    """values[rows], and 0 where there is no row."""
    if not len(values):
        return np.zeros(len(rows), dtype=np.int64)
    return np.where(rows == NONE, 0, values[np.maximum(rows, 0)])


def _add(parts: Ints, step: Ints, part: int, lengths: Ints) -> None:
    np.add.at(parts[:, part], step, lengths)


def forget_idle(parts: Ints) -> None:
    """Counts all idle time as unknown: where kernels are missing, a gap is none."""
    parts[:, UNKNOWN] = parts[:, MEMSET + 1 :].sum(axis=1)
    parts[:, MEMSET + 1 : UNKNOWN] = 0


def mean(rows: Ints, counted: Sequence[int]) -> tuple[float, ...]:
    """The columns' means over the counted steps, ns."""
    return tuple(float(value) for value in rows[list(counted)].mean(axis=0))

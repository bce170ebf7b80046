"""What a recorded span holds that no loop does: what lies before its first matrix kernel, and its longest gaps."""

import re
from dataclasses import dataclass

import numpy as np

from mfu_operator.model.trace import DeviceOps, Flags, Ints, Spans, Trace
from mfu_operator.trace.account.device_facts import of_driver
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.parts import COMPUTE, H2D
from mfu_operator.trace.names import kernels

MOST_CALLS = 5
MOST_GAPS = 3

MODULES = re.compile(r"(?i)(module|library)_?load|nvrtc|LinkComplete")
"""Calls that load code, which the driver may do long after the first kernel."""

HALF = 0.5
"""Of a gap: what ran for as long says what the device waited for, the shortest such the most precisely."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that took `ns` from `at_ns` on; `name` is None where nothing was recorded that says what."""

    name: str | None
    ns: int
    at_ns: int


@dataclass(frozen=True, slots=True)
class Startup:
    """The time before the first matrix kernel, of it copies to the device, and the calls that took longest."""

    ns: int
    copies_ns: int
    calls: tuple[Moment, ...]


def startup(trace: Trace, ops: DeviceOps) -> Startup | None:
    """What a device's operations and their process' calls begin with; None without a matrix kernel.

    Args:
        trace: where the calls are.
        ops: the operations of one device, by time of start.
    """
    named = np.array([kernels.category(name) in kernels.ELIGIBLE_CATEGORIES for name in trace.names], dtype=np.bool_)
    matrices = ops.start[(ops.part == COMPUTE) & named[ops.name]]
    if not len(matrices):
        return None
    first, calls = int(matrices.min()), of_driver(trace, ops)
    begin = min(int(ops.start.min()), int(calls.start.min()) if len(calls) else first)
    modules = np.array([MODULES.search(name) is not None for name in trace.names], dtype=np.bool_)
    early = calls.where((calls.start < first) | modules[calls.name])
    moments = [
        Moment(trace.names[n], int(e - s), int(s)) for n, s, e in zip(early.name, early.start, early.end, strict=True)
    ]
    copies = (ops.part == H2D) & (ops.start < first)
    copied = intervals.union(ops.start[copies], ops.end[copies]).length
    if copied:
        said = f"{int(copies.sum())} copies to the device"
        moments.append(Moment(said, copied, int(ops.start[copies].min())))
    longest = sorted(moments, key=lambda one: -one.ns)[:MOST_CALLS]
    return Startup(first - begin, copied, tuple(longest))


def longest_gaps(trace: Trace, ops: DeviceOps, start: int, end: int) -> tuple[Moment, ...]:
    """The longest times within [start, end) in which the device did nothing, the longest first."""
    busy = intervals.union(ops.start, ops.end)
    low = np.append(start, busy.end).clip(start, end)
    high = np.append(busy.start, end).clip(start, end)
    order = np.argsort(low - high, kind="stable")[:MOST_GAPS]
    kept = [(int(low[row]), int(high[row])) for row in order if high[row] > low[row]]
    return tuple(Moment(_meanwhile(trace, begin, until), until - begin, begin) for begin, until in kept)


def _meanwhile(trace: Trace, begin: int, until: int) -> str | None:
    """What ran on the host for most of a gap."""
    found = [
        one for spans in (trace.calls, trace.host_ops, trace.ranges) for one in _during(trace, spans, begin, until)
    ]
    return min(found)[1] if found else None


def _during(trace: Trace, spans: Spans, begin: int, until: int) -> list[tuple[int, str]]:
    shared: Ints = np.minimum(spans.end, until) - np.maximum(spans.start, begin)
    enough: Flags = shared >= HALF * (until - begin)
    mine = spans.where(enough)
    return [(int(e - s), trace.names[n]) for n, s, e in zip(mine.name, mine.start, mine.end, strict=True)]

"""What the host did: observations about the training thread and its helpers that causes are told by.

All nanosecond and call facts are per mean counted step. A fact that the recording cannot show is absent.
"""

from collections.abc import Sequence

import numpy as np

from mfu_operator.model.trace import Ints, Spans, Trace, column
from mfu_operator.trace import intervals
from mfu_operator.trace.accounting import on_thread
from mfu_operator.trace.intervals import TimeSet
from mfu_operator.trace.range_names import select
from mfu_operator.trace.steps import Steps

Facts = dict[str, float | str]

OS_MEANINGS = ("network", "poll", "file", "wait", "sleep")


def input_facts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Facts:
    """How the step's thread spends its input ranges, and who else loads.

    loader: "inline" where the step's thread itself talks to the store, "workers" where it only waits for others;
    input{Network,Poll,File,Wait,Sleep}Ns and input…Calls; inputOwnNs: the rest, its own computing;
    loaderThreads: other threads that load; inputPeakShare: the largest step's share of all input time.
    """
    if steps.thread is None:
        return {}
    ranges = select(on_thread(trace.ranges, steps.thread), trace.names, "range", "idleInput")
    input_times = intervals.union(ranges.start, ranges.end)
    if not len(input_times.start):
        return {}
    facts: Facts = _per_step(intervals.within(input_times, *_windows(steps, counted)))
    if len(trace.os_calls):
        facts |= _os_facts(trace, steps, counted, input_times)
    others = _loading_threads(trace, steps)
    if len(trace.os_calls) or others:
        facts["loaderThreads"] = float(others)
    return facts


def _windows(steps: Steps, counted: Sequence[int]) -> tuple[Ints, ...]:
    return steps.start[list(counted)], steps.end[list(counted)]


def _per_step(lengths: Ints) -> Facts:
    total = float(lengths.sum())
    if not total:
        return {}
    return {"inputPeakShare": float(lengths.max()) / total, "inputRangeNs": total / len(lengths)}


def _os_facts(trace: Trace, steps: Steps, counted: Sequence[int], input_times: TimeSet) -> Facts:
    start, end = _windows(steps, counted)
    mine = on_thread(trace.os_calls, int(steps.thread or 0))
    inside = mine.where(intervals.covers(input_times, mine.start))
    facts: Facts = {}
    left = input_times
    for one in OS_MEANINGS:
        calls = select(inside, trace.names, "os", one)
        times = intervals.intersect(intervals.union(calls.start, calls.end), left)
        left = intervals.subtract(left, times)
        word = one.capitalize()
        facts[f"input{word}Ns"] = float(intervals.within(times, start, end).mean())
        facts[f"input{word}Calls"] = _calls_in(calls, start, end)
    facts["inputOwnNs"] = float(intervals.within(left, start, end).mean())
    return facts


def _calls_in(calls: Spans, start: Ints, end: Ints) -> float:
    starts = np.sort(calls.start)
    inside = np.searchsorted(starts, end) - np.searchsorted(starts, start)
    return float(inside.mean())


def _loading_threads(trace: Trace, steps: Steps) -> int:
    """Other threads that, during the steps, ran input ranges or talked to a store."""
    low, high = int(steps.start[0]), int(steps.end[-1])
    ranges = select(trace.ranges, trace.names, "range", "idleInput")
    calls = select(trace.os_calls, trace.names, "os", "network")
    seen: set[int] = set()
    for spans in (ranges, calls):
        during = spans.where((spans.end > low) & (spans.start < high))
        seen |= {int(one) for one in np.unique(during.thread)}
    return len(seen - {int(column([steps.thread or 0])[0])})

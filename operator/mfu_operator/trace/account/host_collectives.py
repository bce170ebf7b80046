"""Collectives that run on the host (gloo, UCC, MPI): how many, how long, and what of them nothing hides.

The account of a training thread does not show them: they run on threads of their own, beside the backward pass where
they are overlapped, and the thread waits where they are not. All facts are per mean counted step.
"""

import re
from collections.abc import Sequence

import numpy as np

from mfu_operator.model import facts
from mfu_operator.model.fact import Fact, Observed
from mfu_operator.model.trace import Flags, Ints, Spans, Trace
from mfu_operator.trace.account.accounting import on_thread
from mfu_operator.trace.account.steps import Steps, in_counted
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.intervals import TimeSet
from mfu_operator.trace.names.range_names import select

ISSUING = re.compile(r"^(?:_?c10d(?:_functional)?::|record_param_comms$)")
"""Operators that issue a collective, or wait for one: they compute nothing."""


def collective_facts(trace: Trace, steps: Steps, counted: Sequence[int]) -> Observed:
    """Those of the process of the steps' thread, on whatever threads; absent where there are none.

    hostCollectiveExposedNs is absent, too, where no operators were recorded, and where a device computes: what runs
    meanwhile is not known of this process' threads.
    """
    marked = _of_process(trace, steps, select(trace.ranges, trace.names, "mark", "collective"))
    if not len(marked):
        return {}
    start, end = steps.start[list(counted)], steps.end[list(counted)]
    times = intervals.union(marked.start, marked.end)
    observed: dict[Fact, float | str] = {
        facts.HOST_COLLECTIVE_NS: float(intervals.within(times, start, end).mean()),
        facts.HOST_COLLECTIVE_CALLS: float(in_counted(marked.start, steps, counted).sum()) / len(counted),
        facts.HOST_COLLECTIVE_LONGEST_NS: _longest(marked, start, end),
    }
    operators = _of_process(trace, steps, trace.host_ops)
    if len(operators) and not len(trace.ops):
        exposed = intervals.subtract(times, _computing(trace, operators, marked))
        observed[facts.HOST_COLLECTIVE_EXPOSED_NS] = float(intervals.within(exposed, start, end).mean())
    return observed


def _of_process(trace: Trace, steps: Steps, spans: Spans) -> Spans:
    if steps.thread is None:
        return spans
    return spans.where(trace.processes[spans.thread] == trace.processes[steps.thread])


def _longest(marked: Spans, start: Ints, end: Ints) -> float:
    """The mean over the steps of the longest that begins in each."""
    length = marked.end - marked.start
    inside = [(marked.start >= low) & (marked.start < high) for low, high in zip(start, end, strict=True)]
    return float(np.mean([length[mine].max(initial=0) for mine in inside]))


def _computing(trace: Trace, operators: Spans, marked: Spans) -> TimeSet:
    """When a thread computes that runs no collective: the innermost operators, for one around may wait between them
    (a hook of a gradient that reduces it at once waits within the node that made it)."""
    issuing = np.array([ISSUING.match(name) is not None for name in trace.names], dtype=np.bool_)
    found = intervals.EMPTY
    for thread in {*used(operators.thread).tolist()} - {*used(marked.thread).tolist()}:
        mine = on_thread(operators, thread)
        mine = mine.where(_innermost(mine) & ~issuing[mine.name])
        found = intervals.join(found, intervals.union(mine.start, mine.end))
    return found


def _innermost(spans: Spans) -> Flags:
    """Whether no other of one thread's spans begins within each."""
    order = np.lexsort((-spans.end, spans.start))
    start, end = spans.start[order], spans.end[order]
    found = np.ones(len(spans), dtype=np.bool_)
    found[order[:-1]] = start[1:] >= end[:-1]
    return found

"""When a loader's workers are started: torch marks the wait for a batch, and not the making of what it waits for.

A new iterator of a DataLoader with workers draws a seed (`aten::random_`, then `aten::item`), starts its processes,
which torch.profiler does not see, and only then is asked for the first batch. One that keeps its workers draws at most
the sampler's seed, and goes on to permute with it at once. (torch.utils.data.dataloader, 1.8 to 2.15)
"""

from dataclasses import replace

import numpy as np

from mfu_operator.model.trace import NONE, Flags, Ints, Spans, Trace
from mfu_operator.trace.columns import enclosing
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.names.range_names import select

STARTED = "enumerate(DataLoader): start of workers"
"""What the time is called, from the first sign of a start to the wait for the first batch."""

LEAST_NS = 1_000_000
"""A process is not started in less: from the seed to what comes next."""

SEED, READ = "aten::random_", "aten::item"


def with_starts(trace: Trace) -> Trace:
    """The trace with a range more for each time that a loader's workers are started."""
    waits = select(trace.ranges, trace.names, "range", "idleInput")
    signs = _together(select(trace.os_calls, trace.names, "os", "start"), _seeds(trace))
    found = [one for thread in used(signs.thread) for one in _of_thread(trace, signs, waits, int(thread))]
    if not found:
        return trace
    start, end, thread = (np.array(column, dtype=np.int64) for column in zip(*found, strict=True))
    more = Spans(start, end, thread, np.full(len(start), len(trace.names), dtype=np.int64))
    return replace(trace, names=(*trace.names, STARTED), ranges=_together(trace.ranges, more))


def _of_thread(trace: Trace, signs: Spans, waits: Spans, thread: int) -> list[tuple[int, int, int]]:
    """From the first sign before a wait to that wait, where the thread launches nothing between them."""
    signs, waits = signs.where(signs.thread == thread), waits.where(waits.thread == thread)
    begins = np.sort(waits.start)
    middle = (signs.start + signs.end) // 2
    around = enclosing.innermost(waits.start, waits.end, waits.thread, middle, signs.thread)
    at = np.sort(signs.start[around == NONE])
    place = np.searchsorted(begins, at)
    at, place = at[place < len(begins)], place[place < len(begins)]
    launches = np.sort(trace.calls.start[trace.calls.thread == thread])
    quiet = np.searchsorted(launches, at) == np.searchsorted(launches, begins[place])
    first: dict[int, int] = {}
    for begin, wait in zip(at[quiet].tolist(), begins[place[quiet]].tolist(), strict=True):
        first.setdefault(wait, begin)
    return [(begin, wait, thread) for wait, begin in first.items() if wait > begin]


def _seeds(trace: Trace) -> Spans:
    """Seeds drawn by an operator of its own and read by the next, after which the thread is silent for a while."""
    names = {name: place for place, name in enumerate(trace.names) if name in (SEED, READ)}
    if len(names) < 2:
        return Spans()
    drawing = used(trace.host_ops.thread[trace.host_ops.name == names[SEED]])
    found = [_seeds_of(trace, int(thread), names[SEED], names[READ]) for thread in drawing]
    return _together(*found)


def _seeds_of(trace: Trace, thread: int, seed: int, read: int) -> Spans:
    ops = trace.host_ops.where(trace.host_ops.thread == thread)
    ops = _rows(ops, np.lexsort((-ops.end, ops.start)))
    ops = ops.where(_outermost(ops))
    waits = trace.ranges.where(trace.ranges.thread == thread)
    following = np.sort(np.append(ops.start, waits.start))
    place = np.searchsorted(following, ops.start, side="right")
    then = np.append(following, np.iinfo(np.int64).max)[place]
    drawn = np.flatnonzero((ops.name[:-1] == seed) & (ops.name[1:] == read))
    drawn = drawn[then[drawn + 1] - ops.end[drawn + 1] >= LEAST_NS]
    return _rows(ops, drawn)


def _outermost(ops: Spans) -> Flags:
    """Which spans lie in no other, of one thread's in order of time; rounded times may overlap."""
    reached = np.maximum.accumulate(ops.end)
    flags: Flags = np.append(True, ops.end[1:] > reached[:-1])[: len(ops)]
    return flags


def _rows(spans: Spans, rows: Ints) -> Spans:
    return Spans(spans.start[rows], spans.end[rows], spans.thread[rows], spans.name[rows])


def _together(*spans: Spans) -> Spans:
    if not spans:
        return Spans()
    return Spans(*(np.concatenate([getattr(one, key) for one in spans]) for key in Spans.__slots__))

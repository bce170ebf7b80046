"""Sets of time as sorted, disjoint, half-open intervals [start, end) in integer nanoseconds."""

from dataclasses import dataclass

import numpy as np

from mfu_operator.model.trace import Flags, Ints, column
from mfu_operator.trace.columns.distinct import distinct


@dataclass(frozen=True, slots=True)
class TimeSet:
    """A set of nanoseconds: `start` ascending, start[i] < end[i] < start[i + 1]."""

    start: Ints
    end: Ints

    @property
    def length(self) -> int:
        """Nanoseconds in the set."""
        return int((self.end - self.start).sum())


EMPTY = TimeSet(column(), column())


def union(start: Ints, end: Ints) -> TimeSet:
    """The set that intervals in any order cover together; those without length count for nothing."""
    keep = end > start
    start, end = start[keep], end[keep]
    if not len(start):
        return EMPTY
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    first = np.flatnonzero(opens)
    return TimeSet(start[first], reach[np.append(first[1:] - 1, len(reach) - 1)])


def join(*sets: TimeSet) -> TimeSet:
    """The union of sets."""
    return union(np.concatenate([one.start for one in sets]), np.concatenate([one.end for one in sets]))


def before(times: TimeSet, at: Ints) -> Ints:
    """How many nanoseconds of the set lie before each time of `at`."""
    if not len(times.start):
        return np.zeros(len(at), dtype=np.int64)
    total = np.concatenate(([0], np.cumsum(times.end - times.start)))
    index = np.searchsorted(times.start, at, side="right")
    inside = np.where(index > 0, np.minimum(at, times.end[index - 1]) - times.start[index - 1], 0)
    return np.where(index > 0, total[np.maximum(index - 1, 0)] + inside, 0)


def within(times: TimeSet, start: Ints, end: Ints) -> Ints:
    """How many nanoseconds of the set lie in each interval [start, end)."""
    return before(times, end) - before(times, np.minimum(start, end))


def subtract(times: TimeSet, taken: TimeSet) -> TimeSet:
    """What of `times` is not in `taken`."""
    if not len(times.start) or not len(taken.start):
        return times
    low, high = times.start[0], times.end[-1]
    gap_start = np.concatenate(([low], taken.end))
    gap_end = np.concatenate((taken.start, [high]))
    return intersect(times, union(gap_start, gap_end))


def intersect(left: TimeSet, right: TimeSet) -> TimeSet:
    """What is in both sets."""
    if not len(left.start) or not len(right.start):
        return EMPTY
    edges = distinct(np.concatenate((left.start, left.end, right.start, right.end)))
    inside = covers(left, edges[:-1]) & covers(right, edges[:-1])
    return union(edges[:-1][inside], edges[1:][inside])


def covers(times: TimeSet, at: Ints) -> Flags:
    """Whether each time of `at` lies in the set."""
    if not len(times.start):
        return np.zeros(len(at), dtype=np.bool_)
    index = np.searchsorted(times.start, at, side="right") - 1
    return (index >= 0) & (at < times.end[np.maximum(index, 0)])

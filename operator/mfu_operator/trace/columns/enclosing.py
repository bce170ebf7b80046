"""Which span of a thread stands around a time."""

import numpy as np

from mfu_operator.model.trace import NONE, Ints
from mfu_operator.trace.columns.distinct import distinct

DEEPEST = 32
"""Spans of one thread that began later and have ended: so many are looked behind."""


def innermost(start: Ints, end: Ints, thread: Ints, at: Ints, of_thread: Ints) -> Ints:
    """For each time the row of the span on its thread that began last of those around it; NONE where there is none.

    Args:
        start: of the spans, shape (spans,), in any order.
        end: theirs.
        thread: theirs.
        at: times, shape (times,).
        of_thread: the thread of each time.
    """
    found = np.full(len(at), NONE, dtype=np.int64)
    for one in distinct(of_thread):
        rows = np.flatnonzero(thread == one)
        if not len(rows):
            continue
        rows = rows[np.argsort(start[rows], kind="stable")]
        mine = np.flatnonzero(of_thread == one)
        place = np.searchsorted(start[rows], at[mine], side="right") - 1
        for _ in range(DEEPEST):
            ended = (place >= 0) & (end[rows[np.maximum(place, 0)]] < at[mine])
            if not ended.any():
                break
            place = place - ended
        around = rows[np.maximum(place, 0)]
        found[mine] = np.where((place >= 0) & (end[around] >= at[mine]), around, NONE)
    return found

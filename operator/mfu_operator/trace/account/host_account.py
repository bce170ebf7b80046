"""The account of a training thread, for a trace without any device activity: where its ranges say the step went.

Ranges are matched by `range_names.tsv`, innermost first; one that the table does not know is transparent. What no
known range covers is host time.
"""

from collections.abc import Sequence

import numpy as np

from mfu_operator.model.account import PARTS
from mfu_operator.model.trace import Ints, Spans, Trace, column
from mfu_operator.trace.account.accounting import on_thread
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.parts import HOST
from mfu_operator.trace.names.range_names import meaning


def account_ranges(trace: Trace, steps: Steps) -> Ints:
    """Nanoseconds by part, shape (steps, 12), rows summing to the steps' lengths.

    `steps.thread` must not be None.
    """
    assert steps.thread is not None
    spans = _known(trace, steps.thread)
    part = column([PARTS.index(str(meaning("range", trace.names[name]))) for name in spans.name])
    start, end, owner = innermost(spans)
    parts = np.zeros((len(steps), len(PARTS)), dtype=np.int64)
    for index in range(len(PARTS)):
        mine = part[owner] == index
        times = intervals.union(start[mine], end[mine])
        parts[:, index] = intervals.within(times, steps.start, steps.end)
    parts[:, HOST] += (steps.end - steps.start) - parts.sum(axis=1)
    return parts


def range_totals(trace: Trace, steps: Steps, counted: Sequence[int]) -> dict[str, float]:
    """Mean nanoseconds per counted step of each range name on the training thread, the longest first."""
    assert steps.thread is not None
    windows = [(int(steps.start[index]), int(steps.end[index])) for index in counted]
    spans = on_thread(trace.ranges, steps.thread)
    totals: dict[str, float] = {}
    for name in used(spans.name):
        mine = spans.name == name
        times = intervals.union(spans.start[mine], spans.end[mine])
        inside = intervals.within(times, column([low for low, _ in windows]), column([high for _, high in windows]))
        if inside.any():
            totals[trace.names[name]] = float(inside.mean())
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def innermost(spans: Spans) -> tuple[Ints, Ints, Ints]:
    """Pieces [start, end) in which each time belongs to the innermost span there, and the row of that span.

    A span that only partly overlaps another one counts as inside it from where it starts.
    """
    order = np.lexsort((-spans.end, spans.start))
    pieces: list[tuple[int, int, int]] = []
    open_rows: list[int] = []
    now = 0
    for row in [*(int(one) for one in order), None]:
        until = None if row is None else int(spans.start[row])
        while open_rows and (until is None or spans.end[open_rows[-1]] <= until):
            closed = open_rows.pop()
            pieces.append((now, int(spans.end[closed]), closed))
            now = max(now, int(spans.end[closed]))
        if row is None or until is None:
            break
        if open_rows:
            pieces.append((now, until, open_rows[-1]))
        now = until
        open_rows.append(row)
    kept = [piece for piece in pieces if piece[1] > piece[0]]
    return column([one[0] for one in kept]), column([one[1] for one in kept]), column([one[2] for one in kept])


def _known(trace: Trace, thread: int) -> Spans:
    spans = on_thread(trace.ranges, thread)
    return spans.where(
        np.array([meaning("range", trace.names[name]) is not None for name in spans.name], dtype=np.bool_)
    )

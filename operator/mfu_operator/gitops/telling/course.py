"""The picture of a signal over the hours around a loss: columns of characters, which every host renders."""

from collections.abc import Callable
from datetime import UTC, datetime

from mfu_operator.model.series import COURSE_POINTS, COURSE_SPAN_S, Course

ROWS = 4
FEWEST = 4
"""Columns: fewer show no course."""

_COLUMN = 2
"""Characters of a column: with twenty of them and the axis a line fits into a phone's code block without wrapping."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_ROOM = 0.25
"""Of the span from the lowest value to the highest, below the lowest: its column is seen too."""


def columns(course: Course, onset_s: float, written: Callable[[float], str]) -> str:
    """The values as columns, with the highest and the lowest written beside them and the onset marked below; "" where
    there are too few, or all are the same.

    Args:
        course: times and values, oldest first; the latest COURSE_POINTS spans are drawn, and those without a value stay
            empty.
        onset_s: when the loss began, Unix seconds.
        written: how a value is written.
    """
    spans = {int(time_s // COURSE_SPAN_S): value for time_s, value in course}
    newest = max(spans, default=0)
    spans = {span: value for span, value in spans.items() if newest - span < COURSE_POINTS}
    if len(spans) < FEWEST or max(spans.values()) <= min(spans.values()):
        return ""
    low, high = min(spans.values()), max(spans.values())
    floor = low - _ROOM * (high - low)
    heights = {span: round((value - floor) / (high - floor) * ROWS * 8) for span, value in spans.items()}
    names = [written(high), *[""] * (ROWS - 2), written(low)]
    width, order = max(map(len, names)), range(min(spans), newest + 1)
    lines = [
        f"{name:>{width}} {''.join(_cell(heights.get(span, 0), ROWS - 1 - row) for span in order)}".rstrip()
        for row, name in enumerate(names)
    ]
    return "\n".join([*lines, *_axis(order, onset_s, " " * (width + 1))])


def _cell(height: int, row: int) -> str:
    """The part of a column in a row, counted from the bottom."""
    return _EIGHTHS[max(0, min(8, height - 8 * row))] * _COLUMN


def _axis(order: range, onset_s: float, indent: str) -> list[str]:
    """The mark of the onset, where it is among the columns, and the times of the first and the last."""
    first, last = (_clock(span * COURSE_SPAN_S) for span in (order[0], order[-1]))
    onset = int(onset_s // COURSE_SPAN_S)
    mark = [f"{indent}{' ' * (_COLUMN * (onset - order[0]))}^ slow since {_clock(onset_s)}"] if onset in order else []
    return [*mark, f"{indent}{first} to {last} UTC, {COURSE_SPAN_S / 60:.0f} minutes a column"]


def _clock(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%H:%M")

"""What of a replayed series is drawn, and where."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from mfu_operator.picture.scales import Area, Scales
from mfu_operator.picture.shapes import ADVANCE, Bars, Box, Drawing, Point, Shape, Stroke, Text

WIDTH, HEIGHT = 1100, 400
AREA = Area(left=70.0, top=88.0, right=920.0, bottom=336.0)
_LANES = (82.0, 65.0, 48.0)
"""Where events are named, above the series; one whose name finds no room is a line alone."""

_COLOURS = {
    "Regressed": "#c62828",
    "Confirmed": "#6a1b9a",
    "Recovered": "#2e7d32",
    "NoData": "#6b6b6b",
    "NotComparable": "#b54708",
}
_NAMED_FIRST = ("Confirmed", "Regressed", "Recovered", "NotComparable", "NoData")
_READING, _MEDIAN = "#90caf9", "#0d47a1"
_BAND, _LEVEL, _LIMIT = "#c8e6c9", "#2e7d32", "#81c784"
_GATED, _LOSS, _ONSET, _GRID, _FRAME = "#d7ccc8", "#ffcdd2", "#c62828", "#eeeeee", "#9e9e9e"
_SMOOTHED = 5
"""Readings of the running median that is drawn beside them: as many as are judged at a scrape every 30 s."""

_SILENCE = 5.0
"""So many usual gaps without a reading interrupt the line."""


@dataclass(frozen=True, slots=True)
class Loss:
    """From its onset to its recovery, or to the end of the series."""

    onset_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. points and gates are in seconds and the signal's unit, oldest first; limit is the far edge of what
    is tolerated; the texts name level and limit."""

    title: str
    points: Sequence[Point]
    level: float
    level_text: str
    limit: float
    limit_text: str
    gates: Sequence[tuple[float, float, str]]
    events: Sequence[tuple[float, str]]
    losses: Sequence[Loss]
    dated: bool


def shapes_of(chart: Chart) -> Drawing:
    """The drawing."""
    points = [(time_s, value) for time_s, value in chart.points if math.isfinite(value)]
    smoothed = _running_median(points)
    scales = Scales(
        AREA, [time_s for time_s, _ in points], [value for _, value in smoothed], [chart.level, chart.limit]
    )
    shapes = [
        Box(0, 0, WIDTH, HEIGHT, "#ffffff"),
        Text(AREA.left, 24, chart.title, "#212121"),
        *_grid(chart, scales),
        *_spans(chart, scales),
        *_band(chart, scales),
        Bars(_columns(points, scales), _READING),
        *(Stroke(part, _MEDIAN, 1.5) for part in _parts(smoothed, scales)),
        *_events(chart, scales),
        _frame(),
        *_legend(chart),
    ]
    return Drawing(WIDTH, HEIGHT, chart.title, shapes)


def _grid(chart: Chart, scales: Scales) -> Iterator[Shape]:
    for value, text in scales.round_values():
        y = scales.y(value)
        yield Stroke([(AREA.left, y), (AREA.right, y)], _GRID)
        yield Text(AREA.left - 8, y + 4, text, anchor="end")
    for time_s, text in scales.round_times(chart.dated):
        x = scales.x(time_s)
        yield Stroke([(x, AREA.bottom), (x, AREA.bottom + 5)], _FRAME)
        yield Text(x, AREA.bottom + 20, text, anchor="middle")


def _spans(chart: Chart, scales: Scales) -> Iterator[Shape]:
    for loss in chart.losses:
        yield _upright(scales, loss.onset_s, loss.end_s, _LOSS, 0.6, "a loss, from its onset to its recovery")
    for start_s, end_s, gate in chart.gates:
        yield _upright(scales, start_s, end_s, _GATED, 0.8, gate)


def _upright(scales: Scales, start_s: float, end_s: float, colour: str, opacity: float, tip: str) -> Box:
    left = scales.x(start_s)
    return Box(left, AREA.top, max(left + 1, scales.x(end_s)), AREA.bottom, colour, opacity, tip)


def _band(chart: Chart, scales: Scales) -> Iterator[Shape]:
    level, limit = scales.y(chart.level), scales.y(chart.limit)
    yield Box(AREA.left, min(level, limit), AREA.right, max(level, limit), _BAND, 0.7, "tolerated")
    apart = 7.0 if limit >= level else -7.0
    close = abs(limit - level) < 2 * abs(apart)
    for y, colour, text, shift in (
        (level, _LEVEL, chart.level_text, -apart),
        (limit, _LIMIT, chart.limit_text, apart),
    ):
        yield Stroke([(AREA.left, y), (AREA.right, y)], colour)
        yield Text(AREA.right + 8, y + 4 + (shift if close else 0), text, _LEVEL)


def _events(chart: Chart, scales: Scales) -> Iterator[Shape]:
    for loss in chart.losses:
        x = scales.x(loss.onset_s)
        yield Stroke([(x, AREA.top), (x, AREA.bottom)], _ONSET, dashed=True, tip="onset")
    lanes: dict[float, list[tuple[float, float]]] = {lane: [] for lane in _LANES}
    for time_s, event in sorted(chart.events, key=lambda one: (_NAMED_FIRST.index(one[1]), one[0])):
        x, colour = scales.x(time_s), _COLOURS[event]
        left = x + 3 if x + 3 + len(event) * ADVANCE <= WIDTH else x - 3 - len(event) * ADVANCE
        right = left + (len(event) + 1) * ADVANCE
        lane = next(
            (y for y, taken in lanes.items() if all(right < begun or ended < left for begun, ended in taken)), None
        )
        top = AREA.top if lane is None else lane - 11
        yield Stroke([(x, top), (x, AREA.bottom)], colour, tip=event)
        if lane is not None:
            lanes[lane].append((left, right))
            yield Text(left, lane, event, colour)


def _frame() -> Shape:
    corners = [(AREA.left, AREA.top), (AREA.right, AREA.top), (AREA.right, AREA.bottom), (AREA.left, AREA.bottom)]
    return Stroke([*corners, corners[0]], _FRAME)


def _legend(chart: Chart) -> Iterator[Shape]:
    named = [(_READING, "reading"), (_MEDIAN, f"median of {_SMOOTHED}"), (_BAND, "tolerated")]
    named += [(_LOSS, "loss, from its onset")] if chart.losses else []
    named += [(_GATED, "gated: not counted")] if chart.gates else []
    x, y = AREA.left, HEIGHT - 14.0
    for colour, text in named:
        yield Box(x, y - 9, x + 14, y + 1, colour)
        yield Text(x + 20, y, text)
        x += 20 + (len(text) + 2) * ADVANCE


def _running_median(points: Sequence[Point]) -> list[Point]:
    values = [value for _, value in points]
    back = _SMOOTHED // 2
    return [
        (time_s, median(values[max(0, index - back) : index + back + 1])) for index, (time_s, _) in enumerate(points)
    ]


def _columns(points: Sequence[Point], scales: Scales) -> list[tuple[float, float, float]]:
    """The readings of each column of pixels, from the highest to the lowest; one alone is a dot of two pixels."""
    bars = []
    for x, group in groupby(points, key=lambda point: math.floor(scales.x(point[0]))):
        heights = [scales.y(value) for _, value in group]
        bars.append((x + 0.5, min(heights) - 1, max(heights) + 1))
    return bars


def _parts(points: Sequence[Point], scales: Scales) -> Iterator[list[Point]]:
    """The line through the columns' medians, interrupted where nothing was heard."""
    gaps = [after[0] - before[0] for before, after in pairwise(points)]
    silence_s = _SILENCE * median(gaps) if gaps else 0.0
    part: list[Point] = []
    last_s: float | None = None
    for _, group in groupby(points, key=lambda point: math.floor(scales.x(point[0]))):
        column = list(group)
        if part and last_s is not None and column[0][0] - last_s > silence_s:
            yield part
            part = []
        part.append((scales.x(column[0][0]), scales.y(median(value for _, value in column))))
        last_s = column[-1][0]
    if part:
        yield part

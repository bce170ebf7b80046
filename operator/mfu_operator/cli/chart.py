"""A series with its baseline band, gates and events as a picture. SVG with text, PNG without."""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from mfu_operator.api.quantities import rfc3339
from mfu_operator.detect.words import duration

WIDTH, HEIGHT = 1100, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 40
_COLOURS = {
    "Regressed": "#c62828",
    "Confirmed": "#6a1b9a",
    "Recovered": "#2e7d32",
    "NoData": "#757575",
    "NotComparable": "#ef6c00",
}
_SERIES, _BAND, _LEVEL, _GATE, _ONSET, _FRAME = "#1565c0", "#e3f2e6", "#2e7d32", "#e0e0e0", "#c62828", "#9e9e9e"
_OUTLIERS = 0.5
"""Per cent of the readings at either end that may lie outside of the picture: one crash must not flatten the rest."""


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. points and gates are in seconds and the signal's unit; limit is the far edge of the band."""

    title: str
    points: Sequence[tuple[float, float]]
    level: float
    limit: float
    gates: Sequence[tuple[float, float, str]]
    events: Sequence[tuple[float, str]]
    onsets: Sequence[float]
    dated: bool


class _Scales:
    """From times and values to pixels."""

    def __init__(self, chart: Chart) -> None:
        times = [time_s for time_s, _ in chart.points] or [0.0]
        values = np.array([value for _, value in chart.points if math.isfinite(value)] or [chart.level])
        low, high = np.percentile(values, [_OUTLIERS, 100 - _OUTLIERS])
        low, high = min(low, chart.level, chart.limit), max(high, chart.level, chart.limit)
        margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
        self.low, self.high = float(low - margin), float(high + margin)
        self.start_s, self.end_s = min(times), max(max(times), min(times) + 1.0)

    def x(self, time_s: float) -> float:
        share = (time_s - self.start_s) / (self.end_s - self.start_s)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - min(1.0, max(0.0, share)) * (HEIGHT - TOP - BOTTOM)


def svg(chart: Chart) -> str:
    """The picture as an SVG document."""
    scales = _Scales(chart)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(chart.title)}</text>',
        *_svg_areas(chart, scales),
        f'<polyline fill="none" stroke="{_SERIES}" stroke-width="1" points="{_polyline(chart, scales)}"/>',
        *_svg_events(chart, scales),
        *_svg_axes(chart, scales),
        "</svg>",
    ]
    return "\n".join(parts)


def _svg_areas(chart: Chart, scales: _Scales) -> Iterator[str]:
    for start_s, end_s, gate in chart.gates:
        left, right = scales.x(start_s), scales.x(end_s)
        yield (
            f'<rect x="{left:.1f}" y="{TOP}" width="{max(1.0, right - left):.1f}" height="{HEIGHT - TOP - BOTTOM}" '
            f'fill="{_GATE}"><title>{escape(gate)}</title></rect>'
        )
    top, bottom = sorted((scales.y(chart.level), scales.y(chart.limit)))
    wide = WIDTH - LEFT - RIGHT
    high = bottom - top
    yield f'<rect x="{LEFT}" y="{top:.1f}" width="{wide}" height="{high:.1f}" fill="{_BAND}" fill-opacity="0.8"/>'
    level = scales.y(chart.level)
    yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{level:.1f}" y2="{level:.1f}" stroke="{_LEVEL}"/>'


def _svg_events(chart: Chart, scales: _Scales) -> Iterator[str]:
    for onset_s in chart.onsets:
        x = scales.x(onset_s)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{_ONSET}" '
            'stroke-dasharray="4 3"><title>onset</title></line>'
        )
    for index, (time_s, event) in enumerate(chart.events):
        x, colour = scales.x(time_s), _COLOURS.get(event, _FRAME)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{colour}"/>'
        anchor = "end" if x > WIDTH - 100 else "start"
        y = TOP + 12 + 14 * (index % 4)
        beside = x - 3 if anchor == "end" else x + 3
        yield f'<text x="{beside:.1f}" y="{y}" fill="{colour}" text-anchor="{anchor}">{event}</text>'


def _svg_axes(chart: Chart, scales: _Scales) -> Iterator[str]:
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    yield f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" fill="none" stroke="{_FRAME}"/>'
    for step in range(5):
        value = scales.low + (scales.high - scales.low) * step / 4
        yield f'<text x="{LEFT - 6}" y="{scales.y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        time_s = scales.start_s + (scales.end_s - scales.start_s) * step / 4
        text = rfc3339(round(time_s)) if chart.dated else duration(time_s - scales.start_s)
        anchor = ("start", "middle", "middle", "middle", "end")[step]
        yield f'<text x="{scales.x(time_s):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{anchor}">{text}</text>'


def _polyline(chart: Chart, scales: _Scales) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in _thinned(chart, scales))


def _thinned(chart: Chart, scales: _Scales) -> Iterator[tuple[float, float]]:
    """At most first, lowest, highest and last of each column of pixels."""
    column: list[tuple[float, float]] = []
    for time_s, value in chart.points:
        if not math.isfinite(value):
            continue
        pixel = (scales.x(time_s), scales.y(value))
        if column and int(pixel[0]) != int(column[0][0]):
            yield from _extremes(column)
            column = []
        column.append(pixel)
    yield from _extremes(column)


def _extremes(column: list[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(column) <= 4:
        return column
    inner = {min(column, key=lambda pixel: pixel[1]), max(column, key=lambda pixel: pixel[1])}
    return [column[0], *sorted(inner), column[-1]]


def png(chart: Chart) -> bytes:
    """The picture without its text as a PNG file."""
    scales = _Scales(chart)
    pixels: NDArray[np.uint8] = np.full((HEIGHT, WIDTH, 3), 255, dtype=np.uint8)
    for start_s, end_s, _ in chart.gates:
        pixels[TOP : HEIGHT - BOTTOM, int(scales.x(start_s)) : int(scales.x(end_s)) + 1] = _rgb(_GATE)
    top, bottom = sorted((int(scales.y(chart.level)), int(scales.y(chart.limit))))
    pixels[top : bottom + 1, LEFT : WIDTH - RIGHT] = _rgb(_BAND)
    pixels[int(scales.y(chart.level)), LEFT : WIDTH - RIGHT] = _rgb(_LEVEL)
    marks = [(onset_s, _ONSET) for onset_s in chart.onsets]
    marks += [(time_s, _COLOURS.get(event, _FRAME)) for time_s, event in chart.events]
    for time_s, colour in marks:
        pixels[TOP : HEIGHT - BOTTOM, int(scales.x(time_s))] = _rgb(colour)
    before: tuple[float, float] | None = None
    for pixel in _thinned(chart, scales):
        if before is not None:
            _line(pixels, before, pixel)
        before = pixel
    for edge in (TOP, HEIGHT - BOTTOM):
        pixels[edge, LEFT : WIDTH - RIGHT] = _rgb(_FRAME)
    return _encoded(pixels)


def _line(pixels: NDArray[np.uint8], start: tuple[float, float], end: tuple[float, float]) -> None:
    steps = int(max(abs(end[0] - start[0]), abs(end[1] - start[1]))) + 1
    columns = np.linspace(start[0], end[0], steps + 1).astype(int)
    rows = np.linspace(start[1], end[1], steps + 1).astype(int)
    pixels[rows, columns] = _rgb(_SERIES)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _encoded(pixels: NDArray[np.uint8]) -> bytes:
    """PNG, 8 bits RGB, no filter (ISO/IEC 15948)."""
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

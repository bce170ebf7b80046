"""A drawing as PNG, two dots to a pixel."""

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mfu_operator.picture.chart import Chart, shapes_of
from mfu_operator.picture.letters import HEIGHT, letter
from mfu_operator.picture.shapes import ADVANCE, Bars, Box, Drawing, Point, Stroke, Text

_DOTS = 2
_LETTER_DOTS = 3
_STEP = round(ADVANCE * _DOTS)
_DASH, _DASHES = 4 * _DOTS, 7 * _DOTS

Pixels = NDArray[np.uint8]


def png(chart: Chart) -> bytes:
    """The picture as a PNG file."""
    return _encoded(_painted(shapes_of(chart)))


def _painted(drawing: Drawing) -> Pixels:
    pixels: Pixels = np.full((drawing.height * _DOTS, drawing.width * _DOTS, 3), 255, dtype=np.uint8)
    for shape in drawing.shapes:
        match shape:
            case Box(left, top, right, bottom, colour, opacity):
                _fill(pixels, left, top, right, bottom, colour, opacity)
            case Stroke(points, colour, width, dashed):
                _line(pixels, points, colour, round(width * _DOTS), dashed)
            case Bars(bars, colour):
                for x, top, bottom in bars:
                    _fill(pixels, x - 0.5, top, x + 0.5, bottom, colour, 1.0)
            case Text():
                _write(pixels, shape)
    return pixels


def _fill(pixels: Pixels, left: float, top: float, right: float, bottom: float, colour: str, opacity: float) -> None:
    columns = slice(round(left * _DOTS), max(round(right * _DOTS), round(left * _DOTS) + 1))
    rows = slice(round(top * _DOTS), max(round(bottom * _DOTS), round(top * _DOTS) + 1))
    under = pixels[rows, columns].astype(float)
    pixels[rows, columns] = np.round(under * (1 - opacity) + np.array(_rgb(colour)) * opacity).astype(np.uint8)


def _line(pixels: Pixels, points: Sequence[Point], colour: str, width: int, dashed: bool) -> None:
    """Straight from point to point, `width` dots wide and high."""
    tall, wide, _ = pixels.shape
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = int(max(abs(x1 - x0), abs(y1 - y0)) * _DOTS) + 1
        along = np.arange(steps + 1)
        if dashed:
            along = along[along % _DASHES < _DASH]
        columns = np.round((x0 + (x1 - x0) * along / steps) * _DOTS).astype(int)
        rows = np.round((y0 + (y1 - y0) * along / steps) * _DOTS).astype(int)
        for shift in range(-(width // 2), width - width // 2):
            pixels[np.clip(rows + shift, 0, tall - 1), np.clip(columns, 0, wide - 1)] = _rgb(colour)
            pixels[np.clip(rows, 0, tall - 1), np.clip(columns + shift, 0, wide - 1)] = _rgb(colour)


def _write(pixels: Pixels, text: Text) -> None:
    wide = len(text.text) * _STEP
    left = round(text.x * _DOTS) - {"start": 0, "middle": wide // 2, "end": wide}[text.anchor]
    top = round(text.y * _DOTS) - HEIGHT * _LETTER_DOTS + _LETTER_DOTS
    for index, character in enumerate(text.text):
        dots = np.kron(letter(character), np.ones((_LETTER_DOTS, _LETTER_DOTS), dtype=bool))
        part = pixels[max(0, top) : top + len(dots), max(0, left + index * _STEP) : left + index * _STEP + len(dots[0])]
        part[dots[: len(part), : part.shape[1]]] = _rgb(text.colour)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _encoded(pixels: Pixels) -> bytes:
    """PNG, 8 bits RGB, no filter (ISO/IEC 15948)."""
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

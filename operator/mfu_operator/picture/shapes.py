"""What a picture is made of. Pixels from the left and the top; colours as #rrggbb."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ADVANCE = 9.0
"""Pixels that one letter takes at most, in either form."""

FONT_PX = 13

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle; a form that has tips shows `tip`."""

    left: float
    top: float
    right: float
    bottom: float
    colour: str
    opacity: float = 1.0
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points."""

    points: Sequence[Point]
    colour: str
    width: float = 1.0
    dashed: bool = False
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Many upright lines of one colour: (x, top, bottom)."""

    bars: Sequence[tuple[float, float, float]]
    colour: str


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text that stands on y."""

    x: float
    y: float
    text: str
    colour: str = "#424242"
    anchor: Literal["start", "middle", "end"] = "start"


Shape = Box | Stroke | Bars | Text


@dataclass(frozen=True, slots=True)
class Drawing:
    """All shapes, the first ones undermost."""

    width: int
    height: int
    title: str
    shapes: Sequence[Shape]

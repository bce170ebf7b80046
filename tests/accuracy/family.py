"""A family of hard cases: loops before and after a change, and what is right to say of it."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.support.synthetic.loop import Loop

Loops = Loop | tuple[Loop, ...]
"""One loop, or one for each of several ranks."""

Pair = tuple[Loops | None, Loops]
"""Before and after; None before where there is no baseline."""

NOTHING = "nothing"


@dataclass(frozen=True)
class Family:
    """Loops before and after a change, what is right to say of it, and what the recordings lack."""

    name: str
    pair: Callable[[random.Random], Pair]
    right: frozenset[str]
    abstains: frozenset[str] = frozenset()
    lacking: Mapping[str, bool] | None = None
    forms: tuple[str, ...] = ("nsys", "kineto")
    other_version: bool = False


CALM = frozenset({NOTHING})

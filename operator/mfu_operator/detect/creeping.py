"""Whether memory creeps towards its limit, and when it is full if it goes on.

Only the floor counts: the least that was used in a span. What is taken and given back within the span (activations,
an evaluation, a cache) does not move it; what is kept does. Floors are kept on three scales of time, 24 on each, so
that a leak of hours and one of days are both seen, and judged by the same test (`creep_of`), on the whole scale and on
its newer half. The test asks for what a leak has and the rest has not:

- it rose, evenly: in each third, in no single jump, and hardly ever fell. One step up is a larger batch, or the
  allocator's cache after the first evaluation;
- it does not flatten: a warming allocator rises by less in each third, and the sum of what is to come (a geometric
  series) ends below the limit;
- it is full soon enough to matter, and within no more time than it was seen to rise.

Memory that was given back was not a leak: what was collected is dropped, and the next rise counts only well above the
height that was given back from before. So a saw-tooth is believed at most once, and only where its first tooth goes on
for hours towards the limit: until it falls, nothing tells it from a leak.
"""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

SCALES_S = (240.0, 960.0, 3840.0)
"""Spans of one floor: 24 of them are 1.6, 6.4 and 25.6 hours."""

FLOORS = 24
FEWEST = 12
"""Half of them are the least that anything is concluded from: 48 minutes, 3.2 and 12.8 hours."""

_LONGEST_GAP = 6
"""Floors that may be missing (a long evaluation, an outage of the metrics) and are held at the last one."""

_LEAST_RISE = 0.02
"""Less than 2 % of the limit is within what healthy allocators move."""

_LARGEST_JUMP_SHARE = 0.34
_LARGEST_FALL_SHARE = 0.2
_LEAST_THIRD_SHARE = 0.2
"""Shares of the whole rise: of the largest single jump, of all that fell, of the least third (a third is 0.33)."""

_GIVEN_BACK_SHARE = 0.25
_GIVEN_BACK = 0.005
"""Memory is given back where the floor falls by a quarter of its rise, and by more than noise (0.5 % of the limit)."""

_FARTHEST = 1.0
"""A rise is drawn on for no longer than it was seen: farther, every long tooth of a saw would be a leak."""

_CLEARLY = 1.5
"""A rise that flattens must have half as much again to come as the limit is away: noise in the thirds makes a warming
allocator look straighter than it is."""

_HOLDS_ON = 3.0
"""Once found, a creep is there until it would take three times as long as what may make it one."""


@dataclass(frozen=True, slots=True)
class Creep:
    """A rise towards the limit, from one share of it to another within `span_s`. Full `left_s` after its last floor,
    which was at `floor_s`."""

    scale: int
    from_ratio: float
    to_ratio: float
    span_s: float
    left_s: float
    floor_s: float = 0.0

    @property
    def full_s(self) -> float:
        """When it is full if it goes on."""
        return self.floor_s + self.left_s


class Trend:
    """The floors of one series of used shares, and the creep in it. Of one incarnation: another one begins again."""

    __slots__ = ("_creeps", "_scales", "since_s")

    def __init__(self) -> None:
        self._scales = tuple(_Scale(width_s) for width_s in SCALES_S)
        self._creeps: list[Creep | None] = [None for _ in SCALES_S]
        self.since_s: float | None = None

    @property
    def creep(self) -> Creep | None:
        """The creep that is full first."""
        if self.since_s is None:
            return None
        return min((creep for creep in self._creeps if creep), key=lambda creep: creep.full_s, default=None)

    def add(self, time_s: float, ratio: float, horizon_s: float) -> None:
        """One more reading, not older than the last. `horizon_s`: a creep that is full later is none (yet)."""
        for index, scale in enumerate(self._scales):
            if scale.add(time_s, ratio):
                self._creeps[index] = self._on(index, horizon_s)
        if not any(self._creeps):
            self.since_s = None
        elif self.since_s is None:
            self.since_s = time_s

    def rise(self, scale: int, span_s: float) -> float:
        """How much the floor rose within the last `span_s`, on one scale; 0 where it is not as old."""
        floors = self._scales[scale].floors
        count = round(span_s / SCALES_S[scale])
        return floors[-1] - floors[-1 - count] if count < len(floors) else 0.0

    def _on(self, index: int, horizon_s: float) -> Creep | None:
        """The creep on one scale, whose newest floor was closed just now."""
        scale, known = self._scales[index], self._creeps[index]
        floors = scale.floors
        if floors[-1] < scale.given_back_from + _LEAST_RISE:
            return None
        found = creep_of(floors, index, horizon_s) or creep_of(floors[-FEWEST:], index, horizon_s)
        if found is None and known is not None:
            found = _still(floors[-FEWEST:], index, horizon_s)
        return None if found is None else replace(found, floor_s=scale.floor_s)


class _Scale:
    """The latest floors of one width. `given_back_from`: the height from which memory was given back."""

    __slots__ = ("_lowest", "_place", "floors", "given_back_from", "width_s")

    def __init__(self, width_s: float) -> None:
        self.width_s = width_s
        self.floors = array("f")
        self.given_back_from = -math.inf
        self._place: int | None = None
        self._lowest = math.inf

    @property
    def floor_s(self) -> float:
        """When the newest floor began, which is when what rises was at it."""
        return 0.0 if self._place is None else (self._place - 1) * self.width_s

    def add(self, time_s: float, ratio: float) -> bool:
        """Whether a floor was closed by this reading."""
        place = int(time_s // self.width_s)
        if self._place is None or place == self._place:
            self._place, self._lowest = place, min(self._lowest, ratio)
            return False
        missing = place - self._place - 1
        if missing > _LONGEST_GAP:
            del self.floors[:]
        for _ in range(1 if missing > _LONGEST_GAP else 1 + missing):
            self._close(self._lowest)
        self._place, self._lowest = place, ratio
        return True

    def _close(self, floor: float) -> None:
        if self.floors:
            highest = max(self.floors)
            fell = highest - floor
            if fell > max(_GIVEN_BACK, _GIVEN_BACK_SHARE * (highest - min(self.floors))):
                self.given_back_from = max(self.given_back_from, highest)
                del self.floors[:]
        self.floors.append(floor)
        del self.floors[:-FLOORS]


def creep_of(floors: Sequence[float], scale: int, horizon_s: float) -> Creep | None:
    """The creep in equally spaced floors (shares of the limit, oldest first), None where it is none."""
    if len(floors) < FEWEST:
        return None
    rise = floors[-1] - floors[0]
    steps = [later - earlier for earlier, later in pairwise(floors)]
    fell = -sum(step for step in steps if step < 0)
    if rise < _LEAST_RISE or fell > _LARGEST_FALL_SHARE * rise or max(steps) > _LARGEST_JUMP_SHARE * rise:
        return None
    middles = [1 + round(part * (len(floors) - 3) / 3) for part in range(4)]
    cuts = [sum(floors[at - 1 : at + 2]) / 3 for at in middles]
    thirds = [later - earlier for earlier, later in pairwise(cuts)]
    if min(thirds) < _LEAST_THIRD_SHARE * rise or _ends_below(floors[-1], thirds):
        return None
    span_s = (len(floors) - 1) * SCALES_S[scale]
    newer_s = (middles[3] - middles[1]) * SCALES_S[scale]
    slope = min(rise / span_s, (thirds[1] + thirds[2]) / newer_s)
    left_s = max(0.0, 1 - floors[-1]) / slope
    if left_s > min(horizon_s, _FARTHEST * span_s):
        return None
    return Creep(scale, floors[0], floors[-1], span_s, left_s)


def _still(floors: Sequence[float], scale: int, horizon_s: float) -> Creep | None:
    """The creep as it goes on, with less asked of it than to be found."""
    rise = floors[-1] - floors[0]
    if len(floors) < FEWEST or rise < _LEAST_RISE / 4:
        return None
    span_s = (len(floors) - 1) * SCALES_S[scale]
    left_s = max(0.0, 1 - floors[-1]) / rise * span_s
    if left_s > _HOLDS_ON * min(horizon_s, _FARTHEST * span_s):
        return None
    return Creep(scale, floors[0], floors[-1], span_s, left_s)


def _ends_below(last: float, thirds: Sequence[float]) -> bool:
    """Whether a rise that goes on flattening as it does ends below the limit, or not clearly above it."""
    if thirds[2] >= thirds[0]:
        return False
    quotient = math.sqrt(thirds[2] / thirds[0])
    return thirds[2] * quotient / (1 - quotient) < _CLEARLY * (1 - last)

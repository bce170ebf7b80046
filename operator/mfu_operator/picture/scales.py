"""From times and values to pixels, and the round ones among them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

_OUTSIDE = 0.5
"""Per cent of the running medians at either end that may lie outside: one crash must not flatten the rest."""

_MARGIN = 0.08
_MOST_VALUES = 6
_MOST_TIMES = 8
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_TIME_STEPS = (
    10.0, 30.0, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 10 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 2 * _HOUR,
    3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 5 * _DAY, 10 * _DAY, 30 * _DAY, 100 * _DAY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Area:
    """The pixels that the series is drawn in."""

    left: float
    top: float
    right: float
    bottom: float


class Scales:
    """Where a time and a value are drawn; what lies outside is drawn at the edge.

    Args:
        area: the pixels.
        times: of the readings; none are a span of one second.
        values: those that must be seen but for the outermost, finite.
        fixed: values that must be seen.
    """

    def __init__(self, area: Area, times: Sequence[float], values: Sequence[float], fixed: Sequence[float]) -> None:
        self._area = area
        self.start_s = min(times, default=0.0)
        self.end_s = max([*times, self.start_s + 1.0])
        inner: list[float] = np.percentile(values, [_OUTSIDE, 100 - _OUTSIDE]).tolist() if values else []
        low, high = min([*inner, *fixed]), max([*inner, *fixed])
        margin = (high - low) * _MARGIN or abs(high) * 0.1 or 1.0
        self.low, self.high = low - margin, high + margin

    def x(self, time_s: float) -> float:
        """Pixels from the left."""
        share = (time_s - self.start_s) / (self.end_s - self.start_s)
        return self._area.left + min(1.0, max(0.0, share)) * (self._area.right - self._area.left)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        share = (value - self.low) / (self.high - self.low)
        return self._area.bottom - min(1.0, max(0.0, share)) * (self._area.bottom - self._area.top)

    def round_values(self) -> list[tuple[float, str]]:
        """At most six, 1, 2 or 5 times a power of ten apart."""
        rough = (self.high - self.low) / _MOST_VALUES
        power = math.pow(10.0, math.floor(math.log10(rough)))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [(index * step, f"{index * step:.{digits}f}") for index in range(first, last + 1)]

    def round_times(self, dated: bool) -> list[tuple[float, str]]:
        """At most eight: full hours, or days, of the calendar (UTC) where the series is dated, else from its start."""
        span_s = self.end_s - self.start_s
        step = next((each for each in _TIME_STEPS if span_s / each <= _MOST_TIMES), span_s)
        origin_s = 0.0 if dated else self.start_s
        first, last = math.ceil((self.start_s - origin_s) / step), math.floor((self.end_s - origin_s) / step)
        times = [index * step for index in range(first, last + 1)]
        return [(origin_s + each, _date(each, step) if dated else _elapsed(each, step)) for each in times]


def _date(time_s: float, step_s: float) -> str:
    return f"{datetime.fromtimestamp(time_s, UTC):{'%Y-%m-%d' if step_s >= _DAY else '%m-%d %H:%M'}}"


def _elapsed(time_s: float, step_s: float) -> str:
    for from_s, unit_s, name in ((_DAY, _DAY, "d"), (_HOUR / 2, _HOUR, "h"), (_MINUTE, _MINUTE, "min")):
        if step_s >= from_s:
            return f"{time_s / unit_s:g} {name}"
    return f"{time_s:g} s"

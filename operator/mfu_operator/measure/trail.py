"""The course of a signal in twenty numbers: what the picture in a pull request needs, and no more."""

import math
from typing import NamedTuple

from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import COURSE_POINTS, COURSE_SPAN_S, Course


class Trail(NamedTuple):
    """The last value of each of the last COURSE_POINTS spans of COURSE_SPAN_S, oldest first; a span of which nothing is
    known holds NaN. `last` is the number of the newest span since 1970. A tuple: one is made for every reading of a
    fleet."""

    signal: Signal | None = None
    last: int = 0
    values: tuple[float, ...] = ()

    def passed(self, signal: Signal, time_s: float, value: float) -> "Trail":
        """The trail after another reading; one of another signal begins anew, one that is older changes nothing."""
        span = int(time_s // COURSE_SPAN_S)
        if signal is not self.signal or not self.values:
            return Trail(signal, span, (value,))
        ahead = span - self.last
        if ahead < 0:
            return self
        kept = self.values[:-1] if ahead == 0 else (*self.values, *(math.nan,) * min(ahead - 1, COURSE_POINTS))
        return Trail(signal, span, (*kept, value)[-COURSE_POINTS:])

    def course(self, signal: str) -> Course:
        """When each span began, and its value; nothing where it is of another signal."""
        if self.signal != signal:
            return ()
        first = self.last - len(self.values) + 1
        spans = enumerate(self.values, first)
        return tuple((span * COURSE_SPAN_S, value) for span, value in spans if not math.isnan(value))


NO_TRAIL = Trail()
"""Of a job that was not read yet."""

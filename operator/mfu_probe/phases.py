"""The phases of a run, and how much of a span of time was spent training."""

from __future__ import annotations

from collections import deque
from typing import Literal, get_args

Phase = Literal["starting", "running", "checkpoint", "evaluation", "paused"]

PHASES: tuple[Phase, ...] = get_args(Phase)


class PhaseLog:
    """When the phase changed, for as long as a reading may look back. Times are nanoseconds of one monotonic clock."""

    def __init__(self, now_ns: int) -> None:
        self._changes: deque[tuple[int, Phase]] = deque([(now_ns, "starting")])

    @property
    def current(self) -> Phase:
        """The phase the run is in."""
        return self._changes[-1][1]

    def enter(self, phase: Phase, now_ns: int) -> None:
        """Note that `phase` began at `now_ns`."""
        if phase not in PHASES:
            raise ValueError(f"unknown phase {phase!r}: use one of {', '.join(PHASES)}")
        if phase != self.current:
            self._changes.append((now_ns, phase))

    def forget_before(self, time_ns: int) -> None:
        """Drop what no span that starts at `time_ns` or later needs."""
        while len(self._changes) > 1 and self._changes[1][0] <= time_ns:
            self._changes.popleft()

    def running_ratio(self, start_ns: int, end_ns: int) -> float:
        """Share of `[start_ns, end_ns]` that was in the phase `running`, from 0 to 1."""
        if end_ns <= start_ns:
            raise ValueError("a span of no length has no share")
        bounds = [time for time, _ in self._changes] + [end_ns]
        running_ns = sum(
            max(0, min(end_ns, until) - max(start_ns, since))
            for (since, phase), until in zip(self._changes, bounds[1:])
            if phase == "running"
        )
        return running_ns / (end_ns - start_ns)

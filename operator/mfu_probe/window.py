"""The sliding window over completed steps from which every throughput-like reading is made.

Definition. Let `m_0` be the start of the first step and `m_1 < m_2 < …` the completions of the steps. A reading at time
`t` spans `[s, e]`:

- `e = max(m_last, t − a)`, where the allowance `a` is twice the median duration of the last 32 steps. A step in
  progress thus costs nothing until it is late, and from then on its lateness counts; without this a reading would
  saw-tooth with the moment of the scrape, and with `e = m_last` alone a hang would look healthy for ever.
- `s` is the latest mark at or before `e − w` with `w` the length of the window, or `m_0` when there is none. The window
  therefore holds whole steps only, at least one of them however long a step is, unless the run has stopped.

All wall time in `[s, e]` counts, also that spent in checkpoints and evaluations: MFU over wall time dips there, as that
of a real run does (Chowdhery et al. 2022, PaLM, appendix B, defines MFU over observed throughput).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

ALLOWANCE_STEPS = 32
LATE_FACTOR = 2.0
"""The allowance `a`: so many times the median duration of so many steps."""


@dataclass(frozen=True)
class Reading:
    """Whole steps completed in a span of wall time, in nanoseconds of one monotonic clock."""

    steps: int
    start_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """Length of the span in seconds."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def steps_per_second(self) -> float:
        """Completed steps per second of wall time."""
        return self.steps / self.seconds

    @property
    def step_seconds(self) -> float | None:
        """Mean wall time per completed step in seconds; None when the span holds none."""
        return self.seconds / self.steps if self.steps else None

    def mfu(self, flops_per_step: float, peak_flops: float) -> float:
        """Model FLOPs utilisation: achieved model FLOP/s over peak FLOP/s, a ratio (PaLM, appendix B)."""
        return self.steps_per_second * flops_per_step / peak_flops


class StepWindow:
    """Remembers the marks that a reading may need; memory is bounded by the steps that fit into one window."""

    def __init__(self, window_seconds: float) -> None:
        if window_seconds <= 0:
            raise ValueError(f"window_seconds must be positive, not {window_seconds}")
        self._window_ns = int(window_seconds * 1e9)
        self._marks_ns: deque[int] = deque()
        self._durations_ns: deque[int] = deque(maxlen=ALLOWANCE_STEPS)

    def complete(self, start_ns: int, end_ns: int) -> None:
        """Add one completed step."""
        if not self._marks_ns:
            self._marks_ns.append(start_ns)
        self._marks_ns.append(end_ns)
        self._durations_ns.append(end_ns - start_ns)
        self._forget_before(end_ns - self._window_ns)

    def oldest_ns(self) -> int | None:
        """The earliest time that a reading may still span; None before the first completed step."""
        return self._marks_ns[0] if self._marks_ns else None

    def read(self, now_ns: int) -> Reading | None:
        """The reading at `now_ns`; None before the first completed step."""
        if not self._durations_ns:
            return None
        allowance_ns = int(LATE_FACTOR * median(self._durations_ns))
        end_ns = max(self._marks_ns[-1], now_ns - allowance_ns)
        before = [index for index, mark in enumerate(self._marks_ns) if mark <= end_ns - self._window_ns]
        first = before[-1] if before else 0
        return Reading(steps=len(self._marks_ns) - 1 - first, start_ns=self._marks_ns[first], end_ns=end_ns)

    def _forget_before(self, time_ns: int) -> None:
        while len(self._marks_ns) > 2 and self._marks_ns[1] <= time_ns:
            self._marks_ns.popleft()

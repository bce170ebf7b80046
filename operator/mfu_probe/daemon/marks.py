"""When the optimizer stepped, read from a trace as it streams by: nothing of the trace is held in memory."""

from __future__ import annotations

import re
from collections import Counter
from statistics import median

LONGEST_EVENT = 4096
MOST_MARKS = 1000

_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d{1,19})(?=[\s,}])')
_STEP = re.compile(
    rb'"name":\s*"(Optimizer\.step#[^"]{1,200})"[^{}]{0,1000}?"ts":\s*(\d{1,18}(?:\.\d{1,6})?)(?=[\s,}])'
)


class Marks:
    """The starts of the optimizer's steps, of the one optimizer that stepped most."""

    def __init__(self) -> None:
        self._tail = b""
        self._base_ns = 0
        self._starts: list[tuple[bytes, int]] = []

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the trace."""
        text = self._tail + chunk
        base = _BASE.search(text)
        if base is not None and not self._base_ns:
            self._base_ns = int(base.group(1))
        end = 0
        for found in _STEP.finditer(text):
            if len(self._starts) < MOST_MARKS:
                self._starts.append((found.group(1), _nanoseconds(found.group(2))))
            end = found.end()
        self._tail = text[max(end, len(text) - LONGEST_EVENT) :]

    @property
    def starts_ns(self) -> list[int]:
        """When each step of the optimizer began, in nanoseconds since the epoch."""
        counted = Counter(name for name, _ in self._starts).most_common(1)
        if not counted:
            return []
        return sorted(self._base_ns + at_ns for name, at_ns in self._starts if name == counted[0][0])

    @property
    def step_seconds(self) -> float | None:
        """The median time between two of them; None with fewer than two."""
        starts_ns = self.starts_ns
        between = [later - earlier for earlier, later in zip(starts_ns, starts_ns[1:])]
        return median(between) / 1e9 if between else None


def _nanoseconds(microseconds: bytes) -> int:
    """Exact, which a float of microseconds since the epoch is not."""
    whole, _, rest = microseconds.partition(b".")
    return int(whole) * 1000 + int((rest + b"000")[:3])

"""From the samples of many series to one look at one job's vitals. Sources differ in how samples come, not here."""

import math
from collections.abc import Mapping

from mfu_operator.model.vitals import Fill, Streak, Vitals

ALLOCATED = "memoryAllocated"
RESERVED = "memoryReserved"
LIMIT = "memoryLimit"
HOST = "hostMemory"
HOST_LIMIT = "hostMemoryLimit"
NONFINITE = "nonfiniteLosses"
SKIPPED = "skippedSteps"
"""What a sample is of; the keys of a profile's names. Memory in bytes, the last two in times in a row."""

MEMORY = (ALLOCATED, RESERVED, LIMIT, HOST, HOST_LIMIT)
VITALS = (*MEMORY, NONFINITE, SKIPPED)


class VitalAssembly:
    """Collects one job's samples of one moment, then makes its vitals of them."""

    __slots__ = ("_processes",)

    def __init__(self) -> None:
        self._processes: dict[tuple[str, str], dict[str, float]] = {}

    def add(self, labels: Mapping[str, str], pod: str, kind: str, value: float) -> None:
        """Add a sample; `instance` tells processes of one pod apart. What is not a finite number is dropped."""
        if math.isfinite(value):
            self._processes.setdefault((pod, labels.get("instance", "")), {})[kind] = value

    def vitals(self, time_s: float) -> Vitals:
        """The job as its worst process is: one that runs out of memory, or loses its loss, ends the run for all."""
        return Vitals(
            time_s,
            allocated=self._fullest(ALLOCATED, LIMIT),
            reserved=self._fullest(RESERVED, LIMIT),
            host=self._fullest(HOST, HOST_LIMIT),
            nonfinite=self._longest(NONFINITE),
            skipped=self._longest(SKIPPED),
        )

    def _fullest(self, used: str, limit: str) -> Fill | None:
        fills = [
            Fill(values[used], values[limit], pod)
            for (pod, _), values in self._processes.items()
            if used in values and values.get(limit, 0.0) > 0
        ]
        return max(fills, key=lambda fill: fill.ratio, default=None)

    def _longest(self, kind: str) -> Streak | None:
        streaks = [Streak(int(values[kind]), pod) for (pod, _), values in self._processes.items() if kind in values]
        return max(streaks, key=lambda streak: streak.length, default=None)

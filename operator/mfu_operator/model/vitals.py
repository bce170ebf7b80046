"""Readings that say whether a run is broken, apart from how fast it is; and what is found to be wrong."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Fill:
    """How full one kind of memory is, in bytes, on the process of the job where it is fullest."""

    used: float
    limit: float
    pod: str

    @property
    def ratio(self) -> float:
        """The used share of the limit."""
        return self.used / self.limit


@dataclass(frozen=True, slots=True)
class Streak:
    """How often in a row, up to now, on the process of the job where it is longest."""

    length: int
    pod: str


@dataclass(frozen=True, slots=True)
class Vitals:
    """One look at one job. None: not exported, which is not the same as well.

    allocated: device memory in tensors; reserved: what the allocator holds; host: the container's memory without page
    cache; nonfinite: losses in a row that are NaN or infinite; skipped: steps in a row whose update was skipped.
    """

    time_s: float
    allocated: Fill | None = None
    reserved: Fill | None = None
    host: Fill | None = None
    nonfinite: Streak | None = None
    skipped: Streak | None = None


class Ailment(StrEnum):
    """What can be wrong with a run that is not slow. Each is the reason of a condition and has a runbook."""

    HUNG = "Hung"
    MEMORY_LEAK = "MemoryLeak"
    MEMORY_FRAGMENTATION = "MemoryFragmentation"
    HOST_MEMORY_LEAK = "HostMemoryLeak"
    LOSS_NOT_FINITE = "LossNotFinite"
    STEPS_SKIPPED = "StepsSkipped"


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that is wrong now.

    measured is in the ailment's own unit: seconds that the step counter has stood still, the used share of the limit,
    the length of the streak. `full_at` is when the memory is full if it goes on like this.
    """

    reason: Ailment
    message: str
    since_at: float
    measured: float
    pod: str | None = None
    full_at: float | None = None

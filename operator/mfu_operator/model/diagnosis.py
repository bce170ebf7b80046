"""The classified bottleneck and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Bottleneck(StrEnum):
    """The part of the step that lost the time."""

    INPUT_STARVED = "InputStarved"
    COMMS_BOUND = "CommsBound"
    KERNEL_BOUND = "KernelBound"
    HOST_BOUND = "HostBound"
    COPY_BOUND = "CopyBound"
    STRAGGLER = "Straggler"
    HARDWARE_DEGRADED = "HardwareDegraded"
    INCONCLUSIVE = "Inconclusive"


NOTHING_GREW = "NothingGrew"
"""What people read in place of a bottleneck where the profile shows no difference."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One bottleneck (None: nothing grew beyond the spread), its cause, and the numbers behind both.

    confidence is in [0, 1]. delta_ns is now minus baseline per part, empty without a comparable baseline.
    """

    bottleneck: Bottleneck | None
    cause: str | None
    confidence: float
    evidence: tuple[str, ...]
    advice: tuple[str, ...] = ()
    runbook: str | None = None
    comparable: bool = True
    not_comparable_because: tuple[str, ...] = ()
    delta_ns: Mapping[str, float] = field(default_factory=dict)

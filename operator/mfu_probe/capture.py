"""The capture window: when a copy of the run is being profiled, which steps are recorded and when the copy ends.

The profiling Job sets, in the environment of the copied container,

- `MFU_PROBE_CAPTURE_STEPS`: how many whole steps the window holds; unset means that this is an ordinary run;
- `MFU_PROBE_CAPTURE_WARMUP_STEPS`: how many steps run before it (default 10).

nsys records between the opening and the closing of the NVTX range `mfu_capture`, which this plan places around exactly
that many `step` ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STEPS_VARIABLE = "MFU_PROBE_CAPTURE_STEPS"
WARMUP_VARIABLE = "MFU_PROBE_CAPTURE_WARMUP_STEPS"
DEFAULT_WARMUP_STEPS = 10


@dataclass(frozen=True)
class CapturePlan:
    """After `warmup_steps` completed steps the window opens, `steps` later it closes and the process ends."""

    warmup_steps: int
    steps: int

    def __post_init__(self) -> None:
        if self.steps < 1 or self.warmup_steps < 0:
            raise ValueError(
                f"{STEPS_VARIABLE} must be at least 1 and {WARMUP_VARIABLE} at least 0, "
                f"not {self.steps} and {self.warmup_steps}"
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> CapturePlan | None:
        """The plan that the profiling Job asks for; None in an ordinary run."""
        steps = environment.get(STEPS_VARIABLE)
        if not steps:
            return None
        return cls(warmup_steps=int(environment.get(WARMUP_VARIABLE) or DEFAULT_WARMUP_STEPS), steps=int(steps))

    def opens_before(self, completed_steps: int) -> bool:
        """Whether the window opens before the next step, when `completed_steps` are done."""
        return completed_steps == self.warmup_steps

    def closes_after(self, completed_steps: int) -> bool:
        """Whether the window closes, and the copy ends, when `completed_steps` are done."""
        return completed_steps >= self.warmup_steps + self.steps

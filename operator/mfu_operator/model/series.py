"""Readings over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mfu_operator.model.baseline import Signal

TimeSpan = tuple[float, float]
"""From and to, Unix seconds."""

Course = tuple[tuple[float, float], ...]
"""Times (Unix seconds) and values, oldest first."""

COURSE_POINTS = 20
COURSE_SPAN_S = 600.0
"""Of a course that is drawn: three hours and twenty minutes. A proposal comes some forty minutes after the onset."""


class Phase(StrEnum):
    """What the job says it is doing; UNKNOWN where it exports no phase."""

    STARTING = "starting"
    RUNNING = "running"
    CHECKPOINT = "checkpoint"
    EVALUATION = "evaluation"
    PAUSED = "paused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at one job: the mean over its ranks at the scrape's own time.

    values are in the signals' units (mfu ratio, seconds per step, tokens per second per GPU); absent signals are
    absent keys. `step` is the step counter, None where it is not exported. `incarnation` tells one set of pods from
    the next (the pods' names joined). `info` are the labels that the job exports about itself. `running_ratio` is the
    share of the values' own window that the job spent in the phase running, None where it does not say.
    """

    time_s: float
    values: Mapping[Signal, float]
    phase: Phase = Phase.UNKNOWN
    step: float | None = None
    incarnation: str = ""
    info: Mapping[str, str] = field(default_factory=dict)
    running_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class HardwareReading:
    """One GPU as NVML or DCGM has it. None: not measured, which is not the same as healthy.

    Link generations and widths are PCIe's, `link_max_*` what card and slot can do together. `throttle_bits` are NVML's
    clock event reasons; `xid` is the last XID error (0: none); ecc_errors counts uncorrected volatile errors.
    """

    node: str
    gpu: str
    link_generation: int | None = None
    link_max_generation: int | None = None
    link_width: int | None = None
    link_max_width: int | None = None
    throttle_bits: int | None = None
    xid: int | None = None
    ecc_errors: int | None = None
    sm_active: float | None = None
    tensor_active: float | None = None

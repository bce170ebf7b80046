"""Readings over time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mfu_operator.model.baseline import Signal


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
    the next (the pods' names joined). `info` are the labels that the job exports about itself.
    """

    time_s: float
    values: Mapping[Signal, float]
    phase: Phase = Phase.UNKNOWN
    step: float | None = None
    incarnation: str = ""
    info: Mapping[str, str] = field(default_factory=dict)

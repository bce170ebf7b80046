"""What the readings say about a job, with the evidence."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """NO_DATA is not healthy, and NOT_COMPARABLE is not regressed."""

    HEALTHY = "Healthy"
    REGRESSED = "Regressed"
    NO_DATA = "NoData"
    NOT_COMPARABLE = "NotComparable"


class Gate(StrEnum):
    """Why readings are looked at and not counted."""

    STARTING = "Starting"
    CHECKPOINT = "Checkpoint"
    EVALUATION = "Evaluation"
    PAUSED = "Paused"
    HUNG = "Hung"
    RESTARTING = "Restarting"
    PROFILING = "Profiling"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one baseline now.

    drop and value are in the declared signal's terms: `drop` is the median relative loss since the onset (0.172 is
    17.2 %), `value` the median reading of the last minutes, `limit` the reading below which loss is counted.
    evidence_s of sustain_s are collected; confirmed is what a proposal needs.
    recovered is True once the readings held the baseline for `recover_s` after a regression.
    """

    verdict: Verdict
    reason: str
    message: str
    signal: str
    gates: tuple[Gate, ...] = ()
    value: float | None = None
    baseline: float | None = None
    limit: float | None = None
    tolerance: float | None = None
    change: float | None = None
    evidence_s: float = 0.0
    sustain_s: float = 0.0
    onset_s: float | None = None
    drop: float | None = None
    confirmed: bool = False
    recovered: bool = False
    smallest_visible_drop: float | None = None
    last_usable_s: float | None = None

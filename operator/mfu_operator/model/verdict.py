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
    INCOMPARABLE = "Incomparable"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one baseline now.

    value, baseline and limit are in the unit of `signal`: `value` is the median reading of the last minutes, `limit`
    the reading beyond which loss is counted. `change`, `drop` and `tolerance` are relative to the baseline's speed,
    whatever the signal: `change` −0.172 is 17.2 % slower, `drop` 0.172 the median loss since the onset.
    evidence_s of sustain_s are collected towards Regressed, confirm_evidence_s of confirm_s towards confirmed (what a
    proposal needs), recover_evidence_s of recover_s towards recovered, which is True once the readings held the
    baseline that long after a regression, and until the next one.
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
    confirm_evidence_s: float = 0.0
    confirm_s: float = 0.0
    recover_evidence_s: float = 0.0
    recover_s: float = 0.0
    onset_s: float | None = None
    drop: float | None = None
    confirmed: bool = False
    recovered: bool = False
    smallest_visible_drop: float | None = None
    last_usable_s: float | None = None

"""What a baseline is measured by, as it was registered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mfu_operator.model.baseline import Baseline, BaselineSpec, WorkloadRef
from mfu_operator.ports import Metrics

_REFILL_SHARE = 4.0
"""Arming takes up to 1.5 horizons, evidence one, a gap may last two more before it is forgotten."""

_LONGEST_REFILL_S = 6 * 3600.0
"""An incident older than this is taken from the status; its readings would be hours of history for nothing new."""

_LONGEST_RECORDING_S = 7 * 86400.0
"""Runs of a recording are looked for in one week: longer, and the fleet under them has changed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What one baseline declares, and what is known of it apart from its readings.

    `baseline` is the level in force, None while none is declared or recorded; `source` is None where it cannot be
    opened. `recording_since_s` is when the recording in progress began, `incident_since_s` the onset of the open
    incident; `facts` are what the workload's object says about the run.
    """

    spec: BaselineSpec
    baseline: Baseline | None
    source: Metrics | None
    recording_since_s: float | None = None
    incident_since_s: float | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def workload(self) -> WorkloadRef:
        """The training job."""
        return self.spec.workload

    def measure_as(self, other: "Terms") -> bool:
        """Whether what was gathered by these serves the others: the same workload, source, rule and level."""
        return (
            self.reads_as(other)
            and self.spec.detection == other.spec.detection
            and _measure(self.baseline) == _measure(other.baseline)
            and _covers(self.recording_since_s, other.recording_since_s)
        )

    def reads_as(self, other: "Terms") -> bool:
        """Whether both are of the same job and source."""
        return self.workload.same_job(other.workload) and self.source is other.source

    def history_s(self, now_s: float) -> float:
        """How far back readings matter, seconds."""
        usual_s = _REFILL_SHARE * self.spec.detection.sustain_s
        if self.recording_since_s is not None:
            return min(_LONGEST_RECORDING_S, max(usual_s, now_s - self.recording_since_s))
        if self.incident_since_s is not None:
            return min(_LONGEST_REFILL_S, usual_s + now_s - self.incident_since_s)
        return usual_s


def _covers(kept_since_s: float | None, wanted_since_s: float | None) -> bool:
    """Whether readings kept since one moment serve a recording that began at the other."""
    if kept_since_s is None or wanted_since_s is None:
        return kept_since_s is wanted_since_s
    return kept_since_s <= wanted_since_s


def _measure(baseline: Baseline | None) -> object:
    return None if baseline is None else (baseline.level, baseline.spread)

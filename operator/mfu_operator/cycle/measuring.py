"""Where a baseline is registered with the sweep, and where what the sweep knows of it is had: for the loop and the tick
alike."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.incident import Status
from mfu_operator.model.series import TimeSpan
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import Credentials
from mfu_operator.reconcile.level import as_recorded, declared_baseline, held_against


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a look at the cluster adds to what the sweep is told: the credentials of the source, when a profiling Job
    disturbed the run, and what the workload's object says about it."""

    credentials: Credentials | None
    disturbed: tuple[TimeSpan, ...]
    facts: Mapping[str, str]


def level_in_force(spec: BaselineSpec, status: Status) -> Baseline | None:
    """The level that is declared, or the one that was recorded; None while there is none."""
    return declared_baseline(spec) or status.baseline


def register(
    adapters: Adapters, uid: str, spec: BaselineSpec, status: Status, now_s: float, inspected: Inspected | None = None
) -> None:
    """Let the sweep read of a baseline. `inspected` is None before the first look at the cluster."""
    level = level_in_force(spec, status)
    adapters.sweep.register(
        uid,
        as_recorded(spec, level),
        level,
        credentials=None if inspected is None else inspected.credentials,
        incident_since_s=status.incident.onset_at if status.incident is not None else None,
        recording_since_s=recording_since_s(spec, status, now_s),
        gated=None if inspected is None else {Gate.PROFILING: inspected.disturbed},
        facts=None if inspected is None else inspected.facts,
    )


def view_of(adapters: Adapters, uid: str, spec: BaselineSpec, level: Baseline | None, now_s: float) -> SweepView:
    """What the sweep knows about a baseline now, judged against its current level."""
    view = adapters.sweep.view(uid, now_s)
    if view.judgement is None:
        return view
    return replace(view, judgement=held_against(view.judgement, level, spec))


def recording_since_s(spec: BaselineSpec, status: Status, now_s: float) -> float | None:
    """When the recording in progress began; None where a baseline is declared or recorded already."""
    if spec.record is None or status.baseline is not None:
        return None
    return status.recording.started_at if status.recording is not None else now_s

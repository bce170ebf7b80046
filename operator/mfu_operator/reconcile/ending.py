"""The end of an incident whose run goes on no more: its workload ended or is gone. A run that is deployed again is away
for minutes, and one that waits for its turn for hours; nobody who is not seen is taken for gone."""

from dataclasses import replace

from mfu_operator.detect.formatting import clock, duration
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, Status
from mfu_operator.reconcile.profile import RUNNING
from mfu_operator.reconcile.recovery import ended, left_open, running_since_s
from mfu_operator.reconcile.world import World

GONE_S = 3600.0
"""A workload that is deleted, or finished, may be made again: a GitOps tool replaces one within minutes."""

IDLE_S = 24 * 3600.0
"""A workload that is there and has no pod waits for room; a queue lets a job wait for hours."""


def followed(world: World) -> tuple[Status, tuple[Event, ...]]:
    """The record with when the run of the open incident stopped or went on, closed where it will not go on."""
    status, runs = world.status, _runs(world)
    if status.incident is None or runs is None:
        return status, ()
    incident = _noted(world, status.incident, runs)
    because = _over(world, incident)
    if because is None:
        return replace(status, incident=incident), ()
    message = f"incident {incident.id} is closed: {because[1]}{left_open(incident)}"
    status = ended(status, replace(incident, closed=because), world.spec, world.now_s)
    return status, (Event("Normal", because[0], message),)


def _runs(world: World) -> bool | None:
    """Whether a pod of the run is running; None where nobody knows."""
    if world.workload is not None:
        return any(pod.phase == RUNNING for pod in world.workload.pods)
    return False if world.problem is not None and world.problem.reason == "WorkloadNotFound" else None


def _noted(world: World, incident: Incident, runs: bool) -> Incident:
    if runs and incident.stopped_at is not None:
        started_s = min(
            (pod.started_at for pod in (world.workload.pods if world.workload else ()) if pod.started_at is not None),
            default=world.now_s,
        )
        return replace(incident, stopped_at=None, resumed_at=max(started_s, running_since_s(incident)))
    if not runs and incident.stopped_at is None:
        since_s = running_since_s(incident)
        last_s = min(world.now_s, max(since_s, _last_reading_s(world) or since_s))
        return replace(incident, stopped_at=world.now_s, ran_s=incident.ran_s + last_s - since_s)
    return incident


def _last_reading_s(world: World) -> float | None:
    """When a pod is known to have run last: what came after nobody saw."""
    if world.last_reading_s is not None:
        return world.last_reading_s
    return world.status.judgement.last_usable_s if world.status.judgement is not None else None


def _over(world: World, incident: Incident) -> tuple[str, str] | None:
    """Why the run will not go on; None where it runs, or may go on."""
    if incident.stopped_at is None:
        return None
    stopped_s, ref = world.now_s - incident.stopped_at, world.spec.workload
    if world.workload is None:
        gone = f"{ref.kind} {ref.name} is gone since {clock(incident.stopped_at)} and did not come back"
        return ("WorkloadGone", f"{gone} within {duration(GONE_S)}") if stopped_s >= GONE_S else None
    if stopped_s >= (GONE_S if world.workload.finished else IDLE_S):
        said = "ended" if world.workload.finished else "has no running pod"
        return "WorkloadEnded", f"{ref.kind} {ref.name} {said} since {clock(incident.stopped_at)}"
    return None

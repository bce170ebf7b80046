"""What an incident begins with."""

from mfu_operator.api import naming
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.verdict import Judgement
from mfu_operator.reconcile.known_good import newest_start_s
from mfu_operator.reconcile.recovery import devices_of
from mfu_operator.reconcile.world import World

CLOSED_BY_PERSON = "ClosedByPerson"
"""Why an incident ended that a person closed."""


def onset_s(world: World, judgement: Judgement) -> float:
    """When the loss of the next incident began: after the last one ended, whatever the readings say of the time before,
    and with the newest pod where that is later."""
    begun_s = judgement.onset_s if judgement.onset_s is not None else world.now_s
    last_s = _last_end_s(world.status)
    if last_s is None or begun_s > last_s:
        return begun_s
    started_s = newest_start_s(world.workload.pods) if world.workload is not None else None
    return min(world.now_s, max(last_s + 1.0, started_s or 0.0))


def dismissed(world: World, judgement: Judgement) -> bool:
    """Whether the loss that is seen is of an incident that is closed: it began before, and has not ended since. A
    person closed it, or its run ended and no pod has started since."""
    begun_s = judgement.onset_s
    return begun_s is not None and any(_covers(world, each, begun_s) for each in world.status.history)


def _covers(world: World, past: Incident, begun_s: float) -> bool:
    if past.closed is None or past.ended_at is None or begun_s > past.ended_at:
        return False
    if past.closed[0] == CLOSED_BY_PERSON or past.stopped_at is None:
        return past.closed[0] == CLOSED_BY_PERSON
    started_s = newest_start_s(world.workload.pods) if world.workload is not None else None
    return started_s is None or started_s <= past.stopped_at


def new_incident(world: World, judgement: Judgement, onset_s: float) -> Incident:
    """The next incident of a baseline. Its onset names it.

    Args:
        onset_s: when the loss began, Unix seconds.
    """
    known_good, workload = world.status.known_good, world.workload
    return Incident(
        id=naming.incident_id(world.identity.name, world.identity.uid, onset_s),
        opened_at=world.now_s,
        onset_at=onset_s,
        signal=judgement.signal,
        baseline_value=judgement.baseline or 0.0,
        regressed_value=judgement.value or 0.0,
        drop=judgement.drop or 0.0,
        good_revision=known_good.revision if known_good else None,
        template=workload.template_digest if workload else None,
        devices=devices_of(world.spec, len(workload.pods) if workload else 1),
    )


def _last_end_s(status: Status) -> float | None:
    ends = (each.recovery.recovered_at if each.recovery is not None else each.ended_at for each in status.history)
    return max((end_s for end_s in ends if end_s is not None), default=None)

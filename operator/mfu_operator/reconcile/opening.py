"""What an incident begins with."""

from mfu_operator.api import naming
from mfu_operator.model.incident import Incident
from mfu_operator.model.verdict import Judgement
from mfu_operator.reconcile.world import World


def new_incident(world: World, judgement: Judgement, onset_s: float) -> Incident:
    """The next incident of a baseline. The count of incidents names it, so that every replica names it alike.

    Args:
        onset_s: when the loss began, Unix seconds.
    """
    known_good, workload = world.status.known_good, world.workload
    return Incident(
        id=naming.incident_id(world.identity.name, world.identity.uid, world.status.incidents + 1),
        opened_at=world.now_s,
        onset_at=onset_s,
        signal=judgement.signal,
        baseline_value=judgement.baseline or 0.0,
        regressed_value=judgement.value or 0.0,
        drop=judgement.drop or 0.0,
        good_revision=known_good.revision if known_good else None,
        template=workload.template_digest if workload else None,
    )

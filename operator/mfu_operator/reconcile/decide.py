"""The first missing fact decides the next effect."""

from mfu_operator.reconcile import healthy, incident
from mfu_operator.reconcile.effects import Step
from mfu_operator.reconcile.world import World


def decide(world: World) -> Step | None:
    """The next step, or None when every fact is there that can be had now.

    Raises:
        MfuError: what stands in the way of the next fact, named for what to do about it.
    """
    if world.spec.suspend or world.workload is None:
        return None
    chain = healthy.CHAIN if world.status.incident is None else incident.CHAIN
    for missing in chain:
        step = missing(world)
        if step is not None:
            return step
    return None

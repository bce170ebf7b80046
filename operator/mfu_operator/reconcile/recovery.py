"""The proof of recovery: the same baseline, before, regressed and after."""

from dataclasses import replace

from mfu_operator.model.incident import Incident, Recovery
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Judgement
from mfu_operator.reconcile.known_good import newest_start_s, revision_read
from mfu_operator.reconcile.world import World

SECONDS_PER_HOUR = 3600.0


def recovered(world: World, incident: Incident, judgement: Judgement) -> Incident:
    """The incident with its recovery recorded."""
    return replace(
        incident,
        recovery=Recovery(
            signal=incident.signal,
            before=incident.baseline_value,
            regressed=incident.regressed_value,
            after=judgement.value if judgement.value is not None else incident.baseline_value,
            recovered_at=world.now_s,
            gpu_hours_lost=device_hours_lost(world, incident),
            single_variable=single_variable(world, incident),
        ),
    )


def device_hours_lost(world: World, incident: Incident) -> float:
    """Device hours beyond what the baseline would have needed: drop × devices × (recovered − onset).

    Devices are the declared GPU count, else the world size, else one (a CPU job counts processes).
    """
    comparable = world.spec.comparable
    devices = comparable.gpu_count or comparable.world_size or 1
    return max(0.0, incident.drop) * devices * (world.now_s - incident.onset_at) / SECONDS_PER_HOUR


def single_variable(world: World, incident: Incident) -> str | None:
    """The one thing that changed between regressed and recovered, where it is known to be one."""
    proposal, suspect = incident.proposal, incident.suspect
    if proposal is not None and suspect is not None and proposal.state is PullRequestState.MERGED:
        changed = f" ({'; '.join(suspect.changed)})" if suspect.changed else ""
        return f"commit {suspect.sha[:12]} undone by {(proposal.merge_sha or proposal.branch)[:12]}{changed}"
    if world.source is None or world.workload is None or incident.bad_revision is None:
        return None
    started_s = newest_start_s(world.workload.pods)
    now = revision_read(world.source, started_s) if started_s is not None else None
    return None if now in (None, incident.bad_revision) else f"revision {incident.bad_revision[:12]} → {str(now)[:12]}"

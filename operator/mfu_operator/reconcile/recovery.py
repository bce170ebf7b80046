"""The proof of recovery: the same baseline, before, regressed and after."""

from dataclasses import replace

from mfu_operator.gitops.window import runs
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

    Devices are the world size, else the declared GPUs of a pod times the pods, else the pods (a CPU job counts them).
    """
    comparable = world.spec.comparable
    pods = max(1, len(world.workload.pods) if world.workload is not None else 1)
    devices = comparable.world_size or (comparable.gpu_count or 1) * pods
    return max(0.0, incident.drop) * devices * (world.now_s - incident.onset_at) / SECONDS_PER_HOUR


def single_variable(world: World, incident: Incident) -> str | None:
    """What changed between regressed and recovered: one thing only where the deployments show nothing beside it."""
    now = _revision_now(world)
    proposal, suspect = incident.proposal, incident.suspect
    if proposal is not None and suspect is not None and proposal.state is PullRequestState.MERGED:
        changed = f" ({'; '.join(suspect.changed)})" if suspect.changed else ""
        undone = f"commit {suspect.sha[:12]} undone by {(proposal.merge_sha or proposal.branch)[:12]}{changed}"
        return undone + _beside(world, incident.bad_revision, proposal.merge_sha, now)
    if incident.bad_revision is None or now in (None, incident.bad_revision):
        return None
    return f"revision {incident.bad_revision[:12]} → {str(now)[:12]}"


def _revision_now(world: World) -> str | None:
    """The revision that the pods read; None where it is not known."""
    if world.source is None or world.workload is None:
        return None
    started_s = newest_start_s(world.workload.pods)
    return revision_read(world.source, started_s) if started_s is not None else None


def _beside(world: World, bad: str | None, merge: str | None, now: str | None) -> str:
    """What else may have changed than the merge; empty where it is what was deployed next after the bad revision."""
    if bad is None or now is None or world.source is None:
        return ", and perhaps more: which revision the pods read is not known"
    order = [each.revision for each in runs(world.source.deployed)]
    next_one = order[order.index(bad) + 1 :][:1] if bad in order else []
    return "" if now == merge and next_one == [now] else f" and other changes between {bad[:12]} and {now[:12]}"

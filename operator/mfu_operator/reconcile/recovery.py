"""How an incident ends: the proof of recovery (the same baseline, before, regressed and after), and what it cost."""

from dataclasses import replace

from mfu_operator.api.status import HISTORY
from mfu_operator.gitops.telling.story import Cost
from mfu_operator.gitops.window import runs
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import Incident, Recovery, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Judgement
from mfu_operator.reconcile.known_good import newest_start_s, revision_read
from mfu_operator.reconcile.world import World, seen

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
            gpu_hours_lost=cost_of(world, incident).so_far,
            single_variable=single_variable(world, incident),
        ),
    )


def cost_of(world: World, incident: Incident) -> Cost:
    """What an incident costs, until now."""
    pods = len(world.workload.pods) if world.workload is not None else 1
    return cost_until(incident, incident.devices or devices_of(world.spec, pods), world.now_s)


def cost_until(incident: Incident, devices: int, at_s: float) -> Cost:
    """What an incident of a run with so many devices costs, until a moment (Unix seconds)."""
    return Cost(max(0.0, incident.drop) * devices, hours_lost(incident, devices, at_s), devices, at_s)


def devices_of(spec: BaselineSpec, pods: int) -> int:
    """The world size, else the declared GPUs of a pod times the pods, else the pods (a CPU job counts them)."""
    return spec.comparable.world_size or (spec.comparable.gpu_count or 1) * max(1, pods)


def hours_lost(incident: Incident, devices: int, now_s: float) -> float:
    """Device hours beyond what the baseline would have needed: drop × devices × the time while pods ran."""
    return max(0.0, incident.drop) * devices * ran_s(incident, now_s) / SECONDS_PER_HOUR


def ran_s(incident: Incident, now_s: float) -> float:
    """Seconds that pods ran since the onset."""
    if incident.stopped_at is not None:
        return incident.ran_s
    return incident.ran_s + max(0.0, now_s - running_since_s(incident))


def running_since_s(incident: Incident) -> float:
    """When the pods that run now began to count, Unix seconds."""
    return incident.onset_at if incident.resumed_at is None else incident.resumed_at


def ended(status: Status, incident: Incident, spec: BaselineSpec, now_s: float) -> Status:
    """The record once an incident ends without a recovery: in the history, with what it cost."""
    devices = incident.devices or devices_of(spec, 1)
    closed = replace(incident, ended_at=now_s, gpu_hours_lost=hours_lost(incident, devices, now_s))
    return replace(status, incident=None, history=(closed, *status.history)[:HISTORY])


def left_open(incident: Incident) -> str:
    """What is left for a person after an incident that did not recover."""
    proposal = incident.proposal
    still = proposal is not None and proposal.state is PullRequestState.OPEN
    return f"; its pull request {proposal.url} is left for you to close" if proposal is not None and still else ""


def single_variable(world: World, incident: Incident) -> str | None:
    """What changed between regressed and recovered: one thing only where the deployments show nothing beside it."""
    now = _revision_now(world)
    proposal, suspect = incident.proposal, incident.suspect
    if proposal is not None and suspect is not None and proposal.state is PullRequestState.MERGED:
        changed = f" ({'; '.join(suspect.changed)})" if suspect.changed else ""
        undone = f"commit {suspect.sha[:12]} undone by {(proposal.merge_sha or proposal.branch)[:12]}{changed}"
        return undone + _beside(world, incident.bad_revision, proposal.merge_sha, now)
    if proposal is not None and suspect is None and proposal.state is PullRequestState.MERGED:
        did = f"{proposal.title.partition(':')[0]}, merged as {(proposal.merge_sha or proposal.branch)[:12]}"
        return did + _beside(world, incident.bad_revision, proposal.merge_sha, now)
    if incident.bad_revision is None or now in (None, incident.bad_revision):
        return None
    return f"revision {incident.bad_revision[:12]} → {str(now)[:12]}"


def _revision_now(world: World) -> str | None:
    """The revision that the pods read; None where it is not known."""
    source = seen(world.source)
    if source is None or world.workload is None:
        return None
    started_s = newest_start_s(world.workload.pods)
    return revision_read(source, started_s) if started_s is not None else None


def _beside(world: World, bad: str | None, merge: str | None, now: str | None) -> str:
    """What else may have changed than the merge; empty where it is what was deployed next after the bad revision."""
    source = seen(world.source)
    if bad is None or now is None or source is None:
        return ", and perhaps more: which revision the pods read is not known"
    order = [each.revision for each in runs(source.deployed)]
    next_one = order[order.index(bad) + 1 :][:1] if bad in order else []
    return "" if now == merge and next_one == [now] else f" and other changes between {bad[:12]} and {now[:12]}"

"""An open incident that is of another loss than the one that is seen now.

Either a passing loss that its profile does not explain, whose run was replaced by one that is slow as well.
What was profiled is then not what runs: a noisy neighbour may have opened the incident seconds before the commit came
that made the job slow. The new run's loss is an incident of its own, with a profile, an onset and a window of commits
of its own. A loss that was confirmed, or explained in any way, stays one loss whatever is deployed meanwhile: a later
onset would hold a commit responsible that came after the loss.

Or a loss too small to be confirmed, which grew by more than the tolerance hours later: its window of commits ends
before the one that made it grow, and its profile is of the small loss.
"""

from dataclasses import replace

from mfu_operator.detect.formatting import clock
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.incident import Incident
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.effects import Record, Step
from mfu_operator.reconcile.known_good import newest_start_s
from mfu_operator.reconcile.opening import new_incident
from mfu_operator.reconcile.recovery import ended
from mfu_operator.reconcile.world import World


def supersede(world: World) -> Step | None:
    """Close the incident of what is gone and open that of what took its place; only called where there is one, and its
    workload."""
    return _another_run(world) or _another_loss(world)


def _another_run(world: World) -> Step | None:
    before, judgement, workload = world.status.incident, world.judgement, world.workload
    assert before is not None and workload is not None
    if judgement is None or not _unexplained(before):
        return None
    started_s = newest_start_s(workload.pods)
    if before.template in (None, workload.template_digest) or started_s is None or started_s <= before.onset_at:
        return None
    if not _young(world, before, started_s) or not _slow_as_well(world, judgement, started_s):
        return None
    assert judgement.change is not None
    after = replace(new_incident(world, judgement, started_s), drop=-judgement.change)
    return _closing(world, before, after, f"the run was replaced by another one, whose loss is incident {after.id}")


def _another_loss(world: World) -> Step | None:
    """Where what is confirmed is larger by more than the tolerance, and began a whole horizon after the incident."""
    before, judgement = world.status.incident, world.judgement
    assert before is not None
    if judgement is None or not judgement.confirmed or judgement.onset_s is None:
        return None
    if before.confirmed_at is not None or before.proposal is not None:
        return None
    if judgement.onset_s <= before.onset_at + world.spec.detection.sustain_s:
        return None
    if judgement.drop is None or judgement.drop <= before.drop + (judgement.tolerance or 0.0):
        return None
    after = new_incident(world, judgement, judgement.onset_s)
    return _closing(world, before, after, f"the loss grew, and what it is since {clock(after.onset_at)} is {after.id}")


def _closing(world: World, before: Incident, after: Incident, because: str) -> Step:
    assert world.judgement is not None
    closed = ended(world.status, replace(before, superseded=because), world.spec, world.now_s)
    status = replace(closed, incidents=closed.incidents + 1, incident=after)
    told = (
        Event("Normal", "Superseded", f"incident {before.id} is closed: {because}"),
        Event("Warning", "Regressed", f"incident {after.id}: {world.judgement.message}"),
    )
    return Record(status, told)


def _unexplained(incident: Incident) -> bool:
    """The profile showed nothing that grew, or nothing at all, and that is all that stands in a proposal's way."""
    diagnosis = incident.diagnosis
    if diagnosis is None or diagnosis.bottleneck not in (None, Bottleneck.INCONCLUSIVE):
        return False
    if incident.proposal is not None:
        return False
    return incident.blocked is None or incident.blocked[0] == str(Bottleneck.INCONCLUSIVE)


def _young(world: World, incident: Incident, started_s: float) -> bool:
    """Whether the run was replaced before its loss could have been confirmed."""
    detection = world.spec.detection
    return incident.confirmed_at is None and started_s < incident.onset_at + detection.sustain_s + detection.confirm_s


def _slow_as_well(world: World, judgement: Judgement, started_s: float) -> bool:
    """Whether the new run was judged for a whole horizon, is beyond the tolerance and shows no trace of recovery."""
    detection = world.spec.detection
    last_s, change, tolerance = judgement.last_usable_s, judgement.change, judgement.tolerance
    if last_s is None or change is None or tolerance is None or judgement.verdict is not Verdict.REGRESSED:
        return False
    judged = last_s >= started_s + detection.warmup_s + detection.sustain_s
    return judged and change < -tolerance and judgement.recover_evidence_s == 0

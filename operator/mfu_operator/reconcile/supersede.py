"""An unexplained incident whose run was replaced by one that is slow as well.

What was profiled is then not what runs: a passing loss of the old run may have opened the incident seconds before the
commit came that made the new one slow. The new run's loss is an incident of its own, with a profile, an onset and a
window of commits of its own.
"""

from dataclasses import replace

from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.effects import Record, Step
from mfu_operator.reconcile.known_good import newest_start_s
from mfu_operator.reconcile.opening import new_incident
from mfu_operator.reconcile.proposable import not_proposable
from mfu_operator.reconcile.world import World

A_PERSONS_NO = "PullRequestClosed"
"""Why nothing more is proposed, whatever runs."""


def supersede(world: World) -> Step | None:
    """Close the incident of the run that is gone and open that of the run that took its place."""
    before, judgement, workload = world.status.incident, world.judgement, world.workload
    if before is None or judgement is None or workload is None or not _unexplained(before):
        return None
    started_s = newest_start_s(workload.pods)
    if before.template in (None, workload.template_digest) or started_s is None:
        return None
    if not _slow_as_well(world, judgement, started_s):
        return None
    after = new_incident(world, judgement, max(started_s, before.onset_at))
    because = f"the run was replaced by another one, whose loss is incident {after.id}"
    closed = replace(before, superseded=because)
    status = replace(
        world.status,
        incidents=world.status.incidents + 1,
        incident=after,
        history=(closed, *world.status.history)[:10],
    )
    told = (
        Event("Normal", "Superseded", f"incident {before.id} is closed: {because}"),
        Event("Warning", "Regressed", f"incident {after.id}: {judgement.message}"),
    )
    return Record(status, told)


def _unexplained(incident: Incident) -> bool:
    """Its diagnosis is there and leads to no proposal, and no person has said no."""
    if incident.diagnosis is None or (incident.proposal is not None and not incident.proposal.dry_run):
        return False
    if incident.blocked is not None:
        return incident.blocked[0] != A_PERSONS_NO
    return not_proposable(incident.diagnosis) is not None


def _slow_as_well(world: World, judgement: Judgement, started_s: float) -> bool:
    """Whether the new run was judged for a whole horizon without a trace of recovery."""
    detection = world.spec.detection
    judged_from_s = started_s + detection.warmup_s + detection.sustain_s
    last_s = judgement.last_usable_s
    seen = last_s is not None and last_s >= judged_from_s
    return seen and judgement.verdict is Verdict.REGRESSED and judgement.recover_evidence_s == 0

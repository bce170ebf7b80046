"""A proposal that was merged and rolled out, and did not help: the commit, or what it pins, did not do it, unless a
later commit took the merge back."""

from dataclasses import replace

from mfu_operator.gitops.blame.scores import PLAUSIBLE
from mfu_operator.gitops.window import runs
from mfu_operator.model.baseline import Detection
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Exoneration, Incident, ProposalFact
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.effects import Recheck, Record, Step
from mfu_operator.reconcile.known_good import newest_start_s, revision_read
from mfu_operator.reconcile.proposed.facts import UNDONE, same_commit
from mfu_operator.reconcile.world import World, seen

RECOVERY_HORIZONS = 3.0
"""Readings of pods that run the revert hold the baseline within one horizon where it helps: three leave no doubt."""

SYNC_ALLOWANCE_S = 300.0
"""A GitOps tool may sync what it read before the merge: Argo CD keeps a branch's head for three minutes."""

MOST_EXONERATED = 3
"""Commits that one incident holds responsible in turn. Each costs people a merge and a restart of their training."""


def exonerate(world: World) -> Step | None:
    """Note that the commit, or what was pinned, did not do it; where the pods read another revision than the merge,
    look first whether that one still holds it."""
    incident, judgement = world.status.incident, world.judgement
    if incident is None or incident.proposal is None or judgement is None:
        return None
    started_s = rolled_out_s(world, incident.proposal)
    if started_s is None or judgement.verdict is not Verdict.REGRESSED or judgement.recover_evidence_s > 0:
        return None
    if judgement.last_usable_s is None or judgement.last_usable_s < started_s + _horizon_s(world.spec.detection):
        return None
    if incident.blocked is not None:
        return None
    asked = _after_the_merge(world, incident, incident.proposal)
    return exonerated(world) if asked is None else Recheck(asked)


def _after_the_merge(world: World, incident: Incident, proposal: ProposalFact) -> Question | None:
    """What is to be compared; None where the pods read the merge itself, or it is not told which revision they read."""
    source, workload, known_good = seen(world.source), world.workload, world.status.known_good
    assert source is not None and workload is not None
    started_s = newest_start_s(workload.pods)
    now = revision_read(source, started_s) if started_s is not None else None
    if now is None or proposal.merge_sha is None or source.hydrated is not None or same_commit(now, proposal.merge_sha):
        return None
    diagnosis = incident.diagnosis
    cause = None if diagnosis is None else diagnosis.cause or (diagnosis.bottleneck and str(diagnosis.bottleneck))
    run = tuple(dict.fromkeys(image for pod in workload.pods for image in pod.images))
    images = known_good.images if known_good is not None else ()
    return Question(source, proposal.merge_sha, now, world.spec.workload, cause, images, run)


def rechecked(world: World, findings: Findings) -> Record:
    """The incident where a commit after the merge brings back what the merge took out; else its exoneration."""
    incident = world.status.incident
    assert incident is not None and incident.proposal is not None
    again = max(findings.ranking.suspects, key=lambda each: each.score, default=None)
    if findings.not_rendered:
        blocked = "CannotRender", f"nobody can say whether the merge is in force still: {findings.not_rendered}"
    elif again is not None and again.score >= PLAUSIBLE:
        commit = again.commit
        found = f"commit {commit.sha[:12]} ({commit.subject}) by {commit.author}"
        what = "; ".join(again.changed[:3])
        told = f"{incident.proposal.url} was merged, and {found}, deployed since, took it back: {what}"
        blocked = UNDONE, told
    else:
        return exonerated(world)
    status = replace(world.status, incident=replace(incident, blocked=blocked))
    return Record(status, (Event("Warning", *blocked),))


def exonerated(world: World) -> Record:
    """The incident without the commit, or the pin, that did not do it."""
    incident = world.status.incident
    assert incident is not None and incident.proposal is not None
    suspect, proposal = incident.suspect, incident.proposal
    cleared = Exoneration(suspect, replace(proposal, diff=None), world.now_s, incident.pin)
    after = replace(incident, exonerated=(*incident.exonerated, cleared), suspect=None, pin=None, proposal=None)
    did = "what it pins did not do it; take it back if you want the newer one"
    if suspect is not None:
        did = f"commit {suspect.sha[:12]} did not do it; take its revert back if you want the change"
    told = f"{proposal.url} was merged and rolled out, and the loss remains: {did}, and the next suspect is considered"
    return Record(replace(world.status, incident=after), (Event("Warning", "Exonerated", told),))


def rolled_out_s(world: World, proposal: ProposalFact) -> float | None:
    """When the last of the pods that run the merged proposal started; None where it is not merged, not everywhere, or
    nobody knows."""
    source, merged_s = seen(world.source), proposal.merged_at
    if proposal.state is not PullRequestState.MERGED or merged_s is None or source is None or world.workload is None:
        return None
    began_s = [
        begun_s
        for each in runs(source.deployed)
        if (begun_s := min(each.time_s, each.started_s or each.time_s)) >= merged_s + SYNC_ALLOWANCE_S
        or (same_commit(each.revision, proposal.merge_sha) and each.time_s >= merged_s)
    ]
    starts_s = [pod.started_at for pod in world.workload.pods]
    if not began_s or not starts_s:
        return None
    known_s = [each for each in starts_s if each is not None and each >= min(began_s)]
    return max(known_s) if len(known_s) == len(starts_s) else None


def _horizon_s(detection: Detection) -> float:
    return detection.warmup_s + RECOVERY_HORIZONS * detection.recover_s

"""From an open incident's first missing fact to the next step, in order: profile, diagnosis, confirmation, proposal,
the person's answer to it, recovery."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mfu_operator.api.status import HISTORY
from mfu_operator.detect.hardware import NODES_CHANGED
from mfu_operator.errors import AskPerson, Wait
from mfu_operator.gitops.images import rebuilt
from mfu_operator.gitops.window import moved_beside, times, window
from mfu_operator.model.baseline import BaselineSpec, ProfilingMode, RemediationMode
from mfu_operator.model.commit import Source
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact
from mfu_operator.model.investigation import Question
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile import profile
from mfu_operator.reconcile.after.proof import begun
from mfu_operator.reconcile.effects import Investigate, Record, Step, Subject
from mfu_operator.reconcile.proposable import not_proposable
from mfu_operator.reconcile.proposed.answer import hear_answer
from mfu_operator.reconcile.proposed.exonerate import MOST_EXONERATED, exonerate
from mfu_operator.reconcile.proposed.follow import tell, withdraw
from mfu_operator.reconcile.proposed.hold import hold
from mfu_operator.reconcile.recovery import recovered
from mfu_operator.reconcile.supersede import supersede
from mfu_operator.reconcile.world import Unseen, World
from mfu_operator.trace.diagnosis.diagnose import diagnose

RUNBOOKS = {
    Bottleneck.HARDWARE_DEGRADED: "runbooks/hardware-degraded.md",
    Bottleneck.STRAGGLER: "runbooks/straggler.md",
    Bottleneck.INCONCLUSIVE: "runbooks/inconclusive.md",
}

OF_THE_PROGRAM = frozenset(
    {
        "DataLoaderWorkers", "SmallMessages", "PrecisionLost", "ShapeChanged", "Recompute", "AttentionFallback",
        "Unfused", "NewKernel", "Recompilation", "DebugInstrumentation", "Synchronisation", "ThreadOversubscription",
        "PageableCopies", "Offload", "ExtraCopies",
    }
)  # fmt: skip
"""Causes that show in what the program does (other kernels, calls, settings) and not in how long it takes: no node
makes them, so they carry a proposal for a run that moved too."""

EITHER = 0.5
"""Confidence in a node where the run moved and nothing tells the node from a commit."""

OBSERVED = 0.9
"""Confidence in a fault that was read off the hardware: seen, not inferred, and yet perhaps not the cause."""


def close_recovered(world: World) -> Step | None:
    """The readings hold the baseline again: write the before/after record and close the incident."""
    judgement = world.judgement
    if judgement is None or judgement.verdict is not Verdict.HEALTHY:
        return None
    incident = recovered(world, opened(world), judgement)
    assert incident.recovery is not None
    incident = replace(incident, proof=begun(world, incident))
    status = replace(world.status, incident=None, history=(incident, *world.status.history)[:HISTORY])
    return Record(status, (Event("Normal", "Recovered", _recovery_story(incident)),))


def take_profile(world: World) -> Step | None:
    """Launch the profiling Job, and take what it brings."""
    incident = opened(world)
    if world.spec.profiling.mode is ProfilingMode.NEVER or incident.diagnosis is not None:
        return None
    known = incident.profile
    if known is None or known.failure is not None:
        return _launch(world, incident.id, known)
    if known.account is not None:
        return None
    after = profile.observed(world, known, incident.id)
    if after is None:
        return None
    event = (
        Event("Normal", "Profiled", f"Job {after.job} brought the slow step's account")
        if after.failure is None
        else Event("Warning", *after.failure)
    )
    return _with(world, replace(incident, profile=after), event)


def _launch(world: World, incident_id: str, failed: ProfileFact | None) -> Step | None:
    if profile.no_way(world) is not None:
        return None
    again = failed is None or profile.retry_due(world, failed)
    return profile.launch(world, Subject.INCIDENT, incident_id, failed) if again else None


def explain(world: World) -> Step | None:
    """Diagnose from the account against the baseline's own; without an account, say that it is inconclusive."""
    incident = opened(world)
    if incident.diagnosis is not None:
        return None
    known = incident.profile
    if known is not None and known.account is not None:
        healthy = world.status.healthy_profile
        found = diagnose(known.account, healthy.account if healthy else None)
        if known.account.gpu is not None and world.unmeasured:
            told = f"hardware is not ruled out: {'; '.join(world.unmeasured)}"
            found = replace(found, evidence=(*found.evidence, told))
    elif world.spec.profiling.mode is ProfilingMode.NEVER:
        found = _inconclusive("spec.profiling.mode is Never, so no step was recorded")
    elif (known is None or known.failure is not None) and (because := profile.no_way(world)) is not None:
        if not profile.settled(world):
            return None
        found = _inconclusive(f"{because.reason}: {because.message}")
    elif known is not None and known.failure is not None and profile.exhausted(known):
        attempts, (reason, message) = known.attempt - known.earlier_attempts, known.failure
        found = _inconclusive(f"{attempts} profiling Jobs failed, the last with {reason}: {message}")
    else:
        return None
    found = outside_of_commits(world) or _unless_moved(world, found)
    found = replace(found, evidence=(*found.evidence, *world.supporting))
    return _with(world, replace(incident, diagnosis=found), Event("Warning", "Diagnosed", _diagnosis_story(found)))


def outside_of_commits(world: World) -> Diagnosis | None:
    """Hardware, where readings during the loss or the profile's own look at the GPUs show it."""
    seen = [finding for finding in world.findings if finding.cause != NODES_CHANGED]
    if seen:
        first = seen[0]
        told = tuple(f"{each.where}: {each.text}" for each in seen)
        return Diagnosis(first.bottleneck, first.cause, OBSERVED, told, runbook=RUNBOOKS[first.bottleneck])
    profile_now, healthy = opened(world).profile, world.status.healthy_profile
    usual = healthy.hardware if healthy is not None else ()
    told = tuple(line for line in (profile_now.hardware if profile_now else ()) if line not in usual)
    if not told:
        return None
    degraded = Bottleneck.HARDWARE_DEGRADED
    return Diagnosis(degraded, "HardwareFault", OBSERVED, told, runbook=RUNBOOKS[degraded])


def _unless_moved(world: World, found: Diagnosis) -> Diagnosis:
    """What was found, unless the run moved to other nodes and what was found may be theirs as well as a commit's."""
    moved = next((finding for finding in world.findings if finding.cause == NODES_CHANGED), None)
    if moved is None or found.cause in OF_THE_PROGRAM:
        return found
    return Diagnosis(
        moved.bottleneck,
        moved.cause,
        EITHER,
        (f"{moved.where}: {moved.text}", *found.evidence),
        runbook=RUNBOOKS[moved.bottleneck],
    )


def confirm(world: World) -> Step | None:
    """Note that the loss lasted: what a proposal needs beyond an alarm.

    A judgement of the tick that opened the incident was made of what went before: the sweep is told of the incident's
    onset by the next tick, which may have an earlier time where the clock was set back.
    """
    incident, judgement = opened(world), world.judgement
    if incident.confirmed_at is not None or judgement is None or not judgement.confirmed:
        return None
    if world.now_s == incident.opened_at or judgement.verdict is Verdict.NOT_COMPARABLE:
        return None
    confirmed = replace(
        incident,
        confirmed_at=world.now_s,
        regressed_value=judgement.value if judgement.value is not None else incident.regressed_value,
        drop=judgement.drop if judgement.drop is not None else incident.drop,
    )
    return _with(world, confirmed, Event("Warning", "Confirmed", judgement.message))


def rule_out(world: World) -> Step | None:
    """Say, once, why there will be no proposal, where the diagnosis does not carry one."""
    incident = opened(world)
    if not _wants_proposal(world, incident):
        return None
    because = not_proposable(outside_of_commits(world) or incident.diagnosis)
    if because is None:
        return None
    return _with(world, replace(incident, blocked=because), Event("Warning", *because))


def propose(world: World) -> Step | None:
    """Find which commit of the window did it; the suspect and the proposal follow from that."""
    incident = opened(world)
    if not _wants_proposal(world, incident) or incident.confirmed_at is None:
        return None
    judgement = world.judgement
    if judgement is not None and judgement.verdict is Verdict.NOT_COMPARABLE:
        raise Wait(judgement.reason, judgement.message)
    if world.source_problem is not None:
        raise world.source_problem
    if isinstance(world.source, Unseen):
        return None
    if world.source is None:
        raise AskPerson(
            "NotManagedByGitOps",
            "no Argo CD application or Flux kustomization deploys this workload, so there is no commit to revert; "
            "name it in spec.remediation.application",
        )
    hold(world, incident)
    if len(incident.exonerated) >= MOST_EXONERATED:
        names = ", ".join(each.named for each in incident.exonerated)
        raise AskPerson(
            "NoSuspect",
            f"{names} were undone in turn and the loss remains: no commit of the window did it alone, or none at all",
        )
    if world.status.known_good is None:
        blocked = (
            "KnownGoodUnknown",
            "no revision is known under which readings held the baseline; find the commit by hand",
        )
        return _with(world, replace(incident, blocked=blocked), Event("Warning", *blocked))
    good, bad = _window(world, world.source, world.status.known_good)
    return Investigate(_question(world, world.source, world.status.known_good, good, bad))


def _window(world: World, source: Source, known_good: KnownGood) -> tuple[str, str]:
    """The revisions between which the loss began: one and the same where only an image was rebuilt, or only another
    source of the application changed.

    Raises:
        AskPerson(NoRevisionChanged): no revision of any source and no image is known to have changed.
        AskPerson(KnownGoodUnknown): no revision is known that held the baseline.
        Wait(NothingDeployed): the delivery tells of no deployment.
    """
    try:
        return window(source, known_good, opened(world).onset_at)
    except AskPerson as error:
        run = tuple(image for pod in (world.workload.pods if world.workload else ()) for image in pod.images)
        if error.reason != "NoRevisionChanged" or known_good.revision is None:
            raise
        if not rebuilt(known_good.images, run) and not moved_beside(source, known_good, opened(world).onset_at):
            raise AskPerson(error.reason, error.message + _in_vain(opened(world))) from error
        return known_good.revision, known_good.revision


def _in_vain(incident: Incident) -> str:
    if not incident.exonerated:
        return ""
    return f" {', '.join(each.named for each in incident.exonerated)} did not do it: undone, and the loss remained."


def _question(world: World, source: Source, known_good: KnownGood, good: str, bad: str) -> Question:
    diagnosis = opened(world).diagnosis
    cause = None if diagnosis is None else diagnosis.cause or (diagnosis.bottleneck and str(diagnosis.bottleneck))
    pods = world.workload.pods if world.workload is not None else ()
    run = tuple(dict.fromkeys(image for pod in pods for image in pod.images))
    good_s, bad_s = times(known_good, opened(world).onset_at)
    return Question(source, good, bad, world.spec.workload, cause, known_good.images, run,
                    tuple(each.id for each in opened(world).exonerated), good_s, bad_s)  # fmt: skip


def opened(world: World) -> Incident:
    """The open incident; only called where there is one."""
    assert world.status.incident is not None
    return world.status.incident


def _wants_proposal(world: World, incident: Incident) -> bool:
    return incident.diagnosis is not None and proposal_missing(world.spec, incident)


def proposal_missing(spec: BaselineSpec, incident: Incident) -> bool:
    """Whether what spec.remediation.mode asks for is not there yet. A dry run is not an answer to PullRequest, nor is
    a pull request whose number somebody took out of the status: it is found again by its branch."""
    mode, proposal = spec.remediation.mode, incident.proposal
    if mode is RemediationMode.OBSERVE or incident.blocked is not None:
        return False
    if proposal is None or proposal.withdrawn is not None:
        return True
    return (proposal.dry_run or proposal.number is None) and mode is RemediationMode.PULL_REQUEST


def _with(world: World, incident: Incident, *events: Event) -> Record:
    return Record(replace(world.status, incident=incident), events)


def _inconclusive(because: str) -> Diagnosis:
    return Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, (because,), runbook=RUNBOOKS[Bottleneck.INCONCLUSIVE])


def _diagnosis_story(diagnosis: Diagnosis) -> str:
    name = f"{diagnosis.bottleneck or 'nothing grew'}" + (f" ({diagnosis.cause})" if diagnosis.cause else "")
    return f"{name}, confidence {diagnosis.confidence:.0%}: " + "; ".join(diagnosis.evidence)


def _recovery_story(incident: Incident) -> str:
    recovery = incident.recovery
    assert recovery is not None
    because = f"; what changed: {recovery.single_variable}" if recovery.single_variable else ""
    return (
        f"incident {incident.id}: {recovery.signal} {recovery.before:.4g} before, {recovery.regressed:.4g} regressed, "
        f"{recovery.after:.4g} after, {recovery.gpu_hours_lost:.3g} device-hours lost{because}"
    )


CHAIN: Sequence[Callable[[World], Step | None]] = (
    close_recovered,
    supersede,
    take_profile,
    explain,
    confirm,
    rule_out,
    hear_answer,
    exonerate,
    withdraw,
    tell,
    propose,
)
"""In the order in which a missing fact is obtained."""

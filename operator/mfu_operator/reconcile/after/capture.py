"""The step of the recovered job, captured once: by one Job that is named after the incident, as the slow step was.

The incident is closed by then. Nothing waits for the capture, and where it cannot be had the record says why.
"""

from dataclasses import replace

from mfu_operator.api import naming
from mfu_operator.detect.formatting import clock
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import ProfilingMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, ProfileFact, Proof
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile import profile
from mfu_operator.reconcile.after.proof import shown, unproven, with_proof
from mfu_operator.reconcile.effects import Record, Step, Subject
from mfu_operator.reconcile.known_good import quiet
from mfu_operator.reconcile.world import World

WITHIN_S = 24 * 3600.0
"""A budget of a day has room again by then; a later step says little of the recovery."""


def capture_again(world: World) -> Step | None:
    """Launch the Job that captures the recovered step, and take what it brings."""
    incident = unproven(world.status)
    if incident is None or incident.proof is None or profile.awaits_job(world.status.healthy_profile):
        return None
    if incident.proof.profile is not None:
        return _take(world, incident, incident.proof, incident.proof.profile)
    if world.spec.profiling.mode is ProfilingMode.NEVER:
        return missing(world, ("ProfilingNever", "spec.profiling.mode is Never"))
    if world.now_s > given_up_s(incident):
        return missing(world, ("NotInTime", f"it could not be captured by {clock(given_up_s(incident))}"))
    if not quiet(world.judgement) or not profile.settled(world):
        return None
    try:
        return profile.launch(world, Subject.RECOVERY, naming.recovery_id(incident.id))
    except (Retry, Stall) as error:
        return missing(world, (error.reason, error.message))


def given_up_s(incident: Incident) -> float:
    """Until when the step of an incident that recovered is captured again, Unix seconds."""
    assert incident.recovery is not None
    return incident.recovery.recovered_at + WITHIN_S


def missing(world: World, because: tuple[str, str]) -> Record:
    """The record of why the step was not captured again, and will not be; only called while it is to come."""
    incident = unproven(world.status)
    assert incident is not None and incident.proof is not None
    return _ended(world, replace(incident.proof, missing=because))


def _take(world: World, incident: Incident, proof: Proof, launched: ProfileFact) -> Step | None:
    after = profile.observed(world, launched, naming.recovery_id(incident.id))
    if after is None or (after.account is not None and not _holds(world)):
        return None
    ended = replace(proof, profile=replace(after, account=None, hardware=(), failure=None))
    if after.account is not None:
        return _ended(world, shown(ended, after.account, world.status))
    return _ended(world, replace(ended, missing=after.failure or ("JobFailed", f"Job {after.job} brought no account")))


def _holds(world: World) -> bool:
    """Whether nothing speaks against the job being the recovered one still. A finished Job stays for a day."""
    judgement = world.judgement
    return judgement is not None and judgement.verdict is Verdict.HEALTHY and judgement.evidence_s == 0


def _ended(world: World, proof: Proof) -> Record:
    event = Event("Normal", "CapturedAgain", _story(proof))
    if proof.missing is not None:
        why = ": ".join(proof.missing)
        event = Event("Normal", "NotCapturedAgain", f"the step was not captured again: {why}")
    return Record(with_proof(world.status, proof), (event,))


def _story(proof: Proof) -> str:
    told = " / ".join(f"{(each or 0.0) / 1e6:.1f}" for each in (proof.healthy_ns, proof.slow_ns, proof.after_ns))
    said = "the gap is gone" if proof.gone else "some of the gap remains"
    return f"{proof.part} took {told} ms in the healthy, the slow and the recovered step: {said}"

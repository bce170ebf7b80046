"""What a capture after the recovery is compared with, and what it shows."""

from dataclasses import replace

from mfu_operator.model.account import PARTS, StepAccount
from mfu_operator.model.baseline import ProfilingMode
from mfu_operator.model.incident import Incident, ProfileFact, Proof, Status
from mfu_operator.reconcile.profile import awaits_job
from mfu_operator.reconcile.world import World
from mfu_operator.trace.diagnosis import abstain, comparable
from mfu_operator.trace.diagnosis.growth import LEAST_GROWTH


def begun(world: World, incident: Incident) -> Proof:
    """What is known of the proof when an incident recovers: the part of the step that had grown most, or why there is
    nothing to capture the step for."""
    slow = incident.profile.account if incident.profile is not None else None
    healthy = world.status.healthy_profile.account if world.status.healthy_profile is not None else None
    if world.spec.profiling.mode is ProfilingMode.NEVER:
        return Proof(missing=("ProfilingNever", "spec.profiling.mode is Never"))
    if slow is None:
        return Proof(missing=("SlowStepUnknown", "the slow step was not recorded, so nothing is known to have grown"))
    if healthy is None:
        return Proof(
            missing=("HealthyStepUnknown", "the healthy step is not recorded, so nothing is known to have grown")
        )
    against = _not_comparable(slow, healthy)
    if against is not None:
        return Proof(missing=("NotComparable", against))
    grown_ns = {part: _of(slow, part) - _of(healthy, part) for part in PARTS}
    part = max(grown_ns, key=lambda each: grown_ns[each])
    if grown_ns[part] <= LEAST_GROWTH * healthy.mean_ns:
        return Proof(missing=("StepNotGrown", "no part of the slow step had grown"))
    return Proof(part, _of(healthy, part), _of(slow, part))


def shown(proof: Proof, after: StepAccount, status: Status) -> Proof:
    """The proof with what the step takes after the recovery, or why that cannot be said. The part is back where less is
    left of its growth than would be worth a word in a diagnosis."""
    healthy = status.healthy_profile.account if status.healthy_profile is not None else None
    if healthy is None:
        return replace(proof, missing=("HealthyStepUnknown", "the healthy step is not on record any more"))
    against = _not_comparable(after, healthy)
    if against is not None:
        return replace(proof, missing=("NotComparable", against))
    assert proof.part is not None
    after_ns, before_ns = _of(after, proof.part), proof.healthy_ns or 0.0
    return replace(proof, after_ns=after_ns, gone=after_ns - before_ns <= LEAST_GROWTH * healthy.mean_ns)


def unproven(status: Status) -> Incident | None:
    """The last incident, where it recovered and its proof is still to come."""
    last = status.history[0] if status.incident is None and status.history else None
    if last is None or last.recovery is None or last.proof is None:
        return None
    return last if last.proof.is_missing else None


def awaited(status: Status) -> ProfileFact | None:
    """The profile whose Job is under way: that of the open incident, else of the healthy job, else of a recovery."""
    if status.incident is not None:
        return status.incident.profile if awaits_job(status.incident.profile) else None
    if awaits_job(status.healthy_profile):
        return status.healthy_profile
    last = unproven(status)
    return last.proof.profile if last is not None and last.proof is not None else None


def with_proof(status: Status, proof: Proof) -> Status:
    """The status with another proof of its last incident."""
    last, *others = status.history
    return replace(status, history=(replace(last, proof=proof), *others))


def given_up(status: Status, because: tuple[str, str]) -> Status:
    """The status without a proof to come."""
    last = unproven(status)
    if last is None or last.proof is None:
        return status
    return with_proof(status, replace(last.proof, missing=because))


def _not_comparable(now: StepAccount, healthy: StepAccount) -> str | None:
    refused = abstain.refusal(now, healthy)
    return refused.why if refused is not None else "; ".join(comparable.differences(now, healthy)) or None


def _of(account: StepAccount, part: str) -> float:
    return account.parts_ns.get(part, 0.0)

"""The record as Kubernetes conditions.

Ready              the operator can measure and judge this baseline; says nothing of how fast training is
Reconciling        True only: a baseline is being recorded, or an incident's facts are being collected
Stalled            True only: the spec cannot work until a person changes something
Regressed          an incident is open; the reason is the bottleneck once it is known. Always there, so that it can be
                   waited for: kubectl wait --for=condition=Regressed=false
MeasurementFailed  True only: readings could not be had
ProfilingFailed    True only: a profile could not be recorded
ProposalFailed     True only: a proposal was asked for and there is none, with the reason
RecoveryFailed     True only: the proposal was merged and the loss remains
ServedTwice        True only: another installation of the operator serves this baseline too
Hung               True only: the run stands still                                   \
MemoryCreeping     True only: its memory will be full                                 > symptoms: apart from its speed
NotLearning        True only: its loss is not finite, or its updates are skipped     /
Deprecated         True only: the spec has values that a later release refuses, and what to write instead
StatusUnreadable   True only, for a day: something of the stored status could not be read and was set aside
"""

from collections.abc import Sequence
from dataclasses import replace

from mfu_operator.detect.formatting import clock
from mfu_operator.errors import MfuError, Stall, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.condition import Condition
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.workload import JobPhase
from mfu_operator.reconcile import symptoms
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.incident import proposal_missing
from mfu_operator.reconcile.linking import linked
from mfu_operator.reconcile.proposed.exonerate import RECOVERY_HORIZONS, SYNC_ALLOWANCE_S, rolled_out_s
from mfu_operator.reconcile.proposed.facts import UNDONE
from mfu_operator.reconcile.unticked import still_set_aside
from mfu_operator.reconcile.world import World, seen


def conditions(
    world: World, status: Status, failures: Sequence[Failure], waits: Sequence[Wait] = ()
) -> tuple[Condition, ...]:
    """Every condition that holds now, each with the time of its last transition kept from before.

    Args:
        failures: what is failing now, newest last; those of earlier ticks that are still under back-off included.
        waits: what the next fact waits for, without anything having failed.
    """
    found = [
        _ready(world, status, waits),
        _reconciling(world, status, waits),
        _stalled(world, failures),
        _regressed(status.incident),
        _measurement_failed(world.problem),
        _profiling_failed(world, status, failures),
        _proposal_failed(world, status, failures),
        _recovery_failed(world, status.incident),
        _served_twice(world.neighbours),
        _deprecated(world.spec.deprecated),
        *symptoms.conditions(status.symptoms),
    ]
    aside = still_set_aside(status, world.now_s)
    address = world.defaults.runbook_base_url
    told = [linked(condition, address) for condition in found if condition is not None]
    dated = [_dated(world, status, condition) for condition in told]
    return tuple(dated if aside is None else [*dated, aside])


def _ready(world: World, status: Status, waits: Sequence[Wait]) -> Condition:
    if world.spec.suspend:
        return Condition("Ready", "Unknown", "Suspended", "spec.suspend is true: nothing is measured or judged")
    if world.problem is not None:
        return Condition("Ready", "False", world.problem.reason, world.problem.message)
    if status.baseline is None:
        return Condition("Ready", "False", "BaselineRecording", _recording(status))
    judgement = status.judgement
    if judgement is None:
        return Condition("Ready", "Unknown", "NotMeasured", "no reading has been judged yet")
    if judgement.verdict in (Verdict.NO_DATA, Verdict.NOT_COMPARABLE):
        return Condition("Ready", "False", judgement.reason, judgement.message)
    measured = "the job is measured and judged against its baseline"
    reason, which = _which_run(world)
    return Condition("Ready", "True", reason, measured + which + _missing_source(world) + _held_up(status, waits))


def _which_run(world: World) -> tuple[str, str]:
    """Of runs that labels follow, the one that is judged, and that it is not the only one."""
    ref, active = world.spec.workload, world.workload.active_runs if world.workload is not None else ()
    if not ref.selector:
        return "Measuring", ""
    if len(active) < 2:
        return "Measuring", f"; it is run {ref.name}"
    others = [name for name in active if name != ref.name]
    verb = "is" if len(others) == 1 else "are"
    newest = f"; it is run {ref.name}, the newest of {len(active)}"
    return "SeveralRuns", f"{newest}: {', '.join(others)} {verb} active as well"


def _missing_source(world: World) -> str:
    """What a later proposal would lack: without the source, no revision is known that held the baseline."""
    problem = world.source_problem
    if problem is None or world.spec.remediation.mode is RemediationMode.OBSERVE:
        return ""
    return f"; which revision it runs is not known, so no commit could be found: {problem.reason}: {problem.message}"


def _held_up(status: Status, waits: Sequence[Wait]) -> str:
    """What the profile of the healthy job waits for, by its reason alone: how many wait with it changes all the time.
    Of an incident `Reconciling` says it."""
    if status.incident is not None or not waits:
        return ""
    return f"; its profile waits: {', '.join(dict.fromkeys(wait.reason for wait in waits))}"


def _recording(status: Status) -> str:
    recording = status.recording
    if recording is None:
        return "waiting for the job's first readings to record the baseline from"
    progress = f"{recording.collected_s:.0f} of {recording.needed_s:.0f} s of run {recording.run} of {recording.runs}"
    return f"recording the baseline: {progress}" + (f"; {recording.problem}" if recording.problem else "")


def _reconciling(world: World, status: Status, waits: Sequence[Wait]) -> Condition | None:
    if world.spec.suspend:
        return None
    incident = status.incident
    if incident is not None and not awaits_person(world, incident):
        told = "; waiting: ".join((_next_fact(world, incident), *(f"{wait.reason}: {wait.message}" for wait in waits)))
        return Condition("Reconciling", "True", "IncidentOpen", f"incident {incident.id}: {told}")
    if status.baseline is None and world.problem is None:
        return Condition("Reconciling", "True", "BaselineRecording", _recording(status))
    return None


def awaits_person(world: World, incident: Incident) -> bool:
    """Whether all that the operator may do about an incident is done."""
    if incident.blocked is not None:
        return True
    if incident.diagnosis is None:
        return False
    if world.spec.remediation.mode is RemediationMode.OBSERVE:
        return True
    merged = incident.proposal is not None and incident.proposal.state is PullRequestState.MERGED
    return not merged and not proposal_missing(world.spec, incident)


def _next_fact(world: World, incident: Incident) -> str:
    if incident.diagnosis is None:
        return "recording a profile of the slow job"
    if incident.confirmed_at is None:
        judgement = world.judgement
        part, whole = (judgement.confirm_evidence_s, judgement.confirm_s) if judgement else (0.0, 0.0)
        return f"confirming that the loss lasts ({part / 60:.1f} of {whole / 60:.1f} min)"
    if proposal_missing(world.spec, incident):
        return "looking for the commit"
    return "the proposal is merged; waiting for the readings to hold the baseline"


def _stalled(world: World, failures: Sequence[Failure]) -> Condition | None:
    if isinstance(world.problem, Stall):
        return Condition("Stalled", "True", world.problem.reason, world.problem.message)
    for failure in failures:
        if failure.stalled:
            return Condition("Stalled", "True", failure.reason, failure.message)
    return None


def _regressed(incident: Incident | None) -> Condition:
    if incident is None:
        return Condition("Regressed", "False", "NoIncident", "no incident is open")
    diagnosis = incident.diagnosis
    reason = str(diagnosis.bottleneck) if diagnosis is not None and diagnosis.bottleneck else "LossSustained"
    message = (
        f"{incident.signal} {incident.regressed_value:.4g} against the baseline's {incident.baseline_value:.4g} "
        f"({incident.drop:.1%} slower)"
    )
    if diagnosis is not None:
        message += f"; {diagnosis.cause or 'cause unknown'}: " + "; ".join(diagnosis.evidence)
    return Condition("Regressed", "True", reason, message)


def _measurement_failed(problem: MfuError | None) -> Condition | None:
    return None if problem is None else Condition("MeasurementFailed", "True", problem.reason, problem.message)


def _profiling_failed(world: World, status: Status, failures: Sequence[Failure]) -> Condition | None:
    for failure in failures:
        if failure.condition == "ProfilingFailed":
            return Condition("ProfilingFailed", "True", failure.reason, failure.message)
    job = seen(world.job)
    if job is not None and job.phase is JobPhase.WAITING and job.reason is not None:
        return Condition("ProfilingFailed", "True", job.reason, f"Job {job.name}: {job.message}")
    profile = _current_profile(status)
    if profile is None or profile.failure is None:
        return None
    return Condition("ProfilingFailed", "True", profile.failure[0], f"attempt {profile.attempt}: {profile.failure[1]}")


def _current_profile(status: Status) -> ProfileFact | None:
    return status.incident.profile if status.incident is not None else status.healthy_profile


def _proposal_failed(world: World, status: Status, failures: Sequence[Failure]) -> Condition | None:
    for failure in failures:
        if failure.condition == "ProposalFailed":
            return Condition("ProposalFailed", "True", failure.reason, failure.message)
    incident = status.incident
    if incident is None or incident.blocked is None or world.spec.remediation.mode is RemediationMode.OBSERVE:
        return None
    if incident.blocked[0] == UNDONE:
        return None
    return Condition("ProposalFailed", "True", *incident.blocked)


def _recovery_failed(world: World, incident: Incident | None) -> Condition | None:
    proposal = incident.proposal if incident is not None else None
    if incident is None:
        return None
    if proposal is None or proposal.merged_at is None:
        return _exonerated(incident)
    if incident.blocked is not None and incident.blocked[0] == UNDONE:
        return Condition("RecoveryFailed", "True", "Undone", incident.blocked[1])
    detection = world.spec.detection
    due_s = proposal.merged_at + SYNC_ALLOWANCE_S + detection.warmup_s + RECOVERY_HORIZONS * detection.recover_s
    if world.now_s < due_s:
        return _exonerated(incident)
    minutes = (world.now_s - proposal.merged_at) / 60
    if seen(world.source) is not None and rolled_out_s(world, proposal) is None:
        told = (
            f"{minutes:.0f} min after the merge no pod runs it, or not all of them: sync the application, and see that "
            "it replaces the job"
        )
        return Condition("RecoveryFailed", "True", "NotRolledOut", told)
    told = f"{minutes:.0f} min after the merge the loss remains"
    named = incident.suspect.sha[:12] if incident.suspect is not None else f"what {proposal.url or 'it'} pins"
    told += (
        f"; {named} is exonerated once the pods that run the merge have been slow for {RECOVERY_HORIZONS:.0f} times "
        "spec.detection.recover"
    )
    return Condition("RecoveryFailed", "True", "NotRecovered", told)


def _exonerated(incident: Incident) -> Condition | None:
    if not incident.exonerated:
        return None
    last = incident.exonerated[-1]
    names = ", ".join(each.named for each in incident.exonerated)
    back = "the revert back if you want the change" if last.suspect is not None else "it back if you want the newer one"
    told = (
        f"{last.proposal.url} was merged at {clock(last.proposal.merged_at or last.exonerated_at)} and rolled out, and "
        f"the loss remains: {names} did not do it; take {back}"
    )
    return Condition("RecoveryFailed", "True", "NotRecovered", told)


def _served_twice(neighbours: Sequence[str]) -> Condition | None:
    """Every one of them writes the same words, so that they do not overwrite each other's for ever."""
    if not neighbours:
        return None
    return Condition(
        "ServedTwice",
        "True",
        "NeighbourFound",
        f"the installations {' and '.join(neighbours)} (namespace/Lease) serve this baseline: each judges it and opens "
        "pull requests; give each its own watchNamespaces, or uninstall one",
    )


def _deprecated(said: Sequence[str]) -> Condition | None:
    return Condition("Deprecated", "True", "OldValue", "; ".join(said)) if said else None


def _dated(world: World, status: Status, condition: Condition) -> Condition:
    before = next((each for each in status.conditions if each.type == condition.type), None)
    same = before is not None and before.status == condition.status
    since = before.last_transition_time if same and before is not None else world.now_s
    return replace(condition, observed_generation=world.identity.generation, last_transition_time=since)

"""Obtaining one profile: launch, await, take the account, try again. The same for a baseline and for an incident."""

from dataclasses import replace

from mfu_operator.api import naming
from mfu_operator.api.group import BASELINE_LABEL, GROUP_VERSION, INCIDENT_LABEL, KIND, MANAGED_BY_LABEL, MANAGER
from mfu_operator.errors import Retry, Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import ANALYSIS
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.model.workload import JobPhase, Pod, ProfilingJob
from mfu_operator.profiling.job import profiling_job
from mfu_operator.profiling.live.job import live_job
from mfu_operator.profiling.live.request import MOST_STEPS, CaptureRequest
from mfu_operator.reconcile.effects import EnsureJob, Subject
from mfu_operator.reconcile.way import Live, way_of
from mfu_operator.reconcile.world import Defaults, Identity, Unseen, World
from mfu_operator.trace import termination_message as compact

WAITING_REASONS = ("JobUnschedulable", "ImagePullFailed", "JobHasNoPod")
"""Why a Job's pod did not start: the deadline deletes the pod, and with it what it said."""

RUNNING = "Running"
"""A pod's phase."""

OVERLAPS = "JobOverlapsChange"
"""Why an account of the healthy job was not taken although its Job succeeded."""

NO_STEP_SEEN = "NoStepSeen"
"""Why a copy was ended early."""

CLOCKS_APART_S = 60.0
"""The API server's clock stamps a Job, ours says when it was asked for: a Job older than this was there before."""

MAX_LABEL = 63
"""The longest label value that the API takes."""

ATTEMPTS = 3
"""A Job that fails three times fails for a reason that a fourth will not cure; a person reads the condition."""

LONGEST_PAUSE_S = 600.0
"""Between attempts: the horizon of the default detection rule, so that a retry is never later than new evidence."""


def launch(world: World, subject: Subject, subject_id: str, last: ProfileFact | None = None) -> EnsureJob:
    """The effect that launches the attempt after the `last` one (None: the first) of a subject's profile.

    Raises:
        Retry: that there is no way to profile the workload, with what to add.
        Stall: those of `profiling_job` and `live_job`.
    """
    way = way_of(world)
    if isinstance(way, Retry):
        raise way
    attempt = last.attempt + 1 if last is not None else 1
    name = naming.profiling_job_name(world.identity.name, subject_id, attempt)
    owner = {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "name": world.identity.name,
        "uid": world.identity.uid,
    }
    labels = {
        BASELINE_LABEL: world.identity.name[:MAX_LABEL].rstrip("-."),
        INCIDENT_LABEL: subject_id,
        MANAGED_BY_LABEL: MANAGER,
    }
    of_baseline = (owner, world.defaults.profiler_image, labels)
    permitted = (world.defaults.priority_class, world.defaults.permit)
    if isinstance(way, Live):
        request = _request(world, name, way)
        manifest = live_job(name, world.spec, request, *of_baseline, way.queue, *permitted)
    else:
        manifest = profiling_job(name, world.spec, way.template, *of_baseline, *permitted)
    launched = ProfileFact(
        job=name,
        attempt=attempt,
        created_at=world.now_s,
        image=profiler_image(world.spec, world.defaults),
        earlier_attempts=last.earlier_attempts if last is not None else 0,
    )
    return EnsureJob(subject, manifest, launched)


def _request(world: World, name: str, way: Live) -> CaptureRequest:
    profiling = world.spec.profiling
    steps = min(profiling.steps, MOST_STEPS)
    return CaptureRequest(name, steps, profiling.deadline_s, way.pods, way.targets, profiling.ranks)


def by_their_names(status: Status, identity: Identity) -> Status:
    """The status with the names that its profiles' Jobs have, whatever somebody wrote there: a name follows from its
    subject, and a Job that nobody launched would be taken for one that was deleted."""
    healthy, incident = status.healthy_profile, status.incident
    if awaits_job(healthy):
        assert healthy is not None
        subject_id = naming.healthy_id(identity.name, identity.uid)
        status = replace(status, healthy_profile=_by_its_name(healthy, identity, subject_id))
    if incident is not None and awaits_job(incident.profile):
        assert incident.profile is not None
        named = _by_its_name(incident.profile, identity, incident.id)
        status = replace(status, incident=replace(incident, profile=named))
    return replace(status, history=tuple(_proved_by_its_name(each, identity) for each in status.history))


def _proved_by_its_name(incident: Incident, identity: Identity) -> Incident:
    proof = incident.proof
    if proof is None or proof.profile is None or not proof.is_missing:
        return incident
    named = _by_its_name(proof.profile, identity, naming.recovery_id(incident.id))
    return replace(incident, proof=replace(proof, profile=named))


def _by_its_name(profile: ProfileFact, identity: Identity, subject_id: str) -> ProfileFact:
    return replace(profile, job=naming.profiling_job_name(identity.name, subject_id, profile.attempt))


def profiler_image(spec: BaselineSpec, defaults: Defaults) -> str | None:
    """The image of the profiler in force."""
    return spec.profiling.image or defaults.profiler_image


def again(profile: ProfileFact | None) -> ProfileFact | None:
    """A profile that failed, or is under way, with all its attempts before it; one that brought an account as it is."""
    return with_all_attempts(profile) if profile is not None and profile.account is None else profile


def with_all_attempts(profile: ProfileFact) -> ProfileFact:
    """The profile with all its attempts before it once more. Its Jobs' names are taken, so it counts on."""
    return replace(profile, earlier_attempts=profile.attempt)


def is_outdated(world: World, profile: ProfileFact) -> bool:
    """Whether no loss can be compared with the account: another recorder made it than the one that is used now, or
    another analysis than the one that the profiler's image in force brings. The image it was made with would only make
    the same again."""
    if profile.account is None:
        return False
    way, recorder = way_of(world), profile.account.facts.word(facts.PRODUCER)
    if not isinstance(way, Retry) and recorder is not None and recorder != way.recorder:
        return True
    if profile.image == profiler_image(world.spec, world.defaults):
        return False
    return profile.account.analysis != ANALYSIS


def require_way(world: World) -> None:
    """Refuse a workload that can be profiled in no way.

    Raises:
        Retry: the way's own reason (NotInstrumented, CaptureOff, TrainingRoleUnknown, NoPodToCapture).
    """
    because = no_way(world)
    if because is not None:
        raise because


def no_way(world: World) -> Retry | None:
    """Why this workload can be profiled in no way; None where it can."""
    way = way_of(world)
    return way if isinstance(way, Retry) else None


def settled(world: World) -> bool:
    """Whether the pods have all been there for a while: during a roll-out a job of one pod may have two."""
    begun_s = max((pod.started_at or world.now_s for pod in _running(world)), default=world.now_s)
    return begun_s + world.spec.detection.warmup_s <= world.now_s


def _running(world: World) -> list[Pod]:
    return [pod for pod in world.workload.pods if pod.phase == RUNNING] if world.workload else []


def observed(world: World, profile: ProfileFact, subject_id: str) -> ProfileFact | None:
    """The profile with what its Job came to; None while it is still under way.

    A Job counts where this baseline owns it and it was launched for this subject. One that was launched before the
    profile asked for it was found again, after a status was lost, and is as old as it is.

    Raises:
        MfuError: what kept the Job from being seen, which is not the same as a Job that is gone.
    """
    if world.job_problem is not None:
        raise world.job_problem
    job = world.job
    if isinstance(job, Unseen):
        return None
    if job is None:
        age_s = world.now_s - profile.created_at
        gone = ("JobGone", "the profiling Job was deleted before it finished")
        return replace(profile, failure=gone, finished_at=world.now_s) if age_s > 60 else None
    if (job.owner, job.subject) != (world.identity.uid, subject_id):
        return replace(profile, failure=_not_ours(job, subject_id), finished_at=world.now_s)
    if job.phase not in (JobPhase.FAILED, JobPhase.SUCCEEDED):
        return None
    if job.created_at < profile.created_at - CLOCKS_APART_S:
        profile = replace(profile, created_at=job.created_at)
    profile = replace(profile, node=job.node or profile.node, finished_at=job.finished_at or world.now_s)
    if job.phase is JobPhase.FAILED:
        return replace(profile, failure=_why_failed(world, job))
    try:
        account, hardware = compact.decode(job.result or ""), compact.hardware(job.result or "")
    except Unreadable as error:
        return replace(profile, failure=(error.reason, error.message))
    return replace(profile, account=account, hardware=hardware)


def _not_ours(job: ProfilingJob, subject_id: str) -> tuple[str, str]:
    whose = "no TrainingBaseline" if job.owner is None else f"the TrainingBaseline of uid {job.owner}"
    return (
        "JobNotOurs",
        (
            f"Job {job.name} is not the profile of {subject_id}: {whose} owns it, for {job.subject or 'no incident'}; "
            "it is left alone, and another attempt gets another name. Delete it if nobody needs it"
        ),
    )


def awaits_job(profile: ProfileFact | None) -> bool:
    """A Job was launched and has neither brought an account nor failed."""
    return profile is not None and profile.account is None and profile.failure is None


def overlapping(profile: ProfileFact, because: str) -> ProfileFact:
    """The profile without its account: slow code recorded as healthy would hide every later loss of the same kind."""
    failure = (
        OVERLAPS,
        (
            f"Job {profile.job} may have recorded another job than the healthy one: {because}; "
            "it is recorded again once the readings hold the baseline without a trace of loss"
        ),
    )
    return replace(profile, account=None, hardware=(), failure=failure)


def retry_due(world: World, profile: ProfileFact) -> bool:
    """Whether the pause after a failed attempt is over. A Job that only came at a bad time is always tried again."""
    attempts = profile.attempt - profile.earlier_attempts
    pause_s = min(LONGEST_PAUSE_S, world.spec.detection.sustain_s) * attempts
    untimely = profile.failure is not None and profile.failure[0] == OVERLAPS
    return (untimely or not exhausted(profile)) and world.now_s >= profile.created_at + pause_s


def exhausted(profile: ProfileFact) -> bool:
    """Whether all attempts were made under the spec and the image in force. A copy that came to no step would come to
    none again."""
    attempts = profile.attempt - profile.earlier_attempts
    hopeless = profile.failure is not None and profile.failure[0] == NO_STEP_SEEN
    return attempts >= ATTEMPTS or (hopeless and attempts > 0)


def _why_failed(world: World, job: ProfilingJob) -> tuple[str, str]:
    """What the analysis itself said, where it got as far as saying something; else what the cluster says."""
    if job.result:
        try:
            compact.decode(job.result)
        except Unreadable as error:
            return error.reason, f"profiling Job {job.name}: {error.message}"
    waited = next((each for each in world.status.conditions if each.type == "ProfilingFailed"), None)
    if job.reason == "DeadlineExceeded" and waited is not None and waited.reason in WAITING_REASONS:
        return waited.reason, waited.message
    return job.reason or "JobFailed", f"profiling Job {job.name}: {job.message or 'failed without a message'}"

"""Obtaining one profile: launch, await, take the account, try again. The same for a baseline and for an incident."""

from dataclasses import replace

from mfu_operator.api import naming
from mfu_operator.api.group import BASELINE_LABEL, GROUP_VERSION, INCIDENT_LABEL, KIND, MANAGED_BY_LABEL, MANAGER
from mfu_operator.errors import Retry, Unreadable
from mfu_operator.model.account import ANALYSIS
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.incident import ProfileFact
from mfu_operator.model.workload import JobPhase, Pod, ProfilingJob
from mfu_operator.profiling.job import profiling_job
from mfu_operator.reconcile.effects import EnsureJob, Subject
from mfu_operator.reconcile.world import Defaults, World
from mfu_operator.trace import compact

WAITING_REASONS = ("JobUnschedulable", "ImagePullFailed", "JobHasNoPod")
"""Why a Job's pod did not start: the deadline deletes the pod, and with it what it said."""

RUNNING = "Running"
"""A pod's phase."""

OVERLAPS = "JobOverlapsChange"
"""Why an account of the healthy job was not taken although its Job succeeded."""

MAX_LABEL = 63
"""The longest label value that the API takes."""

ATTEMPTS = 3
"""A Job that fails three times fails for a reason that a fourth will not cure; a person reads the condition."""

LONGEST_PAUSE_S = 600.0
"""Between attempts: the horizon of the default detection rule, so that a retry is never later than new evidence."""


def launch(world: World, subject: Subject, subject_id: str, last: ProfileFact | None = None) -> EnsureJob:
    """The effect that launches the attempt after the `last` one (None: the first) of a subject's profile.

    Raises:
        Retry: MultiPodWorkload.
        Stall: those of `profiling_job`.
    """
    assert world.workload is not None
    require_one_pod(world)
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
    defaults, template = world.defaults, world.workload.template
    manifest = profiling_job(
        name, world.spec, template, owner, defaults.profiler_image, labels, defaults.priority_class
    )
    launched = ProfileFact(
        job=name,
        attempt=attempt,
        created_at=world.now_s,
        image=profiler_image(world.spec, world.defaults),
        earlier_attempts=last.earlier_attempts if last is not None else 0,
    )
    return EnsureJob(subject, manifest, launched)


def profiler_image(spec: BaselineSpec, defaults: Defaults) -> str | None:
    """The image of the profiler in force."""
    return spec.profiling.image or defaults.profiler_image


def anew(profile: ProfileFact | None) -> ProfileFact | None:
    """A profile that failed, or is under way, with all its attempts before it; one that brought an account as it is."""
    return with_all_attempts(profile) if profile is not None and profile.account is None else profile


def with_all_attempts(profile: ProfileFact) -> ProfileFact:
    """The profile with all its attempts before it once more. Its Jobs' names are taken, so it counts on."""
    return replace(profile, earlier_attempts=profile.attempt)


def is_outdated(world: World, profile: ProfileFact) -> bool:
    """Whether another analysis made the account than the one that the profiler's image in force brings, so that no loss
    can be held against it. The image it was made with would only make the same again."""
    if profile.account is None or profile.image == profiler_image(world.spec, world.defaults):
        return False
    return profile.account.analysis != ANALYSIS


def require_one_pod(world: World) -> None:
    """Refuse a workload of which a copy of one pod would say nothing.

    Raises:
        Retry: MultiPodWorkload.
    """
    because = not_copied(world)
    if because is not None:
        raise Retry("MultiPodWorkload", because)


def not_copied(world: World) -> str | None:
    """Why a copy of one pod would say nothing of this workload; None where it would."""
    running = len(_running(world))
    if running < 2 or world.spec.profiling.command:
        return None
    return (
        f"the workload has {running} running pods, and profiling copies one pod, which would wait for its peers for "
        'ever: set spec.profiling.mode to "Off", or spec.profiling.command to a single-process command'
    )


def settled(world: World) -> bool:
    """Whether the pods have all been there for a while: during a roll-out a job of one pod may have two."""
    begun_s = max((pod.started_at or world.now_s for pod in _running(world)), default=world.now_s)
    return begun_s + world.spec.detection.warmup_s <= world.now_s


def _running(world: World) -> list[Pod]:
    return [pod for pod in world.workload.pods if pod.phase == RUNNING] if world.workload else []


def observed(world: World, profile: ProfileFact) -> ProfileFact | None:
    """The profile with what its Job came to; None while it is still under way.

    Raises:
        MfuError: what kept the Job from being seen, which is not the same as a Job that is gone.
    """
    if world.job_problem is not None:
        raise world.job_problem
    job = world.job
    if job is None:
        age_s = world.now_s - profile.created_at
        gone = ("JobGone", "the profiling Job was deleted before it finished")
        return replace(profile, failure=gone, finished_at=world.now_s) if age_s > 60 else None
    if job.phase not in (JobPhase.FAILED, JobPhase.SUCCEEDED):
        return None
    profile = replace(profile, node=job.node or profile.node, finished_at=job.finished_at or world.now_s)
    if job.phase is JobPhase.FAILED:
        return replace(profile, failure=_why_failed(world, job))
    try:
        account, hardware = compact.decode(job.result or ""), compact.hardware(job.result or "")
    except Unreadable as error:
        return replace(profile, failure=(error.reason, error.message))
    return replace(profile, account=account, hardware=hardware)


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
    """Whether all attempts were made under the spec and the image in force."""
    return profile.attempt - profile.earlier_attempts >= ATTEMPTS


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

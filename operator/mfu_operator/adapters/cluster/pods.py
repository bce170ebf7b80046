"""What a pod's object says, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.api.group import INCIDENT_LABEL, KIND
from mfu_operator.model.masking import masked
from mfu_operator.model.workload import JobPhase, Pod, PodEndpoint, ProfilingJob
from mfu_operator.profiling.surgery import ANALYSIS_CONTAINER

Manifest = Mapping[str, Any]

PULL_FAILURES = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
NO_POD_AFTER_S = 60.0
"""A Job's controller makes its pod within seconds; after this it is being refused."""

BY_OUR_POLICY = "PodFailurePolicy"
"""Why a Job failed whose pod was a DisruptionTarget: the one rule that profiling Jobs have."""

START_FAILURES = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")


def micro_time(time_s: float) -> str:
    """Unix seconds as the API's MicroTime, which must show its microseconds; the client drops them where they are 0."""
    moment = datetime.fromtimestamp(time_s, UTC)
    return moment.replace(microsecond=moment.microsecond or 1).isoformat().replace("+00:00", "Z")


def pod_of(manifest: Manifest) -> Pod:
    """A pod as the operator knows it."""
    status = manifest.get("status", {})
    containers = status.get("containerStatuses") or []
    started = [unix_time(_deep(each, "state", "running", "startedAt")) for each in containers]
    return Pod(
        name=manifest["metadata"]["name"],
        node=manifest["spec"].get("nodeName"),
        phase=status.get("phase", "Unknown"),
        ready=bool(containers) and all(each.get("ready") for each in containers),
        started_at=max((time for time in started if time is not None), default=None),
        restarts=sum(each.get("restartCount", 0) for each in containers),
        images=_images(manifest, containers),
        manifest=manifest,
    )


def endpoint_of(manifest: Manifest) -> PodEndpoint | None:
    """Where a pod can be reached; None before it has an address."""
    ip = manifest.get("status", {}).get("podIP")
    if not ip:
        return None
    spec = manifest["spec"]
    declared = [
        port
        for container in [*spec.get("containers", []), *spec.get("initContainers", [])]
        for port in container.get("ports") or []
    ]
    return PodEndpoint(
        name=manifest["metadata"]["name"],
        ip=ip,
        ports={port["name"]: port["containerPort"] for port in declared if port.get("name")},
        annotations=manifest["metadata"].get("annotations") or {},
    )


def _images(manifest: Manifest, statuses: Sequence[Manifest]) -> tuple[str, ...]:
    """A digest written in the spec wins: the runtime's imageID may be an index's or a config's."""
    reported = {each["name"]: each.get("imageID", "") for each in statuses}
    images = []
    for container in manifest["spec"].get("containers", []):
        image = container.get("image", "")
        images.append(image if "@sha256:" in image else reported.get(container["name"]) or image)
    return tuple(images)


def profiling_job_of(job: Manifest, pods: Sequence[Manifest], now_s: float) -> ProfilingJob:
    """A profiling Job and its newest pod as one observation, with whose it is and what for."""
    metadata = job["metadata"]
    owners = [each["uid"] for each in metadata.get("ownerReferences") or [] if each.get("kind") == KIND]
    subject = (metadata.get("labels") or {}).get(INCIDENT_LABEL)
    return replace(_progress_of(job, pods, now_s), owner=next(iter(owners), None), subject=subject)


def _progress_of(job: Manifest, pods: Sequence[Manifest], now_s: float) -> ProfilingJob:
    """How far a Job is.

    A Job that will fail (FailureTarget) has failed: its pods, which say why, are gone once its controller is done.
    """
    name = job["metadata"]["name"]
    created_at = unix_time(job["metadata"]["creationTimestamp"]) or 0.0
    own = [each for each in pods if _is_of(job, each)]
    result = _result(own)
    pod = max(own, key=lambda each: each["metadata"]["creationTimestamp"], default=None)
    node = pod["spec"].get("nodeName") if pod else None
    finished = {
        each["type"]: each for each in job.get("status", {}).get("conditions") or [] if each["status"] == "True"
    }
    if "Complete" in finished:
        finished_at = unix_time(finished["Complete"].get("lastTransitionTime"))
        return ProfilingJob(name, JobPhase.SUCCEEDED, created_at, finished_at, node, result)
    failed = finished.get("FailureTarget") or finished.get("Failed")
    if failed is not None:
        reason, message = _why_failed(job, failed, pod)
        finished_at = unix_time(failed.get("lastTransitionTime"))
        return ProfilingJob(name, JobPhase.FAILED, created_at, finished_at, node, result, reason, message)
    if pod is None:
        refused = _why_no_pod(job) if now_s - created_at > NO_POD_AFTER_S else (None, None)
        return ProfilingJob(name, JobPhase.WAITING, created_at, None, None, None, *refused)
    waiting = _why_waiting(pod)
    phase = JobPhase.RUNNING if waiting is None and _begun(pod) else JobPhase.WAITING
    return ProfilingJob(name, phase, created_at, None, node, None, *(waiting or (None, None)))


def _why_no_pod(job: Manifest) -> tuple[str, str]:
    """Why the pod was refused only Events say, and those the operator may not read."""
    metadata = job["metadata"]
    where = f"kubectl describe job -n {metadata.get('namespace', 'default')} {metadata['name']}"
    if job.get("spec", {}).get("suspend"):
        return "JobHasNoPod", f"Job {metadata['name']} is suspended, by a queue or by a person: see {where}"
    because = "a quota, a LimitRange, Pod Security or a webhook refuses it"
    return "JobHasNoPod", f"Job {metadata['name']} gets no pod: {because}; see the Events of {where}"


def _begun(pod: Manifest) -> bool:
    """Whether a container of it runs or ran: a pod is Pending until its init containers are done."""
    status = pod.get("status", {})
    containers = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return any(_deep(each, "state", state) for each in containers for state in ("running", "terminated"))


def _is_of(job: Manifest, pod: Manifest) -> bool:
    """Whether the Job's controller made the pod: a label is anybody's to set, and a name is anybody's to guess."""
    wanted = {"kind": "Job", "uid": job["metadata"]["uid"], "controller": True}
    return any(wanted.items() <= owner.items() for owner in pod["metadata"].get("ownerReferences") or [])


def _result(pods: Sequence[Manifest]) -> str | None:
    """What the analysis left. A Job makes one pod and never another: of two that say different things none is
    believed."""
    statuses = [each for pod in pods for each in pod.get("status", {}).get("containerStatuses") or []]
    said = {
        message
        for each in statuses
        if each["name"] == ANALYSIS_CONTAINER and (message := _deep(each, "state", "terminated", "message"))
    }
    return said.pop() if len(said) == 1 else None


def _why_failed(job: Manifest, condition: Manifest, pod: Manifest | None) -> tuple[str, str]:
    status = (pod or {}).get("status", {})
    if status.get("reason") == "Evicted" or condition.get("reason") == BY_OUR_POLICY:
        said = status.get("message") or condition.get("message", "no message")
        room = "a profiling pod runs at low priority: give it room by spec.profiling.priorityClassName"
        return "JobEvicted", f"its pod was evicted or preempted: {said}; {room}"
    waiting = _why_waiting(pod) if pod else None
    if condition.get("reason") == "DeadlineExceeded":
        if waiting is not None:
            return waiting
        return (
            "DeadlineExceeded",
            "it did not finish within spec.profiling.deadline: raise it, or lower steps or warmupSteps",
        )
    terminated = [
        _deep(each, "state", "terminated")
        for each in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    ]
    bad = next((each for each in terminated if each and each.get("exitCode")), None)
    metadata = job["metadata"]
    logs = f"kubectl logs -n {metadata.get('namespace', 'default')} job/{metadata['name']} --all-containers says more"
    if bad is None:
        return "JobFailed", f"{condition.get('message', 'no message')}; {logs}"
    said = bad.get("message") or f"a container ended with exit code {bad['exitCode']} ({bad.get('reason', 'Error')})"
    return "JobFailed", f"{masked(said)}; {logs}"


def _why_waiting(pod: Manifest) -> tuple[str, str] | None:
    status = pod.get("status", {})
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            said = condition.get("message", "no message").rstrip(" .")
            room = "free what the run's own pod asks for, or raise spec.profiling.deadline"
            return "JobUnschedulable", f"no node takes its pod: {said}; {room}"
    for each in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = _deep(each, "state", "waiting") or {}
        if waiting.get("reason") in PULL_FAILURES:
            said = f"image {each.get('image')}: {waiting.get('message') or waiting['reason']}"
            correct = "correct spec.profiling.image (absent: the chart's), or the template's imagePullSecrets"
            return "ImagePullFailed", f"{said}; {correct}"
        if waiting.get("reason") in START_FAILURES:
            said = f"container {each['name']}: {waiting.get('message') or waiting['reason']}"
            return "JobFailed", f"{said}; what the run's template names must be there for its copy too"
    return None


def _deep(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value

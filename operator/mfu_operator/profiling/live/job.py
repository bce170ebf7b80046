"""The manifest of the Job that coordinates a live capture: small, without rights, beside the run and not of it."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from mfu_operator.model.baseline import CAPTURE_SECRET, BaselineSpec
from mfu_operator.profiling.job import NO_SIDECARS, Permit, batch_job, image_of, permitted_priority
from mfu_operator.profiling.live.request import CaptureRequest, encode
from mfu_operator.profiling.surgery import ANALYSIS_CONTAINER

REQUEST_VARIABLE = "MFU_CAPTURE_REQUEST"
TOKEN_FOLDER = "/var/run/mfu-capture"  # noqa: S105 - a folder
TOKEN_FILE = f"{TOKEN_FOLDER}/token"
TRACES = "/var/lib/mfu"
TERMINATION_LOG = "/dev/termination-log"
HELD, COMPLETE, FETCHED = "held", "complete", "fetched"
"""Of TRACES: the folder in which traces are held for a person, the file there that says that all of them are, and the
file by which the person says that they were fetched."""

PURPOSE_LABEL = "mfu-operator.io/capture"
"""By which a network policy lets the coordinator in at the training pods' port: the value is "coordinator"."""

COORDINATOR = "coordinator"
TRACES_SIZE = "3Gi"
"""Eight compressed traces of the largest size, and room."""

RESOURCES: Mapping[str, Any] = {
    "requests": {"cpu": "500m", "memory": "512Mi", "ephemeral-storage": "1Gi"},
    "limits": {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "4Gi"},
}
"""All are there because a quota may ask for each. 64 ranks of a few megabytes stay within 512 MiB; the limit is for one
trace of the largest size that is read."""

RESTRICTED: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What the strictest Pod Security Standard asks for. No user: the image has one, and a number of ours may lie outside
the range that the namespace allows."""


def live_job(
    name: str,
    spec: BaselineSpec,
    request: CaptureRequest,
    owner: Mapping[str, Any] | None,
    profiler_image: str | None,
    labels: Mapping[str, str],
    queue: Mapping[str, str],
    priority_class: str | None = None,
    permit: Permit | None = None,
) -> dict[str, Any]:
    """The `batch/v1` Job that captures the running job's ranks.

    Args:
        name: derived from the incident, so that asking twice gives one Job.
        request: whom it asks, and for what.
        owner: the TrainingBaseline (apiVersion, kind, name, uid): the Job is deleted with it; None: nobody's.
        profiler_image: the operator's default, used unless spec.profiling.image says otherwise.
        queue: labels of the run's queue, so that the Job is admitted where quotas are enforced.
        priority_class: the operator's default, used unless spec.profiling.priorityClassName says otherwise.
        permit: what an administrator permits.

    Raises:
        Stall: ProfilerImageMissing, ProfilingForbidden.
    """
    image = image_of(spec, profiler_image)
    priority = permitted_priority(spec, priority_class, permit or Permit())
    own = {**labels, PURPOSE_LABEL: COORDINATOR}
    marks = {"labels": own, "annotations": dict(NO_SIDECARS)}
    template = {"metadata": marks, "spec": _pod(spec, request, image, priority)}
    return batch_job(name, spec, owner, {**own, **queue}, template)


def _pod(spec: BaselineSpec, request: CaptureRequest, image: str, priority: str | None) -> dict[str, Any]:
    secret = spec.profiling.capture_secret.name if spec.profiling.capture_secret else CAPTURE_SECRET
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": ANALYSIS_CONTAINER,
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["kubectl-mfu", "coordinate", "--folder", TRACES, "--termination-message", TERMINATION_LOG],
                "env": [{"name": REQUEST_VARIABLE, "value": encode(request)}],
                "volumeMounts": [
                    {"name": "token", "mountPath": TOKEN_FOLDER, "readOnly": True},
                    {"name": "traces", "mountPath": TRACES},
                ],
                "terminationMessagePolicy": "File",
                "resources": deepcopy(dict(RESOURCES)),
                "securityContext": deepcopy(dict(RESTRICTED)),
            }
        ],
        "volumes": [
            {
                "name": "token",
                "secret": {"secretName": secret, "optional": True, "items": [{"key": "token", "path": "token"}]},
            },
            {"name": "traces", "emptyDir": {"sizeLimit": TRACES_SIZE}},
        ],
    }
    if priority is not None:
        pod["priorityClassName"] = priority
    return pod

"""The pod template of a run, made into one that may run beside it: records a few steps and touches nothing.

Everything is copied; what would let the copy be taken for the run (labels, ports, identity), keep it alive (probes,
restarts) or let it write (volumes) is taken away. What cannot be copied faithfully is refused, never dropped silently.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import Profiling
from mfu_operator.profiling import nsys

Spec = dict[str, Any]

ANALYSIS_CONTAINER = "mfu-analyze"
"""The one whose termination message is the account."""

SHARED_VOLUME = "mfu-profiling"
TRAINING_ONLY = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "ports")
POD_IDENTITY = ("hostname", "subdomain", "serviceAccount", "serviceAccountName", "hostNetwork", "nodeName")
PRIVATE_VOLUMES = ("emptyDir", "ephemeral")
"""Volumes that belong to the pod itself: writing to them cannot reach the run."""

PROFILER_USER = 65532
"""Whom the profiler image runs as."""

TOOLS_RESOURCES: Spec = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
ANALYSIS_RESOURCES: Spec = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "4Gi"}}
"""Small beside the training container, which runs before the analysis and not beside it: a pod counts its largest init
container or its containers, whichever is more. All four are there because a quota may ask for each."""


def profiling_pod(template: Mapping[str, Any], container: str | None, profiling: Profiling, image: str) -> Spec:
    """The pod spec of the profiling Job.

    The workload's container runs to its end as an init container, so that the kubelet orders record before analyze
    without a lock; the template's other containers become restartable init containers (native sidecars).

    Args:
        template: the workload's pod template (metadata, spec).
        container: which container trains; None: the first.
        profiling: the baseline's spec.profiling.
        image: the profiler image (nsys, a static shell, the analysis).

    Raises:
        Stall: ContainerNotFound, CommandRequired, UnknownVolume.
    """
    spec: Spec = deepcopy(dict(template.get("spec", {})))
    containers = spec.get("containers", [])
    training = _training_container(containers, container)
    sidecars = [_sidecar(other) for other in containers if other is not training]
    private = {volume["name"] for volume in spec.get("volumes", []) if any(kind in volume for kind in PRIVATE_VOLUMES)}
    writable = private | _writable(spec, profiling.writable_volumes)
    recorded = _recorded(training, profiling)
    security = _restricted(spec)
    begun = [{key: value for key, value in each.items() if key != "ports"} for each in spec.get("initContainers", [])]
    prelude = [*begun, *sidecars, _tools(image, security), recorded]
    for field in POD_IDENTITY:
        spec.pop(field, None)
    spec |= {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "initContainers": [_read_only(each, writable) for each in prelude],
        "containers": [_analysis(image, security)],
        "volumes": [*_read_only_claims(spec, writable), {"name": SHARED_VOLUME, "emptyDir": {}}],
    }
    _set_priority(spec, profiling.priority_class)
    return spec


def _writable(spec: Spec, names: Sequence[str]) -> set[str]:
    """The volumes that the baseline lets the copy write to: a misspelt one would silently stay read-only."""
    known = sorted(volume["name"] for volume in spec.get("volumes") or [])
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise Stall(
            "UnknownVolume",
            f"spec.profiling.writableVolumes names {', '.join(map(repr, unknown))}, and the workload's template has no "
            f"such volume (it has: {', '.join(known) or 'none'}); correct or remove the name",
        )
    return set(names)


def _training_container(containers: list[Spec], name: str | None) -> Spec:
    for each in containers:
        if name is None or each["name"] == name:
            return each
    known = ", ".join(each["name"] for each in containers) or "none"
    raise Stall(
        "ContainerNotFound",
        f"the workload's template has no container {name!r} (it has: {known}); set "
        "spec.workload.container to the one that trains",
    )


def _recorded(training: Spec, profiling: Profiling) -> Spec:
    command = profiling.command or (*training.get("command", ()), *training.get("args", ()))
    if not profiling.command and not training.get("command"):
        raise Stall(
            "CommandRequired",
            f"container {training['name']!r} takes its command from its image, which cannot "
            f"be wrapped in nsys; {command_read_with(training)}, and write it in spec.profiling.command",
        )
    environment = {**nsys.capture_environment(profiling.warmup_steps, profiling.steps), **profiling.env}
    copy = {key: value for key, value in training.items() if key not in (*TRAINING_ONLY, "args", "restartPolicy")}
    kept = [variable for variable in training.get("env", []) if variable["name"] not in environment]
    added = [{"name": name, "value": value} for name, value in environment.items()]
    return copy | {
        "command": nsys.record(command, profiling.deadline_s),
        "env": kept + added,
        "volumeMounts": _with_shared(training),
    }


def command_read_with(container: Mapping[str, Any], pod: str = "POD") -> str:
    """How a person reads the command that a container's image says: of the live process, or of the image."""
    name, image = container.get("name"), container.get("image")
    return (
        f"read it with `kubectl exec {pod} -c {name} -- cat /proc/1/cmdline | tr '\\0' '\\n'` or with "
        f"`crane config {image}` (Entrypoint and Cmd)"
    )


def _sidecar(container: Spec) -> Spec:
    copy = {key: value for key, value in container.items() if key not in TRAINING_ONLY}
    return copy | {"restartPolicy": "Always"}


def _restricted(spec: Spec) -> Spec:
    """What the strictest Pod Security Standard asks of our own containers, whatever the workload asks for its.

    Where the whole pod runs as root, ours name a user of their own. Elsewhere they run as the pod does, or as the image
    says: a number of ours may lie outside the range that the namespace allows.
    """
    root = (spec.get("securityContext") or {}).get("runAsUser") == 0
    return {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        **({"runAsUser": PROFILER_USER} if root else {}),
    }


def _tools(image: str, security: Spec) -> Spec:
    return {
        "name": "mfu-tools",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": nsys.copy_tools(),
        "volumeMounts": _with_shared({}),
        "resources": deepcopy(TOOLS_RESOURCES),
        "securityContext": deepcopy(security),
    }


def _analysis(image: str, security: Spec) -> Spec:
    return {
        "name": ANALYSIS_CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": nsys.analyze(),
        "env": [{"name": "MFU_NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "volumeMounts": _with_shared({}),
        "terminationMessagePolicy": "File",
        "resources": deepcopy(ANALYSIS_RESOURCES),
        "securityContext": deepcopy(security),
    }


def _with_shared(container: Spec) -> list[Spec]:
    return [*container.get("volumeMounts", []), {"name": SHARED_VOLUME, "mountPath": nsys.SHARED}]


def _read_only(container: Spec, writable: set[str]) -> Spec:
    mounts = [
        mount if mount["name"] in writable | {SHARED_VOLUME} else mount | {"readOnly": True}
        for mount in container.get("volumeMounts", [])
    ]
    return container | {"volumeMounts": mounts}


def _read_only_claims(spec: Spec, writable: set[str]) -> list[Spec]:
    volumes = []
    for volume in spec.get("volumes", []):
        claim = volume.get("persistentVolumeClaim")
        if claim and volume["name"] not in writable:
            volume = volume | {"persistentVolumeClaim": claim | {"readOnly": True}}
        volumes.append(volume)
    return volumes


def _set_priority(spec: Spec, priority_class: str | None) -> None:
    for field in ("priority", "priorityClassName", "preemptionPolicy"):
        spec.pop(field, None)
    if priority_class:
        spec["priorityClassName"] = priority_class

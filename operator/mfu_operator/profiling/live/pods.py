"""The run's pods as the coordinating Job is told of them: who they are, where they listen, which rank comes first."""

from collections.abc import Mapping, Sequence

from mfu_operator.profiling.live.choice import chosen
from mfu_operator.profiling.live.request import MOST_TARGETS, TargetPod
from mfu_operator.profiling.plan.live import PORT, SIDECAR, capture_is_off
from mfu_operator.profiling.plan.manifest import (
    Manifest,
    containers_of,
    count_at,
    mapping_at,
    mappings_at,
    sidecars_of,
    text_at,
    variables_of,
)
from mfu_operator.profiling.plan.training import Training

DEFAULT_PORT = 9400
PORT_VARIABLE = "MFU_PROBE_PORT"

ROLE_LABELS = (
    "jobset.sigs.k8s.io/replicatedjob-name", "training.kubeflow.org/replica-type", "ray.io/group",
    "volcano.sh/task-spec", "leaderworkerset.sigs.k8s.io/template",
)  # fmt: skip
"""By which controllers say which role a pod is of; the value is the role's name, for some in small letters."""

INDEX_LABELS = (
    "training.kubeflow.org/replica-index", "batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index",
    "leaderworkerset.sigs.k8s.io/worker-index", "volcano.sh/task-index",
)  # fmt: skip
"""By which they number the pods of a role. Ranks usually follow; a rank says its own number, which is what counts."""


def training_pods(training: Training, pods: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """Those of the running pods that train and may be captured."""
    roles = {role.name.lower() for role in training.roles}
    return tuple(pod for pod in pods if _trains(pod, training.container_name, roles) and not capture_is_off(pod, {}))


def targets_of(training: Training, pods: Sequence[Manifest], ranks: int | None = None) -> tuple[TargetPod, ...]:
    """At most 64 of the pods that train, with what the coordinator needs of each.

    Args:
        training: the container that trains.
        pods: those of `training_pods`.
        ranks: how many ranks are wanted; None: the default rule.
    """
    found = [(_target(pod, training), text_at(pod, "spec", "nodeName")) for pod in pods if _address(pod)]
    found.sort(key=lambda each: (each[0].rank is None, each[0].rank or 0, each[0].name))
    return chosen(found, None if ranks is None else min(ranks, len(found)), MOST_TARGETS)


def _trains(pod: Manifest, container: str, roles: set[str]) -> bool:
    if text_at(pod, "status", "phase") != "Running":
        return False
    said = {str(value).lower() for name, value in _labels(pod).items() if name in ROLE_LABELS}
    if said and not said & roles:
        return False
    return any(text_at(each, "name") == container for each in containers_of(pod))


def _target(pod: Manifest, training: Training) -> TargetPod:
    container = next(each for each in containers_of(pod) if text_at(each, "name") == training.container_name)
    return TargetPod(
        uid=text_at(pod, "metadata", "uid") or "",
        name=text_at(pod, "metadata", "name") or "",
        ip=_address(pod) or "",
        node=text_at(pod, "spec", "nodeName"),
        port=_port(container, pod),
        rank=_first_rank(pod, training),
        processes=training.processes_per_pod,
    )


def _address(pod: Manifest) -> str | None:
    return text_at(pod, "status", "podIP")


def _port(container: Manifest, pod: Manifest) -> int:
    """That of the training container, or of the sidecar beside it."""
    serving = (container, *(each for each in (*sidecars_of(pod), *containers_of(pod)) if each.get("name") == SIDECAR))
    ports = (port for each in serving for port in mappings_at(each, "ports") if port.get("name") == PORT)
    declared = (count_at(port, "containerPort") for port in ports)
    said = dict(variables_of(container)).get(PORT_VARIABLE)
    moved = int(said) if said is not None and said.isdecimal() and len(said) < 6 else None
    return next((port for port in declared if port), None) or moved or DEFAULT_PORT


def _first_rank(pod: Manifest, training: Training) -> int | None:
    labels = {**mapping_at(pod, "metadata", "annotations"), **_labels(pod)}
    index = next((int(str(labels[name])) for name in INDEX_LABELS if str(labels.get(name, "")).isdecimal()), None)
    if index is None:
        return None
    if str(labels.get("training.kubeflow.org/replica-type", "")).lower() == "worker" and _has_master(training):
        index += 1
    return index * (training.processes_per_pod or 1)


def _has_master(training: Training) -> bool:
    return any(role.name == "Master" for role in training.roles)


def _labels(pod: Manifest) -> Mapping[str, object]:
    return mapping_at(pod, "metadata", "labels")

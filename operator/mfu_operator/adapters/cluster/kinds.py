"""How each workload kind marks its pods and where it keeps its pod template.

Selectors are those that the kinds' own controllers set on the pods they create.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """The API group and plural of a kind, its pods' label, and where the template and the number of the pods that train
    are."""

    group: str
    plural: str
    pod_label: str
    template: Callable[[Manifest], Mapping[str, Any] | None]
    pod_count: Callable[[Manifest], int | None]
    label_value: Callable[[Manifest], str | None] = lambda manifest: manifest["metadata"]["name"]


def _first(manifest: Manifest, *path: str) -> Any:
    value: Any = manifest
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _replicas(manifest: Manifest, *names: str) -> Mapping[str, Any] | None:
    specs: Mapping[str, Any] = next((found for name in names if (found := _first(manifest, "spec", name))), {})
    chosen: Mapping[str, Any] = specs.get("Worker") or specs.get("Master") or next(iter(specs.values()), {})
    return chosen.get("template")


def _jobset(manifest: Manifest) -> Mapping[str, Any] | None:
    jobs = _first(manifest, "spec", "replicatedJobs") or []
    return _first(jobs[0], "template", "spec", "template") if jobs else None


def _volcano(manifest: Manifest) -> Mapping[str, Any] | None:
    tasks = _first(manifest, "spec", "tasks") or []
    return tasks[-1].get("template") if tasks else None


def _ray(manifest: Manifest) -> Mapping[str, Any] | None:
    groups = _first(manifest, "spec", "rayClusterSpec", "workerGroupSpecs") or []
    return groups[0].get("template") if groups else None


def _pod_template(manifest: Manifest) -> Mapping[str, Any] | None:
    template: Mapping[str, Any] | None = _first(manifest, "spec", "template")
    return template


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _job_pods(manifest: Manifest) -> int | None:
    """An Indexed Job runs one pod for each completion; another one as many as it may at once."""
    if _first(manifest, "spec", "completionMode") == "Indexed":
        return _whole(_first(manifest, "spec", "completions"))
    return _whole(_first(manifest, "spec", "parallelism"))


def _jobset_pods(manifest: Manifest) -> int | None:
    jobs = _first(manifest, "spec", "replicatedJobs") or []
    each = _job_pods({"spec": _first(jobs[0], "template", "spec") or {}}) if jobs else None
    return None if each is None else each * (_whole(_first(jobs[0], "replicas")) or 1)


def _replica_pods(manifest: Manifest, name: str, *trains: str) -> int | None:
    """Replicas of the roles that train; a role without a number has one."""
    roles: Mapping[str, Any] = _first(manifest, "spec", name) or {}
    counts = [_whole(role.get("replicas", 1)) or 0 for key, role in roles.items() if key in trains]
    return sum(counts) or None


def _ray_pods(manifest: Manifest) -> int | None:
    groups = _first(manifest, "spec", "rayClusterSpec", "workerGroupSpecs") or []
    return _whole(groups[0].get("replicas")) if groups else None


def _volcano_pods(manifest: Manifest) -> int | None:
    tasks = _first(manifest, "spec", "tasks") or []
    return _whole(tasks[-1].get("replicas")) if tasks else None


KINDS: Mapping[str, WorkloadKind] = {
    "Job": WorkloadKind("batch", "jobs", "batch.kubernetes.io/job-name", _pod_template, _job_pods),
    "JobSet": WorkloadKind("jobset.x-k8s.io", "jobsets", "jobset.sigs.k8s.io/jobset-name", _jobset, _jobset_pods),
    "PyTorchJob": WorkloadKind(
        "kubeflow.org",
        "pytorchjobs",
        "training.kubeflow.org/job-name",
        lambda it: _replicas(it, "pytorchReplicaSpecs"),
        lambda it: _replica_pods(it, "pytorchReplicaSpecs", "Master", "Worker"),
    ),
    "MPIJob": WorkloadKind(
        "kubeflow.org",
        "mpijobs",
        "training.kubeflow.org/job-name",
        lambda it: _replicas(it, "mpiReplicaSpecs"),
        lambda it: _replica_pods(it, "mpiReplicaSpecs", "Worker"),
    ),
    "RayJob": WorkloadKind(
        "ray.io", "rayjobs", "ray.io/cluster", _ray, _ray_pods, lambda it: _first(it, "status", "rayClusterName")
    ),
    "VolcanoJob": WorkloadKind("batch.volcano.sh", "jobs", "volcano.sh/job-name", _volcano, _volcano_pods),
}


def kind_of(api_version: str, kind: str) -> WorkloadKind | None:
    """The description of a kind; Volcano's Job is told from batch's by its group."""
    if kind == "Job" and api_version.startswith("batch.volcano.sh/"):
        return KINDS["VolcanoJob"]
    return KINDS.get(kind)

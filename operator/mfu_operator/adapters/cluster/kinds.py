"""How each workload kind marks its pods.

Selectors are those that the kinds' own controllers set on the pods they create.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Manifest = Mapping[str, Any]

FINISHED = frozenset({"Complete", "Completed", "Succeeded", "Failed", "Terminated", "Aborted"})
"""Conditions of Job, JobSet, PyTorchJob and MPIJob; deployment states of RayJob; phases of Volcano's Job."""
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """The API group and plural of a kind, and its pods' label. Where its pods' templates stand, the plan knows
    (profiling/plan/kinds.py)."""

    group: str
    plural: str
    pod_label: str
    label_value: Callable[[Manifest], str | None] = lambda manifest: manifest["metadata"]["name"]

    def pod_label_value(self, manifest: Manifest) -> str | None:
        """The value of its pods' label; None where there is none yet, or what stands there can be none: it goes into a
        selector, which has no way to quote."""
        value = self.label_value(manifest)
        return value if isinstance(value, str) and _LABEL_VALUE.fullmatch(value) else None


def _first(manifest: Manifest, *path: str) -> Any:
    value: Any = manifest
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


_JOBSET_LABEL = "jobset.sigs.k8s.io/jobset-name"
_KUBEFLOW_LABEL = "training.kubeflow.org/job-name"

KINDS: Mapping[str, WorkloadKind] = {
    "Job": WorkloadKind("batch", "jobs", "batch.kubernetes.io/job-name"),
    "JobSet": WorkloadKind("jobset.x-k8s.io", "jobsets", _JOBSET_LABEL),
    "TrainJob": WorkloadKind("trainer.kubeflow.org", "trainjobs", _JOBSET_LABEL),
    "PyTorchJob": WorkloadKind("kubeflow.org", "pytorchjobs", _KUBEFLOW_LABEL),
    "MPIJob": WorkloadKind("kubeflow.org", "mpijobs", _KUBEFLOW_LABEL),
    "JAXJob": WorkloadKind("kubeflow.org", "jaxjobs", _KUBEFLOW_LABEL),
    "TFJob": WorkloadKind("kubeflow.org", "tfjobs", _KUBEFLOW_LABEL),
    "XGBoostJob": WorkloadKind("kubeflow.org", "xgboostjobs", _KUBEFLOW_LABEL),
    "PaddleJob": WorkloadKind("kubeflow.org", "paddlejobs", _KUBEFLOW_LABEL),
    "RayJob": WorkloadKind("ray.io", "rayjobs", "ray.io/cluster", lambda it: _first(it, "status", "rayClusterName")),
    "RayCluster": WorkloadKind("ray.io", "rayclusters", "ray.io/cluster"),
    "VolcanoJob": WorkloadKind("batch.volcano.sh", "jobs", "volcano.sh/job-name"),
    "LeaderWorkerSet": WorkloadKind("leaderworkerset.x-k8s.io", "leaderworkersets", "leaderworkerset.sigs.k8s.io/name"),
    "ElasticJob": WorkloadKind("elastic.iml.github.io", "elasticjobs", "elasticjob.dlrover/name"),
}
RUNTIMES: Mapping[str, str] = {
    "ClusterTrainingRuntime": "clustertrainingruntimes",
    "TrainingRuntime": "trainingruntimes",
}
"""What a TrainJob's pods are made from, by kind; the first is of the cluster."""


def has_finished(manifest: Manifest) -> bool:
    """Whether a workload of any kind says that it ended, well or not. Each kind says it in its own words."""
    conditions = _first(manifest, "status", "conditions") or []
    true = {each.get("type") for each in conditions if each.get("status") == "True"}
    said = {_first(manifest, "status", "jobDeploymentStatus"), _first(manifest, "status", "state", "phase")}
    return bool((true | said) & FINISHED)


def kind_of(api_version: str, kind: str) -> WorkloadKind | None:
    """The description of a kind; Volcano's Job is told from batch's by its group."""
    if kind == "Job" and api_version.startswith("batch.volcano.sh/"):
        return KINDS["VolcanoJob"]
    return KINDS.get(kind)

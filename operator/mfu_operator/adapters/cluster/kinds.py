"""How each workload kind marks its pods.

Selectors are those that the kinds' own controllers set on the pods they create.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Manifest = Mapping[str, Any]

FINISHED = frozenset({"Complete", "Completed", "Succeeded", "Failed", "Terminated", "Aborted"})
"""Conditions of Job, JobSet, PyTorchJob and MPIJob; deployment states of RayJob; phases of Volcano's Job."""
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


class PodsBy(StrEnum):
    """How the pods of an object are found: by a label that its controller sets, by the object's own spec.selector, by
    the owner references that lead to it, or it is one."""

    LABEL = "label"
    SELECTOR = "selector"
    OWNER = "owner"
    ITSELF = "itself"


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """The API group and plural of a kind, and its pods' label; empty where they are found otherwise. Where its pods'
    templates stand, the plan knows (profiling/plan/kinds.py)."""

    group: str
    plural: str
    pod_label: str = ""
    label_value: Callable[[Manifest], str | None] = lambda manifest: manifest["metadata"]["name"]
    pods_by: PodsBy = PodsBy.LABEL

    @property
    def labels_name(self) -> bool:
        """Whether its pods' label holds the object's own name."""
        return self.pods_by is PodsBy.LABEL and self.label_value({"metadata": {"name": "x"}}) == "x"

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
    "Deployment": WorkloadKind("apps", "deployments", pods_by=PodsBy.SELECTOR),
    "StatefulSet": WorkloadKind("apps", "statefulsets", pods_by=PodsBy.SELECTOR),
    "HyperPodPyTorchJob": WorkloadKind("sagemaker.amazonaws.com", "hyperpodpytorchjobs", pods_by=PodsBy.OWNER),
    "Pod": WorkloadKind("", "pods", pods_by=PodsBy.ITSELF),
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
    places = (("jobDeploymentStatus",), ("state", "phase"), ("phase",))
    said = {found for place in places if isinstance(found := _first(manifest, "status", *place), str)}
    return bool((true | said) & FINISHED)


def selected_by(selector: Manifest) -> str | None:
    """A label selector as a query has it; None where it selects nothing that can be asked for."""
    labels = [f"{key}={value}" for key, value in sorted(_mapping(selector.get("matchLabels")).items())]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(str(value) for value in each.get("values") or ())
        said = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}
        labels.append(said[each["operator"]].format(each["key"], values))
    return ",".join(labels) or None


def _mapping(value: Any) -> Manifest:
    return value if isinstance(value, Mapping) else {}


def kind_of(api_version: str, kind: str) -> WorkloadKind | None:
    """The description of a kind; Volcano's Job is told from batch's by its group. None where it is not one of these:
    what the API server says of it, and its owner references, find its pods."""
    if kind == "Job" and api_version.startswith("batch.volcano.sh/"):
        return KINDS["VolcanoJob"]
    return KINDS.get(kind)

"""The Job of a copy, and field by field what it keeps of the run's pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mfu_operator.api.group import MANAGED_BY_LABEL, MANAGER
from mfu_operator.model.baseline import BaselineSpec, Comparable, WorkloadRef
from mfu_operator.profiling.job import profiling_job
from mfu_operator.profiling.plan.copy_changes import Change
from mfu_operator.profiling.plan.manifest import Manifest, containers_of, mapping_at, text_at
from mfu_operator.profiling.plan.training import Training

QUEUE_LABELS = ("kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class")
"""A namespace with enforced quotas admits a Job only through its queue: the copy waits in the run's own."""

MOST_NAME = 40
"""Of the workload's name in the Job's: a Job's name may have 63 characters."""

_WHY: Mapping[str, str] = {
    "restartPolicy": "a copy runs once",
    "serviceAccountName": "a copy has no rights; it runs as the namespace's default account without a token",
    "serviceAccount": "a copy has no rights; it runs as the namespace's default account without a token",
    "automountServiceAccountToken": "a copy has no rights",
    "enableServiceLinks": "a copy needs no addresses of the namespace's services",
    "terminationGracePeriodSeconds": "a copy saves nothing when it ends",
    "initContainers": "the recorder comes before the training container, which runs to its end as one of them",
    "containers": "the analysis runs after the training container, in a container of ours",
    "volumes": "claims are read-only, and a folder for the recorder is added",
    "hostname": "the name belongs to the live pod",
    "subdomain": "the name belongs to the live pod",
    "nodeName": "the scheduler places a copy",
    "priority": "a copy never preempts; its priority comes from the chart or spec.profiling",
    "priorityClassName": "a copy never preempts; its priority comes from the chart or spec.profiling",
    "preemptionPolicy": "a copy never preempts; its priority comes from the chart or spec.profiling",
    "command": "the command runs under nsys",
    "args": "they are part of the recorded command",
    "env": "the capture window is set, and what would reach the live run's world is changed",
    "volumeMounts": "volumes are read-only, and the recorder's folder is mounted",
    "ports": "nobody calls a copy",
    "livenessProbe": "a copy is not kept alive",
    "readinessProbe": "a copy serves nobody",
    "startupProbe": "a copy is not kept alive",
    "lifecycle": "hooks belong to the live pod",
}


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The Job that would run, the fields that it keeps, those it changes and those it does not take over."""

    manifest: Mapping[str, Any]
    kept: tuple[str, ...]
    changed: tuple[Change, ...]
    refused_fields: tuple[tuple[str, str], ...]


def copy_plan(
    template: Manifest,
    changed: tuple[Manifest, Sequence[Change]],
    training: Training,
    workload: Manifest,
    baseline: BaselineSpec | None,
    image: str,
) -> CopyPlan:
    """The Job from the changed template. The operator adds its owner reference and the incident's name.

    Args:
        template: the run's own.
        changed: the template that the copy is made from, and what differs.

    Raises:
        Stall: as `profiling_job`.
    """
    made_from, changes = changed
    name = text_at(workload, "metadata", "name") or (text_at(workload, "metadata", "generateName") or "run").rstrip("-")
    spec = _spec(baseline, workload, training, name)
    owner = {"apiVersion": "", "kind": "", "name": name, "uid": ""}
    labels = {MANAGED_BY_LABEL: MANAGER, **queue_labels(workload, template)}
    manifest = profiling_job(f"mfu-{name[:MOST_NAME]}", spec, made_from, owner, image, labels)
    del manifest["metadata"]["ownerReferences"]
    pod = manifest["spec"]["template"]["spec"]
    kept, differing = _compared(mapping_at(template, "spec"), pod, "spec")
    recorded = next(each for each in pod["initContainers"] if each["name"] == training.container_name)
    original = next(each for each in containers_of(template) if text_at(each, "name") == training.container_name)
    at = f"spec.containers[{training.container_name}]"
    kept_in, differing_in = _compared(original, recorded, at)
    told = {each.field for each in changes}
    return CopyPlan(
        manifest,
        (*kept, *kept_in),
        (
            *changes,
            *(each for each in (*differing, *differing_in) if each.after is not None and each.field not in told),
        ),
        tuple((each.field, each.why) for each in (*differing, *differing_in) if each.after is None),
    )


def _spec(baseline: BaselineSpec | None, workload: Manifest, training: Training, name: str) -> BaselineSpec:
    namespace = text_at(workload, "metadata", "namespace") or "default"
    api_version, kind = text_at(workload, "apiVersion") or "", text_at(workload, "kind") or ""
    ref = WorkloadRef(api_version, kind, namespace, name, training.container_name)
    return BaselineSpec(ref, Comparable(name)) if baseline is None else replace(baseline, workload=ref)


def queue_labels(workload: Manifest, template: Manifest) -> dict[str, str]:
    """The labels by which the run's queue admits its pods."""
    marks = {**mapping_at(template, "metadata", "labels"), **mapping_at(workload, "metadata", "labels")}
    return {name: str(marks[name]) for name in QUEUE_LABELS if name in marks}


def _compared(before: Manifest, after: Manifest, at: str) -> tuple[tuple[str, ...], tuple[Change, ...]]:
    """The fields that are the same, and those that differ or are gone."""
    kept = tuple(f"{at}.{name}" for name in before if name in after and before[name] == after[name])
    differing = tuple(
        Change(f"{at}.{name}", "set", "set" if name in after else None, _WHY.get(str(name), "belongs to the live pod"))
        for name in before
        if name not in after or before[name] != after[name]
    )
    return kept, differing

"""The profiling Job's manifest: named after the incident, bounded in time, without rights."""

from collections.abc import Mapping, Set
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.profiling.privileges import Privilege, require_permitted
from mfu_operator.profiling.surgery import profiling_pod

KEEP_FINISHED_S = 24 * 3600
"""A finished Job stays a day: long enough for a person to read its logs, short enough to leave nothing behind."""

NO_SIDECARS = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
"""Injected proxies would keep the Job from finishing."""

SAYS_IT_WAS_DISRUPTED = {
    "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}
"""An eviction by the API and a preemption delete the pod; only by this does the Job itself still say why it failed."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What profiling pods may have: privileges by namespace, and priority classes beside the operator's own."""

    privileges: Mapping[str, Set[Privilege]] = field(default_factory=dict)
    priority_classes: tuple[str, ...] = ()


NOTHING = Permit()


def profiling_job(
    name: str,
    spec: BaselineSpec,
    template: Mapping[str, Any],
    owner: Mapping[str, Any],
    profiler_image: str | None,
    labels: Mapping[str, str],
    priority_class: str | None = None,
    permit: Permit = NOTHING,
) -> dict[str, Any]:
    """The `batch/v1` Job that records and analyses a few steps of the workload.

    Args:
        name: derived from the incident, so that asking twice gives one Job.
        owner: the TrainingBaseline (apiVersion, kind, name, uid): the Job is deleted with it.
        profiler_image: the operator's default, used unless spec.profiling.image says otherwise.
        priority_class: the operator's default, used unless spec.profiling.priorityClassName says otherwise.
        permit: what an administrator permits.

    Raises:
        Stall: ProfilerImageMissing, ProfilingForbidden, and those of `profiling_pod`.
    """
    image = image_of(spec, profiler_image)
    profiling = replace(spec.profiling, priority_class=permitted_priority(spec, priority_class, permit))
    pod = profiling_pod(template, spec.workload.container, profiling, image)
    own_program = bool(profiling.command or profiling.image or profiling.env)
    require_permitted(pod, permit.privileges.get(spec.workload.namespace, frozenset()), own_program)
    marks = {"labels": dict(labels), "annotations": dict(NO_SIDECARS)}
    return batch_job(name, spec, owner, labels, {"metadata": marks, "spec": pod})


def image_of(spec: BaselineSpec, default: str | None) -> str:
    """The image of the pod that records. Raises Stall (ProfilerImageMissing)."""
    image = spec.profiling.image or default
    if not image:
        raise Stall(
            "ProfilerImageMissing",
            "no profiler image is known; install the chart with profilerImage set or set spec.profiling.image",
        )
    return image


def batch_job(
    name: str,
    spec: BaselineSpec,
    owner: Mapping[str, Any] | None,
    labels: Mapping[str, str],
    template: Mapping[str, Any],
) -> dict[str, Any]:
    """A Job of one pod that is never retried, bounded in time, and deleted with its owner; None: nobody owns it."""
    metadata: dict[str, Any] = {"name": name, "namespace": spec.workload.namespace, "labels": dict(labels)}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind", "name", "uid")} | {"controller": True}
        metadata["ownerReferences"] = [reference]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": 0,
            "podFailurePolicy": deepcopy(SAYS_IT_WAS_DISRUPTED),
            "activeDeadlineSeconds": int(spec.profiling.deadline_s),
            "ttlSecondsAfterFinished": KEEP_FINISHED_S,
            "template": template,
        },
    }


def permitted_priority(spec: BaselineSpec, default: str | None, permit: Permit) -> str | None:
    """The priority class of a profiling pod; None: the cluster's default. Raises Stall (ProfilingForbidden)."""
    asked = spec.profiling.priority_class
    if asked is not None and asked not in (default, *permit.priority_classes):
        raise Stall(
            "ProfilingForbidden",
            f"spec.profiling.priorityClassName {asked!r} is not among those of profiling pods: remove it, or "
            "ask an administrator to add it to the chart's profiling.priorityClasses",
        )
    return asked or default

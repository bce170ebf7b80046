"""How this workload is profiled: captured while it runs, copied, or not yet and what to add. The plan decides; what
the cluster shows of the run is what it decides on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mfu_operator.errors import Retry, Unreadable
from mfu_operator.model.workload import Workload
from mfu_operator.profiling.live.pods import targets_of, training_pods
from mfu_operator.profiling.live.request import TargetPod
from mfu_operator.profiling.plan.copy_changes import changed_template
from mfu_operator.profiling.plan.copy_job import queue_labels
from mfu_operator.profiling.plan.instrument import Patch
from mfu_operator.profiling.plan.plan import LIVE, Plan, plan_of
from mfu_operator.reconcile.world import World

Manifest = Mapping[str, Any]

TOLD_BY_THE_COPY = frozenset(
    {
        "CommandUnknown", "ContainerNotFound", "HostPath", "HostNamespace", "Privileged", "CapabilitiesAdded",
        "PodsMissing",
    }
)  # fmt: skip
"""Refusals that the copy itself makes, with what an administrator may permit; and pods that are not there yet."""

LIVE_REASONS = frozenset({"NotInstrumented", "TokenMissing", "PortMissing", "WrongRole", "LauncherNotInstrumented"})


@dataclass(frozen=True, slots=True)
class Live:
    """The ranks of the running job are asked. `pods` counts all that train, `targets` are those to ask."""

    recorder: str
    pods: int
    targets: tuple[TargetPod, ...]
    queue: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy of the one pod runs under nsys. `template` is what it is made from."""

    template: Manifest
    recorder: str = "nsys"


Way = Live | Copied | Retry
"""The error says why nothing can be recorded, and what to add."""


def way_of(world: World) -> Way:
    """The way of this tick; only called where there is a workload."""
    workload = world.workload
    assert workload is not None
    if world.spec.profiling.command:
        return Copied(workload.template)
    ref = world.spec.workload
    try:
        plan = plan_of(_documents(world, workload), _pods(workload), (ref.kind, ref.name), world.spec)
    except Unreadable as error:
        return Retry("TrainingRoleUnknown", error.message)
    if plan.way == LIVE:
        return _live(world, plan, workload)
    against = [each for each in plan.not_copied if each.reason not in TOLD_BY_THE_COPY]
    return _copied(plan, workload) if not against else _no_way(plan, " and ".join(each.message for each in against))


def _live(world: World, plan: Plan, workload: Workload) -> Way:
    assert plan.training is not None
    assert plan.recorder is not None
    training = training_pods(plan.training, _pods(workload))
    targets = targets_of(plan.training, training, world.spec.profiling.ranks)
    if not targets:
        return Retry(
            "NoPodToCapture", "no pod that trains runs and has an address, so nobody can be asked; wait for one"
        )
    queue = queue_labels(plan.workload, plan.training.role.template)
    if world.spec.profiling.queue is not None:
        queue = {"kueue.x-k8s.io/queue-name": world.spec.profiling.queue}
    return Live(str(plan.recorder), len(training), targets, queue)


def _copied(plan: Plan, workload: Workload) -> Copied:
    if plan.training is None:
        return Copied(workload.template)
    return Copied(changed_template(workload.template, plan.training.container_name)[0])


def _no_way(plan: Plan, against_a_copy: str) -> Retry:
    first = plan.refused[0]
    if first.reason == "CaptureOff":
        return Retry("CaptureOff", first.message)
    if first.reason not in LIVE_REASONS:
        return Retry("TrainingRoleUnknown", first.message)
    added = "".join(f" To have it captured while it runs, add to {_patch(each)}." for each in plan.instrument or ())
    return Retry(
        "NotInstrumented",
        f"{first.message}; nor can one pod be copied: {against_a_copy}.{added} The Secret: kubectl create secret "
        "generic mfu-capture --from-literal=token=$(openssl rand -hex 32)",
    )


def _patch(patch: Patch) -> str:
    """In one line, as `kubectl patch --type=json -p` and Kustomize take it."""
    target = patch.target
    return f"{target.kind}/{target.name} this JSON patch: {json.dumps([dict(each) for each in patch.operations])}"


def _documents(world: World, workload: Workload) -> tuple[Manifest, ...]:
    if workload.documents:
        return workload.documents
    ref = world.spec.workload
    spec = {"template": workload.template, "parallelism": workload.pod_count or 1}
    return ({"apiVersion": ref.api_version, "kind": ref.kind, "metadata": {"name": ref.name}, "spec": spec},)


def _pods(workload: Workload) -> list[Manifest]:
    return [each.manifest or {"status": {"phase": each.phase}} for each in workload.pods]

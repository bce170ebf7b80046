"""A TrainJob and its runtime (Trainer v2) as one workload: the runtime holds the pods, the TrainJob overrides them."""

from collections.abc import Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mfu_operator.profiling.plan.kinds import Role, group_of, job_set_roles
from mfu_operator.profiling.plan.manifest import (
    Manifest,
    containers_of,
    count_at,
    mapping_at,
    mappings_at,
    text_at,
    value_at,
)

GROUP = "trainer.kubeflow.org"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
RUNTIMES = ("ClusterTrainingRuntime", "TrainingRuntime")
NODE = "node"
"""The name that Trainer requires of the role and of the container that train."""

LAUNCHER = "launcher"
"""The name that it requires of the role that starts the ranks of an MPI runtime."""

_AT = ("spec", "template", "spec", "replicatedJobs")


def is_train_job(manifest: Manifest) -> bool:
    """Whether it is a TrainJob of Trainer v2."""
    return text_at(manifest, "kind") == "TrainJob" and group_of(manifest) == GROUP


def runtime_of(train_job: Manifest, documents: Sequence[Manifest]) -> Manifest | None:
    """The runtime that a TrainJob refers to; None where it is not among the documents."""
    name = text_at(train_job, "spec", "runtimeRef", "name")
    kind = text_at(train_job, "spec", "runtimeRef", "kind") or RUNTIMES[0]
    named = (each for each in documents if text_at(each, "kind") == kind and group_of(each) == GROUP)
    return next((each for each in named if text_at(each, "metadata", "name") == name), None)


def train_job_roles(train_job: Manifest, runtime: Manifest) -> tuple[Role, ...]:
    """The roles as Trainer would make them: those of the trainer's step with the TrainJob's image, command and numbers,
    and the nodes that an MPI launcher starts ranks in; the initializers are left out, as their own step says."""
    jobs = mappings_at(runtime, *_AT)
    every = job_set_roles(jobs, _AT)
    stepped = {role.name for role, job in zip(every, jobs, strict=True) if _step(job) == "trainer"}
    training = [role for role in every if role.name in stepped or role.name == NODE] or list(every)
    overridden = stepped or {NODE}
    return tuple(_made(role, train_job, runtime, overridden) for role in training)


def _step(job: Manifest) -> str | None:
    """The label stands at the Job's template, and in older runtimes at the pod's."""
    at_job = text_at(mapping_at(job, "template", "metadata", "labels"), STEP)
    return at_job or text_at(mapping_at(job, "template", "spec", "template", "metadata", "labels"), STEP)


def _made(role: Role, train_job: Manifest, runtime: Manifest, overridden: Set[str]) -> Role:
    trainer = mapping_at(train_job, "spec", "trainer")
    policy = mapping_at(runtime, "spec", "mlPolicy")
    template: dict[str, Any] = deepcopy(dict(role.template))
    if role.name in overridden:
        _override(_trainer_container(template), trainer)
    for override in _overrides(train_job, role.name):
        _add(template, override)
    is_node = role.name == LAUNCHER and value_at(policy, "mpi", "runLauncherAsNode") is True
    return replace(
        role,
        template=template,
        pods=_pods(role, trainer, policy),
        processes_per_pod=_processes(trainer, policy),
        holds_ranks=is_node,
    )


def _pods(role: Role, trainer: Manifest, policy: Manifest) -> int | None:
    """As the MPI and the torch plugin of Trainer count them: a launcher that is a node is one of the nodes."""
    if role.name == LAUNCHER:
        return 1
    own, default = count_at(trainer, "numNodes"), count_at(policy, "numNodes")
    if "mpi" in policy:
        beside = value_at(policy, "mpi", "runLauncherAsNode") is True
        return role.pods if own is None else max(own - 1, 1) if beside else own
    return next((each for each in (own, default, role.pods) if each is not None), None)


def _processes(trainer: Manifest, policy: Manifest) -> int | str | None:
    said = (value_at(each, "numProcPerNode") for each in (trainer, policy.get("torch"), policy.get("mpi")))
    found = next((each for each in said if isinstance(each, int | str) and not isinstance(each, bool)), None)
    return "auto" if found is None and "torch" in policy else found  # Trainer's default


def _trainer_container(template: Manifest) -> dict[str, Any]:
    every = [each for each in containers_of(template) if isinstance(each, dict)]
    named = [each for each in every if text_at(each, "name") == NODE]
    return next(iter(named or every), {})


def _override(container: dict[str, Any], trainer: Manifest) -> None:
    for field in ("image", "command", "args"):
        if trainer.get(field) is not None:
            container[field] = trainer[field]
    if isinstance(trainer.get("resourcesPerNode"), Mapping):
        container["resources"] = trainer["resourcesPerNode"]
    _merge(container, "env", mappings_at(trainer, "env"))


def _overrides(train_job: Manifest, role: str) -> Iterator[Manifest]:
    """What a TrainJob changes of the pods of one role: `podTemplateOverrides`, in Trainer 2.0 `podSpecOverrides`."""
    spec = mapping_at(train_job, "spec")
    for field, path in (("podTemplateOverrides", ("spec",)), ("podSpecOverrides", ())):
        for override in mappings_at(spec, field):
            if any(text_at(each, "name") == role for each in mappings_at(override, "targetJobs")):
                yield mapping_at(override, *path)


def _add(template: dict[str, Any], override: Manifest) -> None:
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return
    _merge(spec, "volumes", mappings_at(override, "volumes"))
    for each in mappings_at(override, "containers"):
        for container in containers_of(template):
            if text_at(container, "name") == text_at(each, "name") and isinstance(container, dict):
                _merge(container, "env", mappings_at(each, "env"))
                _merge(container, "volumeMounts", mappings_at(each, "volumeMounts"))


def _merge(owner: dict[str, Any], field: str, added: Sequence[Manifest]) -> None:
    """Items beside those of other names."""
    names = {text_at(each, "name") for each in added}
    if added:
        owner[field] = [*(each for each in mappings_at(owner, field) if text_at(each, "name") not in names), *added]

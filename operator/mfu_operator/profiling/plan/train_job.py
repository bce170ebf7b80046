"""A TrainJob and its runtime (Trainer v2) as one workload: the runtime holds the pods, the TrainJob overrides them."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
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
    """The roles as Trainer would make them: the trainer's step with the TrainJob's image, command and numbers; the
    initializers are left out, as their own step says."""
    jobs = mappings_at(runtime, *_AT)
    every = job_set_roles(jobs, _AT)
    training = [role for role, job in zip(every, jobs, strict=True) if _step(job) == "trainer" or role.name == NODE]
    return tuple(_overridden(role, train_job, runtime) for role in training or every if _trains(role, training))


def _trains(role: Role, training: Sequence[Role]) -> bool:
    """An MPI runtime has a launcher of the trainer's step beside the nodes: the nodes train."""
    return role.name != "launcher" or not any(each.name == NODE for each in training)


def _step(job: Manifest) -> str | None:
    marks = mapping_at(job, "template", "metadata", "labels")
    return text_at(marks, STEP)


def _overridden(role: Role, train_job: Manifest, runtime: Manifest) -> Role:
    trainer = mapping_at(train_job, "spec", "trainer")
    policy = mapping_at(runtime, "spec", "mlPolicy")
    nodes = count_at(trainer, "numNodes")
    nodes = count_at(policy, "numNodes") if nodes is None else nodes
    processes = value_at(trainer, "numProcPerNode")
    for framework in ("torch", "mpi"):
        if processes is None:
            processes = value_at(policy, framework, "numProcPerNode")
    said = processes if isinstance(processes, int | str) and not isinstance(processes, bool) else None
    if said is None and "torch" in policy:
        said = "auto"  # Trainer's default
    template = _template(role.template, trainer)
    return Role(role.name, template, role.path, role.pods if nodes is None else nodes, said)


def _template(template: Manifest, trainer: Manifest) -> Manifest:
    copy: dict[str, Any] = deepcopy(dict(template))
    for container in containers_of(copy):
        if text_at(container, "name") == NODE and isinstance(container, dict):
            _override(container, trainer)
    return copy


def _override(container: dict[str, Any], trainer: Manifest) -> None:
    for field in ("image", "command", "args"):
        if trainer.get(field) is not None:
            container[field] = trainer[field]
    if isinstance(trainer.get("resourcesPerNode"), Mapping):
        container["resources"] = trainer["resourcesPerNode"]
    own = mappings_at(trainer, "env")
    names = {text_at(each, "name") for each in own}
    inherited = [each for each in mappings_at(container, "env") if text_at(each, "name") not in names]
    if own:
        container["env"] = [*inherited, *own]

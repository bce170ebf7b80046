"""What the operator would do with a workload: the way, the recorder, and why each other way is not taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mfu_operator.errors import Stall, Unreadable
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.profiling.plan import train_job
from mfu_operator.profiling.plan.copy_changes import changed_template
from mfu_operator.profiling.plan.copy_job import CopyPlan, copy_plan
from mfu_operator.profiling.plan.copy_safety import not_copied
from mfu_operator.profiling.plan.instrument import Patch, instrumented, trainer_patch
from mfu_operator.profiling.plan.kinds import Kind, Role, known_kind, roles_of
from mfu_operator.profiling.plan.live import Missing, Recorder, capture_is_off, daemon_missing, probe_missing
from mfu_operator.profiling.plan.manifest import Manifest, mappings_at, text_at
from mfu_operator.profiling.plan.runs import pods_of_run
from mfu_operator.profiling.plan.training import Training, Untold, training_of

SCHEMA_VERSION = 1
LIVE, COPY = "Live", "Copy"
_NOT_NEEDED = "NotNeeded"
_ROWS = ((LIVE, Recorder.TORCH), (LIVE, Recorder.KINETO), (COPY, Recorder.NSYS))
"""The ways in the order in which they are taken."""

_HELPERS = frozenset(
    {"ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim", "Namespace", "Role", "RoleBinding",
     "ClusterRole", "ClusterRoleBinding", "NetworkPolicy", "ResourceClaim", "ResourceClaimTemplate", "PodGroup",
     "Queue", "LocalQueue", "ClusterQueue", "TrainingBaseline", "ComputeDomain", "PriorityClass", *train_job.RUNTIMES}
)  # fmt: skip
"""Kinds that stand beside a workload and run no pods of their own."""


_SERVICES = frozenset({"RayService", "InferenceService", "LLMInferenceService"})
"""Kinds whose pods answer requests, whatever their containers say."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row of the ways that is not taken."""

    way: str
    recorder: Recorder
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer for one workload. `way` and `recorder` are None where it cannot be captured yet."""

    workload: Manifest
    known: bool
    how: str
    training: Training | None
    way: str | None
    recorder: Recorder | None
    because: str
    refused: tuple[Refused, ...]
    copy: CopyPlan | None
    instrument: tuple[Patch, ...] | None
    not_copied: tuple[Missing, ...] = ()
    """Every reason against a copy, each by its name."""


def plan_of(
    documents: Sequence[Manifest],
    pods: Sequence[Manifest] | None = None,
    named: tuple[str, str] | None = None,
    baseline: BaselineSpec | None = None,
    profiler_image: str = "mfu-profiler",
) -> Plan:
    """The plan for the workload among the documents.

    Args:
        documents: the manifests: a workload, and what stands beside it (a TrainJob's runtime, ConfigMaps).
        pods: the pods of the run as they are in the cluster; None where they are not known.
        named: (kind, name) of the workload, where the documents hold several that run pods.
        baseline: what the TrainingBaseline declares, where there is one.
        profiler_image: the image of the profiling Job.

    Raises:
        Unreadable: (NoWorkload, SeveralWorkloads) where the documents hold none that runs pods, or several.
    """
    workload = _workload(documents, named)
    kind = known_kind(workload)
    how = _how(kind, baseline)
    if pods is not None and baseline is not None and baseline.workload.selector:
        pods = pods_of_run(pods, workload, baseline.workload.selector)
    roles, owners, untold = _roles(workload, documents)
    if text_at(workload, "kind") in _SERVICES:
        untold = Untold("NoTrainingContainer", f"a {text_at(workload, 'kind')} answers requests and trains nothing")
    found: Training | Untold = untold or training_of(roles, baseline.workload.container if baseline else None)
    if isinstance(found, Untold):
        refused = tuple(Refused(way, recorder, found.reason, found.message) for way, recorder in _ROWS)
        against = (Missing(found.reason, found.message),)
        return Plan(workload, kind is not None, how, None, None, None, found.message, refused, None, None, against)
    running = None if pods is None else [pod for pod in pods if text_at(pod, "status", "phase") == "Running"]
    template = _as_it_runs(found, running or ())
    made: CopyPlan | None = None
    refused_copy = _copy_refused(found, template, workload, running)
    if not refused_copy:
        made, refused_copy = _copied(found, template, baseline, profiler_image, workload)
    off = _off(template, workload)
    missing = (
        off or probe_missing(found, template, roles),
        off or daemon_missing(found, template),
        refused_copy[0] if refused_copy else None,
    )
    taken = next((index for index, each in enumerate(missing) if each is None), None)
    way, recorder = (None, None) if taken is None else _ROWS[taken]
    return Plan(
        workload=workload,
        known=kind is not None,
        how=how,
        training=found,
        way=way,
        recorder=recorder,
        because=_because(taken, found, missing[0]),
        refused=tuple(_refused(row, each, refused_copy) for row, each in enumerate(missing) if row != taken),
        copy=made if way == COPY else None,
        instrument=None if way == LIVE else _instrument(workload, owners, found),
        not_copied=refused_copy,
    )


def training_in(documents: Sequence[Manifest], container: str | None) -> Training | None:
    """The role and container that train, of a workload that stands first among the documents; None where it cannot be
    told."""
    roles, _, untold = _roles(documents[0], documents)
    found = untold or training_of(roles, container)
    return None if isinstance(found, Untold) else found


def _how(kind: Kind | None, baseline: BaselineSpec | None) -> str:
    """How the pods are found, for a person."""
    if baseline is not None and baseline.workload.selector:
        labels = ",".join(f"{key}={value}" for key, value in baseline.workload.selector)
        return f"spec.workload.selector ({labels}), those of the newest active run"
    return kind.how if kind is not None else "spec.workload.selector, or the owner references of the pods"


def _workload(documents: Sequence[Manifest], named: tuple[str, str] | None) -> Manifest:
    every = [each for each in documents if text_at(each, "kind") not in _HELPERS and roles_of_any(each)]
    if named is not None:
        kind, name = named
        same = [each for each in every if (text_at(each, "kind") or "").lower() == kind.lower()]
        every = [each for each in same if name in (text_at(each, "metadata", "name"), _generated(each))]
        if not every:
            raise Unreadable("NoWorkload", f"the manifest has no {kind}/{name}; correct --workload")
    if not every:
        raise Unreadable("NoWorkload", "the manifest has no object that runs pods")
    if len(every) > 1:
        names = ", ".join(f"{text_at(each, 'kind')}/{text_at(each, 'metadata', 'name')}" for each in every)
        raise Unreadable("SeveralWorkloads", f"several objects run pods ({names}); name one with --workload KIND/NAME")
    return every[0]


def roles_of_any(manifest: Manifest) -> bool:
    """Whether an object runs pods: of a known kind, or with a pod template in it."""
    return known_kind(manifest) is not None or bool(roles_of(manifest))


def _generated(manifest: Manifest) -> str | None:
    return text_at(manifest, "metadata", "generateName")


def _roles(
    workload: Manifest, documents: Sequence[Manifest]
) -> tuple[tuple[Role, ...], Mapping[str, Manifest], Untold | None]:
    """The roles, by name the object that holds each one's template, and why they cannot be told."""
    if not train_job.is_train_job(workload):
        roles = roles_of(workload)
        return roles, {role.name: workload for role in roles}, None
    runtime = train_job.runtime_of(workload, documents)
    if runtime is None:
        name = text_at(workload, "spec", "runtimeRef", "name")
        told = (
            f"the TrainJob's pods are made from runtime {name!r}, which the manifest does not hold; add it to the file"
        )
        return (), {}, Untold("RuntimeMissing", told)
    roles = train_job.train_job_roles(workload, runtime)
    return roles, {role.name: runtime for role in roles}, None


def _as_it_runs(training: Training, running: Sequence[Manifest]) -> Manifest:
    """The pod as its controllers and webhooks made it, where one of this role runs; else the manifest's template."""
    name = training.container_name
    mine = (
        pod for pod in running if any(text_at(each, "name") == name for each in mappings_at(pod, "spec", "containers"))
    )
    return next(mine, training.role.template)


def _off(template: Manifest, workload: Manifest) -> Missing | None:
    if not capture_is_off(template, workload):
        return None
    return Missing(
        "CaptureOff", 'the pod says mfu-operator.io/capture: "off"; remove the annotation to have it captured'
    )


def _copy_refused(
    training: Training, template: Manifest, workload: Manifest, running: Sequence[Manifest] | None
) -> tuple[Missing, ...]:
    off = _off(template, workload)
    active = None if running is None else len(running)
    return ((off,) if off else ()) + not_copied(training, template, workload, active)


def _copied(
    training: Training, template: Manifest, baseline: BaselineSpec | None, image: str, workload: Manifest
) -> tuple[CopyPlan | None, tuple[Missing, ...]]:
    changed = changed_template(template, training.container_name)
    try:
        return copy_plan(template, changed, training, workload, baseline, image), ()
    except Stall as error:
        return None, (Missing(error.reason, error.message),)


def _refused(row: int, missing: Missing | None, of_copy: Sequence[Missing]) -> Refused:
    way, recorder = _ROWS[row]
    if missing is None:
        return Refused(way, recorder, _NOT_NEEDED, "a way that comes first is taken")
    every = of_copy if way == COPY else (missing,)
    return Refused(way, recorder, missing.reason, "; ".join(each.message for each in every))


def _because(row: int | None, training: Training, missing: Missing | None) -> str:
    container = training.container_name
    if row == 0:
        return f"container {container} serves the capture API and has a token"
    if row == 1:
        return f"container {container} asks Kineto's daemon, and the sidecar beside it serves the capture API"
    if row is not None:
        return "the running job is not instrumented, and its one pod passes every check of a copy"
    return missing.message if missing is not None else ""


def _instrument(workload: Manifest, owners: Mapping[str, Manifest], training: Training) -> tuple[Patch, ...]:
    if train_job.is_train_job(workload):
        own = trainer_patch(workload, training)
        if own is not None:
            return (own,)
    return instrumented(owners, training)


def encode(plan: Plan) -> dict[str, Any]:
    """The JSON of `kubectl mfu capture --dry-run -o json`, schemaVersion 1."""
    workload, training = plan.workload, plan.training
    return {
        "schemaVersion": SCHEMA_VERSION,
        "workload": {
            "apiVersion": text_at(workload, "apiVersion"),
            "kind": text_at(workload, "kind"),
            "name": text_at(workload, "metadata", "name") or _generated(workload),
            "known": plan.known,
            "how": plan.how,
        },
        "training": None if training is None else _encoded_training(training),
        "way": plan.way,
        "recorder": None if plan.recorder is None else str(plan.recorder),
        "because": plan.because,
        "refused": [
            {"way": each.way, "recorder": str(each.recorder), "reason": each.reason, "message": each.message}
            for each in plan.refused
        ],
        "copy": None if plan.copy is None else _encoded_copy(plan.copy),
        "instrument": None if plan.instrument is None else [_encoded_patch(each) for each in plan.instrument],
    }


def _encoded_training(training: Training) -> dict[str, Any]:
    return {
        "role": training.role.name,
        "container": training.container_name,
        "pods": training.pods,
        "processesPerPod": training.processes_per_pod,
        "gpusPerPod": training.gpus_per_pod,
        "because": training.because,
    }


def _encoded_copy(copy: CopyPlan) -> dict[str, Any]:
    return {
        "manifest": copy.manifest,
        "kept": list(copy.kept),
        "changed": [
            {"field": each.field, "from": each.before, "to": each.after, "why": each.why} for each in copy.changed
        ],
        "refusedFields": [{"field": field, "why": why} for field, why in copy.refused_fields],
    }


def _encoded_patch(patch: Patch) -> dict[str, Any]:
    target = patch.target
    return {
        "target": {"apiVersion": target.api_version, "kind": target.kind, "name": target.name},
        "patch": [dict(each) for each in patch.operations],
    }

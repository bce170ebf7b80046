"""Where each kind of workload keeps the pods of its roles: one small description a kind.

Field names are those of the kinds' own definitions: batch/v1, jobset.x-k8s.io, trainer.kubeflow.org, kubeflow.org,
ray.io, batch.volcano.sh, leaderworkerset.x-k8s.io, sagemaker.amazonaws.com, apps/v1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mfu_operator.profiling.plan.manifest import Manifest, count_at, mapping_at, mappings_at, text_at, value_at

Path = tuple[str | int, ...]
"""Keys and indexes from the object down to a pod template."""


@dataclass(frozen=True, slots=True)
class Role:
    """The pods of one role: their template, where it stands, and how many the manifest asks for (None: not said).

    `processes_per_pod` is what the kind's own field says about processes, None where it says nothing. `ends`: its pods
    are done when their work is, as those of a service never are. `holds_ranks`: it starts the ranks of others, and has
    ranks of its own.
    """

    name: str
    template: Manifest
    path: Path
    pods: int | None
    processes_per_pod: int | str | None = None
    ends: bool = True
    holds_ranks: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind by its API group: how its pods are found, and its roles."""

    group: str
    how: str
    roles: Callable[[Manifest], tuple[Role, ...]]


def known_kind(manifest: Manifest) -> Kind | None:
    """The description of an object's kind; None where there is none."""
    kind = text_at(manifest, "kind") or ""
    group = group_of(manifest)
    return next((each for name, each in KINDS if name == kind and each.group == group), None)


def roles_of(manifest: Manifest) -> tuple[Role, ...]:
    """The roles of an object; of an unknown kind those of the objects that its spec wraps, and every pod template."""
    kind = known_kind(manifest)
    return tuple(_anywhere(manifest)) if kind is None else kind.roles(manifest)


def group_of(manifest: Manifest) -> str:
    """The API group of an object, empty for the core group."""
    group, slash, _ = (text_at(manifest, "apiVersion") or "").partition("/")
    return group if slash else ""


def count_or_one(owner: Manifest, field: str) -> int | None:
    """A number of pods, one where the field is absent; None where it holds a template's placeholder."""
    return 1 if owner.get(field) is None else count_at(owner, field)


def job_pods(spec: Manifest) -> int | None:
    """Pods of a batch/v1 Job at once: its parallelism, and no more than it has completions; one unless it says so."""
    at_once, completions = count_or_one(spec, "parallelism"), count_at(spec, "completions")
    return at_once if at_once is None or completions is None else min(at_once, completions)


def _times(count: int | None, each: int | None) -> int | None:
    return None if count is None or each is None else count * each


def _pod(manifest: Manifest) -> tuple[Role, ...]:
    return (Role("Pod", manifest, (), 1),)


def _job(manifest: Manifest) -> tuple[Role, ...]:
    spec = mapping_at(manifest, "spec")
    return (Role("Job", mapping_at(spec, "template"), ("spec", "template"), job_pods(spec)),)


def _cron_job(manifest: Manifest) -> tuple[Role, ...]:
    spec = mapping_at(manifest, "spec", "jobTemplate", "spec")
    path: Path = ("spec", "jobTemplate", "spec", "template")
    return (Role("Job", mapping_at(spec, "template"), path, job_pods(spec)),)


def _replicated(manifest: Manifest) -> tuple[Role, ...]:
    spec = mapping_at(manifest, "spec")
    template = mapping_at(spec, "template")
    pods = count_or_one(spec, "replicas")
    return (Role(text_at(manifest, "kind") or "", template, ("spec", "template"), pods, ends=False),)


def job_set_roles(jobs: Sequence[Manifest], at: Path) -> tuple[Role, ...]:
    """The roles of `replicatedJobs`, which stand at a path of their object."""
    roles = []
    for index, job in enumerate(jobs):
        spec = mapping_at(job, "template", "spec")
        pods = _times(count_or_one(job, "replicas"), job_pods(spec))
        path: Path = (*at, index, "template", "spec", "template")
        roles.append(Role(text_at(job, "name") or str(index), mapping_at(spec, "template"), path, pods))
    return tuple(roles)


def _job_set(manifest: Manifest) -> tuple[Role, ...]:
    return job_set_roles(mappings_at(manifest, "spec", "replicatedJobs"), ("spec", "replicatedJobs"))


def _replica_specs(manifest: Manifest) -> tuple[Role, ...]:
    """Kubeflow's v1 kinds: `spec.<framework>ReplicaSpecs`, a mapping by role."""
    spec = mapping_at(manifest, "spec")
    field = next((name for name in spec if str(name).endswith("ReplicaSpecs")), None)
    said, as_worker = _said_processes(spec), spec.get("runLauncherAsWorker") is True
    roles = []
    for name, role in mapping_at(spec, field or "").items():
        path: Path = ("spec", field or "", name, "template")
        processes = said if name != "Launcher" else None
        template, pods = mapping_at(role, "template"), count_or_one(mapping_at(role), "replicas")
        roles.append(Role(name, template, path, pods, processes, holds_ranks=name == "Launcher" and as_worker))
    return tuple(roles)


def _said_processes(spec: Manifest) -> int | str | None:
    """`nprocPerNode` of a PyTorchJob (its controller passes it on as PET_NPROC_PER_NODE), `slotsPerWorker` of an
    MPIJob."""
    for path in (("slotsPerWorker",), ("nprocPerNode",), ("elasticPolicy", "nProcPerNode")):
        found = count_at(spec, *path) or text_at(spec, *path)
        if found is not None:
            return found
    return None


def _elastic_job(manifest: Manifest) -> tuple[Role, ...]:
    """DLRover: `spec.replicaSpecs`, a mapping by role."""
    roles = []
    for name, role in mapping_at(manifest, "spec", "replicaSpecs").items():
        path: Path = ("spec", "replicaSpecs", name, "template")
        roles.append(Role(name, mapping_at(role, "template"), path, count_at(role, "replicas")))
    return tuple(roles)


def _hyper_pod(manifest: Manifest) -> tuple[Role, ...]:
    roles = []
    for index, each in enumerate(mappings_at(manifest, "spec", "replicaSpecs")):
        path: Path = ("spec", "replicaSpecs", index, "template")
        said = value_at(manifest, "spec", "nprocPerNode")
        processes = said if isinstance(said, int | str) else None
        pods = count_or_one(each, "replicas")
        roles.append(Role(text_at(each, "name") or str(index), mapping_at(each, "template"), path, pods, processes))
    return tuple(roles)


def _volcano(manifest: Manifest) -> tuple[Role, ...]:
    roles = []
    for index, task in enumerate(mappings_at(manifest, "spec", "tasks")):
        path: Path = ("spec", "tasks", index, "template")
        pods = count_or_one(task, "replicas")
        roles.append(Role(text_at(task, "name") or str(index), mapping_at(task, "template"), path, pods))
    return tuple(roles)


def _ray_cluster(*at: str) -> Callable[[Manifest], tuple[Role, ...]]:
    def roles(manifest: Manifest) -> tuple[Role, ...]:
        spec = mapping_at(manifest, *at)
        found = []
        if head := mapping_at(spec, "headGroupSpec", "template"):
            found.append(Role("head", head, (*at, "headGroupSpec", "template"), 1))
        for index, group in enumerate(mappings_at(spec, "workerGroupSpecs")):
            replicas = count_at(group, "minReplicas" if group.get("replicas") is None else "replicas")
            scaled = spec.get("enableInTreeAutoscaling") is True
            pods = None if scaled else _times(replicas, count_or_one(group, "numOfHosts"))
            path: Path = (*at, "workerGroupSpecs", index, "template")
            found.append(Role(text_at(group, "groupName") or str(index), mapping_at(group, "template"), path, pods))
        return tuple(found)

    return roles


def _leader_worker_set(manifest: Manifest) -> tuple[Role, ...]:
    """Each group has `size` pods, its leader among them; leaders are made like workers unless they have a template."""
    spec = mapping_at(manifest, "spec")
    template = mapping_at(spec, "leaderWorkerTemplate")
    groups, of_group = count_or_one(spec, "replicas"), count_or_one(template, "size")
    leader = mapping_at(template, "leaderTemplate")
    at: Path = ("spec", "leaderWorkerTemplate")
    beside = None if of_group is None else max(0, of_group - 1 if leader else of_group)
    pods = _times(groups, beside)
    worker = Role("worker", mapping_at(template, "workerTemplate"), (*at, "workerTemplate"), pods, ends=False)
    return (Role("leader", leader, (*at, "leaderTemplate"), groups, ends=False), worker) if leader else (worker,)


MOST_DEPTH = 12
"""Levels of an unknown kind that are looked through: AppWrapper, the deepest in use, keeps its templates at eight."""

MOST_ROLES = 64


def _anywhere(manifest: Manifest) -> list[Role]:
    found: list[Role] = []
    _gather(mapping_at(manifest, "spec"), ("spec",), found)
    return found


def _gather(value: object, path: Path, found: list[Role]) -> None:
    if len(path) > MOST_DEPTH or len(found) >= MOST_ROLES:
        return
    if isinstance(value, Mapping):
        wrapped = known_kind(value)
        if wrapped is not None:
            found += (replace(role, path=(*path, *role.path)) for role in wrapped.roles(value))
            return
        if mappings_at(value, "spec", "containers"):
            found.append(Role(_name_on(path), value, path, None))
            return
        for key, each in value.items():
            _gather(each, (*path, str(key)), found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _gather(each, (*path, index), found)


def _name_on(path: Path) -> str:
    named = [str(part) for part in path if isinstance(part, str) and part not in ("spec", "template")]
    return named[-1] if named else "pods"


_JOB_LABEL = "label batch.kubernetes.io/job-name"
_KUBEFLOW = "label training.kubeflow.org/job-name"
_JOBSET_LABEL = "label jobset.sigs.k8s.io/jobset-name"
_OWNED = "owner references, through {}"

KINDS: tuple[tuple[str, Kind], ...] = (
    ("Pod", Kind("", "the pod itself", _pod)),
    ("Job", Kind("batch", _JOB_LABEL, _job)),
    ("CronJob", Kind("batch", _OWNED.format("its newest active Job"), _cron_job)),
    ("Deployment", Kind("apps", _OWNED.format("its ReplicaSet"), _replicated)),
    ("ReplicaSet", Kind("apps", "owner references", _replicated)),
    ("StatefulSet", Kind("apps", "owner references", _replicated)),
    ("JobSet", Kind("jobset.x-k8s.io", _JOBSET_LABEL, _job_set)),
    ("TrainJob", Kind("trainer.kubeflow.org", f"{_JOBSET_LABEL}, the trainer's step", _job_set)),
    *((name, Kind("kubeflow.org", _KUBEFLOW, _replica_specs)) for name in (
        "PyTorchJob", "MPIJob", "JAXJob", "TFJob", "XGBoostJob", "PaddleJob"
    )),
    ("RayJob", Kind("ray.io", "label ray.io/cluster", _ray_cluster("spec", "rayClusterSpec"))),
    ("RayCluster", Kind("ray.io", "label ray.io/cluster", _ray_cluster("spec"))),
    ("Job", Kind("batch.volcano.sh", "label volcano.sh/job-name", _volcano)),
    ("LeaderWorkerSet", Kind("leaderworkerset.x-k8s.io", "label leaderworkerset.sigs.k8s.io/name", _leader_worker_set)),
    ("HyperPodPyTorchJob", Kind("sagemaker.amazonaws.com", "owner references", _hyper_pod)),
    ("ElasticJob", Kind("elastic.iml.github.io", "label elasticjob.dlrover/name", _elastic_job)),
)  # fmt: skip

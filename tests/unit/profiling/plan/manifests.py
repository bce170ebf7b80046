"""Manifests for the tests of plans, in the shapes that their kinds' own documentation shows."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

GPUS = {"limits": {"nvidia.com/gpu": 8}}


def container(name: str = "pytorch", **fields: Any) -> dict[str, Any]:
    """A container that runs torchrun on eight GPUs."""
    made = {"name": name, "image": "registry.example/gpt", "command": ["torchrun", "train.py"], "resources": GPUS}
    return {key: value for key, value in {**made, **fields}.items() if value is not None}


def template(*containers: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod template."""
    return {"spec": {"containers": list(containers), **spec}}


def job(pod: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A batch/v1 Job of one pod."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "gpt"},
        "spec": {"template": pod or template(container("train")), **spec},
    }


def applied(document: dict[str, Any], operations: list[Mapping[str, Any]]) -> dict[str, Any]:
    """RFC 6902 for the operations in use: add (into mappings and at the end of lists) and replace."""
    document = deepcopy(document)
    for each in operations:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]]
        owner: Any = document
        for part in parents:
            owner = owner[int(part)] if isinstance(owner, list) else owner[part]
        if isinstance(owner, list):
            assert last == "-"
            owner.append(each["value"])
        else:
            assert each["op"] == "add" or last in owner
            owner[last] = each["value"]
    return document


def made(api_version: str, kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Any object named gpt."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "gpt"}, "spec": dict(spec)}


IDLE = container("sidecar", command=["sleep", "inf"], resources=None)
SSHD = container("worker", command=["/usr/sbin/sshd", "-De"])
LAUNCHER = container("launcher", command=["mpirun", "-np", "16", "python", "train.py"], resources=None)
INITIALIZER = container("dataset-initializer", command=["python", "-m", "download"], resources=None)


RAY_WORKER = container("ray-worker", command=None)
SERVED = template(container())


def replicated(name: str, pod: Mapping[str, Any], replicas: int = 1, **spec: Any) -> dict[str, Any]:
    """One of a JobSet's jobs."""
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": pod, **spec}}}


RUNTIME_JOBS = [
    {
        "name": name,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}},
            "spec": {"template": template(each)},
        },
    }
    for name, step, each in (
        ("dataset-initializer", "dataset-initializer", INITIALIZER),
        ("node", "trainer", container("node", command=None, resources=None)),
    )
]
RUNTIME = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch-distributed"},
    "spec": {
        "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
        "template": {"spec": {"replicatedJobs": RUNTIME_JOBS}},
    },
}
TRAIN_JOB = made(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    {
        "runtimeRef": {"name": "torch-distributed"},
        "trainer": {"numNodes": 4, "command": ["torchrun", "train.py"], "resourcesPerNode": GPUS},
    },
)

ROLES: Sequence[tuple[str, dict[str, Any], str, str, int, int | None]] = [
    ("Job", job(parallelism=2, completions=2), "Job", "train", 2, 1),
    (
        "JobSet",
        made(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    replicated("coordinator", template(IDLE)),
                    replicated("workers", template(container()), 2, parallelism=4, completions=4),
                ]
            },
        ),
        "workers",
        "pytorch",
        8,
        1,
    ),
    (
        "PyTorchJob",
        made(
            "kubeflow.org/v1",
            "PyTorchJob",
            {
                "nprocPerNode": "gpu",
                "pytorchReplicaSpecs": {
                    "Master": {"replicas": 1, "template": template(container())},
                    "Worker": {"replicas": 3, "template": template(IDLE, container())},
                },
            },
        ),
        "Worker",
        "pytorch",
        4,
        8,
    ),
    (
        "MPIJob",
        made(
            "kubeflow.org/v2beta1",
            "MPIJob",
            {
                "slotsPerWorker": 8,
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "template": template(LAUNCHER)},
                    "Worker": {"replicas": 2, "template": template(SSHD)},
                },
            },
        ),
        "Worker",
        "worker",
        2,
        8,
    ),
    (
        "RayJob",
        made(
            "ray.io/v1",
            "RayJob",
            {
                "rayClusterSpec": {
                    "headGroupSpec": {"template": template(container("ray-head", command=None, resources=None))},
                    "workerGroupSpecs": [
                        {"groupName": "cpu", "replicas": 3, "template": template(IDLE)},
                        {
                            "groupName": "gpu",
                            "replicas": 2,
                            "template": template(container("ray-worker", command=None)),
                        },
                    ],
                }
            },
        ),
        "gpu",
        "ray-worker",
        2,
        None,
    ),
    (
        "Volcano",
        made(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {
                "tasks": [
                    {"name": "master", "replicas": 1, "template": template(LAUNCHER)},
                    {"name": "worker", "replicas": 4, "template": template(SSHD)},
                ]
            },
        ),
        "worker",
        "worker",
        4,
        1,
    ),
    (
        "LeaderWorkerSet",
        made(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": template(container())}},
        ),
        "worker",
        "pytorch",
        8,
        1,
    ),
    (
        "HyperPod",
        made(
            "sagemaker.amazonaws.com/v1",
            "HyperPodPyTorchJob",
            {"nprocPerNode": "8", "replicaSpecs": [{"name": "pods", "replicas": 2, "template": template(container())}]},
        ),
        "pods",
        "pytorch",
        2,
        8,
    ),
    (
        "Deployment",
        made("apps/v1", "Deployment", {"replicas": 3, "template": template(container())}),
        "Deployment",
        "pytorch",
        3,
        1,
    ),
    (
        "StatefulSet",
        made("apps/v1", "StatefulSet", {"template": template(container())}),
        "StatefulSet",
        "pytorch",
        1,
        1,
    ),
    (
        "Pod",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gpt"}, **template(container())},
        "Pod",
        "pytorch",
        1,
        1,
    ),
]
"""Kind, manifest, and the role, container, pods and processes of the pods that train."""

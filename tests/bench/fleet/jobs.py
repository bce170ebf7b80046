"""The fleet: names, labels and manifests of each job, its pod and its baseline, all functions of its number."""

from collections.abc import Mapping
from typing import Any

from mfu_operator.api.group import GROUP_VERSION, KIND

NAMESPACES = 50
NODES = 1250
"""Eight pods on each of so many nodes at ten thousand jobs."""

MFU = 0.46
STEP_S = 2.0
TOKENS_PER_S = 900.0
SHORT = {"sustain": "2m", "confirm": "2m", "recover": "2m", "warmup": "1m"}
"""The rule of the baselines that are made slow, so that the benchmark does not wait for ten minutes of evidence. All
others have the defaults."""


def namespace(number: int) -> str:
    """Where a job is."""
    return f"team-{number % NAMESPACES}"


def name(number: int) -> str:
    """What a job is called, and its baseline."""
    return f"job-{number}"


def pod_name(number: int) -> str:
    """What its one pod is called."""
    return f"job-{number}-x7k2p"


def template(number: int) -> dict[str, Any]:
    """The pod template."""
    container = {
        "name": "train",
        "image": f"registry.example/train@sha256:{number % 20:064x}",
        "command": ["python", "train.py", "--config", "/etc/train.yaml"],
        "env": [{"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(10)],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/train"}],
    }
    volumes = [{"name": "config", "configMap": {"name": "train"}}]
    return {
        "metadata": {"labels": {"app": "train", "batch.kubernetes.io/job-name": name(number)}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": volumes,
            "automountServiceAccountToken": False,
        },
    }


def job(number: int) -> dict[str, Any]:
    """A Job; no controller acts on it."""
    made = template(number)
    del made["metadata"]["labels"]["batch.kubernetes.io/job-name"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name(number), "namespace": namespace(number), "labels": {"team": namespace(number)}},
        "spec": {"backoffLimit": 0, "template": made},
    }


def pod(number: int) -> dict[str, Any]:
    """Its pod, as the Job's controller and the scheduler would have made it."""
    made = template(number)
    made["spec"]["nodeName"] = f"node-{number % NODES}"
    metadata = {**made["metadata"], "name": pod_name(number), "namespace": namespace(number)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def pod_status(number: int, started: str) -> dict[str, Any]:
    """Its status, as a kubelet would have written it."""
    image = template(number)["spec"]["containers"][0]["image"]
    container = {
        "name": "train",
        "image": image,
        "imageID": image,
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": started}},
    }
    return {"status": {"phase": "Running", "startTime": started, "containerStatuses": [container]}}


def baseline(number: int, detection: Mapping[str, str]) -> dict[str, Any]:
    """Its TrainingBaseline. Profiling is off: there is no node that a profiling Job could run on."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {"name": name(number), "namespace": namespace(number)},
        "spec": {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": name(number)},
            "comparable": {"model": "gpt", "gpu": "H100", "gpuCount": 8, "globalBatch": 256},
            "baseline": {"values": {"mfu": MFU, "stepTimeSeconds": STEP_S, "tokensPerSecondPerGpu": TOKENS_PER_S / 8}},
            "detection": dict(detection),
            "profiling": {"mode": "Never"},
        },
    }

"""Somebody who holds the operator's ServiceAccount gets no further than the operator: asked of a real API server."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.faults.control_plane import NAMESPACE, TEAM, ControlPlane
from tests.hostile.people import GRANTED

pytestmark = pytest.mark.cluster

JOB: Mapping[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "mfu-x",
        "labels": {"mfu-operator.io/baseline": "gpt"},
        "ownerReferences": [
            {"apiVersion": "mfu-operator.io/v1alpha1", "kind": "TrainingBaseline", "name": "gpt", "uid": "u"}
        ],
    },
    "spec": {
        "activeDeadlineSeconds": 14400,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "containers": [{"name": "train", "image": "x:1"}],
            }
        },
    },
}
TOKEN = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
POD: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a token": ({"automountServiceAccountToken": True}, "without a token"),
    "an account of its own": ({"serviceAccountName": "admin"}, "without a token"),
    "a projected token": ({"volumes": [TOKEN]}, "mounts a token"),
    "a path of the node": ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, "mounts a path of the node"),
    "what the node's git clones": (
        {"volumes": [{"name": "v", "gitRepo": {"repository": "https://x"}}]},
        "mounts a path of the node",
    ),
    "the node's processes": ({"hostPID": True}, "namespace of the node"),
    "the node's network": ({"hostNetwork": True}, "namespace of the node"),
    "the node's memory": ({"hostIPC": True}, "namespace of the node"),
    "a node of its choice": ({"nodeName": "control-plane"}, "goes around the scheduler"),
    "settings of the kernel": (
        {"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
        "leaves the confinement",
    ),
    "no SELinux": ({"securityContext": {"seLinuxOptions": {"type": "spc_t"}}}, "leaves the confinement"),
    "an account by its old name": ({"serviceAccount": "admin"}, "without a token"),
    "no confinement": ({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "leaves the confinement"),
    "a priority that evicts others": (
        {"priorityClassName": "system-node-critical"},
        "a priority class that is not among",
    ),
}
CONTAINER: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "everything": ({"privileged": True}, "is privileged, which profiling.permit"),
    "no filter of system calls": ({"seccompProfile": {"type": "Unconfined"}}, "leaves the confinement"),
    "no profile of AppArmor": ({"appArmorProfile": {"type": "Unconfined"}}, "leaves the confinement"),
    "no SELinux of its own": ({"seLinuxOptions": {"type": "spc_t"}}, "leaves the confinement"),
    "the node's kernel on Windows": ({"windowsOptions": {"hostProcess": True}}, "leaves the confinement|hostNetwork"),
    "capabilities": ({"capabilities": {"add": ["SYS_ADMIN"]}}, "adds capabilities"),
}


SECRETS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a volume": ("volumes", {"name": "v", "secret": {"secretName": "payroll"}}),
    "a projected volume": ("volumes", {"name": "v", "projected": {"sources": [{"secret": {"name": "payroll"}}]}}),
    "a driver's volume": ("volumes", {"name": "v", "csi": {"driver": "secrets-store.csi.k8s.io"}}),
    "an identity's volume": ("volumes", {"name": "v", "csi": {"driver": "csi.spiffe.io"}}),
    **{
        f"a volume of {kind}": ("volumes", {"name": "v", kind: fields})
        for kind, fields in {
            "azureFile": {"secretName": "payroll", "shareName": "data"},
            "cephfs": {"monitors": ["10.0.0.1"], "secretRef": {"name": "payroll"}},
            "csi": {"driver": "juicefs.example", "nodePublishSecretRef": {"name": "payroll"}},
            "flexVolume": {"driver": "x/cifs", "secretRef": {"name": "payroll"}},
            "iscsi": {
                "targetPortal": "10.0.0.1",
                "iqn": "iqn.2001-04.com.x:d",
                "lun": 0,
                "secretRef": {"name": "payroll"},
            },
            "rbd": {"monitors": ["10.0.0.1"], "image": "data", "secretRef": {"name": "payroll"}},
            "scaleIO": {
                "gateway": "https://10.0.0.1",
                "system": "s",
                "volumeName": "d",
                "secretRef": {"name": "payroll"},
            },
            "storageos": {"volumeName": "data", "secretRef": {"name": "payroll"}},
        }.items()
    },
    "a Secret that a driver fetches": (
        "volumes",
        {"name": "v", "csi": {"driver": "file.csi.azure.com", "volumeAttributes": {"SecretName": "payroll"}}},
    ),
    "a variable": ("env", {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "payroll", "key": "key"}}}),
    "all its variables": ("envFrom", {"secretRef": {"name": "payroll"}}),
}


def said(plane: ControlPlane, job: Mapping[str, Any], namespace: str = TEAM) -> str:
    batch: Any = client.BatchV1Api(plane.operator)
    try:
        batch.create_namespaced_job(namespace, job, dry_run="All")
    except ApiException as refused:
        return str(refused.body)
    return ""


def test_a_profiling_job_is_let_through(plane: ControlPlane) -> None:
    assert said(plane, JOB) == ""


@pytest.mark.parametrize("missing", ["labels", "ownerReferences"])
def test_a_job_that_is_no_profiling_job_is_refused(plane: ControlPlane, missing: str) -> None:
    job = deepcopy(dict(JOB))
    del job["metadata"][missing]
    assert "may touch profiling Jobs only" in said(plane, job)


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"activeDeadlineSeconds": 14401}, "within four hours"),
        ({"activeDeadlineSeconds": None}, "within four hours"),
        ({"parallelism": 100, "completions": 100}, "must have one pod"),
        ({"completions": 100}, "must have one pod"),
    ],
)
def test_a_job_that_takes_more_is_refused(plane: ControlPlane, fields: Mapping[str, Any], refusal: str) -> None:
    job = deepcopy(dict(JOB))
    job["spec"] |= fields
    assert refusal in said(plane, job)


def test_the_operators_own_priority_class_is_let_through(plane: ControlPlane) -> None:
    job = deepcopy(dict(JOB))
    job["spec"]["template"]["spec"]["priorityClassName"] = "mfu-system-mfu-operator-profiling"
    assert said(plane, job) == ""


@pytest.mark.parametrize(("fields", "refusal"), POD.values(), ids=POD)
def test_a_pod_that_wants_more_is_refused(plane: ControlPlane, fields: Mapping[str, Any], refusal: str) -> None:
    job = deepcopy(dict(JOB))
    job["spec"]["template"]["spec"] |= fields
    assert refusal in said(plane, job)


@pytest.mark.parametrize(("context", "refusal"), CONTAINER.values(), ids=CONTAINER)
@pytest.mark.parametrize("place", ["containers", "initContainers"])
def test_a_container_that_wants_more_is_refused(
    plane: ControlPlane, context: Mapping[str, Any], refusal: str, place: str
) -> None:
    job = deepcopy(dict(JOB))
    job["spec"]["template"]["spec"][place] = [{"name": "train", "image": "x:1", "securityContext": context}]
    if place != "containers":
        job["spec"]["template"]["spec"]["containers"] = [{"name": "other", "image": "x:1"}]
    assert re.search(refusal, said(plane, job))


def test_a_job_that_would_adopt_pods_of_others_is_refused(plane: ControlPlane) -> None:
    job = deepcopy(dict(JOB))
    job["spec"] |= {"manualSelector": True, "selector": {"matchLabels": {"app": "db"}}}
    job["spec"]["template"]["metadata"] = {"labels": {"app": "db"}}
    assert "selector of its own" in said(plane, job)


@pytest.mark.parametrize("place", ["containers", "initContainers"])
def test_a_port_of_the_node_is_refused(plane: ControlPlane, place: str) -> None:
    job = deepcopy(dict(JOB))
    own = {"name": "own", "image": "x:1", "ports": [{"containerPort": 80, "hostPort": 80}]}
    job["spec"]["template"]["spec"] |= {"containers": [{"name": "train", "image": "x:1"}], place: [own]}
    assert "a port of the node" in said(plane, job)


def with_secret(where: str, fields: Mapping[str, Any], containers: str = "containers") -> dict[str, Any]:
    job = deepcopy(dict(JOB))
    pod = job["spec"]["template"]["spec"]
    if containers != "containers":
        pod[containers] = [{"name": "first", "image": "x:1"}]
    (pod if where == "volumes" else pod[containers][0])[where] = [fields]
    return job


@pytest.mark.parametrize(("where", "fields"), SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("containers", ["containers", "initContainers"])
def test_a_secret_of_others_is_refused_and_an_administrator_permits_copies_that_have_one(
    plane: ControlPlane, where: str, fields: Mapping[str, Any], containers: str
) -> None:
    job = with_secret(where, fields, containers)
    assert "has a Secret" in said(plane, job)
    assert said(plane, job, GRANTED) == ""


@pytest.mark.parametrize("name", ["mfu-capture", "forge"])
def test_the_token_of_captures_and_what_the_chart_lists_are_no_secrets_of_others(
    plane: ControlPlane, name: str
) -> None:
    for where, fields in SECRETS.values():
        named = json.loads(json.dumps(fields).replace("payroll", name))
        if named.get("csi", {}).get("driver") not in ("secrets-store.csi.k8s.io", "csi.spiffe.io"):
            assert said(plane, with_secret(where, named)) == ""


def test_a_drivers_volume_without_a_secret_is_let_through(plane: ControlPlane) -> None:
    volumes: list[dict[str, Any]] = [
        {"csi": {"driver": "gcsfuse.csi"}},
        {"nfs": {"server": "10.0.0.1", "path": "/"}},
        {"emptyDir": {}},
    ]
    for volume in volumes:
        assert said(plane, with_secret("volumes", {"name": "v", **volume})) == ""


def test_a_profile_of_apparmor_is_not_taken_off_by_its_old_annotation(plane: ControlPlane) -> None:
    job = deepcopy(dict(JOB))
    off = {"container.apparmor.security.beta.kubernetes.io/train": "unconfined"}
    job["spec"]["template"]["metadata"] = {"annotations": off}
    assert "leaves the confinement" in said(plane, job)


def test_no_secret_is_read_but_those_that_the_chart_names(plane: ControlPlane) -> None:
    core: Any = client.CoreV1Api(plane.operator)
    plane.kubectl.apply(
        *({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}}
          for namespace, name in ((TEAM, "forge"), (TEAM, "payroll"), (NAMESPACE, "forge")))
    )  # fmt: skip
    core.read_namespaced_secret("forge", TEAM)
    for name, namespace in (("payroll", TEAM), ("forge", NAMESPACE)):
        with pytest.raises(ApiException, match="Forbidden"):
            core.read_namespaced_secret(name, namespace)
    with pytest.raises(ApiException, match="Forbidden"):
        core.list_namespaced_secret(TEAM)

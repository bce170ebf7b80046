"""A profiling pod has no privilege that an administrator did not permit its namespace, whatever the run has."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Stall
from mfu_operator.profiling.job import NOTHING, Permit, profiling_job
from mfu_operator.profiling.privileges import Privilege
from tests.support import worlds
from tests.unit.profiling.test_job import LABELS, OWNER, TEMPLATE

TOKEN = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
CERTIFICATE = {"projected": {"sources": [{"podCertificate": {"signerName": "x/y", "keyType": "ED25519"}}]}}
CASES: list[tuple[Privilege, str, Mapping[str, Any], str]] = [
    (Privilege.PRIVILEGED, "container", {"securityContext": {"privileged": True}}, "container train is privileged"),
    (Privilege.CAPABILITIES, "container", {"securityContext": {"capabilities": {"add": ["CAP_SYS_RAWIO"]}}}, "RAWIO"),
    (Privilege.CAPABILITIES, "container", {"securityContext": {"capabilities": {"add": ["ALL"]}}}, "capabilities ALL"),
    (Privilege.HOST_NAMESPACES, "pod", {"hostPID": True}, "hostPID is true"),
    (Privilege.HOST_NAMESPACES, "pod", {"hostIPC": True}, "hostIPC is true"),
    (Privilege.HOST_PATH, "volume", {"hostPath": {"path": "/"}}, "volume v is / of the node"),
    (Privilege.HOST_PATH, "volume", {"gitRepo": {"repository": "https://x"}}, "volume v is a gitRepo"),
    (Privilege.TOKENS, "volume", TOKEN, "volume v holds a ServiceAccount's token"),
    (Privilege.TOKENS, "volume", CERTIFICATE, "volume v holds a ServiceAccount's token"),
    (Privilege.PROFILES, "container", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "Unconfined"),
    (Privilege.PROFILES, "container", {"securityContext": {"procMount": "Unmasked"}}, "train sets procMount"),
    (Privilege.PROFILES, "pod", {"securityContext": {"sysctls": [{"name": "kernel.shm", "value": "1"}]}}, "sysctls"),
]  # fmt: skip
SECRETS: list[tuple[str, Mapping[str, Any]]] = [
    ("volume", {"secret": {"secretName": "s3"}}),
    ("volume", {"projected": {"sources": [{"secret": {"name": "s3"}}]}}),
    ("volume", {"csi": {"driver": "secrets-store.csi.k8s.io"}}),
    ("volume", {"csi": {"driver": "csi.spiffe.io"}}),
    ("volume", {"csi": {"driver": "juicefs.example", "nodePublishSecretRef": {"name": "s3"}}}),
    ("volume", {"csi": {"driver": "file.csi.azure.com", "volumeAttributes": {"secretName": "share"}}}),
    ("volume", {"azureFile": {"secretName": "share", "shareName": "data"}}),
    ("volume", {"cephfs": {"monitors": ["10.0.0.1"], "secretRef": {"name": "ceph"}}}),
    ("volume", {"rbd": {"monitors": ["10.0.0.1"], "image": "data", "secretRef": {"name": "ceph"}}}),
    ("volume", {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.x", "lun": 0, "secretRef": {"name": "chap"}}}),
    ("volume", {"flexVolume": {"driver": "x/cifs", "secretRef": {"name": "cifs"}}}),
    ("volume", {"storageos": {"volumeName": "data", "secretRef": {"name": "api"}}}),
    ("volume", {"scaleIO": {"gateway": "https://10.0.0.1", "system": "s", "secretRef": {"name": "sio"}}}),
    ("container", {"env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s3", "key": "key"}}}]}),
    ("container", {"envFrom": [{"secretRef": {"name": "s3"}}]}),
]


def template(place: str, fields: Mapping[str, Any], containers: str = "containers") -> dict[str, Any]:
    made: dict[str, Any] = deepcopy(TEMPLATE)
    if place == "pod":
        made["spec"] |= fields
    elif place == "volume":
        made["spec"]["volumes"] = [{"name": "v", **fields}]
    elif containers == "containers":
        made["spec"]["containers"][0] |= fields
    else:
        made["spec"][containers] = [{"name": "train", "image": "x:1", **fields}]
    return made


def launched(of: Mapping[str, Any], permit: Permit = NOTHING, **profiling: Any) -> dict[str, Any]:
    spec = worlds.spec()
    spec = replace(spec, profiling=replace(spec.profiling, **profiling))
    return profiling_job("mfu-gpt-small-1-a1", spec, of, OWNER, "profiler:1", LABELS, "low", permit)


def refusal(of: Mapping[str, Any], permit: Permit = NOTHING, **profiling: Any) -> str:
    with pytest.raises(Stall) as raised:
        launched(of, permit, **profiling)
    assert raised.value.reason == "ProfilingForbidden"
    return raised.value.message


@pytest.mark.parametrize(("privilege", "place", "fields", "said"), CASES)
def test_a_privilege_of_the_run_is_refused_by_its_name(
    privilege: Privilege, place: str, fields: Mapping[str, Any], said: str
) -> None:
    message = refusal(template(place, fields))
    assert said in message
    assert f"permit {privilege} in the chart's profiling.permit" in message


@pytest.mark.parametrize("containers", ["initContainers", "containers"])
def test_no_container_of_the_pod_is_left_out(containers: str) -> None:
    assert "is privileged" in refusal(template("container", {"securityContext": {"privileged": True}}, containers))
    sidecar: dict[str, Any] = deepcopy(TEMPLATE)
    sidecar["spec"]["containers"].append({"name": "cache", "image": "x", "securityContext": {"privileged": True}})
    assert "container cache is privileged" in refusal(sidecar)


@pytest.mark.parametrize(("privilege", "place", "fields", "said"), CASES)
def test_an_administrator_permits_it_for_one_namespace(
    privilege: Privilege, place: str, fields: Mapping[str, Any], said: str
) -> None:
    of = template(place, fields)
    assert launched(of, Permit({"team-a": frozenset({privilege})}))
    refusal(of, Permit({"team-b": frozenset({privilege})}))
    refusal(of, Permit({"team-a": frozenset(set(Privilege) - {privilege})}))


def test_the_network_of_the_node_is_left_behind_and_the_usual_capabilities_are_none() -> None:
    pod = launched(template("pod", {"hostNetwork": True}))["spec"]["template"]["spec"]
    assert "hostNetwork" not in pod
    assert launched(
        template("container", {"securityContext": {"capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}}})
    )


@pytest.mark.parametrize(("place", "fields"), SECRETS)
@pytest.mark.parametrize(
    "own", [{"command": ("cat", "/secret")}, {"image": "own:1"}, {"env": {"LD_PRELOAD": "x"}}], ids=str
)
def test_secrets_are_refused_where_the_baselines_author_says_what_runs(
    place: str, fields: Mapping[str, Any], own: Mapping[str, Any]
) -> None:
    of = template(place, fields)
    assert "Secret" in refusal(of, **own)
    assert launched(of, Permit({"team-a": frozenset({Privilege.SECRETS})}), **own)


@pytest.mark.parametrize(("place", "fields"), SECRETS)
def test_a_copy_that_runs_what_the_run_does_keeps_its_secrets_where_an_administrator_permits_it(
    place: str, fields: Mapping[str, Any]
) -> None:
    of = template(place, fields)
    assert "permit copiedSecrets in the chart's profiling.permit" in refusal(of)
    for permitted in (Privilege.COPIED_SECRETS, Privilege.SECRETS):
        assert launched(of, Permit({"team-a": frozenset({permitted})}))
    assert "permit secrets " in refusal(of, Permit({"team-a": frozenset({Privilege.COPIED_SECRETS})}), command=("id",))


def test_the_token_of_captures_is_no_secret_of_others() -> None:
    of = template("volume", {"secret": {"secretName": "mfu-capture"}})
    assert launched(of)
    assert "Secret" in refusal(of, command=("cat", "/token"))


def test_a_drivers_volume_without_a_secret_is_none() -> None:
    assert launched(template("volume", {"csi": {"driver": "gcsfuse.csi", "volumeAttributes": {"bucketName": "data"}}}))
    assert launched(template("volume", {"nfs": {"server": "10.0.0.1", "path": "/data"}}))


def test_a_priority_class_that_is_not_listed_is_refused() -> None:
    assert "'system-node-critical' is not among" in refusal(TEMPLATE, priority_class="system-node-critical")
    assert launched(TEMPLATE, priority_class="low")
    assert launched(TEMPLATE, Permit(priority_classes=("high",)), priority_class="high")

"""etcd and an API server alone, with the chart's rights for the operator, for as long as a test needs them."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from tests.cluster.alone import alone
from tests.cluster.controlplane import ApiServer
from tests.cluster.etcd import Etcd
from tests.cluster.helm import Helm
from tests.cluster.kubeconfig import write_kubeconfig
from tests.cluster.kubectl import Kubectl
from tests.cluster.layout import ALONE
from tests.cluster.pki import Authority, Certificate
from tests.cluster.toolchain import go_binaries

ONE_PROCESS = pytest.mark.xdist_group("control plane")
"""Tests that use it run in one process: two would wait for each other."""

CHART = Path(__file__).parents[2] / "charts" / "mfu-operator"
NAMESPACE, TEAM = "mfu-system", "team-a"
NO_VALUES: Mapping[str, Any] = {}
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:mfu-operator"
RIGHTS = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


@dataclass(frozen=True)
class ControlPlane:
    """A running API server. `roles` are those of the chart that the operator has, as rendered."""

    kubectl: Kubectl
    administrator: client.ApiClient
    operator: client.ApiClient
    operator_kubeconfig: Path
    roles: tuple[dict[str, Any], ...]


@contextmanager
def control_plane(
    state: Path, kinds: Collection[str] = RIGHTS, values: Mapping[str, Any] = NO_VALUES
) -> Iterator[ControlPlane]:
    """Start, install the definition and objects of the chart of these kinds, and stop again. One at a time on a
    machine: its ports are fixed."""
    with alone():
        yield from _started(state, kinds, values)


def _started(state: Path, kinds: Collection[str], values: Mapping[str, Any]) -> Iterator[ControlPlane]:
    authority, binaries = Authority(state / "pki"), go_binaries("kubernetes")
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated")
    etcd = Etcd(binaries, state, authority, ALONE)
    api = ApiServer(binaries, state, authority, etcd, ALONE)
    try:
        etcd.start()
        etcd.ready()
        api.start()
        api.ready()
        admin = _kubeconfig(state, authority, authority.issue("faults-admin", groups=("system:masters",)))
        operator = _kubeconfig(state, authority, authority.issue(ACCOUNT, groups=groups))
        kubectl = Kubectl(admin, state)
        kubectl.run("apply", "--server-side", f"--filename={CHART / 'crds'}")
        kubectl.await_established("trainingbaselines.mfu-operator.io")
        rights = rendered(state, kinds, values)
        spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, TEAM)]
        kubectl.apply(*spaces, *rights)
        bound = {each["roleRef"]["name"] for each in rights if "roleRef" in each}
        roles = tuple(each for each in rights if each["kind"] in ("ClusterRole", "Role") and named(each) in bound)
        yield ControlPlane(kubectl, _client(admin), _client(operator), operator, roles)
    finally:
        api.stop()
        etcd.stop()


def rendered(state: Path, kinds: Collection[str], values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The chart's objects of some kinds, with everything that it can grant to the operator."""
    every = {"secrets": {TEAM: ["forge"]}, "gitops": {"argocd": True, "flux": True}, **values}
    objects = yaml.safe_load_all(Helm(state).template("mfu-operator", CHART, NAMESPACE, every))
    return [each for each in objects if each and each["kind"] in kinds]


def named(manifest: Mapping[str, Any]) -> str:
    """The name of an object."""
    return str(manifest["metadata"]["name"])


def _kubeconfig(state: Path, authority: Authority, identity: Certificate) -> Path:
    return write_kubeconfig(state / f"{identity.certificate.stem}.kubeconfig", authority, identity, ALONE.api_url)


def _client(kubeconfig: Path) -> client.ApiClient:
    unproxied: Any = client.Configuration(proxy="")
    load: Any = config.load_kube_config
    load(str(kubeconfig), client_configuration=unproxied)
    return client.ApiClient(unproxied)

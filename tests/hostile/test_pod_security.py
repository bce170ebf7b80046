"""What the API server's own Pod Security admission says of the pods that the chart and the operator make."""

from collections.abc import Mapping
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.faults.control_plane import ControlPlane, rendered
from tests.unit.profiling.test_job import made
from tests.unit.profiling.test_live_job import job

pytestmark = pytest.mark.cluster

COORDINATOR: Mapping[str, Any] = job()["spec"]["template"]["spec"]
COPY: Mapping[str, Any] = made()["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def operator(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The pod of the Deployment."""
    [deployment] = rendered(tmp_path_factory.mktemp("chart"), ("Deployment",), {})
    found: Mapping[str, Any] = deployment["spec"]["template"]["spec"]
    return found


def refused(plane: ControlPlane, level: str, pod: Mapping[str, Any]) -> str:
    """What the API server says of a pod in a namespace of this level: "" where it is taken. Nothing of it is stored."""
    plane.kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": level, "labels": {"pod-security.kubernetes.io/enforce": level}},
        },
        *(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": level}}
            for name in ("default", "mfu-operator")
        ),
    )
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": dict(pod)}
    core: Any = client.CoreV1Api(plane.administrator)
    try:
        core.create_namespaced_pod(level, body, dry_run="All")
    except ApiException as error:
        return str(error.body)
    return ""


def test_the_operator_and_the_coordinator_are_restricted(plane: ControlPlane, operator: Mapping[str, Any]) -> None:
    assert refused(plane, "restricted", operator) == ""
    assert refused(plane, "restricted", COORDINATOR) == ""


def test_the_copy_of_a_run_without_privileges_is_within_the_baseline(plane: ControlPlane) -> None:
    assert refused(plane, "baseline", COPY) == ""


def test_the_levels_are_asked(plane: ControlPlane) -> None:
    assert "violates PodSecurity" in refused(plane, "restricted", COPY)
    assert "violates PodSecurity" in refused(plane, "baseline", {**COPY, "hostPID": True})

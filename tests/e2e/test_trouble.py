"""Bad input gets a clear answer: each its own reason and a message with the remedy, and nothing is lost."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest

from tests.cluster.process import NotReady, await_condition
from tests.demo.environment import Environment

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

NAMESPACE = "trouble"
KIND = "trainingbaselines.mfu-operator.io"

Declare = Callable[..., str]


@pytest.fixture(scope="module")
def idle_job(environment: Environment) -> None:
    """A Job that exists and exports nothing."""
    container = {
        "name": "idle",
        "image": environment.images["demo-workload"].reference,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    environment.kubectl.apply(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "idle", "namespace": NAMESPACE},
            "spec": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,
                        "containers": [container],
                    }
                }
            },
        }
    )


@pytest.fixture
def declare(environment: Environment, idle_job: None) -> Iterator[Declare]:
    """Apply a baseline with changes to its spec; its name. Deleted afterwards."""
    made: list[str] = []

    def apply(name: str, **changes: Any) -> str:
        spec: dict[str, Any] = {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "idle"},
            "comparable": {"model": "idle"},
            "baseline": {"values": {"mfu": 0.4}},
        }
        manifest = {
            "apiVersion": "mfu-operator.io/v1alpha1",
            "kind": "TrainingBaseline",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": deepcopy(spec) | changes,
        }
        environment.kubectl.apply(manifest)
        made.append(name)
        return name

    yield apply
    for name in made:
        environment.kubectl.delete(KIND, name, NAMESPACE)


def condition(environment: Environment, name: str, kind: str, reason: str) -> Mapping[str, Any]:
    """Wait for a condition of a reason; the condition."""
    seen: list[Mapping[str, Any]] = []

    def there() -> bool:
        found = environment.kubectl.get(KIND, name, NAMESPACE) or {}
        seen[:] = [each for each in found.get("status", {}).get("conditions", []) if each["type"] == kind]
        return any(each["reason"] == reason for each in seen)

    try:
        await_condition(f"{kind}={reason} of {name}", there, timeout_s=180)
    except NotReady as late:
        late.add_note(f"seen last: {seen}")
        raise
    return seen[0]


def test_an_unknown_workload_is_named(environment: Environment, declare: Declare) -> None:
    name = declare("unknown", workload={"apiVersion": "batch/v1", "kind": "Job", "name": "nobody"})
    found = condition(environment, name, "MeasurementFailed", "WorkloadNotFound")
    assert "nobody" in found["message"] and "spec.workload" in found["message"]


def test_a_job_without_metrics_is_said_and_is_not_healthy(environment: Environment, declare: Declare) -> None:
    name = declare("silent")
    found = condition(environment, name, "Ready", "NoSeries")
    assert found["status"] == "False" and "kubectl mfu doctor" in found["message"]


def test_a_wrong_prometheus_address_is_said(environment: Environment, declare: Declare) -> None:
    name = declare("lost", metrics={"prometheus": {"address": "http://127.0.0.1:9"}})
    found = condition(environment, name, "MeasurementFailed", "PrometheusUnreachable")
    assert "spec.metrics.prometheus.address" in found["message"]


def test_missing_credentials_are_said_with_what_to_create(environment: Environment, declare: Declare) -> None:
    metrics = {"prometheus": {"address": environment.prometheus.url, "secretRef": {"name": "nothing"}}}
    name = declare("keyless", metrics=metrics)
    found = condition(environment, name, "MeasurementFailed", "CredentialsMissing")
    assert "'nothing'" in found["message"] and "key token" in found["message"]


def test_what_was_wrong_is_forgotten_once_it_is_mended(environment: Environment, declare: Declare) -> None:
    name = declare("mended", workload={"apiVersion": "batch/v1", "kind": "Job", "name": "nobody"})
    condition(environment, name, "MeasurementFailed", "WorkloadNotFound")
    declare("mended")
    condition(environment, name, "Ready", "NoSeries")

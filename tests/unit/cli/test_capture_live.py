"""A capture by hand is the Job that the operator would launch, and its account; and the policies for it."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.api.group import MANAGED_BY_LABEL
from mfu_operator.cli.capture_live import BY_HAND, capture_now
from mfu_operator.cli.main import cli
from mfu_operator.errors import AskPerson, Retry, Unreadable
from mfu_operator.model.workload import JobPhase
from mfu_operator.profiling.live.request import CaptureRequest, decode
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.cluster_double import ClusterDouble
from tests.unit.reconcile.test_live_way import RUN

BODY: dict[str, Any] = {
    "apiVersion": "mfu-operator.io/v1alpha1",
    "kind": "TrainingBaseline",
    "metadata": {"name": "gpt", "namespace": "team-a", "uid": "u-1", "generation": 1},
    "spec": {
        "workload": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "gpt"},
        "comparable": {"model": "gpt"},
        "baseline": {"values": {"mfu": 0.4}},
    },
}


@pytest.fixture
def cluster() -> ClusterDouble:
    made = ClusterDouble()
    made.workloads["PyTorchJob", "team-a", "gpt"] = RUN
    return made


def captured(cluster: ClusterDouble, ends: Callable[[str], None], told: list[str] | None = None) -> Any:
    def sleep(_: float) -> None:
        ends(list(cluster.jobs)[-1][1])

    return capture_now(cluster, BODY, "profiler:1", 2, 8, (told if told is not None else []).append, sleep, lambda: 1e9)


def test_the_job_is_launched_awaited_and_its_account_told(cluster: ClusterDouble) -> None:
    told: list[str] = []
    message = compact.encode(worlds.SLOW_STEP)
    found = captured(cluster, lambda name: cluster.becomes(name, phase=JobPhase.SUCCEEDED, result=message), told)
    assert found.parts_ns == compact.decode(message).parts_ns
    assert "asks 2 of 3 pods" in told[0]
    (manifest,) = cluster.manifests.values()
    assert manifest["metadata"]["labels"][MANAGED_BY_LABEL] == BY_HAND
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    request: CaptureRequest = decode(manifest["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"])
    assert (request.ranks, request.steps, request.pods) == (2, 8, 3)


def test_what_the_job_says_of_a_failure_is_told(cluster: ClusterDouble) -> None:
    message = compact.encode_failure("TokenRefused", "rank 0: TokenRefused")
    with pytest.raises(Unreadable) as caught:
        captured(cluster, lambda name: cluster.becomes(name, phase=JobPhase.FAILED, result=message))
    assert caught.value.reason == "TokenRefused"


def test_a_workload_that_is_not_there_or_would_be_copied_launches_nothing(cluster: ClusterDouble) -> None:
    cluster.workloads.clear()
    with pytest.raises(Retry):
        captured(cluster, lambda name: None)
    spec = {"pytorchReplicaSpecs": {"Worker": {"template": worlds.workload().template}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "gpt"}, "spec": spec}
    cluster.workloads["PyTorchJob", "team-a", "gpt"] = worlds.workload(documents=(job,))
    with pytest.raises(AskPerson) as caught:
        captured(cluster, lambda name: None)
    assert caught.value.reason == "NotLive"
    assert cluster.jobs == {}


def test_policies_let_the_coordinator_in_at_the_ranks_ports_and_nowhere_else() -> None:
    result = CliRunner().invoke(cli, ["capture", "--print-policies", "-n", "team-a"])
    assert result.exit_code == 0
    coordinator, ranks = yaml.safe_load_all(result.output)
    assert {each["metadata"]["namespace"] for each in (coordinator, ranks)} == {"team-a"}
    assert coordinator["spec"]["podSelector"] == {"matchLabels": {"mfu-operator.io/capture": "coordinator"}}
    assert coordinator["spec"]["ingress"] == []
    (rule,) = ranks["spec"]["ingress"]
    assert rule["from"] == [{"podSelector": coordinator["spec"]["podSelector"]}]
    assert (rule["ports"][0]["port"], rule["ports"][0]["endPort"]) == (9400, 9463)
    assert "Untested" in result.output


@pytest.mark.parametrize("words", [[], ["gpt", "--dry-run"], ["gpt", "-f", "pyproject.toml"], ["-f", "pyproject.toml"]])
def test_what_is_neither_the_one_nor_the_other_is_wrong_usage(words: list[str]) -> None:
    assert CliRunner().invoke(cli, ["capture", *words]).exit_code == 2

"""A capture by hand is the Job that the operator would launch, and its account; and the policies for it."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.api.group import MANAGED_BY_LABEL
from mfu_operator.cli.capture.by_hand import BY_HAND, capture_now
from mfu_operator.cli.capture.held_traces import HOLD_S, HeldTraces
from mfu_operator.cli.main import cli
from mfu_operator.errors import AskPerson, Retry, Stall, Unreadable
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

    return capture_now(
        cluster, BODY, "profiler:1", 2, 8, (told if told is not None else []).append, None, sleep, lambda: 1e9
    )


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


def test_a_capture_by_hand_is_neither_refused_for_a_spent_budget_nor_charged_to_it(cluster: ClusterDouble) -> None:
    spent = {"job": "mfu-gpt-1", "launchedAt": "2001-09-09T01:00:00Z", "endsAt": "2001-09-09T01:05:00Z"}
    spec = {**BODY["spec"], "profiling": {"budget": {"capturesPerDay": 1}}}
    body = {**BODY, "spec": spec, "status": {"launches": [spent]}}
    done = compact.encode(worlds.SLOW_STEP)

    def sleep(_: float) -> None:
        cluster.becomes(list(cluster.jobs)[-1][1], phase=JobPhase.SUCCEEDED, result=done)

    assert capture_now(cluster, body, "profiler:1", 2, 8, lambda _: None, None, sleep, lambda: 1e9).mean_ns > 0
    assert body["status"] == {"launches": [spent]}


@pytest.mark.parametrize("jumps_s", [-1e6, 1e6])
def test_a_clock_that_is_set_neither_ends_the_wait_nor_prolongs_it(cluster: ClusterDouble, jumps_s: float) -> None:
    steady_s, wall_s = [0.0], [1e9]

    def sleep(seconds: float) -> None:
        steady_s[0] += 100 * seconds
        wall_s[0] += jumps_s

    def asked() -> Any:
        clocks = (sleep, lambda: wall_s[0], lambda: steady_s[0])
        return capture_now(cluster, BODY, "profiler:1", 2, 8, lambda _: None, None, *clocks)

    with pytest.raises(Retry) as caught:
        asked()
    assert caught.value.reason == "DeadlineExceeded"
    assert steady_s[0] > 300


def pod_of(files: dict[str, bytes]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """A pod that `kubectl exec` reaches: `ls`, `cat` and `touch` in the folder of held traces."""

    def run(words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes], **_: Any) -> subprocess.CompletedProcess[bytes]:
        command, path = words[-2:]
        name = path.rpartition("/")[2]
        if command == "touch":
            files[name] = b""
        os.write(stdout.fileno(), " ".join(files).encode() if command == "ls" else files.get(name, b""))
        if command != "cat" or name in files:
            return subprocess.CompletedProcess(words, 0)
        os.write(stderr.fileno(), b"no such file")
        return subprocess.CompletedProcess(words, 1)

    return run


def test_traces_are_fetched_once_all_are_there_and_the_job_may_end_then(cluster: ClusterDouble, tmp_path: Path) -> None:
    told: list[str] = []
    files = {"rank-0.json.gz": b"zero"}
    traces = HeldTraces(tmp_path, told.append, pod_of(files))
    message = compact.encode(worlds.SLOW_STEP)

    def sleep(_: float) -> None:
        name = list(cluster.jobs)[-1][1]
        if "fetched" in files:
            cluster.becomes(name, phase=JobPhase.SUCCEEDED, result=message)
        elif cluster.jobs["team-a", name].phase is JobPhase.RUNNING:
            assert traces.fetched == (), "before all of them are there"
            files.update({"rank-1.json.gz": b"one", "complete": b""})
        else:
            cluster.becomes(name, phase=JobPhase.RUNNING)

    capture_now(cluster, BODY, "profiler:1", 2, 8, told.append, traces, sleep, lambda: 1e9)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {
        "rank-0.json.gz": b"zero",
        "rank-1.json.gz": b"one",
    }
    (manifest,) = cluster.manifests.values()
    request = decode(manifest["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"])
    assert request.hold_s == HOLD_S
    assert manifest["spec"]["activeDeadlineSeconds"] == request.deadline_s + HOLD_S


def test_without_kubectl_or_with_a_trace_that_cannot_be_read_it_is_told(tmp_path: Path) -> None:
    def missing(*_: Any, **__: Any) -> subprocess.CompletedProcess[bytes]:
        raise FileNotFoundError

    def hanging(words: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        raise subprocess.TimeoutExpired(list(words), 1)

    def cut(words: Sequence[str], **given: Any) -> subprocess.CompletedProcess[bytes]:
        listed = pod_of({"rank-0.json.gz": b"", "complete": b""})
        return listed(words, **given) if words[-2] == "ls" else pod_of({})(words, **given)

    for run, error in ((missing, Stall), (hanging, Retry), (cut, Retry)):
        with pytest.raises(error):
            HeldTraces(tmp_path, lambda _: None, run).fetch("team-a", "mfu-hand-gpt-1")
    assert list(tmp_path.iterdir()) == []


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

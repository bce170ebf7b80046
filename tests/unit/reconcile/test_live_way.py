"""A running job that serves the capture API is captured as it runs: no copy, no restart, however many pods."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry
from mfu_operator.model import facts
from mfu_operator.model.baseline import Profiling, WorkloadRef
from mfu_operator.model.workload import Pod, Workload
from mfu_operator.profiling.live.job import REQUEST_VARIABLE
from mfu_operator.profiling.live.request import CaptureRequest, decode
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record
from mfu_operator.reconcile.healthy import profile_once
from mfu_operator.reconcile.profile import is_outdated
from mfu_operator.reconcile.way import Copied, Live, way_of
from tests.support import worlds
from tests.support.worlds import ailing, incident, spec, world
from tests.unit.reconcile.stories import story_world

UNPROFILED = replace(worlds.SETTLED, healthy_profile=None)
SECRET = {"name": "token", "secret": {"secretName": "mfu-capture"}}
CONTAINER: dict[str, Any] = {
    "name": "pytorch",
    "image": worlds.IMAGE,
    "command": ["mfu_probe", "run", "--", "torchrun", "--nproc-per-node=8", "train.py"],
    "env": [{"name": "MFU_PROBE_TOKEN_FILE", "value": "/var/run/mfu/token"}],
    "volumeMounts": [{"name": "token", "mountPath": "/var/run/mfu"}],
    "resources": {"limits": {"nvidia.com/gpu": 8}},
}
QUEUE = {"kueue.x-k8s.io/queue-name": "research"}
TEMPLATE = {"spec": {"containers": [CONTAINER], "volumes": [SECRET]}}
JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "gpt", "labels": QUEUE},
    "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": TEMPLATE}}},
}
SPEC = spec(workload=WorkloadRef("kubeflow.org/v1", "PyTorchJob", "team-a", "gpt"))


def pod(index: int, node: str | None = None, container: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    name = f"gpt-worker-{index}"
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": str(index)}
    manifest = {
        "metadata": {"name": name, "uid": f"uid-{index}", "labels": labels, **metadata},
        "spec": {"containers": [container or CONTAINER], "volumes": [SECRET], "nodeName": node or f"node-{index}"},
        "status": {"phase": "Running", "podIP": f"10.0.0.{index + 1}"},
    }
    return Pod(name, node or f"node-{index}", "Running", True, worlds.STARTED_S, 0, (worlds.IMAGE,), manifest)


def running(*pods: Pod, job: dict[str, Any] | None = None) -> Workload:
    return Workload("run", 0.0, TEMPLATE, pods=pods, pod_count=3, documents=(job or JOB,))


RUN = running(*(pod(index) for index in range(3)))


def launched(**changes: Any) -> tuple[EnsureJob, CaptureRequest]:
    found = profile_once(world(UNPROFILED, **({"workload": RUN, "spec": SPEC} | changes)))
    assert isinstance(found, EnsureJob)
    environment = found.manifest["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each["name"] for each in environment] == [REQUEST_VARIABLE]
    return found, decode(environment[0]["value"])


def refused(run: Workload) -> Retry:
    with pytest.raises(Retry) as caught:
        profile_once(world(UNPROFILED, workload=run, spec=SPEC))
    return caught.value


def test_a_healthy_run_of_several_pods_is_captured_while_it_runs() -> None:
    _, request = launched()
    assert [(one.uid, one.ip, one.node, one.rank, one.port) for one in request.targets] == [
        (f"uid-{index}", f"10.0.0.{index + 1}", f"node-{index}", 8 * index, 9400) for index in range(3)
    ]
    assert (request.pods, request.steps, request.deadline_s) == (3, 12, 900.0)


def test_the_jobs_name_is_the_captures_and_derived_as_ever() -> None:
    effect, request = launched()
    assert request.id == effect.profile.job == effect.manifest["metadata"]["name"]


def test_the_job_waits_in_the_runs_own_queue_or_in_the_one_that_the_spec_names() -> None:
    assert launched()[0].manifest["metadata"]["labels"].items() >= QUEUE.items()
    other, _ = launched(spec=replace(SPEC, profiling=Profiling(queue="spare")))
    assert other.manifest["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "spare"


def test_an_incident_of_it_is_captured_the_same_way() -> None:
    found = decide(story_world(ailing(incident()), {"workload": RUN, "spec": SPEC}))
    assert isinstance(found, EnsureJob)
    assert found.manifest["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


def test_pods_of_another_role_without_an_address_or_with_capture_off_are_not_asked() -> None:
    other = pod(5)
    labels = other.manifest["metadata"]["labels"]
    other = replace(other, manifest={**other.manifest, "metadata": {"labels": {**labels, "training.kubeflow.org/replica-type": "Evaluator"}}})  # fmt: skip  # noqa: E501
    nowhere = pod(1)
    nowhere = replace(nowhere, manifest={**nowhere.manifest, "status": {"phase": "Running"}})
    off = pod(2, annotations={"mfu-operator.io/capture": "off"})
    _, request = launched(workload=running(pod(0), nowhere, off, other))
    assert [one.name for one in request.targets] == ["gpt-worker-0"]


def test_a_port_of_its_own_is_told() -> None:
    declared = {**CONTAINER, "ports": [{"name": "mfu-probe", "containerPort": 9500}]}
    moved = {**CONTAINER, "env": [*CONTAINER["env"], {"name": "MFU_PROBE_PORT", "value": "9600"}]}
    _, request = launched(workload=running(pod(0, container=declared), pod(1, container=moved)))
    assert [one.port for one in request.targets] == [9500, 9600]


def test_the_sidecars_port_is_told_where_the_sidecar_answers() -> None:
    one = pod(0)
    sidecar = {
        "name": "mfu-capture",
        "restartPolicy": "Always",
        "ports": [{"name": "mfu-probe", "containerPort": 9700}],
    }
    beside = {**one.manifest, "spec": {**one.manifest["spec"], "initContainers": [sidecar]}}
    _, request = launched(workload=running(replace(one, manifest=beside)))
    assert [each.port for each in request.targets] == [9700]


def test_of_more_than_64_pods_one_of_each_node_is_told() -> None:
    many = running(*(pod(index, node=f"node-{index // 4}") for index in range(80)))
    _, request = launched(workload=many)
    assert len(request.targets) == 20
    assert request.pods == 80


def test_more_steps_than_a_capture_takes_are_as_many_as_it_takes() -> None:
    _, request = launched(spec=replace(SPEC, profiling=Profiling(steps=100)))
    assert request.steps == 30


def test_what_is_not_instrumented_is_told_with_the_patch_for_this_very_workload() -> None:
    bare = {key: value for key, value in CONTAINER.items() if key not in ("env", "volumeMounts")}
    bare["command"] = ["torchrun", "train.py"]
    job = {**JOB, "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 3, "template": {"spec": {"containers": [bare]}}}}}}  # fmt: skip  # noqa: E501
    run = replace(running(*(pod(index, container=bare) for index in range(3)), job=job))
    error = refused(run)
    assert error.reason == "NotInstrumented"
    assert "/spec/pytorchReplicaSpecs/Worker/template/spec/containers/0" in error.message
    assert "kubectl create secret generic mfu-capture" in error.message


def test_a_token_without_a_port_says_which_half_is_missing() -> None:
    half = {**CONTAINER, "command": ["torchrun", "train.py"]}
    way = way_of(world(UNPROFILED, workload=running(*(pod(index, container=half) for index in range(3))), spec=SPEC))
    assert isinstance(way, Retry)
    assert way.reason == "NotInstrumented"
    assert "neither declares port mfu-probe" in way.message


def test_capture_that_is_off_is_a_reason_of_its_own() -> None:
    off = {**JOB, "metadata": {"name": "gpt", "annotations": {"mfu-operator.io/capture": "off"}}}
    run = running(*(pod(index) for index in range(3)), job=off)
    assert refused(run).reason == "CaptureOff"


def test_a_command_that_the_spec_gives_is_copied_as_before() -> None:
    way = way_of(world(UNPROFILED, workload=RUN, spec=replace(SPEC, profiling=Profiling(command=("python", "one.py")))))
    assert isinstance(way, Copied)


@pytest.mark.parametrize(("producer", "again"), [("nsys", True), ("torch.profiler", False), (None, False)])
def test_an_account_of_another_recorder_is_taken_anew_while_all_is_well(producer: str | None, again: bool) -> None:
    account = worlds.FAST_STEP
    if producer is not None:
        account = replace(account, facts=account.facts | {facts.PRODUCER: producer})
    healthy = replace(worlds.HEALTHY_PROFILE, account=account, image=worlds.DEFAULTS.profiler_image)
    now = world(replace(worlds.SETTLED, healthy_profile=healthy), workload=RUN, spec=SPEC)
    assert is_outdated(now, healthy) is again
    if again:
        assert isinstance(profile_once(now), EnsureJob)


def test_accounts_of_other_numbers_of_ranks_are_not_compared() -> None:
    slow = replace(worlds.SLOW_STEP, facts=worlds.SLOW_STEP.facts | {facts.RANKS_RECORDED: 2.0})
    fast = replace(worlds.FAST_STEP, facts=worlds.FAST_STEP.facts | {facts.RANKS_RECORDED: 3.0})
    status = ailing(incident(profile=replace(worlds.PROFILED, account=slow)))
    status = replace(status, healthy_profile=replace(worlds.HEALTHY_PROFILE, account=fast))
    said = decide(story_world(status, {"workload": RUN, "spec": SPEC}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    diagnosis = said.status.incident.diagnosis
    assert diagnosis is not None
    assert not diagnosis.comparable
    assert any("number of recorded ranks differs: 2, baseline 3" in why for why in diagnosis.not_comparable_because)


def test_live_is_not_taken_where_nobody_has_an_address() -> None:
    none = [replace(each, manifest={**each.manifest, "status": {"phase": "Running"}}) for each in RUN.pods]
    way = way_of(world(UNPROFILED, workload=running(*none), spec=SPEC))
    assert isinstance(way, Retry)
    assert way.reason == "NoPodToCapture"


def test_the_way_says_its_recorder() -> None:
    way = way_of(world(UNPROFILED, workload=RUN, spec=SPEC))
    assert isinstance(way, Live)
    assert way.recorder == "torch.profiler"

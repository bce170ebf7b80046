"""The way by which a workload is captured: which half is missing, what a copy may not touch, what to add."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import BaselineSpec, Comparable, WorkloadRef
from mfu_operator.profiling.plan import encode, plan_of
from tests.unit.profiling.plan.manifests import ROLES, RUNTIME, TRAIN_JOB, applied, container, job, template

TOKEN = {"name": "MFU_PROBE_TOKEN_FILE", "value": "/run/mfu/token"}
TOKEN_MOUNT = {"name": "token", "mountPath": "/run/mfu"}
TOKEN_VOLUME = {"name": "token", "secret": {"secretName": "mfu-capture", "optional": True}}
PORT = {"name": "mfu-probe", "containerPort": 9400}
SHARED = {"name": "kineto", "emptyDir": {"medium": "Memory", "sizeLimit": "256Mi"}}
DAEMON = [
    {"name": "KINETO_USE_DAEMON", "value": "1"},
    {"name": "KINETO_IPC_SOCKET_DIR", "value": "/kineto"},
    {"name": "KINETO_ONDEMAND_TRACE_DIR", "value": "/kineto/traces"},
]
SWITCHED_OFF = {"name": "KINETO_USE_DAEMON", "value": "0"}
KINETO_MOUNT = {"name": "kineto", "mountPath": "/kineto"}


def plan(*documents: Mapping[str, Any], pods: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    return encode(plan_of(documents, pods))


def reason(found: dict[str, Any], recorder: str) -> str:
    return next(str(each["reason"]) for each in found["refused"] if each["recorder"] == recorder)


def probed(**changes: Any) -> dict[str, Any]:
    """A Job of two pods whose training container has the port, the token and its mount, but for the changes."""
    fields: dict[str, Any] = {"ports": [PORT], "env": [TOKEN], "volumeMounts": [TOKEN_MOUNT], **changes}
    return job(template(container("train", **fields), volumes=[TOKEN_VOLUME]), parallelism=2)


def sidecar(**changes: Any) -> dict[str, Any]:
    fields = {"restartPolicy": "Always", "env": [TOKEN], "volumeMounts": [TOKEN_MOUNT, KINETO_MOUNT], **changes}
    return container("mfu-capture", command=None, resources=None, **fields)


def with_daemon(
    env: list[dict[str, str]] = DAEMON, beside: dict[str, Any] | None = None, volume: dict[str, Any] = SHARED
) -> dict[str, Any]:
    """A Job of two pods whose training container asks Kineto's daemon, with the sidecar beside it."""
    pod = template(container("train", env=env, volumeMounts=[KINETO_MOUNT]), volumes=[volume, TOKEN_VOLUME])
    if beside is not None:
        pod["spec"]["initContainers"] = [beside]
    return job(pod, parallelism=2)


def test_port_and_token_make_a_job_live() -> None:
    found = plan(probed())
    assert (found["way"], found["recorder"], found["instrument"], found["copy"]) == (
        "Live",
        "torch.profiler",
        None,
        None,
    )
    assert [each["way"] for each in found["refused"]] == ["Live", "Copy"]


def test_the_command_that_runs_the_probe_needs_no_port() -> None:
    command = ["mfu_probe", "run", "--", "torchrun", "train.py"]
    assert plan(probed(ports=None, command=command))["way"] == "Live"
    assert plan(probed(ports=None, command=["python", "-m", "mfu_probe", "run", "--", "x"]))["way"] == "Live"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"env": None}, "TokenMissing"),
        ({"volumeMounts": None}, "TokenMissing"),
        ({"ports": None}, "PortMissing"),
        ({"ports": None, "env": None}, "NotInstrumented"),
    ],
)
def test_half_an_instrumentation_is_not_live_and_the_other_half_is_named(
    changes: dict[str, Any], expected: str
) -> None:
    found = plan(probed(**changes))
    assert found["way"] is None
    assert reason(found, "torch.profiler") == expected


def test_a_probe_beside_the_training_container_is_in_the_wrong_place() -> None:
    other = container("monitor", resources=None, command=["sleep"], ports=[PORT], env=[TOKEN])
    found = plan(job(template(container("train"), other), parallelism=2))
    assert reason(found, "torch.profiler") == "WrongRole"


def test_the_daemon_and_its_sidecar_make_an_unmodified_script_live() -> None:
    found = plan(with_daemon(beside=sidecar()))
    assert (found["way"], found["recorder"]) == ("Live", "kineto")


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (with_daemon(), "SidecarMissing"),
        (with_daemon(env=[], beside=sidecar()), "DaemonVariableMissing"),
        (
            with_daemon(env=[{"name": "KINETO_USE_DAEMON", "value": "0"}, *DAEMON[1:]], beside=sidecar()),
            "DaemonVariableMissing",
        ),
        (with_daemon(env=DAEMON[:1], beside=sidecar()), "FolderNotShared"),
        (with_daemon(beside=sidecar(), volume={"name": "kineto", "emptyDir": {}}), "FolderNotShared"),
        (with_daemon(beside=sidecar(volumeMounts=[TOKEN_MOUNT])), "FolderNotShared"),
        (with_daemon(beside=sidecar(env=None)), "TokenMissing"),
    ],
)
def test_half_a_daemon_is_not_live(manifest: dict[str, Any], expected: str) -> None:
    found = plan(manifest)
    assert found["way"] is None
    assert reason(found, "kineto") == expected


def test_a_pod_that_says_no_is_captured_in_no_way() -> None:
    manifest = job()
    manifest["spec"]["template"]["metadata"] = {"annotations": {"mfu-operator.io/capture": "off"}}
    found = plan(manifest)
    assert found["way"] is None
    assert {each["reason"] for each in found["refused"]} == {"CaptureOff"}


def test_a_copy_changes_what_would_reach_the_live_run() -> None:
    env = [
        {"name": "WANDB_API_KEY", "value": "hunter2"},
        {"name": "MASTER_ADDR", "value": "gpt-0"},
        {"name": "LR", "value": "1"},
    ]
    command = ["torchrun", "train.py", "--output_dir", "/ckpt/run7", "--resume=latest", "--lr", "1"]
    pod = template(
        container("train", command=command, env=env, volumeMounts=[{"name": "shm", "mountPath": "/dev/shm"}]),
        volumes=[{"name": "shm", "hostPath": {"path": "/dev/shm"}}],
        schedulingGates=[{"name": "queue"}],
        serviceAccountName="trainer",
    )
    found = plan(job(pod) | {"metadata": {"name": "gpt", "labels": {"kueue.x-k8s.io/queue-name": "team"}}})
    assert (found["way"], found["recorder"]) == ("Copy", "nsys")
    copy = found["copy"]
    recorded = next(
        each for each in copy["manifest"]["spec"]["template"]["spec"]["initContainers"] if each["name"] == "train"
    )
    script = recorded["command"][-1]
    assert "--output_dir /mfu/tmp/saved" in script
    assert "--resume" not in script and "run7" not in script and "--lr 1" in script
    after = {each["name"]: each.get("value") for each in recorded["env"]}
    assert (after["MASTER_ADDR"], after["WANDB_MODE"], after["LR"]) == ("127.0.0.1", "disabled", "1")
    assert "WANDB_API_KEY" not in after
    assert "hunter2" not in str(found)
    assert copy["manifest"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team"
    assert "spec.schedulingGates" in {each["field"] for each in copy["changed"]}
    assert "spec.serviceAccountName" in {each["field"] for each in copy["refusedFields"]}
    assert "spec.containers[train].image" in copy["kept"]


UNSAFE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ResourceClaimByName", {}, {"resourceClaims": [{"name": "gpu", "resourceClaimName": "live"}]}),
    ("GangMember", {}, {"schedulingGroup": {"podGroupName": "live"}}),
    ("HostNamespace", {}, {"hostNetwork": True}),
    ("HostNamespace", {}, {"hostPID": True}),
    ("Privileged", {"securityContext": {"privileged": True}}, {}),
    ("CapabilitiesAdded", {"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}, {}),
    ("HostDevice", {}, {"volumes": [{"name": "rdma", "hostPath": {"path": "/dev/infiniband"}}]}),
    ("HostPath", {}, {"volumes": [{"name": "data", "hostPath": {"path": "/mnt/data"}}]}),
    ("RendezvousEndpoint", {"command": ["torchrun", "--rdzv-endpoint=gpt-0.gpt:29400", "train.py"]}, {}),
    ("CommandUnknown", {"command": None}, {}),
]


@pytest.mark.parametrize(("expected", "fields", "spec"), UNSAFE, ids=[row[0] for row in UNSAFE])
def test_what_could_reach_the_live_run_is_refused_by_name(
    expected: str, fields: dict[str, Any], spec: dict[str, Any]
) -> None:
    found = plan(job(template(container("train", **fields), **spec)))
    assert found["way"] is None
    assert reason(found, "nsys") == expected


def test_a_job_of_several_pods_is_not_copied() -> None:
    assert reason(plan(job(parallelism=2)), "nsys") == "MultiPodWorkload"


def running(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": "Running"}, **template(container("train", **spec))}


def test_fewer_pods_than_declared_are_not_copied() -> None:
    assert reason(plan(job(), pods=[]), "nsys") == "PodsMissing"
    assert plan(job(), pods=[running("a")])["way"] == "Copy"


def of_run(name: str, began: str, **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
    marks = {"labels": {"app": "gpt"}, "ownerReferences": [owner], "creationTimestamp": began}
    pod = running(f"{name}-0", **spec)
    return {**pod, "metadata": {**pod["metadata"], **marks}}


def test_of_runs_that_labels_follow_the_newest_active_one_counts() -> None:
    probed_container = {"ports": [PORT], "env": [{"name": "MFU_PROBE_TOKEN", "value": "x"}]}
    old = of_run("gpt-1", "2026-11-20T07:00:00Z")
    new = of_run("gpt-2", "2026-11-22T07:00:00Z", **probed_container)
    ref = WorkloadRef("batch/v1", "Job", "team-a", "", selector=(("app", "gpt"),))
    found = encode(plan_of([job()], [old, new], baseline=BaselineSpec(ref, Comparable("gpt"))))
    assert found["way"] == "Live"
    assert found["workload"]["how"] == "spec.workload.selector (app=gpt), those of the newest active run"


def test_what_a_webhook_added_to_the_running_pod_counts() -> None:
    pods = [running("a", ports=[PORT], env=[{"name": "MFU_PROBE_TOKEN", "value": "x"}])]
    assert plan(job(), pods=pods)["way"] == "Live"


@pytest.mark.parametrize("manifest", [row[1] for row in ROLES], ids=[row[0] for row in ROLES])
def test_what_is_to_be_added_makes_the_job_live(manifest: dict[str, Any]) -> None:
    found = plan(manifest)
    assert found["way"] != "Live"
    (patch,) = found["instrument"]
    assert patch["target"]["name"] == "gpt"
    assert plan(applied(manifest, patch["patch"]))["way"] == "Live"


def test_ranks_that_sshd_starts_need_the_launcher_to_pass_the_token_on() -> None:
    manifest = next(row[1] for row in ROLES if row[0] == "MPIJob")
    (patch,) = plan(manifest)["instrument"]
    workers = [each for each in patch["patch"] if "/Worker/" in each["path"]]
    assert reason(plan(applied(manifest, workers)), "torch.profiler") == "LauncherNotInstrumented"


def test_a_train_job_is_instrumented_by_its_own_overrides() -> None:
    (patch,) = plan(TRAIN_JOB, RUNTIME)["instrument"]
    assert patch["target"]["kind"] == "TrainJob"
    after = applied(TRAIN_JOB, patch["patch"])
    assert after["spec"]["trainer"]["command"][:3] == ["mfu_probe", "run", "--"]
    assert after["spec"]["podTemplateOverrides"][0]["targetJobs"] == [{"name": "node"}]


SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
KEYS = st.sampled_from(
    ["spec", "template", "containers", "name", "command", "args", "env", "resources", "limits", "replicas", "volumes",
     "kind", "metadata", "labels", "annotations", "replicatedJobs", "securityContext", "nvidia.com/gpu"]
)  # fmt: skip
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from([(row[1]["apiVersion"], row[1]["kind"]) for row in ROLES]), spec=ANYTHING)
def test_a_manifest_of_any_shape_has_a_plan_or_a_reason(kind: tuple[str, str], spec: Any) -> None:
    try:
        found = plan({"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": "x"}, "spec": spec})
    except Unreadable as error:
        assert error.reason in ("NoWorkload", "SeveralWorkloads")
        return
    assert found["way"] in (None, "Live", "Copy")
    assert found["way"] or found["refused"]


def test_a_shells_script_of_many_blanks_is_read_at_once() -> None:
    script = "torchrun" + " " * 60_000 + "train.py --save " + "-" * 4_000
    assert plan(job(template(container(command=["bash", "-c", script]))))["training"]["container"] == "pytorch"


def test_a_command_that_the_image_says_comes_with_how_to_read_it_and_what_no_patch_can_add() -> None:
    found = plan(job(template(container("train", command=None))))
    of_copy = next(each["message"] for each in found["refused"] if each["recorder"] == "nsys")
    assert "kubectl exec POD -c train -- cat /proc/1/cmdline | tr" in of_copy
    assert "crane config registry.example/gpt" in of_copy
    assert "call mfu_probe.start() in the program" in found["because"]


def test_the_live_pod_is_named_where_its_command_is_read() -> None:
    pod = template(container("train", command=None))
    running = {"metadata": {"name": "gpt-x7k2p"}, "status": {"phase": "Running"}, **pod}
    found = plan(job(pod), pods=[running])
    assert any("kubectl exec gpt-x7k2p -c train" in each["message"] for each in found["refused"])

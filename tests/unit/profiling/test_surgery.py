"""The copy of a run's pod: like the run in what makes it slow, unlike it in everything that could disturb it."""

import subprocess
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import Profiling
from mfu_operator.profiling import nsys
from mfu_operator.profiling.surgery import profiling_pod

IMAGE = "registry.example/mfu-profiler@sha256:" + "e" * 64
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "gpt", "batch.kubernetes.io/job-name": "gpt"}, "annotations": {"team": "a"}},
    "spec": {
        "restartPolicy": "OnFailure",
        "serviceAccountName": "trainer",
        "serviceAccount": "trainer",
        "automountServiceAccountToken": True,
        "hostNetwork": True,
        "hostname": "rank-0",
        "subdomain": "ranks",
        "nodeName": "node-7",
        "priorityClassName": "production",
        "priority": 1000,
        "preemptionPolicy": "PreemptLowerPriority",
        "nodeSelector": {"gpu": "h100"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "runtimeClassName": "nvidia",
        "securityContext": {"runAsUser": 1000},
        "imagePullSecrets": [{"name": "registry"}],
        "initContainers": [
            {
                "name": "fetch",
                "image": "fetch:1",
                "ports": [{"containerPort": 9200, "hostPort": 9200}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "containers": [
            {
                "name": "train",
                "image": "registry.example/gpt@sha256:" + "a" * 64,
                "command": ["python", "train.py"],
                "args": ["--config", "/etc/train.yaml"],
                "workingDir": "/work",
                "env": [{"name": "WORLD_SIZE", "value": "1"}, {"name": "TMPDIR", "value": "/scratch"}],
                "envFrom": [{"configMapRef": {"name": "train"}}],
                "resources": {"limits": {"nvidia.com/gpu": 8}},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
                "ports": [{"containerPort": 9100, "hostPort": 9100}],
                "livenessProbe": {"exec": {"command": ["true"]}},
                "readinessProbe": {"exec": {"command": ["true"]}},
                "startupProbe": {"exec": {"command": ["true"]}},
                "lifecycle": {"preStop": {"exec": {"command": ["save"]}}},
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "checkpoints", "mountPath": "/checkpoints"},
                    {"name": "scratch", "mountPath": "/scratch"},
                    {"name": "config", "mountPath": "/etc"},
                ],
            },
            {"name": "cache", "image": "cache:1", "ports": [{"containerPort": 6379}], "livenessProbe": {"exec": {}}},
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "checkpoints"}},
            {"name": "scratch", "emptyDir": {}},
            {"name": "config", "configMap": {"name": "train"}},
        ],
    },
}


def copied(template: dict[str, Any] = TEMPLATE, container: str | None = None, **profiling: Any) -> dict[str, Any]:
    return profiling_pod(template, container, replace(Profiling(), **profiling), IMAGE)


def named(containers: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(each for each in containers if each["name"] == name)


def recorded(pod: dict[str, Any], name: str = "train") -> dict[str, Any]:
    return named(pod["initContainers"], name)


def mounts(container: dict[str, Any]) -> dict[str, bool]:
    """Whether each volume is read-only, by its name."""
    return {mount["name"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}


def changed(**spec: Any) -> dict[str, Any]:
    template = deepcopy(TEMPLATE)
    template["spec"] |= spec
    return template


@pytest.mark.parametrize("field", ["image", "workingDir", "envFrom", "resources", "securityContext"])
def test_the_copy_runs_with_what_the_run_has(field: str) -> None:
    assert recorded(copied())[field] == TEMPLATE["spec"]["containers"][0][field]


@pytest.mark.parametrize(
    "field", ["nodeSelector", "tolerations", "affinity", "runtimeClassName", "securityContext", "imagePullSecrets"]
)
def test_the_copy_runs_where_the_run_may(field: str) -> None:
    assert copied()[field] == TEMPLATE["spec"][field]


@pytest.mark.parametrize("field", ["ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"])
def test_nothing_takes_the_copy_for_the_run_or_ends_it(field: str) -> None:
    pod = copied()
    assert all(field not in each for each in [*pod["initContainers"], *pod["containers"]])


@pytest.mark.parametrize(
    "field",
    ["serviceAccount", "serviceAccountName", "hostNetwork", "hostname", "subdomain", "nodeName"],
)
def test_the_copy_has_no_identity_of_the_runs(field: str) -> None:
    assert field not in copied()


def test_the_copy_has_no_api_token_and_never_restarts() -> None:
    pod = copied()
    assert (pod["automountServiceAccountToken"], pod["restartPolicy"]) == (False, "Never")


def test_the_copy_gives_way_unless_a_priority_is_asked_for() -> None:
    assert not {"priorityClassName", "priority", "preemptionPolicy"} & copied().keys()
    assert copied(priority_class="low")["priorityClassName"] == "low"


def test_every_volume_but_the_pods_own_is_read_only() -> None:
    assert mounts(recorded(copied())) == {
        "data": True,
        "checkpoints": True,
        "scratch": False,
        "config": True,
        "mfu-profiling": False,
    }
    fetch = named(copied()["initContainers"], "fetch")
    assert mounts(fetch) == {"data": True}
    assert "ports" not in fetch, "a port of the node is the run's"


def test_a_claim_is_read_only_for_the_pod_as_a_whole() -> None:
    volumes = {each["name"]: each for each in copied()["volumes"]}
    assert volumes["checkpoints"]["persistentVolumeClaim"] == {"claimName": "checkpoints", "readOnly": True}


def test_a_volume_is_writable_where_a_person_says_so() -> None:
    pod = copied(writable_volumes=("data",))
    assert mounts(recorded(pod))["data"] is False
    assert named(pod["volumes"], "data")["persistentVolumeClaim"] == {"claimName": "data"}
    assert mounts(recorded(pod))["checkpoints"] is True


@pytest.mark.parametrize(
    ("template", "known"),
    [(TEMPLATE, "it has: checkpoints, config, data, scratch"), (changed(volumes=[]), "it has: none")],
    ids=["some", "none"],
)
def test_a_volume_that_the_template_does_not_have_is_refused_and_not_ignored(
    template: dict[str, Any], known: str
) -> None:
    with pytest.raises(Stall) as raised:
        copied(template, writable_volumes=("scratch-2",))
    assert raised.value.reason == "UnknownVolume"
    assert "'scratch-2'" in raised.value.message
    assert known in raised.value.message


def test_record_comes_before_analyze_and_after_everything_that_it_needs() -> None:
    pod = copied()
    assert [each["name"] for each in pod["initContainers"]] == ["fetch", "cache", "mfu-tools", "train"]
    assert [each["name"] for each in pod["containers"]] == ["mfu-analyze"]


def ours(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [named(pod["initContainers"], "mfu-tools"), named(pod["containers"], "mfu-analyze")]


def test_our_own_containers_fit_a_namespace_with_a_quota_on_everything() -> None:
    for each in ours(copied()):
        assert each["resources"]["requests"].keys() == each["resources"]["limits"].keys() == {"cpu", "memory"}


def test_our_own_containers_are_what_the_strictest_pod_security_standard_asks_for() -> None:
    for each in ours(copied()):
        assert each["securityContext"] == {
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }


@pytest.mark.parametrize(
    ("pod_context", "user"), [({"runAsUser": 0}, 65532), ({"runAsUser": 1000}, None), ({}, None), (None, None)]
)
def test_our_own_containers_are_not_root_where_the_pod_is(pod_context: Any, user: int | None) -> None:
    for each in ours(copied(changed(securityContext=pod_context))):
        assert each["securityContext"].get("runAsUser") == user


def test_what_runs_as_another_user_may_write_beside_the_tools(tmp_path: Path) -> None:
    tools, shared = tmp_path / "tools", tmp_path / "shared"
    tools.mkdir()
    script = nsys.copy_tools()[-1].replace(nsys.TOOLS, str(tools)).replace("/mfu/", f"{shared}/")
    subprocess.run(["sh", "-c", script], check=True)
    assert [oct((shared / name).stat().st_mode & 0o7777) for name in ("out", "tmp")] == ["0o1777", "0o1777"]


def test_other_containers_run_beside_the_recorded_one_and_end_with_the_pod() -> None:
    pod = copied()
    assert named(pod["initContainers"], "cache")["restartPolicy"] == "Always"
    assert "restartPolicy" not in recorded(pod)


def test_the_container_that_trains_is_the_first_or_the_one_that_is_named() -> None:
    template = changed(containers=[{"name": "proxy", "image": "p"}, TEMPLATE["spec"]["containers"][0]])
    pod = copied(template, container="train")
    assert recorded(pod)["command"][-1].startswith("/mfu/target-linux-*/nsys profile ")
    assert named(pod["initContainers"], "proxy")["restartPolicy"] == "Always"


@pytest.mark.parametrize("containers", [TEMPLATE["spec"]["containers"], []])
def test_a_container_that_is_not_there_is_refused_with_those_that_are(containers: list[dict[str, Any]]) -> None:
    with pytest.raises(Stall) as raised:
        copied(changed(containers=containers), container="trainer")
    assert raised.value.reason == "ContainerNotFound"
    assert ("train, cache" if containers else "none") in raised.value.message
    assert "spec.workload.container" in raised.value.message


@pytest.mark.parametrize("fields", [{}, {"args": ["--fast"]}, {"command": []}])
def test_a_command_that_the_image_hides_is_asked_for(fields: dict[str, Any]) -> None:
    with pytest.raises(Stall) as raised:
        copied(changed(containers=[{"name": "train", "image": "x", **fields}]))
    assert raised.value.reason == "CommandRequired"
    assert "spec.profiling.command" in raised.value.message


def test_a_command_of_the_baselines_own_replaces_command_and_arguments() -> None:
    script = recorded(copied(command=("torchrun", "short.py")))["command"][-1]
    assert " torchrun short.py >" in script
    assert "train.yaml" not in script


def test_the_copy_is_told_which_steps_to_record() -> None:
    environment = {each["name"]: each.get("value") for each in recorded(copied(steps=7, warmup_steps=3))["env"]}
    assert environment["MFU_PROBE_CAPTURE_STEPS"] == "7"
    assert environment["MFU_PROBE_CAPTURE_WARMUP_STEPS"] == "3"
    assert environment["WORLD_SIZE"] == "1"


def test_a_variable_is_set_once_and_the_baselines_word_is_last() -> None:
    names = [each["name"] for each in recorded(copied(env={"WORLD_SIZE": "2"}))["env"]]
    assert sorted(names) == sorted(set(names))
    values = {each["name"]: each["value"] for each in recorded(copied(env={"TMPDIR": "/big"}))["env"]}
    assert values["TMPDIR"] == "/big"


def test_the_template_is_never_touched_and_nothing_of_it_is_shared() -> None:
    before = deepcopy(TEMPLATE)
    pod = copied()
    _scribble(pod)
    assert before == TEMPLATE


def _scribble(value: Any) -> None:
    """Change every dict and list that can be reached."""
    if isinstance(value, dict):
        for each in list(value.values()):
            _scribble(each)
        value["scribbled"] = True
    elif isinstance(value, list):
        for each in value:
            _scribble(each)
        value.append("scribbled")


WORDS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=1, max_size=4)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(words=WORDS)
def test_whatever_a_command_says_arrives_as_it_was_written(words: list[str], tmp_path_factory: Any) -> None:
    """The shell line that is recorded, run by a real shell with a program that tells its arguments in nsys' place."""
    folder: Path = tmp_path_factory.mktemp("mfu")
    (folder / "out").mkdir()
    nsys_there = folder / "target-linux-x64" / "nsys"
    nsys_there.parent.mkdir()
    nsys_there.write_text('#!/bin/sh\nprintf "%s\\0" "$@"\n')
    nsys_there.chmod(0o755)
    script = nsys.record(["program", *words], 900.0)[-1].replace("/mfu/", f"{folder}/")
    subprocess.run(["sh", "-c", script], check=True, capture_output=True)
    told = (folder / "out" / "log").read_bytes().decode().split("\0")[:-1]
    assert told[told.index("program") + 1 :] == words


def test_the_copys_own_failure_lets_the_analysis_say_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    script = nsys.record(["false"], 900.0)[-1].replace("/mfu/", f"{tmp_path}/")
    done = subprocess.run(["sh", "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert (tmp_path / "out" / "exit-status").read_text() == "127\n"
    assert "not found" in done.stdout


def in_a_shell(folder: Path, program: str, deadline_s: float) -> subprocess.CompletedProcess[str]:
    """The shell line of a copy, run by a real shell with a program in nsys' place."""
    (folder / "out").mkdir()
    (folder / "tmp").mkdir()
    there = folder / "target-linux-x64" / "nsys"
    there.parent.mkdir()
    there.write_text(f"#!/bin/sh\n{program}\n")
    there.chmod(0o755)
    script = nsys.record(["program"], deadline_s)[-1].replace("/mfu/", f"{folder}/").replace("sleep 5", "sleep 0.1")
    return subprocess.run(["sh", "-c", script], check=False, capture_output=True, text=True, timeout=20)


def test_a_copy_that_comes_to_no_step_is_ended_early_and_says_so(tmp_path: Path) -> None:
    done = in_a_shell(tmp_path, "exec sleep 30", 15.0)
    assert nsys.NO_STEP in done.stdout
    assert (tmp_path / "out" / "exit-status").read_text() == "143\n"


def test_a_copy_that_records_is_left_alone_for_as_long_as_it_takes(tmp_path: Path) -> None:
    done = in_a_shell(tmp_path, f"touch {tmp_path}/tmp/nsys-report-1.qdstrm; sleep 1; exit 0", 7.5)
    assert nsys.NO_STEP not in done.stdout
    assert (tmp_path / "out" / "exit-status").read_text() == "0\n"

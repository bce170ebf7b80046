"""`kubectl mfu onboard`: what it writes for published manifests is valid, and its patch makes the job's plan live."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from mfu_operator.cli.main import cli
from mfu_operator.cli.onboard.policies import isolating
from mfu_operator.cli.onboard.subject import Surroundings, subject_of
from mfu_operator.errors import MfuError
from mfu_operator.profiling.plan import plan_of
from tests.crds.definition import closed, schema, with_defaults
from tests.unit.cli.api_server import ApiServer
from tests.unit.profiling.plan.manifests import applied, container, job, template
from tests.unit.profiling.plan.published import FOLDER, LOADER

PUBLISHED = (
    "training-operator/torch-nccl", "training-operator/tf-parameter-servers", "training-operator/horovod",
    "mpi-operator/pi", "kuberay/job-mnist", "kuberay/cluster-tpu-multihost", "jobset/torch-resnet",
    "jobset/torch-mnist",
    "trainer/torch-multi-node", "trainer/deepspeed", "volcano/horovod",
    "training-operator/torch-elastic-echo",
)  # fmt: skip
"""Of each kind one at least: PyTorchJob, TFJob, MPIJob, RayJob, RayCluster, JobSet, TrainJob, Volcano's Job."""

Documents = Sequence[Mapping[str, Any]]


@cache
def definition_of_spec() -> dict[str, Any]:
    """As the API server reads it."""
    return closed(schema()["properties"]["spec"])


def onboarded(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["onboard", *map(str, arguments)])


def said(*arguments: object) -> str:
    result = onboarded(*arguments)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.stdout


def refused(*arguments: object) -> MfuError:
    result = onboarded(*arguments)
    assert isinstance(result.exception, MfuError), result.output
    return result.exception


def manifest(folder: Path, *documents: Mapping[str, Any]) -> Path:
    path = folder / "workload.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path


def written(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """The baseline, each target with its patch, and the component."""
    component = yaml.safe_load((folder / "kustomization.yaml").read_text())
    patches = [
        {"target": each["target"], "patch": yaml.safe_load((folder / each["path"]).read_text())}
        for each in component.get("patches", ())
    ]
    baseline = yaml.safe_load((folder / "trainingbaseline.yaml").read_text())
    return baseline, patches, component


def patched(documents: Documents, patches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = [dict(each) for each in documents]
    for patch in patches:
        target = patch["target"]
        named = [each.get("metadata", {}).get("name") == target.get("name") for each in found]
        at = next(
            index for index, each in enumerate(found) if each.get("kind") == target["kind"] and (named[index] or
            "name" not in target)
        )  # fmt: skip
        found[at] = applied(found[at], patch["patch"])
    return found


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_manifest_gets_a_valid_baseline_and_a_patch_that_makes_it_live(name: str, tmp_path: Path) -> None:
    source, folder = FOLDER / f"{name}.yaml", tmp_path / "mfu"
    documents = [each for each in yaml.load_all(source.read_text(), LOADER) if isinstance(each, dict)]
    told = said("-f", source, "--to", folder, "-n", "team-a")
    baseline, patches, component = written(folder)
    spec = definition_of_spec()
    jsonschema.validate(with_defaults(baseline["spec"], spec), spec)
    assert plan_of(documents).way != "Live"
    assert plan_of(patched(documents, patches)).way == "Live"
    assert component["resources"] == ["trainingbaseline.yaml"]
    assert "kubectl create secret generic mfu-capture -n " in told


def test_the_baseline_records_the_level_and_opens_no_pull_request(tmp_path: Path) -> None:
    said("-f", manifest(tmp_path, job()), "--to", tmp_path / "mfu", "-n", "team-a", "--model", "llama-8b")
    baseline, *_ = written(tmp_path / "mfu")
    assert baseline == {
        "apiVersion": "mfu-operator.io/v1alpha1",
        "kind": "TrainingBaseline",
        "metadata": {"name": "gpt", "namespace": "team-a"},
        "spec": {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt"},
            "comparable": {"model": "llama-8b"},
            "baseline": {"record": {"duration": "30m", "warmup": "5m", "runs": 1}},
        },
    }


def test_nothing_is_overwritten_and_nothing_is_written_beside_what_is_there(tmp_path: Path) -> None:
    folder = tmp_path / "mfu"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("mine")
    error = refused("-f", manifest(tmp_path, job()), "--to", folder)
    assert error.reason == "FileExists"
    assert "--to DIR" in error.message
    assert [each.name for each in folder.iterdir()] == ["kustomization.yaml"]
    assert (folder / "kustomization.yaml").read_text() == "mine"


def test_a_workload_that_is_instrumented_gets_a_baseline_alone(tmp_path: Path) -> None:
    plan = plan_of([job()])
    assert plan.instrument
    live = patched([job()], [{"target": {"kind": "Job", "name": "gpt"}, "patch": list(plan.instrument[0].operations)}])
    told = said("-f", manifest(tmp_path, *live), "--to", tmp_path / "mfu")
    assert "instrumented already" in told
    assert sorted(each.name for each in (tmp_path / "mfu").iterdir()) == ["kustomization.yaml", "trainingbaseline.yaml"]


def test_the_printed_commands_are_those_that_this_workload_needs(tmp_path: Path) -> None:
    source = manifest(tmp_path, job())
    told = said("-f", source, "--to", tmp_path / "mfu", "-n", "team-a")
    for command in (
        f"kubectl patch --local -f {source} --type=json --patch-file {tmp_path}/mfu/capture-patch.yaml",
        "openssl rand -hex 32 | kubectl create secret generic mfu-capture -n team-a --from-file=token=/dev/stdin",
        "kubectl mfu capture --print-policies -n team-a | kubectl apply -f -",
        'traffic.sidecar.istio.io/excludeInboundPorts: "9400',
        "kubectl mfu status gpt -n team-a",
    ):
        assert command in told
    assert "-n NAMESPACE" not in told


def test_a_command_that_the_manifest_does_not_say_cannot_be_wrapped_and_that_is_said(tmp_path: Path) -> None:
    silent = job(template(container("train", command=None)))
    assert "call mfu_probe.start()" in said("-f", manifest(tmp_path, silent), "--to", tmp_path / "a")
    assert "call mfu_probe.start()" not in said("-f", manifest(tmp_path, job()), "--to", tmp_path / "b")


def test_runs_under_new_names_are_followed_by_their_labels(tmp_path: Path) -> None:
    pod = template(container("train")) | {"metadata": {"labels": {"app": "gpt"}}}
    run = job(pod) | {"metadata": {"generateName": "gpt-"}}
    said("-f", manifest(tmp_path, run), "--to", tmp_path / "mfu")
    baseline, patches, _ = written(tmp_path / "mfu")
    assert baseline["metadata"]["name"] == "gpt"
    assert baseline["spec"]["workload"]["selector"] == {"matchLabels": {"app": "gpt"}}
    assert "name" not in patches[0]["target"]
    assert refused("-f", FOLDER / "kueue" / "llm.yaml", "--to", tmp_path / "other").reason == "NoLabels"


def test_where_the_manifest_does_not_tell_who_trains_a_person_does(tmp_path: Path) -> None:
    two = template(container("a", command=["x"]), container("b", command=["y"]))
    source = manifest(tmp_path, job(two))
    error = refused("-f", source, "--to", tmp_path / "mfu")
    assert error.reason == "AmbiguousContainer"
    assert "--container" in error.message
    said("-f", source, "--to", tmp_path / "mfu", "--container", "b")
    baseline, *_ = written(tmp_path / "mfu")
    assert baseline["spec"]["workload"]["container"] == "b"


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"labels": {"sidecar.istio.io/inject": "true"}}, "traffic.sidecar.istio.io/excludeInboundPorts"),
        (
            {"annotations": {"linkerd.io/inject": "enabled", "config.linkerd.io/skip-inbound-ports": "8080"}},
            "config.linkerd.io/skip-inbound-ports",
        ),
    ],
)
def test_pods_in_a_mesh_let_the_capture_s_ports_past_its_proxies(
    metadata: dict[str, Any], key: str, tmp_path: Path
) -> None:
    command = ["torchrun", "--nproc-per-node=8", "train.py"]
    meshed = job(template(container("train", command=command)) | {"metadata": metadata})
    told = said("-f", manifest(tmp_path, meshed), "--to", tmp_path / "mfu")
    assert "go past its proxies" in told
    _, patches, _ = written(tmp_path / "mfu")
    (after,) = patched([meshed], patches)
    ports = after["spec"]["template"]["metadata"]["annotations"][key].split(",")
    assert [each for each in ports if each != "8080"] == [str(port) for port in range(9400, 9408)]
    assert ("8080" in ports) == ("annotations" in metadata)
    assert plan_of([after]).way == "Live"


def test_a_mesh_that_nobody_sees_is_named_by_a_person(tmp_path: Path) -> None:
    said("-f", manifest(tmp_path, job()), "--to", tmp_path / "mfu", "--mesh", "istio")
    (after,) = patched([job()], written(tmp_path / "mfu")[1])
    assert "traffic.sidecar.istio.io/excludeInboundPorts" in after["spec"]["template"]["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("spec", "isolates"),
    [
        ({"podSelector": {}}, True),
        ({"podSelector": {"matchLabels": {"app": "gpt"}}, "policyTypes": ["Ingress"]}, True),
        ({"podSelector": {"matchLabels": {"app": "other"}}}, False),
        ({"podSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["gpt"]}]}}, False),
        ({"podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}, True),
        ({"podSelector": {"matchLabels": {"app": "gpt"}}, "policyTypes": ["Egress"]}, False),
        ({"podSelector": {}, "policyTypes": ["Egress"]}, True),
    ],
)
def test_only_a_policy_that_selects_the_pods_isolates_them(spec: dict[str, Any], isolates: bool) -> None:
    documents = [job(template(container("train")) | {"metadata": {"labels": {"app": "gpt"}}})]
    policy = {"metadata": {"name": "deny"}, "spec": spec}
    found = subject_of(documents, None, None, "team-a", Surroundings(None, (policy,)))
    assert isolating(found) == (("deny",) if isolates else ())


def in_the_cluster(api: ApiServer, found: Mapping[str, Any], plural: str = "jobs") -> None:
    group, version = str(found["apiVersion"]).split("/")
    served = {"groupVersion": found["apiVersion"], "version": version}
    api.others["/apis/"] = {
        "kind": "APIGroupList",
        "groups": [{"name": group, "versions": [served], "preferredVersion": served}],
    }
    metadata = {"uid": "u", "creationTimestamp": "2026-09-21T13:00:00Z", "namespace": "team-a"}
    path = f"/apis/{found['apiVersion']}/namespaces/team-a/{plural}/gpt"
    api.others[path] = {**found, "metadata": {**found["metadata"], **metadata}}
    api.others["/api/v1/namespaces/team-a/pods"] = {"items": []}


def test_a_workload_of_the_cluster_is_put_under_watch_with_what_stands_around_it(
    api: ApiServer, tmp_path: Path
) -> None:
    pytorch = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "gpt"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template(container())}}},
    }  # fmt: skip
    in_the_cluster(api, pytorch, "pytorchjobs")
    api.others["/api/v1/namespaces/team-a"] = {"metadata": {"labels": {"istio-injection": "enabled"}}}
    api.others["/apis/networking.k8s.io/v1/namespaces/team-a/networkpolicies"] = {
        "items": [{"metadata": {"name": "default-deny"}, "spec": {"podSelector": {}}}]
    }
    told = said("pytorchjob/gpt", "--to", tmp_path / "mfu")
    assert "NetworkPolicies isolate the pods (default-deny)" in told
    assert "The pods are in istio" in told
    baseline, patches, _ = written(tmp_path / "mfu")
    assert baseline["metadata"]["namespace"] == "team-a"
    assert baseline["spec"]["workload"] == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "gpt"}
    assert plan_of(patched([pytorch], patches)).way == "Live"


def test_without_the_right_to_see_what_stands_around_it_a_person_looks(api: ApiServer, tmp_path: Path) -> None:
    in_the_cluster(api, job())
    told = said("job/gpt", "--to", tmp_path / "mfu")
    assert "kubectl get networkpolicies" in told
    assert "--mesh istio" in told


def test_what_is_not_there_says_where_to_look(api: ApiServer, tmp_path: Path) -> None:
    in_the_cluster(api, job())
    missing = refused("job/other", "--to", tmp_path / "mfu")
    assert missing.reason == "WorkloadNotFound"
    assert "kubectl get job -n team-a" in missing.message
    assert refused("trainingrun/gpt").reason == "UnknownKind"
    assert onboarded().exit_code == 2


def test_the_groups_of_a_leader_worker_set_that_trains_are_instrumented(tmp_path: Path) -> None:
    pods = template(container("train", command=["torchrun", "train.py"]))
    found = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "gpt"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 4, "leaderTemplate": pods, "workerTemplate": pods}},
    }  # fmt: skip
    said("-f", manifest(tmp_path, found), "--to", tmp_path / "mfu")
    baseline, patches, _ = written(tmp_path / "mfu")
    assert baseline["spec"]["workload"]["kind"] == "LeaderWorkerSet"
    assert {each["path"].split("/")[3] for each in patches[0]["patch"]} == {"leaderTemplate", "workerTemplate"}
    assert plan_of(patched([found], patches)).way == "Live"


def test_a_service_trains_nothing(tmp_path: Path) -> None:
    assert refused("-f", FOLDER / "lws" / "vllm-gpu.yaml", "--to", tmp_path / "mfu").reason == "NoTrainingContainer"

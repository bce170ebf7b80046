"""Kinds whose pods no label tells, and runs that labels follow, as an API server has them."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.errors import Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.workload import Workload
from tests.unit.adapters.test_cluster_endpoints import api_server

APP = (("app", "gpt"),)
TEMPLATE = {"spec": {"containers": [{"name": "train", "image": "gpt", "command": ["torchrun", "train.py"]}]}}
JOB_LABEL = "batch.kubernetes.io/job-name"


def thing(name: str, created: str = "2026-11-22T07:00:00Z", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", "creationTimestamp": created}
    return {"metadata": metadata, "spec": {"template": TEMPLATE, **spec}}


def pod(name: str, owner: tuple[str, str, str] | None = None, phase: str = "Running", **labels: str) -> dict[str, Any]:
    made: dict[str, Any] = thing(name)
    made["metadata"]["labels"] = labels
    if owner is not None:
        api_version, kind, owned_by = owner
        reference = {"apiVersion": api_version, "kind": kind, "name": owned_by, "controller": True}
        made["metadata"]["ownerReferences"] = [reference]
    return {**made, "spec": TEMPLATE["spec"], "status": {"phase": phase, "podIP": "10.0.0.1"}}


class Server:
    """Answers with objects by the end of their path, and with pods, and notes what was asked for."""

    def __init__(self, objects: Mapping[str, dict[str, Any]], *pods: dict[str, Any]) -> None:
        self.objects, self.pods = objects, pods
        self.asked: list[tuple[str, str]] = []

    def __call__(self, path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        self.asked.append((path, query.get("labelSelector", "")))
        if path.endswith("/pods"):
            named = query.get("fieldSelector", "").removeprefix("metadata.name=")
            items = [each for each in self.pods if named in ("", "status.phase=Running", each["metadata"]["name"])]
            return 200, {"kind": "PodList", "metadata": {}, "items": items}
        found = next((each for end, each in self.objects.items() if path.endswith(end)), None)
        return (404, {"message": "not found"}) if found is None else (200, found)


def found(server: Server, api_version: str, kind: str, name: str = "gpt", **more: Any) -> Workload | None:
    with api_server(server) as cluster:
        return cluster.workload(WorkloadRef(api_version, kind, "team-a", name, **more))


def names(workload: Workload | None) -> list[str]:
    assert workload is not None
    return [each.name for each in workload.pods]


def test_a_deployments_pods_are_those_that_it_selects() -> None:
    selector = {"matchLabels": {"app": "gpt"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    server = Server({"/deployments/gpt": thing("gpt", selector=selector, replicas=2)}, pod("gpt-a"), pod("gpt-b"))
    workload = found(server, "apps/v1", "Deployment")
    assert names(workload) == ["gpt-a", "gpt-b"]
    assert server.asked[-1][1] == "app=gpt,tier"
    assert workload is not None
    assert workload.pod_count == 2


def test_pods_of_a_kind_without_a_label_are_found_by_their_owner() -> None:
    mine = pod("gpt-0", ("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob", "gpt"))
    other = pod("bert-0", ("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob", "bert"))
    replicas = [{"name": "pods", "replicas": 1, "template": TEMPLATE}]
    server = Server({"/hyperpodpytorchjobs/gpt": thing("gpt", replicaSpecs=replicas)}, mine, other, pod("bare"))
    assert names(found(server, "sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob")) == ["gpt-0"]


def test_a_kind_that_nobody_described_is_found_by_what_the_server_says_and_the_chain_of_owners() -> None:
    job = thing("gpt-inner")
    owner = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "name": "gpt", "controller": True}
    job["metadata"]["ownerReferences"] = [owner]
    resources = {"kind": "APIResourceList", "groupVersion": "workload.codeflare.dev/v1beta2", "resources": [
        {"name": "appwrappers", "singularName": "", "namespaced": True, "kind": "AppWrapper", "verbs": ["get"]},
    ]}  # fmt: skip
    objects = {
        "/workload.codeflare.dev/v1beta2": resources,
        "/appwrappers/gpt": thing("gpt"),
        "/jobs/gpt-inner": job,
    }
    server = Server(objects, pod("gpt-inner-0", ("batch/v1", "Job", "gpt-inner")), pod("bare"))
    assert names(found(server, "workload.codeflare.dev/v1beta2", "AppWrapper")) == ["gpt-inner-0"]


def test_a_kind_that_the_server_does_not_serve_is_refused() -> None:
    with pytest.raises(Stall) as raised:
        found(Server({}), "example.com/v1", "Spaceship")
    assert raised.value.reason == "UnknownKind"


def test_a_bare_pod_is_a_workload_of_its_own() -> None:
    workload = found(Server({}, pod("gpt"), pod("other")), "v1", "Pod")
    assert names(workload) == ["gpt"]
    assert found(Server({}, pod("other")), "v1", "Pod") is None


def test_bare_pods_that_labels_select_are_one_run() -> None:
    server = Server({}, pod("gpt-0", app="gpt"), pod("gpt-1", app="gpt"), pod("x", ("batch/v1", "Job", "x")))
    workload = found(server, "v1", "Pod", "", selector=APP)
    assert names(workload) == ["gpt-0", "gpt-1"]
    assert workload is not None
    assert (workload.name, workload.pod_count) == ("gpt", 2)


def of_job(run: str, phase: str = "Running") -> dict[str, Any]:
    return pod(f"{run}-0", ("batch/v1", "Job", run), phase, **{JOB_LABEL: run})


RUNS = {
    "/jobs/gpt-1": thing("gpt-1", "2026-11-20T07:00:00Z"),
    "/jobs/gpt-2": thing("gpt-2", "2026-11-21T07:00:00Z"),
    "/jobs/gpt-3": thing("gpt-3", "2026-11-22T07:00:00Z"),
}


def test_the_run_that_was_submitted_last_and_is_active_is_followed() -> None:
    server = Server(RUNS, of_job("gpt-1", "Succeeded"), of_job("gpt-3"), of_job("gpt-2"))
    workload = found(server, "batch/v1", "Job", "", selector=APP)
    assert names(workload) == ["gpt-3-0"]
    assert workload is not None
    assert (workload.name, workload.active_runs, workload.earlier_runs) == ("gpt-3", ("gpt-3", "gpt-2"), ("gpt-1",))
    assert server.asked[0][1] == "app=gpt"


def test_between_two_runs_the_last_one_is_shown_and_before_the_first_there_is_none() -> None:
    workload = found(Server(RUNS, of_job("gpt-2", "Failed")), "batch/v1", "Job", "", selector=APP)
    assert workload is not None
    assert (workload.name, workload.active_runs) == ("gpt-2", ())
    assert found(Server(RUNS), "batch/v1", "Job", "", selector=APP) is None


def test_pages_of_pods_that_no_label_tells_are_found_as_well() -> None:
    selector = {"matchLabels": {"app": "gpt"}}
    server = Server({"/deployments/gpt": thing("gpt", selector=selector)}, pod("gpt-a"), pod("gpt-b", phase="Pending"))
    ref = WorkloadRef("apps/v1", "Deployment", "team-a", "gpt")
    with api_server(server) as cluster:
        endpoints = cluster.endpoints([ref])[ref]
    assert isinstance(endpoints, tuple)
    assert [each.name for each in endpoints] == ["gpt-a"]

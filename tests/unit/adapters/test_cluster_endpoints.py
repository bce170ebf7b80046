"""The running pods of many workloads, from an API server that has its moods."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster, kubernetes
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.workload import PodEndpoint

JOB = "batch.kubernetes.io/job-name"
KUBEFLOW = "training.kubeflow.org/job-name"
Answer = Callable[[str, dict[str, str]], tuple[int, dict[str, Any]]]
"""Status and object for a path and its query."""


@contextmanager
def api_server(answer: Answer, deadline_s: float = 10.0) -> Iterator[KubernetesCluster]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            status, found = answer(asked.path, {key: values[0] for key, values in parse_qs(asked.query).items()})
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(OSError):  # the operator may have had enough
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            host = f"http://127.0.0.1:{server.server_address[1]}"
            configuration = client.Configuration(host=host)
            configuration.retries = kubernetes.RETRIES
            yield KubernetesCluster(client.ApiClient(configuration), deadline_s)
        finally:
            server.shutdown()
            thread.join()


def pod(name: str, label: str = JOB, job: str = "gpt", owner: str = "Job") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {label: job}, "ownerReferences": [{"kind": owner, "name": job}]},
        "spec": {"containers": []},
        "status": {"podIP": "10.0.0.1"},
    }


def listing(*pods: dict[str, Any], more: str = "") -> tuple[int, dict[str, Any]]:
    return 200, {"kind": "PodList", "metadata": {"continue": more}, "items": list(pods)}


def ref(
    namespace: str = "team-a", kind: str = "Job", api_version: str = "batch/v1", container: str | None = None
) -> WorkloadRef:
    return WorkloadRef(api_version, kind, namespace, "gpt", container)


def names(found: tuple[PodEndpoint, ...] | MfuError) -> list[str]:
    assert not isinstance(found, MfuError)
    return [endpoint.name for endpoint in found]


def test_a_namespace_whose_pods_may_not_be_listed_leaves_the_others_alone() -> None:
    def answer(path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        return (403, {"message": "pods is forbidden"}) if "/team-b/" in path else listing(pod("gpt-0"))

    with api_server(answer) as cluster:
        found = cluster.endpoints([ref("team-b"), ref("team-a")])
    refused = found[ref("team-b")]
    assert isinstance(refused, Stall)
    assert (refused.reason, "namespace team-b" in refused.message) == ("ClusterAccessDenied", True)
    assert names(found[ref("team-a")]) == ["gpt-0"]


def test_a_workload_whose_object_cannot_be_read_leaves_the_others_alone() -> None:
    ray = ref(kind="RayJob", api_version="ray.io/v1")

    def answer(path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        return (500, {"message": "etcd"}) if "rayjobs" in path else listing(pod("gpt-0"))

    with api_server(answer) as cluster:
        found = cluster.endpoints([ray, ref()])
    assert isinstance(found[ray], Retry)
    assert names(found[ref()]) == ["gpt-0"]


def test_a_long_list_is_read_page_by_page() -> None:
    limits = []

    def answer(path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        limits.append(query["limit"])
        return listing(pod("gpt-1")) if query.get("continue") == "next" else listing(pod("gpt-0"), more="next")

    with api_server(answer) as cluster:
        assert names(cluster.endpoints([ref()])[ref()]) == ["gpt-0", "gpt-1"]
    assert limits == ["500", "500"]


def test_two_baselines_of_one_workload_have_its_pods_both() -> None:
    side = ref(container="side")
    with api_server(lambda path, query: listing(pod("gpt-0"))) as cluster:
        found = cluster.endpoints([ref(), side])
    assert names(found[ref()]) == names(found[side]) == ["gpt-0"]


def test_kinds_that_share_a_label_and_a_name_have_their_own_pods() -> None:
    torch, mpi = (ref(kind=kind, api_version="kubeflow.org/v1") for kind in ("PyTorchJob", "MPIJob"))
    pods = (pod("torch-0", KUBEFLOW, owner="PyTorchJob"), pod("mpi-0", KUBEFLOW, owner="MPIJob"))
    with api_server(lambda path, query: listing(*pods)) as cluster:
        found = cluster.endpoints([torch, mpi])
    assert (names(found[torch]), names(found[mpi])) == (["torch-0"], ["mpi-0"])


def test_what_could_not_be_listed_in_time_is_said() -> None:
    released = threading.Event()

    def answer(path: str, query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if "/team-a/" in path:
            released.wait(30)
        return listing(pod("gpt-0"))

    with api_server(answer, deadline_s=0.3) as cluster:
        try:
            found = cluster.endpoints([ref("team-a"), ref("team-b")])
        finally:
            released.set()
    late = found[ref("team-b")]
    assert isinstance(found[ref("team-a")], Retry)
    assert isinstance(late, Retry)
    assert "too slow" in late.message

"""What every cluster does: the double, and a real API server with a kubelet behind it."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any, Protocol
from uuid import uuid4

import pytest
from kubernetes import client, config

from mfu_operator.adapters.cluster import KubernetesCluster, Leadership
from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import JobPhase, Pod, Workload
from mfu_operator.ports import AUTHORITY, CLIENT_CERTIFICATE, PASSWORD, Cluster, SecretUse
from tests.support.awaited import awaited
from tests.support.cluster_double import ClusterDouble

IMAGE = "registry.invalid/nobody@sha256:" + "0" * 64
PATIENCE_S = 180.0


class Arena(Protocol):
    """A cluster with one namespace, in which a person makes objects."""

    namespace: str

    @property
    def cluster(self) -> Cluster: ...
    def run(self, name: str) -> None: ...
    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None: ...
    def jobs(self) -> list[str]: ...
    def events(self) -> list[tuple[str, str, str]]: ...


def job(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """A Job whose image nobody can pull."""
    container = {"name": "train", "image": IMAGE, "imagePullPolicy": "Never", "command": ["true"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "a"}, "annotations": {"note": "mine"}},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {"app": "gpt"}},
                "spec": {"restartPolicy": "Never", "containers": [container], **spec},
            },
        },
    }


class DoubleArena:
    namespace = "contract-double"

    def __init__(self) -> None:
        self.cluster = ClusterDouble()

    def run(self, name: str) -> None:
        manifest = job(self.namespace, name)
        self.cluster.workloads["Job", self.namespace, name] = Workload(
            uuid4().hex,
            time.time(),
            manifest["spec"]["template"],
            manifest["metadata"]["labels"],
            manifest["metadata"]["annotations"],
            (Pod(f"{name}-x", "node", "Pending", False, None, 0, (IMAGE,)),),
            pod_count=1,
        )

    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None:
        self.cluster.secrets[self.namespace, name] = data
        self.cluster.secret_types[self.namespace, name] = kind

    def jobs(self) -> list[str]:
        return [name for _, name in self.cluster.jobs]

    def events(self) -> list[tuple[str, str, str]]:
        return [(event.kind, event.reason, event.message) for _, event in self.cluster.events]


class RealArena:
    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self.namespace = namespace
        self.cluster = KubernetesCluster(api)
        self._core, self._batch = client.CoreV1Api(api), client.BatchV1Api(api)
        self._events = client.EventsV1Api(api)

    def run(self, name: str) -> None:
        self._batch.create_namespaced_job(self.namespace, job(self.namespace, name))

    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None:
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in data.items()}
        encoded = {key: base64.b64encode(value).decode() for key, value in raw.items()}
        body = {"metadata": {"name": name}, "type": kind, "data": encoded}
        self._core.create_namespaced_secret(self.namespace, body)

    def jobs(self) -> list[str]:
        return [each.metadata.name for each in self._batch.list_namespaced_job(self.namespace).items]

    def events(self) -> list[tuple[str, str, str]]:
        answer = self._events.list_namespaced_event(self.namespace, _preload_content=False)
        found = json.loads(answer.data)["items"]
        ours = [each for each in found if each["reportingController"] == "mfu-operator"]
        return [(each["type"], each["reason"], each["note"]) for each in ours]


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> client.ApiClient:
    environment = request.getfixturevalue("environment")
    unproxied = client.Configuration(proxy="")
    config.load_kube_config(str(environment.cluster.kubeconfig), client_configuration=unproxied)
    return client.ApiClient(unproxied)


@pytest.fixture(scope="module")
def namespace(api: client.ApiClient) -> Iterator[str]:
    name = f"contract-{uuid4().hex[:8]}"
    core = client.CoreV1Api(api)
    core.create_namespace({"metadata": {"name": name}})
    yield name
    core.delete_namespace(name)


REAL = pytest.param("real", marks=pytest.mark.cluster)


@pytest.fixture(params=["double", REAL])
def arena(request: pytest.FixtureRequest) -> Arena:
    if request.param == "double":
        return DoubleArena()
    return RealArena(request.getfixturevalue("api"), request.getfixturevalue("namespace"))


def unique(stem: str) -> str:
    return f"{stem}-{uuid4().hex[:6]}"


def ref(arena: Arena, name: str, **changes: str) -> WorkloadRef:
    return WorkloadRef(
        **({"api_version": "batch/v1", "kind": "Job", "namespace": arena.namespace, "name": name} | changes)
    )


def test_a_workload_comes_with_its_template_its_marks_and_its_pods(arena: Arena) -> None:
    name = unique("gpt")
    arena.run(name)
    found = awaited(lambda: arena.cluster.workload(ref(arena, name)), lambda it: bool(it and it.pods), PATIENCE_S)
    assert found is not None
    assert found.template["spec"]["containers"][0]["image"] == IMAGE
    assert found.labels["team"] == "a"
    assert found.annotations["note"] == "mine"
    assert abs(found.created_at - time.time()) < PATIENCE_S
    (pod,) = found.pods
    assert pod.name.startswith(name)
    assert (pod.phase, pod.ready, pod.started_at, pod.images) == ("Pending", False, None, (IMAGE,))


def test_a_workload_that_is_not_there_is_none(arena: Arena) -> None:
    assert arena.cluster.workload(ref(arena, "nobody")) is None


def test_a_workload_says_how_many_pods_it_asks_for(arena: Arena) -> None:
    name = unique("gpt")
    arena.run(name)
    found = arena.cluster.workload(ref(arena, name))
    assert found is not None
    assert found.pod_count == 1


def test_a_workload_none_of_whose_pods_runs_has_no_endpoint(arena: Arena) -> None:
    name = unique("gpt")
    arena.run(name)
    absent = ref(arena, "nobody", kind="PyTorchJob", api_version="kubeflow.org/v1")
    assert arena.cluster.endpoints([ref(arena, name), absent]) == {}


def test_a_client_certificate_is_read_from_a_tls_secret(arena: Arena) -> None:
    name = unique("pair")
    pair: dict[str, str | bytes] = {"tls.crt": "CERT", "tls.key": "KEY"}
    arena.keep_secret(name, {**pair, "ca.crt": "CA", "keystore.jks": b"\xfe\xed\xfe\xed"}, "kubernetes.io/tls")
    assert dict(arena.cluster.secret(arena.namespace, name, CLIENT_CERTIFICATE)) == pair
    assert dict(arena.cluster.secret(arena.namespace, name, AUTHORITY)) == {"ca.crt": "CA"}


def test_a_kind_that_nobody_knows_is_refused_with_those_that_are_known(arena: Arena) -> None:
    with pytest.raises(Stall) as raised:
        arena.cluster.workload(ref(arena, "gpt", kind="Deployment", api_version="apps/v1"))
    assert raised.value.reason == "UnknownKind"
    assert "PyTorchJob" in raised.value.message


def test_a_kind_whose_definition_is_not_installed_has_no_such_object(arena: Arena) -> None:
    assert arena.cluster.workload(ref(arena, "gpt", kind="PyTorchJob", api_version="kubeflow.org/v1")) is None


def test_the_same_job_twice_is_one_job(arena: Arena) -> None:
    name = unique("mfu")
    arena.cluster.ensure_job(job(arena.namespace, name))
    arena.cluster.ensure_job(job(arena.namespace, name))
    assert arena.jobs().count(name) == 1


def test_a_new_job_waits(arena: Arena) -> None:
    name = unique("mfu")
    arena.cluster.ensure_job(job(arena.namespace, name))
    found = arena.cluster.profiling_job(arena.namespace, name)
    assert found is not None
    assert (found.name, found.phase, found.finished_at, found.result) == (name, JobPhase.WAITING, None, None)


def test_a_job_that_is_not_there_is_none(arena: Arena) -> None:
    assert arena.cluster.profiling_job(arena.namespace, "nobody") is None


def test_a_secret_is_read_as_it_was_written(arena: Arena) -> None:
    name = unique("forge")
    arena.keep_secret(name, {"token": "t0ken with spaces ü", "username": "bot"})
    found = arena.cluster.secret(arena.namespace, name, PASSWORD)
    assert dict(found) == {"token": "t0ken with spaces ü", "username": "bot"}


@pytest.mark.parametrize(
    ("use", "told", "untold"),
    [
        (PASSWORD, "key token", "tls.crt"),
        (AUTHORITY, "key ca.crt", "token"),
        (CLIENT_CERTIFICATE, "keys tls.crt and tls.key", "token"),
    ],
)
def test_a_missing_secret_is_named_with_its_namespace_and_the_keys_that_are_wanted(
    arena: Arena, use: SecretUse, told: str, untold: str
) -> None:
    with pytest.raises(Stall) as raised:
        arena.cluster.secret(arena.namespace, "nobody", use)
    assert raised.value.reason == "CredentialsMissing"
    assert "'nobody'" in raised.value.message
    assert arena.namespace in raised.value.message
    assert told in raised.value.message
    assert untold not in raised.value.message


def test_a_key_that_holds_no_text_is_named_and_not_repeated(arena: Arena) -> None:
    name = unique("binary")
    arena.keep_secret(name, {"token": b"\xff\xfet0ken"})
    with pytest.raises(Stall, match="key token") as raised:
        arena.cluster.secret(arena.namespace, name, PASSWORD)
    assert raised.value.reason == "CredentialsUnfit"
    assert "t0ken" not in raised.value.message


def test_a_tls_secret_is_not_sent_as_a_password(arena: Arena) -> None:
    name = unique("pair")
    arena.keep_secret(name, {"tls.crt": "CERT", "tls.key": "KEY", "token": "t0ken"}, "kubernetes.io/tls")
    with pytest.raises(Stall, match=r"kubernetes\.io/tls") as raised:
        arena.cluster.secret(arena.namespace, name, PASSWORD)
    assert raised.value.reason == "CredentialsUnfit"


@pytest.mark.parametrize("use", [PASSWORD, AUTHORITY, CLIENT_CERTIFICATE], ids=lambda use: use.keys[0])
@pytest.mark.parametrize("kind", ["bootstrap.kubernetes.io/token", "example.com/another"])
def test_a_secret_that_was_not_made_to_be_sent_is_refused(arena: Arena, kind: str, use: SecretUse) -> None:
    name = unique("token")
    arena.keep_secret(name, {"token": "t0ken"}, kind)
    with pytest.raises(Stall) as raised:
        arena.cluster.secret(arena.namespace, name, use)
    assert raised.value.reason == "CredentialsUnfit"
    assert kind in raised.value.message
    assert "t0ken" not in raised.value.message


def test_an_event_is_told_on_its_object(arena: Arena) -> None:
    regarding = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": arena.namespace,
        "name": unique("gpt"),
        "uid": str(uuid4()),
    }
    event = Event("Warning", "Regressed", f"MFU 0.381 for 12 min {uuid4().hex}")
    arena.cluster.post(regarding, event)
    arena.cluster.post(regarding, Event("Normal", "Recovered", "x" * 5000))
    assert ("Warning", "Regressed", event.message) in arena.events()


REASONS = [
    ("ImagePullFailed", {}),
    ("JobUnschedulable", {"nodeSelector": {"contract": "no-such-node"}}),
]


@pytest.mark.cluster
@pytest.mark.parametrize(("reason", "spec"), REASONS, ids=[row[0] for row in REASONS])
def test_a_real_job_that_cannot_start_says_why(
    api: client.ApiClient, namespace: str, reason: str, spec: dict[str, Any]
) -> None:
    cluster, name = KubernetesCluster(api), unique("mfu")
    cluster.ensure_job(job(namespace, name, **spec))
    found = awaited(
        lambda: cluster.profiling_job(namespace, name), lambda it: it is not None and it.reason is not None, PATIENCE_S
    )
    assert found is not None
    assert (found.phase, found.reason) == (JobPhase.WAITING, reason)
    assert found.message


@pytest.mark.cluster
def test_what_the_api_server_refuses_is_told_in_its_own_words(api: client.ApiClient, namespace: str) -> None:
    with pytest.raises(Stall) as raised:
        KubernetesCluster(api).ensure_job(job(namespace, "Not_A_Name"))
    assert raised.value.reason == "ClusterRefused"
    assert 'Invalid value: "Not_A_Name"' in raised.value.message


@pytest.fixture
def lease_name() -> str:
    return unique("lease")


@pytest.mark.cluster
def test_of_two_replicas_one_holds_the_lease_until_it_is_released(
    api: client.ApiClient, namespace: str, lease_name: str
) -> None:
    first, second = (Leadership(api, namespace, lease_name, name) for name in ("a", "b"))
    assert first.hold(1000.0)
    assert not second.hold(1001.0)
    assert first.hold(1005.0)
    first.release()
    assert second.hold(1006.0)
    assert not first.hold(1007.0)


@pytest.mark.cluster
def test_a_dead_leader_is_replaced_after_the_leases_time(
    api: client.ApiClient, namespace: str, lease_name: str
) -> None:
    first, second = (Leadership(api, namespace, lease_name, name) for name in ("a", "b"))
    assert first.hold(1000.0)
    assert not second.hold(1000.0 + LEASE_DURATION_S - 0.1)
    assert second.hold(1000.0 + LEASE_DURATION_S + 0.1)
    assert not first.hold(1000.0 + LEASE_DURATION_S + 1)
    first.release()
    assert second.hold(1000.0 + LEASE_DURATION_S + 2)

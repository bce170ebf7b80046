"""What every cluster does: the double, and a real API server with a kubelet behind it."""

import time
from typing import Any
from uuid import uuid4

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster, Leadership
from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import JobPhase
from mfu_operator.ports import AUTHORITY, CLIENT_CERTIFICATE, PASSWORD, SecretUse
from tests.contracts.cluster_arenas import IMAGE, PATIENCE_S, Arena, job, unique
from tests.support.awaited import awaited


def ref(arena: Arena, name: str, kind: str = "Job", api_version: str = "batch/v1") -> WorkloadRef:
    return WorkloadRef(api_version, kind, arena.namespace, name)


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
        arena.cluster.workload(ref(arena, "gpt", kind="Spaceship", api_version="example.com/v1"))
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
    data: dict[str, str | bytes] = {"token": "t0ken ü", "username": "bot", "address": "https://git.example"}
    arena.keep_secret(name, {**data, "unasked": "x"})
    assert dict(arena.cluster.secret(arena.namespace, name, PASSWORD)) == data


def test_a_secret_without_our_label_is_not_read(arena: Arena) -> None:
    name = unique("payroll")
    arena.keep_secret(name, {"token": "t0ken"})
    arena.unlabel_secret(name)
    with pytest.raises(Stall, match="kubectl patch secret") as raised:
        arena.cluster.secret(arena.namespace, name, PASSWORD)
    assert raised.value.reason == "CredentialsUnbound" and "t0ken" not in raised.value.message


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
    arena.cluster.post(regarding, event, unique("told"))
    arena.cluster.post(regarding, Event("Normal", "Recovered", "x" * 5000), unique("told"))
    assert ("Warning", "Regressed", event.message) in arena.events()


def test_an_event_that_is_told_twice_by_one_name_is_one(arena: Arena) -> None:
    regarding = {
        "apiVersion": "batch/v1", "kind": "Job", "namespace": arena.namespace, "name": "gpt", "uid": str(uuid4())
    }  # fmt: skip
    event, name = Event("Normal", "Proposed", f"pull request {uuid4().hex}"), unique("told")
    arena.cluster.post(regarding, event, name)
    arena.cluster.post(regarding, event, name)
    assert arena.events().count(("Normal", "Proposed", event.message)) == 1


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
    steady_s = 500.0
    first, second = (Leadership(api, namespace, lease_name, name, lambda: steady_s) for name in ("a", "b"))
    assert first.hold(1000.0)
    assert not second.hold(1000.0)
    steady_s += LEASE_DURATION_S - 0.1
    assert not second.hold(9000.0)
    steady_s += 0.2
    assert second.hold(1000.0)
    assert not first.hold(1000.0)
    first.release()
    assert second.hold(1000.0)

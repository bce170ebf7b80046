"""The operator has no right that it does not use: without any one of them, something that it does is refused."""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster import KubernetesCluster, Leadership
from mfu_operator.adapters.cluster.definition import served_schema
from mfu_operator.adapters.cluster.guard import guard
from mfu_operator.adapters.cluster.kinds import RUNTIMES
from mfu_operator.adapters.cluster.neighbours import installations
from mfu_operator.adapters.delivery.objects import get
from mfu_operator.api.group import CREDENTIALS_LABEL, GROUP, PLURAL, VERSION
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.ports import PASSWORD, ObjectVersion
from tests.cluster import preflight
from tests.faults.control_plane import NAMESPACE, ONE_PROCESS, TEAM, ControlPlane, control_plane
from tests.faults.table import Row
from tests.support.awaited import awaited
from tests.support.stored_object import stored_object

pytestmark = [pytest.mark.cluster, pytest.mark.faults, ONE_PROCESS]

NAME = "gpt-small"
WORKLOADS = (
    ("batch/v1", "Job"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("kubeflow.org/v2beta1", "MPIJob"),
    ("kubeflow.org/v1", "JAXJob"),
    ("kubeflow.org/v1", "TFJob"),
    ("kubeflow.org/v1", "XGBoostJob"),
    ("kubeflow.org/v1", "PaddleJob"),
    ("ray.io/v1", "RayJob"),
    ("ray.io/v1", "RayCluster"),
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("elastic.iml.github.io/v1alpha1", "ElasticJob"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("sagemaker.amazonaws.com/v1", "HyperPodPyTorchJob"),
)
TRAIN_JOBS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "trainjobs.trainer.kubeflow.org",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    },
    "spec": {
        "group": "trainer.kubeflow.org",
        "names": {"kind": "TrainJob", "plural": "trainjobs"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""Enough of Kubeflow Trainer's definition that a TrainJob can name its runtime."""
DELIVERIES = (
    ("argoproj.io", "v1alpha1", "applications"),
    ("kustomize.toolkit.fluxcd.io", "v1", "kustomizations"),
    ("source.toolkit.fluxcd.io", "v1", "gitrepositories"),
)


DENIED = ("ClusterAccessDenied", "DeliveryForbidden", "403 Forbidden")
"""What is said of a deed that the API server does not allow."""


class Operator:
    """What the operator does with the API server, each by itself."""

    def __init__(self, plane: ControlPlane) -> None:
        self._api, self._admin = plane.operator, plane.administrator
        self._cluster = KubernetesCluster(self._api)

    def deeds(self) -> Mapping[str, Callable[[], object]]:
        """By what each is."""
        custom, core = client.CustomObjectsApi(self._api), client.CoreV1Api(self._api)
        place = (GROUP, VERSION, TEAM, PLURAL, NAME)
        finalizers: dict[str, Any] = {"metadata": {"finalizers": []}}
        whole = (GROUP, VERSION, PLURAL)
        return {
            **{f"read a {version} {kind}": self._reading(version, kind) for version, kind in WORKLOADS},
            **{
                f"read one of {plural}": self._delivering(group, version, plural)
                for group, version, plural in DELIVERIES
            },
            **{f"read a {kind}": self._reading("trainer.kubeflow.org/v1alpha1", "TrainJob", kind) for kind in RUNTIMES},
            "list the pods of workloads": self._list_pods,
            "launch a profiling Job": self._launch,
            "read a profiling Job": lambda: self._cluster.profiling_job(TEAM, "mfu-nobody"),
            "read a baseline again": lambda: self._cluster.baseline(TEAM, NAME),
            "write a status": self._write_status,
            "post an Event": self._post,
            "read a Secret that a baseline names": lambda: self._cluster.secret(TEAM, "forge", PASSWORD),
            "make the Lease": self._make_lease,
            "renew the Lease": self._renew_lease,
            "read the admission policy's binding": lambda: guard(self._api, "mfu-system-mfu-operator-authority"),
            "look for other installations": lambda: installations(self._api),
            "compare the definition": lambda: served_schema(self._api),
            "list all baselines": lambda: custom.list_cluster_custom_object(*whole),
            "watch the baselines": lambda: _first(custom.list_cluster_custom_object, *whole),
            "take an earlier version's finalizer off": lambda: custom.patch_namespaced_custom_object(
                *place, finalizers
            ),
            "list the namespaces": core.list_namespace,
            "watch the namespaces": lambda: _first(core.list_namespace),
            "watch the definitions": lambda: _first(
                client.ApiextensionsV1Api(self._api).list_custom_resource_definition
            ),
        }

    def outcomes(self) -> dict[str, str]:
        """What came of each deed: "done", or the reason why not."""
        return {what: _outcome(deed) for what, deed in self.deeds().items()}

    def _reading(self, version: str, kind: str, name: str = "nobody") -> Callable[[], object]:
        return lambda: self._cluster.workload(WorkloadRef(version, kind, TEAM, name.lower()))

    def _delivering(self, group: str, version: str, plural: str) -> Callable[[], object]:
        return lambda: get(client.CustomObjectsApi(self._api), group, version, plural, "argocd", "nobody")

    def _list_pods(self) -> object:
        ref = WorkloadRef("batch/v1", "Job", TEAM, "nobody")
        found = self._cluster.endpoints([ref]).get(ref)
        if isinstance(found, MfuError):
            raise found
        return found

    def _launch(self) -> object:
        container = {"name": "profiler", "image": "registry.invalid/nobody"}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        name = f"mfu-{uuid4().hex[:8]}"
        manifest = {"metadata": {"namespace": TEAM, "name": name}, "spec": {"template": template, "suspend": True}}
        self._cluster.ensure_job({"apiVersion": "batch/v1", "kind": "Job", **manifest})
        return None

    def _write_status(self) -> object:
        found: Any = client.CustomObjectsApi(self._admin).get_namespaced_custom_object(
            GROUP, VERSION, TEAM, PLURAL, NAME
        )
        metadata = found["metadata"]
        read = ObjectVersion(TEAM, NAME, metadata["uid"], metadata["resourceVersion"])
        return self._cluster.write_status(read, {"observedGeneration": 1})

    def _post(self) -> object:
        regarding = {"apiVersion": "batch/v1", "kind": "Job", "namespace": TEAM, "name": NAME, "uid": str(uuid4())}
        self._cluster.post(regarding, Event("Normal", "Healthy", "as ever"), f"told-{uuid4().hex[:8]}")
        return None

    def _make_lease(self) -> object:
        try:
            client.CoordinationV1Api(self._admin).delete_namespaced_lease("mfu-operator", NAMESPACE)
        except ApiException as error:
            assert error.status == 404
        return self._lease().hold(time.time())

    def _renew_lease(self) -> object:
        leases = client.CoordinationV1Api(self._admin)
        try:
            leases.read_namespaced_lease("mfu-operator", NAMESPACE)
        except ApiException:
            body: Any = {"metadata": {"name": "mfu-operator"}, "spec": {}}
            leases.create_namespaced_lease(NAMESPACE, body)
        return self._lease().hold(time.time())

    def _lease(self) -> Leadership:
        return Leadership(self._api, NAMESPACE, "mfu-operator", "faults")


def _first(listing: Callable[..., Any], *what: str) -> object:
    """Begin a watch and end it at once."""
    return listing(*what, watch=True, timeout_seconds=1, _preload_content=False).close()


def _outcome(deed: Callable[[], object]) -> str:
    try:
        deed()
    except MfuError as error:
        return error.reason
    except ApiException as error:
        return f"{error.status} {error.reason}"
    return "done"


def without_each_right(roles: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each verb on each resource by itself, with its role without it."""
    for role in roles:
        for index, rule in enumerate(role["rules"]):
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    less = deepcopy(role)
                    kept = [each for each in rule["resources"] if each != resource]
                    others = [each for each in rule["verbs"] if each != verb]
                    less["rules"][index : index + 1] = [
                        *([{**rule, "resources": kept}] if kept else []),
                        *([{**rule, "resources": [resource], "verbs": others}] if others else []),
                    ]
                    group = rule["apiGroups"][0] or "core"
                    yield f"{verb} {group}/{resource} of {role['metadata']['name']}", less


def _train_job(runtime: str) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"namespace": TEAM, "name": runtime.lower()},
        "spec": {"runtimeRef": {"kind": runtime, "name": "nobody"}},
    }


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    state: Path = tmp_path_factory.mktemp("plane")
    with control_plane(state) as started:
        started.kubectl.apply(TRAIN_JOBS)
        started.kubectl.await_established("trainjobs.trainer.kubeflow.org")
        started.kubectl.apply(*(_train_job(kind) for kind in RUNTIMES))
        started.kubectl.apply(
            {**stored_object(), "metadata": {"namespace": TEAM, "name": NAME}},
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"namespace": TEAM, "name": "forge", "labels": {CREDENTIALS_LABEL: "true"}},
                "stringData": {"token": "t"},
            },
        )
        yield started


def test_every_right_of_the_chart_is_used_by_something_that_the_operator_does(plane: ControlPlane, row: Row) -> None:
    operator = Operator(plane)
    rightful = awaited(operator.outcomes, lambda found: "done" in found.values() and not _refused(found), 20.0)
    assert not _refused(rightful), rightful
    originals = {role["metadata"]["name"]: role for role in plane.roles}
    by: dict[str, list[str]] = {}
    for right, less in without_each_right(plane.roles):
        plane.kubectl.apply(less)
        found = awaited(operator.outcomes, lambda now: now != rightful, 10.0)
        by[right] = [what for what, outcome in found.items() if outcome in DENIED]
        plane.kubectl.apply(originals[less["metadata"]["name"]])
        assert awaited(operator.outcomes, lambda now: now == rightful, 20.0) == rightful
    unused = [right for right, refused in by.items() if not refused]
    row.note(rights=len(by), unused=len(unused))
    assert unused == []


def _refused(outcomes: Mapping[str, str]) -> list[str]:
    return [what for what, outcome in outcomes.items() if outcome != "done" and outcome != "ApplicationNotFound"]

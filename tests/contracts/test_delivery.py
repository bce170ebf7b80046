"""What every GitOps tool tells of a workload: the double, and Argo CD and Flux on objects in their own shapes."""

from dataclasses import dataclass
from typing import Any

import pytest

from mfu_operator.adapters.delivery.argocd import ArgoCD
from mfu_operator.adapters.delivery.flux import Flux
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.workload import Workload
from mfu_operator.ports import Delivery
from tests.support.custom_objects import CustomObjectsDouble
from tests.support.delivery_double import MARK, DeliveryDouble

URL = "https://git.example.org/team/models.git"
GPT = WorkloadRef("batch/v1", "Job", "training", "gpt")
FOREIGN = WorkloadRef("batch/v1", "Job", "training", "theirs")
OLD, NEW = "a" * 40, "b" * 40
DEPLOYED = ((OLD, 1_700_000_000.0), (NEW, 1_700_000_600.0))
TEMPLATE = {"metadata": {"labels": {"batch.kubernetes.io/job-name": "gpt"}}, "spec": {}}


@dataclass
class Arena:
    """A tool that deploys the workload `owned` from `application`."""

    delivery: Delivery
    application: ApplicationRef
    owned: Workload


def _workload(labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None) -> Workload:
    return Workload("uid", 0.0, TEMPLATE, labels or {}, annotations or {})


def _double() -> Arena:
    application = ApplicationRef("Application", "argocd", "gpt")
    deployed = tuple(Deployed(sha, at) for sha, at in DEPLOYED)
    source = Source(URL, "main", "apps/gpt", deployed, NEW, replaces_immutable=True)
    double = DeliveryDouble({application: source})
    double.foreign.add(FOREIGN)
    return Arena(double, application, _workload(annotations={MARK: "gpt"}))


def _argocd() -> Arena:
    app: dict[str, Any] = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "gpt", "namespace": "argocd"},
        "spec": {"source": {"repoURL": URL, "targetRevision": "main", "path": "apps/gpt"}},
        "status": {
            "resources": [{"group": "batch", "kind": "Job", "namespace": "training", "name": "gpt"}],
            "sync": {"status": "OutOfSync", "revision": "c" * 40},
            "history": [
                {"id": 0, "revision": OLD, "deployedAt": "2023-11-14T22:13:20Z"},
                {"id": 1, "revision": NEW, "deployedAt": "2023-11-14T22:23:20Z"},
            ],
        },
    }
    annotations = {
        "argocd.argoproj.io/tracking-id": "gpt:batch/Job:training/gpt",
        "argocd.argoproj.io/sync-options": "Force=true, Replace=true",
    }
    api = CustomObjectsDouble({("applications", "argocd", "gpt"): app})
    return Arena(ArgoCD(api), ApplicationRef("Application", "argocd", "gpt"), _workload(annotations=annotations))


def _flux() -> Arena:
    kustomization: dict[str, Any] = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "gpt", "namespace": "flux-system"},
        "spec": {"path": "./apps/gpt", "sourceRef": {"kind": "GitRepository", "name": "models"}},
        "status": {
            "inventory": {"entries": [{"id": "training_gpt_batch_Job", "v": "v1"}]},
            "lastAppliedRevision": f"main@sha1:{NEW}",
            "history": [
                _snapshot(f"main@sha1:{NEW}", "2023-11-14T22:23:20Z"),
                _snapshot(f"main@sha1:{OLD}", "2023-11-14T22:13:20Z"),
                _snapshot(f"main@sha1:{'c' * 40}", "2023-11-14T22:33:20Z", "BuildFailed"),
            ],
        },
    }
    repository: dict[str, Any] = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "spec": {"url": URL, "ref": {"branch": "main"}},
    }
    labels = {"kustomize.toolkit.fluxcd.io/name": "gpt", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    objects = {
        ("kustomizations", "flux-system", "gpt"): kustomization,
        ("gitrepositories", "flux-system", "models"): repository,
    }
    owned = _workload(labels, {"kustomize.toolkit.fluxcd.io/force": "enabled"})
    return Arena(Flux(CustomObjectsDouble(objects)), ApplicationRef("Kustomization", "flux-system", "gpt"), owned)


def _snapshot(revision: str, at: str, status: str = "ReconciliationSucceeded") -> dict[str, Any]:
    return {
        "firstReconciled": at,
        "lastReconciled": at,
        "lastReconciledStatus": status,
        "metadata": {"revision": revision},
    }


@pytest.fixture(params=[_double, _argocd, _flux], ids=["double", "argocd", "flux"])
def arena(request: pytest.FixtureRequest) -> Arena:
    made: Arena = request.param()
    return made


def test_a_workload_belongs_to_the_application_that_its_marks_name(arena: Arena) -> None:
    assert arena.delivery.application_of(arena.owned) == arena.application


def test_an_unmarked_workload_is_not_this_tools(arena: Arena) -> None:
    assert arena.delivery.application_of(_workload()) is None


def test_the_source_tells_repository_branch_and_path(arena: Arena) -> None:
    source = arena.delivery.source(arena.application, GPT, arena.owned)
    assert (source.repository, source.branch, source.path) == (URL, "main", "apps/gpt")


def test_the_source_tells_which_revisions_were_deployed_when(arena: Arena) -> None:
    source = arena.delivery.source(arena.application, GPT, arena.owned)
    assert sorted((entry.revision, entry.time_s) for entry in source.deployed) == list(DEPLOYED)
    assert source.synced_revision == NEW


def test_a_job_that_asks_to_be_replaced_is(arena: Arena) -> None:
    assert arena.delivery.source(arena.application, GPT, arena.owned).replaces_immutable is True


def test_an_application_that_is_not_there_is_named(arena: Arena) -> None:
    with pytest.raises(Retry) as raised:
        arena.delivery.source(ApplicationRef(arena.application.kind, "elsewhere", "nothing"), GPT, arena.owned)
    assert raised.value.reason == "ApplicationNotFound"
    assert "nothing" in raised.value.message


def test_a_workload_that_it_does_not_deploy_has_no_source_there_whatever_its_marks_say(arena: Arena) -> None:
    with pytest.raises(Stall) as raised:
        arena.delivery.source(arena.application, FOREIGN, arena.owned)
    assert raised.value.reason == "NotDeployedByApplication"
    assert "gpt" in raised.value.message and "theirs" in raised.value.message

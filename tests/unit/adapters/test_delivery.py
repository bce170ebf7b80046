"""What is peculiar to Argo CD and Flux."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.adapters.delivery.argocd import ArgoCD
from mfu_operator.adapters.delivery.flux import Flux, revision
from mfu_operator.errors import Retry, Stall
from mfu_operator.gitops.sources.applications import plan
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Deployed, Hydrated, Source
from mfu_operator.model.workload import Workload
from tests.support.custom_objects import CustomObjectsDouble

REF = ApplicationRef("Application", "argocd", "gpt")
URL = "https://git.example.org/team/models.git"
TRACKED = {"argocd.argoproj.io/tracking-id": "gpt:batch/Job:training/gpt"}
JOB = Workload("uid", 0.0, {"metadata": {}}, {}, TRACKED)
GPT = WorkloadRef("batch/v1", "Job", "training", "gpt")
DEPLOYS = {"resources": [{"group": "batch", "kind": "Job", "namespace": "training", "name": "gpt"}]}
PLAIN = {"source": {"repoURL": URL, "path": "apps/gpt"}}


def read(
    spec: dict[str, Any],
    status: dict[str, Any] | None = None,
    workload: Workload = JOB,
    annotations: dict[str, str] | None = None,
) -> Source:
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}
    app = {**head, "metadata": {"annotations": annotations or {}}, "spec": spec}
    api = CustomObjectsDouble({("applications", "argocd", "gpt"): app | {"status": DEPLOYS | (status or {})}})
    return ArgoCD(api).source(REF, GPT, workload)


def test_of_several_sources_the_one_from_git_is_read_with_its_own_revisions() -> None:
    chart = {"repoURL": "https://charts.example.org", "chart": "trainer", "targetRevision": "1.2.3"}
    history = [{"revisions": ["1.2.3", "a" * 40], "deployedAt": "2023-11-14T22:13:20Z"}]
    source = read({"sources": [chart, PLAIN["source"]]}, {"history": history})
    assert source.deployed == (Deployed("a" * 40, 1_700_000_000.0),)
    assert (source.path, source.synced_revision) == ("apps/gpt", "a" * 40)


def test_a_chart_that_moved_beside_the_same_commit_is_told_with_its_time() -> None:
    chart = {"repoURL": "https://charts.example.org", "chart": "trainer", "targetRevision": "1.*"}
    later = {"deployStartedAt": "2023-11-14T23:13:10Z", "deployedAt": "2023-11-14T23:13:20Z"}
    history = [
        {"revisions": ["1.0.0", "a" * 40], "deployedAt": "2023-11-14T22:13:20Z"},
        {"revisions": ["1.1.0", "a" * 40], **later},
        {"revisions": ["1.1.0", "b" * 40], "deployedAt": "2023-11-15T22:13:20Z"},
    ]
    source = read({"sources": [chart, PLAIN["source"]]}, {"history": history})
    assert source.beside == (Deployed("1.1.0", 1_700_003_600.0, 1_700_003_590.0),)


def test_value_files_that_a_chart_borrows_from_git_are_the_path() -> None:
    chart = {
        "repoURL": "https://charts.example.org",
        "chart": "x",
        "helm": {"valueFiles": ["$conf/envs/prod/values.yaml"]},
    }
    source = read({"sources": [chart, {"repoURL": URL, "ref": "conf"}]})
    assert source.path == "envs/prod"


def test_the_application_itself_says_what_is_rendered() -> None:
    helm = {"valueFiles": ["values.yaml", "../../common.yaml"], "parameters": [{"name": "workers", "value": "8"}]}
    spec = {"source": {"repoURL": URL, "path": "apps/gpt", "helm": helm}}
    history = [{"revision": "a" * 40, "deployedAt": "2023-11-14T22:13:20Z"}]
    (application,) = read(spec, {"history": history}).objects
    assert (application["spec"], application["status"]) == (spec, {"history": history})
    (part,) = plan([application]).parts
    assert part.helm.parameters == (("workers", "8", False),)


def test_with_the_hydrator_the_dry_branch_is_the_source() -> None:
    hydrator = {
        "drySource": {"repoURL": URL, "targetRevision": "main", "path": "apps/gpt"},
        "syncSource": {"targetBranch": "env/prod", "path": "gpt"},
    }
    source = read({"sourceHydrator": hydrator})
    assert (source.branch, source.path, source.hydrated) == ("main", "apps/gpt", Hydrated("env/prod", "gpt"))


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"source": {"repoURL": "https://charts.example.org", "chart": "x"}}, "SourceUnsupported"),
        ({"sources": [PLAIN["source"], {"repoURL": URL, "path": "apps/other"}]}, "SourceAmbiguous"),
    ],
)
def test_what_has_no_one_git_source_is_refused(spec: dict[str, Any], reason: str) -> None:
    with pytest.raises(Stall) as raised:
        read(spec)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("status", "synced"),
    [
        ({"sync": {"status": "Synced", "revision": "a"}}, "a"),
        ({"sync": {"status": "OutOfSync", "revision": "a"}}, None),
        ({"operationState": {"phase": "Succeeded", "syncResult": {"revision": "b"}}}, "b"),
        ({"operationState": {"phase": "Running", "syncResult": {"revision": "b"}}}, None),
        (None, None),
    ],
)
def test_a_revision_counts_as_synced_only_once_it_is(status: dict[str, Any] | None, synced: str | None) -> None:
    assert read(PLAIN, status).synced_revision == synced


@pytest.mark.parametrize(
    ("kind", "options", "general", "replaces"),
    [
        ("batch/Job", "Force=true,Replace=true", [], True),
        ("batch/Job", "Replace=true", [], False),
        ("batch/Job", "", [], False),
        ("batch/Job", "Force=true", ["Replace=true"], True),
        ("batch/Job", "Force=true,Replace=false", ["Replace=true"], False),
        ("jobset.x-k8s.io/JobSet", "", [], False),
        ("apps/Deployment", "", [], None),
    ],
)
def test_whether_a_job_will_be_replaced_is_known_beforehand(
    kind: str, options: str, general: list[str], replaces: bool | None
) -> None:
    annotations = {
        "argocd.argoproj.io/tracking-id": f"gpt:{kind}:training/gpt",
        "argocd.argoproj.io/sync-options": options,
    }
    spec = {**PLAIN, "syncPolicy": {"syncOptions": general}}
    assert read(spec, workload=replace(JOB, annotations=annotations)).replaces_immutable is replaces


def test_the_image_updater_is_named() -> None:
    source = read(PLAIN, annotations={"argocd-image-updater.argoproj.io/image-list": "x"})
    assert source.updaters == ("Argo CD Image Updater",)


def test_an_application_of_another_namespace_is_found_by_its_tracking_id() -> None:
    annotations = {"argocd.argoproj.io/tracking-id": "team-a_gpt:batch/Job:training/gpt"}
    found = ArgoCD(CustomObjectsDouble()).application_of(replace(JOB, annotations=annotations))
    assert found == ApplicationRef("Application", "team-a", "gpt")


def test_the_instance_label_counts_only_where_there_is_such_an_application() -> None:
    labelled = replace(JOB, annotations={}, labels={"app.kubernetes.io/instance": "gpt"})
    app = {"apiVersion": "argoproj.io/v1alpha1"}
    assert ArgoCD(CustomObjectsDouble()).application_of(labelled) is None
    assert ArgoCD(CustomObjectsDouble({("applications", "argocd", "gpt"): app})).application_of(labelled) == REF


@pytest.mark.parametrize(("status", "reason"), [(403, "DeliveryForbidden"), (500, "ClusterUnreachable")])
def test_a_failed_look_is_no_answer(status: int, reason: str) -> None:
    api = CustomObjectsDouble()
    api.status = status
    with pytest.raises(Retry) as raised:
        ArgoCD(api).source(REF, GPT, JOB)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("text", "sha"),
    [(f"main@sha1:{'a' * 40}", "a" * 40), (f"main/{'a' * 40}", "a" * 40), ("main", None), (None, None)],
)
def test_flux_revisions_end_in_a_sha(text: str | None, sha: str | None) -> None:
    assert revision(text) == sha


def flux(kustomization: dict[str, Any], repository: dict[str, Any], entry: str = "training_gpt_batch_Job") -> Source:
    status = {"inventory": {"entries": [{"id": entry, "v": "v1"}, {"id": "_a__b_rbac.k8s_ClusterRole"}]}}
    kind = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "status": status}
    objects = {
        ("kustomizations", "apps", "gpt"): kind | {"spec": kustomization},
        ("gitrepositories", "apps", "models"): {"apiVersion": "source.toolkit.fluxcd.io/v1", "spec": repository},
    }
    job = replace(JOB, template={"metadata": {"labels": {"job-name": "gpt"}}})
    return Flux(CustomObjectsDouble(objects)).source(ApplicationRef("Kustomization", "apps", "gpt"), GPT, job)


def test_flux_warns_where_signatures_are_verified_or_no_branch_is_followed() -> None:
    reference = {"kind": "GitRepository", "name": "models"}
    source = flux({"sourceRef": reference}, {"url": URL, "ref": {"tag": "v1"}, "verify": {"mode": "HEAD"}})
    assert [warning.split()[2] for warning in source.warnings] == ["verifies", "follows"]
    assert source.replaces_immutable is False
    assert flux({"sourceRef": reference, "force": True}, {"url": URL}).replaces_immutable is True


def test_flux_from_a_bucket_has_no_commit() -> None:
    with pytest.raises(Stall) as raised:
        flux({"sourceRef": {"kind": "Bucket", "name": "x"}}, {})
    assert raised.value.reason == "SourceUnsupported"


REPOSITORY = {"sourceRef": {"kind": "GitRepository", "name": "models"}}
LISTED = {"group": "batch", "kind": "Job", "namespace": "training", "name": "gpt"}


@pytest.mark.parametrize(
    "resource",
    [
        LISTED | {"name": "other"},
        LISTED | {"namespace": "elsewhere"},
        LISTED | {"kind": "CronJob"},
        LISTED | {"group": "example.org"},
        {},
    ],
)
def test_an_application_that_lists_something_else_is_refused_by_its_name(resource: dict[str, str]) -> None:
    with pytest.raises(Stall, match=r"Application argocd/gpt does not deploy Job training/gpt") as raised:
        read(PLAIN, {"resources": [resource]})
    assert raised.value.reason == "NotDeployedByApplication"


def test_what_an_application_deploys_may_make_the_workload() -> None:
    made = replace(JOB, owners=(("batch", "CronJob", "nightly"),))
    assert read(PLAIN, {"resources": [LISTED | {"kind": "CronJob", "name": "nightly"}]}, made).path == "apps/gpt"


@pytest.mark.parametrize("destination", [{"server": "https://10.0.0.1"}, {"name": "edge"}, {}])
def test_an_application_of_another_cluster_does_not_deploy_here(destination: dict[str, str]) -> None:
    unmarked = replace(JOB, annotations={})
    with pytest.raises(Stall, match="deploys to another cluster"):
        read({**PLAIN, "destination": destination}, workload=unmarked)
    here = {"server": "https://kubernetes.default.svc", "namespace": "training"}
    assert read({**PLAIN, "destination": here}, workload=unmarked).path == "apps/gpt"


@pytest.mark.parametrize("entry", ["training_other_batch_Job", "elsewhere_gpt_batch_Job", "gpt"])
def test_a_kustomization_that_lists_something_else_is_refused_by_its_name(entry: str) -> None:
    with pytest.raises(Stall, match=r"Kustomization apps/gpt does not deploy Job training/gpt"):
        flux(REPOSITORY, {"url": URL}, entry)


def test_a_kustomization_of_another_cluster_does_not_deploy_here() -> None:
    with pytest.raises(Stall, match="deploys to another cluster"):
        flux({**REPOSITORY, "kubeConfig": {"secretRef": {"name": "edge"}}}, {"url": URL})

"""Argo CD: Applications. Only `get` on single Applications is used."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from mfu_operator.adapters.delivery.objects import (
    CustomObjects,
    Resource,
    deploys_elsewhere,
    find,
    get,
    immutable,
    options,
    rendered_from,
    require_deployed,
)
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Deployed, Hydrated, Source
from mfu_operator.model.workload import Workload

_API = ("argoproj.io", "v1alpha1", "applications")
_TRACKING = "argocd.argoproj.io/tracking-id"
_INSTANCE = "app.kubernetes.io/instance"
_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
_UPDATER = "argocd-image-updater.argoproj.io/image-list"


class ArgoCD:
    """The Delivery port for Argo CD.

    Args:
        api: the Kubernetes client's CustomObjectsApi.
        namespace: where Applications live that a workload's mark names without a namespace.
    """

    def __init__(self, api: CustomObjects, namespace: str = "argocd") -> None:
        self._api = api
        self._namespace = namespace

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        """The Application by the tracking annotation, else by the instance label where such an Application exists.

        (Helm sets the label too, so it proves nothing alone.)
        """
        tracker = self._tracker(workload)
        if tracker is not None:
            return tracker
        labelled = workload.labels.get(_INSTANCE)
        if labelled and find(self._api, *_API, self._namespace, labelled) is not None:
            return ApplicationRef("Application", self._namespace, labelled)
        return None

    def _tracker(self, workload: Workload) -> ApplicationRef | None:
        tracked = workload.annotations.get(_TRACKING, "").partition(":")[0]
        namespace, _, name = tracked.rpartition("_")
        return ApplicationRef("Application", namespace or self._namespace, name) if tracked else None

    def source(self, application: ApplicationRef, ref: WorkloadRef, workload: Workload) -> Source:
        """Repository, branch, path and deployments of the Application.

        Raises Stall(NotDeployedByApplication) where it does not deploy the workload here,
        Stall(SourceUnsupported) where it deploys nothing from Git, Stall(SourceAmbiguous) where it deploys from
        several repositories or folders, and what `objects.get` raises.
        """
        app = get(self._api, *_API, application.namespace, application.name)
        spec, status = app.get("spec") or {}, app.get("status") or {}
        require_deployed(application, frozenset(_resources(status)), ref, workload)
        destination = spec.get("destination") or {}
        if not _is_here(destination) and self._tracker(workload) != application:
            raise deploys_elsewhere(application, str(destination.get("server") or destination.get("name")))
        index, chosen, hydrated = _chosen(application, spec)
        return Source(
            repository=str(chosen["repoURL"]),
            branch=_branch(chosen.get("targetRevision")),
            path=_folder(chosen, spec),
            deployed=tuple(_deployed(status.get("history") or [], index)),
            synced_revision=_synced(status, index),
            replaces_immutable=_replaces(spec, workload),
            updaters=("Argo CD Image Updater",) if _UPDATER in _annotations(app) else (),
            hydrated=hydrated,
            tool="Argo CD",
            objects=(rendered_from(app, {"history": status.get("history") or []}),),
            beside=tuple(_beside(status.get("history") or [], index)),
        )


def _is_here(destination: Mapping[str, Any]) -> bool:
    """Whether a destination is the cluster that Argo CD itself runs in. One under another name may be as well."""
    return destination.get("server") == "https://kubernetes.default.svc" or destination.get("name") == "in-cluster"


def _resources(status: Mapping[str, Any]) -> Iterator[Resource]:
    for each in status.get("resources") or []:
        yield each.get("group") or "", each.get("kind") or "", each.get("namespace") or "", each.get("name") or ""


def _chosen(
    application: ApplicationRef, spec: Mapping[str, Any]
) -> tuple[int | None, Mapping[str, Any], Hydrated | None]:
    """The source of the workload's configuration: its index among `sources` (None: there is one `source`)."""
    hydrator = spec.get("sourceHydrator")
    if hydrator:
        synced = hydrator["syncSource"]
        return None, hydrator["drySource"], Hydrated(synced["targetBranch"], synced["path"])
    listed = spec.get("sources") or []
    numbered = list(enumerate(listed)) if listed else [(None, spec.get("source") or {})]
    from_git = [(index, source) for index, source in numbered if source.get("repoURL") and not source.get("chart")]
    with_path = [(index, source) for index, source in from_git if source.get("path")] or from_git
    if not with_path:
        raise Stall(
            "SourceUnsupported",
            f"Application {application.namespace}/{application.name} deploys from a chart repository, not from Git: "
            "there is no commit to revert. Set spec.remediation.mode to Observe.",
        )
    if len(with_path) > 1:
        raise Stall(
            "SourceAmbiguous",
            f"Application {application.namespace}/{application.name} deploys from {len(with_path)} Git sources, and "
            "it is unclear which one holds the workload's configuration. Give the workload an Application of its own.",
        )
    index, source = with_path[0]
    return index, source, None


def _branch(target: Any) -> str:
    return str(target or "HEAD").removeprefix("refs/heads/")


def _folder(source: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """The source's path; for one that only lends value files to a chart, the folder that holds them."""
    if source.get("path"):
        return "" if source["path"] == "." else str(source["path"]).strip("/").removeprefix("./")
    folders = [posixpath.dirname(file) for file in _lent(source, spec)]
    return posixpath.commonpath(folders) if folders else ""


def _lent(source: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    prefix = f"${source.get('ref')}/"
    for other in spec.get("sources") or []:
        for file in (other.get("helm") or {}).get("valueFiles") or []:
            if source.get("ref") and file.startswith(prefix):
                yield file.removeprefix(prefix)


def _revision(entry: Mapping[str, Any], index: int | None) -> str | None:
    if index is None:
        return entry.get("revision") or None
    revisions: Sequence[str] = entry.get("revisions") or []
    return revisions[index] if index < len(revisions) else None


def _deployed(history: Sequence[Mapping[str, Any]], index: int | None) -> Iterator[Deployed]:
    for entry in history:
        revision, deployed_at = _revision(entry, index), unix_time(entry.get("deployedAt"))
        if revision and deployed_at is not None:
            yield Deployed(revision, deployed_at, unix_time(entry.get("deployStartedAt")))


def _beside(history: Sequence[Mapping[str, Any]], index: int | None) -> Iterator[Deployed]:
    """The deployments, oldest first, with which another source than the chosen one changed."""
    if index is None:
        return
    for before, entry in pairwise(sorted(history, key=lambda each: unix_time(each.get("deployedAt")) or 0.0)):
        deployed_at = unix_time(entry.get("deployedAt"))
        for number, (was, now) in enumerate(
            zip(before.get("revisions") or [], entry.get("revisions") or [], strict=False)
        ):
            if number != index and was != now and deployed_at is not None:
                yield Deployed(str(now), deployed_at, unix_time(entry.get("deployStartedAt")))


def _synced(status: Mapping[str, Any], index: int | None) -> str | None:
    """The revision that was last deployed. `status.sync.revision` says it only while Synced: it runs ahead."""
    history = status.get("history") or []
    if history:
        return _revision(history[-1], index)
    operation = status.get("operationState") or {}
    if operation.get("phase") == "Succeeded":
        return _revision(operation.get("syncResult") or {}, index)
    sync = status.get("sync") or {}
    return _revision(sync, index) if sync.get("status") == "Synced" else None


def _replaces(spec: Mapping[str, Any], workload: Workload) -> bool | None:
    tracked = re.match(r"[^:]*:[^/]*/([^:]+):", workload.annotations.get(_TRACKING, ""))
    if not immutable(workload.template, tracked[1] if tracked else None):
        return None
    marks = options(workload.annotations, _SYNC_OPTIONS)
    general = (spec.get("syncPolicy") or {}).get("syncOptions") or []
    replace = "Replace=true" in marks or ("Replace=true" in general and "Replace=false" not in marks)
    return replace and "Force=true" in marks


def _annotations(app: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = (app.get("metadata") or {}).get("annotations") or {}
    return found

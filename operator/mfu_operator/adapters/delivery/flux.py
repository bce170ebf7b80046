"""Flux: Kustomizations and their GitRepositories. Only `get` on single objects is used."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mfu_operator.adapters.delivery.objects import (
    CustomObjects,
    Resource,
    deploys_elsewhere,
    get,
    immutable,
    rendered_from,
    require_deployed,
)
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.workload import Workload

_KUSTOMIZATIONS = ("kustomize.toolkit.fluxcd.io", "v1", "kustomizations")
_REPOSITORIES = ("source.toolkit.fluxcd.io", "v1", "gitrepositories")
_MARK = "kustomize.toolkit.fluxcd.io"


class Flux:
    """The Delivery port for Flux's kustomize-controller.

    Args:
        api: the Kubernetes client's CustomObjectsApi.
    """

    def __init__(self, api: CustomObjects) -> None:
        self._api = api

    def application_of(self, workload: Workload) -> ApplicationRef | None:
        """The Kustomization by the labels that the controller leaves on what it applies."""
        name = workload.labels.get(f"{_MARK}/name")
        namespace = workload.labels.get(f"{_MARK}/namespace")
        return ApplicationRef("Kustomization", namespace, name) if name and namespace else None

    def source(self, application: ApplicationRef, ref: WorkloadRef, workload: Workload) -> Source:
        """Repository, branch, path and deployments of the Kustomization.

        `deployed` holds what `status.history` tells (Flux 2.7 and later), else nothing: then the window is wider.
        Raises Stall(NotDeployedByApplication) where it does not deploy the workload here,
        Stall(SourceUnsupported) where its source is not a GitRepository, and what `objects.get` raises.
        """
        kustomization = get(self._api, *_KUSTOMIZATIONS, application.namespace, application.name)
        spec, status = kustomization.get("spec") or {}, kustomization.get("status") or {}
        require_deployed(application, frozenset(_inventory(status)), ref, workload)
        if spec.get("kubeConfig"):
            raise deploys_elsewhere(application, "spec.kubeConfig")
        held = self._repository(application, spec.get("sourceRef") or {})
        repository: Mapping[str, Any] = held.get("spec") or {}
        return Source(
            repository=str(repository["url"]),
            branch=str((repository.get("ref") or {}).get("branch") or "HEAD"),
            path=str(spec.get("path") or "").removeprefix("./").strip("/"),
            deployed=tuple(_deployed(status)),
            synced_revision=revision(status.get("lastAppliedRevision")),
            replaces_immutable=_replaces(spec, workload),
            tool="Flux",
            warnings=tuple(_warnings(repository)),
            objects=(rendered_from(kustomization), rendered_from(held)),
        )

    def _repository(self, application: ApplicationRef, reference: Mapping[str, Any]) -> Mapping[str, Any]:
        if reference.get("kind") != "GitRepository":
            raise Stall(
                "SourceUnsupported",
                f"Kustomization {application.namespace}/{application.name} deploys from a {reference.get('kind')}, not "
                "from Git: there is no commit to revert. Set spec.remediation.mode to Observe.",
            )
        namespace = str(reference.get("namespace") or application.namespace)
        return get(self._api, *_REPOSITORIES, namespace, str(reference["name"]))


def revision(text: str | None) -> str | None:
    """The sha in `main@sha1:<sha>` (or `main/<sha>`, as before Flux 2)."""
    found = re.search(r"(?:[:/]|^)([0-9a-f]{40,64})$", text or "")
    return found[1] if found else None


def _inventory(status: Mapping[str, Any]) -> Iterator[Resource]:
    """The entries are `namespace_name_group_kind`, of which only a name may hold colons and none an underscore."""
    for entry in (status.get("inventory") or {}).get("entries") or []:
        parts = str(entry.get("id") or "").split("_")
        if len(parts) == 4:
            namespace, name, group, kind = parts
            yield group, kind, namespace, name


def _deployed(status: Mapping[str, Any]) -> Iterator[Deployed]:
    for entry in status.get("history") or []:
        metadata = entry.get("metadata") or {}
        sha = revision(metadata.get("originRevision")) or revision(metadata.get("revision"))
        first = unix_time(entry.get("firstReconciled"))
        if sha and first is not None and entry.get("lastReconciledStatus") == "ReconciliationSucceeded":
            yield Deployed(sha, first)


def _replaces(spec: Mapping[str, Any], workload: Workload) -> bool | None:
    if not immutable(workload.template):
        return None
    marks = (workload.annotations.get(f"{_MARK}/force"), workload.labels.get(f"{_MARK}/force"))
    return bool(spec.get("force")) or any(str(mark).lower() == "enabled" for mark in marks)


def _warnings(repository: Mapping[str, Any]) -> Iterator[str]:
    if repository.get("verify"):
        yield (
            "The GitRepository verifies signatures: an unsigned commit stops syncing. Merge so that the resulting "
            "commit is signed."
        )
    reference = repository.get("ref") or {}
    if reference and not reference.get("branch"):
        yield "The GitRepository follows a tag or a commit, not a branch: the merge alone deploys nothing."

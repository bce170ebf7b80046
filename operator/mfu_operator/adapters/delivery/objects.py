"""Reading custom objects, with their failures as what to do next."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import urllib3
from kubernetes.client import ApiException

from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.workload import Workload


class CustomObjects(Protocol):
    """What is used of the Kubernetes client's CustomObjectsApi."""

    def get_namespaced_custom_object(self, group: str, version: str, namespace: str, plural: str, name: str) -> Any:
        """One object as plain dicts."""


def find(
    api: CustomObjects, group: str, version: str, plural: str, namespace: str, name: str
) -> Mapping[str, Any] | None:
    """An object, None where there is none (or no such kind).

    Raises:
        Retry(DeliveryForbidden): the operator may not read it.
        Retry(ClusterUnreachable): the API server does not answer.
    """
    what = f"{plural}.{group} {namespace}/{name}"
    try:
        found: Mapping[str, Any] = api.get_namespaced_custom_object(group, version, namespace, plural, name)
    except ApiException as error:
        if error.status == 404:
            return None
        if error.status in (401, 403):
            raise Retry(
                "DeliveryForbidden", f"the operator may not read {what}: grant it `get` on {plural} there."
            ) from error
        raise Retry("ClusterUnreachable", f"reading {what}: the API server answered {error.status}.") from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Retry(
            "ClusterUnreachable", f"reading {what}: {type(error).__name__}; is the API server reachable?"
        ) from error
    return found


def get(api: CustomObjects, group: str, version: str, plural: str, namespace: str, name: str) -> Mapping[str, Any]:
    """An object that must be there; raises Retry(ApplicationNotFound) too."""
    found = find(api, group, version, plural, namespace, name)
    if found is None:
        raise Retry(
            "ApplicationNotFound",
            f"there is no {plural}.{group} {namespace}/{name}: correct spec.remediation.application, or create it.",
        )
    return found


Resource = tuple[str, str, str, str]
"""API group, kind, namespace and name."""


def require_deployed(
    application: ApplicationRef, inventory: Collection[Resource], ref: WorkloadRef, workload: Workload
) -> None:
    """Raise Stall(NotDeployedByApplication) unless the tool itself lists the workload, or what made it, as deployed.

    Marks on the workload prove nothing: whoever may write it writes them.
    """
    itself = (ref.api_version.rpartition("/")[0], ref.kind, ref.name)
    for group, kind, name in (itself, *workload.owners):
        if (group, kind, ref.namespace, name) in inventory:
            return
    raise Stall(
        "NotDeployedByApplication",
        f"{application.kind} {application.namespace}/{application.name} does not deploy {ref.kind} "
        f"{ref.namespace}/{ref.name}: it is not among the {len(inventory)} objects that it lists as deployed. Name the "
        "one that does in spec.remediation.application",
    )


def deploys_elsewhere(application: ApplicationRef, where: str) -> Stall:
    """What is said of an application whose objects go to another cluster."""
    return Stall(
        "NotDeployedByApplication",
        f"{application.kind} {application.namespace}/{application.name} deploys to another cluster ({where[:100]}): "
        "what is watched here is another workload. Name the application that deploys it here",
    )


def rendered_from(body: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """What of an object says what is rendered, and how: its name and spec, and a part of its status."""
    metadata = body.get("metadata") or {}
    return {
        "apiVersion": body.get("apiVersion"),
        "kind": body.get("kind"),
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "spec": body.get("spec") or {},
        **({"status": status} if status else {}),
    }


def options(annotations: Mapping[str, str], key: str) -> frozenset[str]:
    """A comma-separated annotation as a set."""
    return frozenset(part.strip() for part in annotations.get(key, "").split(",") if part.strip())


def immutable(template: Mapping[str, Any], kind: str | None = None) -> bool:
    """Whether the workload's template cannot be changed in place, by its kind or by the marks on its pods."""
    if kind is not None:
        return kind in ("Job", "JobSet", "TrainJob")
    labels = (template.get("metadata") or {}).get("labels") or {}
    return any(
        label in labels for label in ("batch.kubernetes.io/job-name", "job-name", "jobset.sigs.k8s.io/jobset-name")
    )

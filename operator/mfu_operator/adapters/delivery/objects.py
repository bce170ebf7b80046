"""Reading custom objects, with their failures as what to do next."""

from collections.abc import Mapping
from typing import Any, Protocol

import urllib3
from kubernetes.client import ApiException

from mfu_operator.errors import Retry


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

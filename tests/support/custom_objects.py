"""The Kubernetes client's CustomObjectsApi with objects in memory: `get` only, as the operator's role allows."""

from typing import Any

from kubernetes.client import ApiException


class CustomObjectsDouble:
    """Objects by (plural, namespace, name); `status` is answered instead of them while it is set."""

    def __init__(self, objects: dict[tuple[str, str, str], dict[str, Any]] | None = None) -> None:
        self.objects = objects or {}
        self.status: int | None = None

    def get_namespaced_custom_object(self, group: str, version: str, namespace: str, plural: str, name: str) -> Any:
        if self.status is not None:
            raise ApiException(status=self.status)
        found = self.objects.get((plural, namespace, name))
        if found is None:
            raise ApiException(status=404)
        assert found["apiVersion"] == f"{group}/{version}"
        return found

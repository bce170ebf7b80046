"""The part of the API server that keeps Leases, in memory: resource versions and 409, as the real one."""

import json
from collections.abc import Callable
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.lease import Leadership


class LeaseServer:
    """Keeps one Lease; `of` gives the real adapter on it."""

    def __init__(self) -> None:
        self._api = client.ApiClient(client.Configuration())
        self._stored: dict[str, Any] | None = None
        self._version = 0

    def of(self, identity: str, steady: Callable[[], float]) -> Leadership:
        """A replica's Lease adapter; `steady` is the clock of its machine that nobody sets."""
        leadership = Leadership(self._api, "mfu-system", "mfu-operator", identity, steady)
        leadership._leases = self  # type: ignore[assignment]
        return leadership

    @property
    def holder(self) -> str | None:
        """Who holds it, by what stands in it."""
        return None if self._stored is None else self._stored["spec"].get("holderIdentity") or None

    def read_namespaced_lease(self, name: str, namespace: str, **_: Any) -> Any:
        """The Lease, or 404."""
        if self._stored is None:
            raise ApiException(status=404)
        return self._object(self._stored)

    def create_namespaced_lease(self, namespace: str, body: Any, **_: Any) -> Any:
        """Store the first one, or 409."""
        if self._stored is not None:
            raise ApiException(status=409)
        return self._store(body)

    def replace_namespaced_lease(self, name: str, namespace: str, body: Any, **_: Any) -> Any:
        """Store another one, or 409 where it is made from an older one."""
        given = self._plain(body)["metadata"].get("resourceVersion")
        if self._stored is None or (given is not None and given != self._stored["metadata"]["resourceVersion"]):
            raise ApiException(status=409)
        return self._store(body)

    def _store(self, body: Any) -> Any:
        self._version += 1
        stored = self._plain(body)
        stored["metadata"]["resourceVersion"] = str(self._version)
        self._stored = stored
        return self._object(stored)

    def _plain(self, body: Any) -> dict[str, Any]:
        api: Any = self._api
        plain: dict[str, Any] = json.loads(json.dumps(api.sanitize_for_serialization(body)))
        return plain

    def _object(self, stored: dict[str, Any]) -> Any:
        return self._api.deserialize(json.dumps(stored), "V1Lease", "application/json")

"""One of several replicas acts: whoever holds the Lease. Every effect is an idempotent ensure all the same."""

from copy import copy
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.pods import micro_time

LEASE_DURATION_S = 15
"""As the Kubernetes controllers' own: a dead leader is replaced within this time."""

REQUEST_TIMEOUT_S = 3.0
"""A renewal is two requests and no repetition: it ends well within the Lease's duration, one way or the other."""


class Leadership:
    """A Lease named `name`, taken or renewed on each call of `hold`."""

    def __init__(self, api: client.ApiClient, namespace: str, name: str, identity: str) -> None:
        self._leases = client.CoordinationV1Api(_without_retries(api))
        self._namespace = namespace
        self._name = name
        self._identity = identity

    def hold(self, now_s: float) -> bool:
        """Take or renew the Lease; True while it is ours. Losing a race to another replica is False.

        Raises:
            Retry, Stall: the API server could not be asked; the caller must then not act.
        """
        with translated(f"renewing Lease {self._namespace}/{self._name}"):
            lease = self._read()
            if lease is None:
                return self._write(None, now_s, 0)
            holder = lease.spec.holder_identity
            renewed = lease.spec.renew_time.timestamp() if lease.spec.renew_time else 0.0
            if holder not in (None, "", self._identity) and now_s < renewed + LEASE_DURATION_S:
                return False
            changes = (lease.spec.lease_transitions or 0) + (holder != self._identity)
            return self._write(lease.metadata.resource_version, now_s, changes)

    def release(self) -> None:
        """Give the Lease back, so that the next replica need not wait."""
        with translated(f"releasing Lease {self._namespace}/{self._name}"):
            lease = self._read()
            if lease is not None and lease.spec.holder_identity == self._identity:
                lease.spec.holder_identity = ""
                self._leases.replace_namespaced_lease(
                    self._name, self._namespace, lease, _request_timeout=REQUEST_TIMEOUT_S
                )

    def _read(self) -> Any:
        try:
            return self._leases.read_namespaced_lease(self._name, self._namespace, _request_timeout=REQUEST_TIMEOUT_S)
        except ApiException as error:
            if error.status == 404:
                return None
            raise

    def _write(self, version: str | None, now_s: float, transitions: int) -> bool:
        body: Any = {
            "metadata": {"name": self._name, "namespace": self._namespace, "resourceVersion": version},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": LEASE_DURATION_S,
                "renewTime": micro_time(now_s),
                "leaseTransitions": transitions,
            },
        }
        try:
            if version is None:
                self._leases.create_namespaced_lease(self._namespace, body, _request_timeout=REQUEST_TIMEOUT_S)
            else:
                self._leases.replace_namespaced_lease(
                    self._name, self._namespace, body, _request_timeout=REQUEST_TIMEOUT_S
                )
        except ApiException as error:
            if error.status == 409:
                return False
            raise
        return True


def _without_retries(api: client.ApiClient) -> client.ApiClient:
    """A client like this one that asks once: urllib3 would try four times, longer than the Lease lasts."""
    configuration: Any = copy(api.configuration)
    configuration.retries = 0
    return client.ApiClient(configuration)

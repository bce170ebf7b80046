"""One of several replicas acts: whoever holds the Lease. Every effect is an idempotent ensure all the same.

Whether another replica's Lease has run out is judged as client-go does: by when *we* saw it change, on a clock of our
own that nobody sets. What its holder wrote into it is a time of another machine's, and says nothing here.
"""

import time
from collections.abc import Callable, Collection
from copy import copy
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.bounded import bounded
from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.pods import micro_time
from mfu_operator.api.group import ANNOTATION_PREFIX

LEASE_DURATION_S = 15
"""As the Kubernetes controllers' own: a dead leader is replaced within this time."""

LABELS = {"app.kubernetes.io/name": "mfu-operator"}
"""By which installations find each other's Leases."""

WATCHES = f"{ANNOTATION_PREFIX}/watches"
"""The annotation that says which namespaces an installation serves, separated by commas; empty: all."""

REQUEST_TIMEOUT_S = 3.0
"""A renewal is two requests and no repetition: it ends well within the Lease's duration, one way or the other."""


class Leadership:
    """A Lease named `name`, taken or renewed on each call of `hold`.

    Args:
        api: the client.
        namespace: the Lease's.
        name: the Lease's.
        identity: what stands in it as its holder.
        steady: seconds on a clock that nobody sets.
        watches: the namespaces that this installation serves; none: all.
    """

    def __init__(
        self,
        api: client.ApiClient,
        namespace: str,
        name: str,
        identity: str,
        steady: Callable[[], float] = time.monotonic,
        watches: Collection[str] = (),
    ) -> None:
        self._leases = client.CoordinationV1Api(_without_retries(api))
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._steady = steady
        self._watches = ",".join(sorted(watches))
        self._seen: tuple[object, ...] | None = None
        self._changed_s = 0.0
        """When we first saw what stands in the Lease now."""

    def hold(self, now_s: float) -> bool:
        """Take or renew the Lease; True while it is ours. Losing a race to another replica is False; a Lease that a
        person or a tool wrote to meanwhile is read again.

        Args:
            now_s: Unix seconds, for people who read the Lease; nothing is judged by them.

        Raises:
            Retry, Stall: the API server could not be asked.
        """
        with translated(f"renewing Lease {self._namespace}/{self._name}"):
            return any(self._took(now_s) for _ in range(2))

    def _took(self, now_s: float) -> bool:
        lease = self._read()
        if lease is None:
            return self._write(None, now_s, 0)
        spec = lease.spec
        seen = (spec.holder_identity, spec.renew_time, spec.lease_transitions, spec.lease_duration_seconds)
        if seen != self._seen:
            self._seen, self._changed_s = seen, self._steady()
        others = spec.holder_identity not in (None, "", self._identity)
        if others and self._steady() < self._changed_s + (spec.lease_duration_seconds or LEASE_DURATION_S):
            return False
        changes = (spec.lease_transitions or 0) + (spec.holder_identity != self._identity)
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
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "resourceVersion": version,
                "labels": LABELS,
                "annotations": {WATCHES: self._watches},
            },
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
    return bounded(configuration, REQUEST_TIMEOUT_S)

"""The installations of this operator in the cluster, by their Leases: one list, and no other right than to list."""

from dataclasses import dataclass
from typing import Any

from kubernetes import client

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.lease import LABELS, WATCHES

REQUEST_TIMEOUT_S = 15.0

MOST = 100
"""Far more than a cluster has: what anybody who may write Leases writes is bounded."""


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation: its Lease's namespace and name, the namespaces that it serves (none: all), and what stands in
    its Lease now, which changes while it lives."""

    name: str
    watches: frozenset[str]
    record: tuple[object, ...]

    def serves(self, namespace: str) -> bool:
        """Whether it serves the baselines of a namespace."""
        return not self.watches or namespace in self.watches


def installations(api: client.ApiClient) -> tuple[Installation, ...]:
    """Those that have a Lease, in every namespace.

    Raises:
        Retry, Stall: the API server could not be asked, or refused.
    """
    selector = ",".join(f"{key}={value}" for key, value in LABELS.items())
    with translated("listing the Leases of mfu-operator"):
        found: Any = client.CoordinationV1Api(api).list_lease_for_all_namespaces(
            label_selector=selector, limit=MOST, _request_timeout=REQUEST_TIMEOUT_S
        )
    return tuple(_installation(lease) for lease in found.items)


def _installation(lease: Any) -> Installation:
    said = (lease.metadata.annotations or {}).get(WATCHES, "")
    watches = frozenset(name for name in said.split(",") if name)
    record = (lease.spec.holder_identity, lease.spec.renew_time, lease.spec.lease_transitions)
    return Installation(f"{lease.metadata.namespace}/{lease.metadata.name}", watches, record)

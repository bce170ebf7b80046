"""One client for equal declarations, at the address and with the credentials that a baseline or the operator names."""

from collections.abc import Callable
from dataclasses import replace

import httpx

from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.metric_names import names_of, of_fleet
from mfu_operator.adapters.open_sources import OpenSources
from mfu_operator.adapters.prometheus.api import LARGEST_ANSWER, LARGEST_OF_A_BASELINE
from mfu_operator.adapters.prometheus.metrics import PrometheusMetrics
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource
from mfu_operator.ports import Credentials, Metrics


class PrometheusSources:
    """The port `MetricsSources`: one client per address, tenant, names and credentials, as long as somebody holds it.

    Args:
        fleet: the operator's own Prometheus and its choice of names, for baselines that declare none.
        own_credentials: those of the operator's own Prometheus. They go nowhere else, and to no tenant of a baseline's.
        transport: another httpx transport, for tests.
        egress: where the operator may go.
    """

    def __init__(
        self,
        fleet: MetricsSource,
        own_credentials: Callable[[], Credentials] | None = None,
        transport: httpx.BaseTransport | None = None,
        egress: Egress = ANYWHERE,
    ) -> None:
        self._fleet = fleet
        self._own_credentials = own_credentials
        self._transport = transport
        self._egress = egress
        self._open = OpenSources[PrometheusMetrics]()

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The source, the same one for equal arguments. Raises Stall where the declaration cannot work."""
        if source.address is None and self._own_credentials is not None:
            credentials = at_own_address(source, credentials, self._own_credentials())
        wanted = of_fleet(source, self._fleet)
        if not wanted.address:
            raise Stall(
                "NoPrometheus",
                "no Prometheus is known: set spec.metrics.prometheus.address, or MFU_PROMETHEUS_ADDRESS "
                'for the whole operator, or read the pods\' own pages with "spec.metrics.pods: {}"',
            )
        if credentials is not None:
            credentials.require(wanted.address)
        self._require_own_namespace(source, wanted)
        names = tuple(sorted(wanted.names.items())), tuple(sorted(wanted.labels.items()))
        key = (wanted.address, wanted.tenant, wanted.profile, names, credentials)
        address, tenant, transport = wanted.address, wanted.tenant, self._transport
        largest = LARGEST_ANSWER if self._is_fleets(address) else LARGEST_OF_A_BASELINE
        return self._open.one(
            key,
            lambda: PrometheusMetrics(
                address, names_of(wanted), credentials, tenant, transport, egress=self._egress, largest=largest
            ),
        )

    def _require_own_namespace(self, source: MetricsSource, wanted: MetricsSource) -> None:
        """The fleet's Prometheus holds every namespace's series: which label tells them apart is not a baseline's to
        say there. Raises Stall(NamespaceLabelFixed)."""
        theirs = source.labels.get(_NAMESPACE)
        ours = names_of(replace(wanted, labels=self._fleet.labels)).namespace
        if self._is_fleets(wanted.address or "") and theirs is not None and theirs != ours:
            raise Stall(
                "NamespaceLabelFixed",
                f"spec.metrics.labels.namespace is {theirs}, and on the operator's own Prometheus it is {ours}: remove "
                "it, or name a Prometheus of your own in spec.metrics.prometheus.address",
            )

    def _is_fleets(self, address: str) -> bool:
        return address.rstrip("/") == (self._fleet.address or "").rstrip("/")


_NAMESPACE = "namespace"


def at_own_address(source: MetricsSource, given: Credentials | None, own: Credentials) -> Credentials:
    """What a baseline that names no address sends to the operator's own: all of the operator's, or only its own.

    The authority is not a secret: the server is the same one, whoever asks.
    """
    if not source.own_prometheus:
        return own
    given = given or Credentials()
    return replace(given, ca=given.ca or own.ca)

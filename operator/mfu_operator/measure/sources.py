"""Where a baseline's readings come from: a Prometheus, or its pods."""

from mfu_operator.model.baseline import MetricsSource
from mfu_operator.ports import Credentials, Metrics, MetricsSources


class SourcesByKind:
    """The port `MetricsSources`: `metrics.pods` makes the pods the source, everything else a Prometheus."""

    def __init__(self, prometheus: MetricsSources, pods: MetricsSources) -> None:
        self._prometheus = prometheus
        self._pods = pods

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The source; the same one for equal arguments."""
        chosen = self._prometheus if source.pods is None else self._pods
        return chosen.open(source, credentials)

"""Samples from the text that a process serves at /metrics: Prometheus text format or OpenMetrics."""

from collections.abc import Iterator, Mapping

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from mfu_operator.errors import Unreadable

_END_OF_OPENMETRICS = "# EOF"


def samples_of(text: str) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """(name, labels, value) of every sample.

    Raises:
        Unreadable: (MetricsUnreadable) where the text is of neither format.
    """
    openmetrics = text.rstrip().endswith(_END_OF_OPENMETRICS)
    parse = openmetrics_families if openmetrics else text_families
    try:
        for family in parse(text):
            for sample in family.samples:
                yield sample.name, sample.labels, float(sample.value)
    except ValueError as error:
        raise Unreadable("MetricsUnreadable", f"a pod's /metrics is no Prometheus text: {error}") from None

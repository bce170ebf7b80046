"""Readings from Prometheus, or anything that speaks its HTTP API (Thanos, Mimir, VictoriaMetrics)."""

from mfu_operator.adapters.prometheus.metrics import PrometheusMetrics
from mfu_operator.adapters.prometheus.sources import PrometheusSources

__all__ = ["PrometheusMetrics", "PrometheusSources"]

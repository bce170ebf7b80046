"""A Prometheus that answers as a function says, without a server."""

from collections.abc import Callable
from urllib.parse import parse_qs

import httpx

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.ports import Credentials

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
TARGET = {"namespace": "team-a", "job_name": "gpt", "pod": "gpt-abc"}
Rows = list[tuple[dict[str, str], str]]
FLEET = MetricsSource(address="http://prometheus:9090")


def answers(rows: Callable[[str], Rows], sent: list[httpx.Request] | None = None) -> httpx.MockTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        if sent is not None:
            sent.append(request)
        promql = parse_qs(request.content.decode())["query"][0]
        result = [{"metric": labels, "value": [1000.0, value]} for labels, value in rows(promql)]
        return httpx.Response(200, json={"status": "success", "data": {"resultType": "vector", "result": result}})

    return httpx.MockTransport(handle)


def fails(status: int, body: str = "", error: Exception | None = None) -> httpx.MockTransport:
    def handle(request: httpx.Request) -> httpx.Response:
        if error is not None:
            raise error
        return httpx.Response(status, text=body)

    return httpx.MockTransport(handle)


def opened(
    transport: httpx.BaseTransport, source: MetricsSource | None = None, credentials: Credentials | None = None
) -> PrometheusMetrics:
    metrics = PrometheusSources(FLEET, None, transport).open(source or MetricsSource(), credentials)
    assert isinstance(metrics, PrometheusMetrics)
    return metrics


def mfu_only(values: Rows) -> Callable[[str], Rows]:
    return lambda promql: values if promql.startswith("mfu_probe_mfu_ratio") else []

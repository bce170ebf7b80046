"""A server's clock that is off is allowed for."""

from email.utils import formatdate
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.prometheus import PrometheusMetrics
from mfu_operator.model.baseline import MetricsSource
from tests.support.prometheus_double import JOB, TARGET


def with_clock(ahead_s: float, scraped_ago_s: float, sent: list[httpx.Request]) -> PrometheusMetrics:
    """A server whose clock is off, and which looks back five minutes as Prometheus does; here it is 1,000,000 s."""

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        form = parse_qs(request.content.decode())
        scraped_s = 1_000_000.0 + ahead_s - scraped_ago_s
        asked_s, promql = float(form["time"][0]), form["query"][0]
        seen = promql.startswith(("mfu_probe_mfu_ratio", "timestamp(")) and 0 <= asked_s - scraped_s < 300
        value = str(scraped_s) if promql.startswith("timestamp(") else "0.4"
        result = [{"metric": TARGET, "value": [asked_s, value]}] if seen else []
        date = formatdate(1_000_000.0 + ahead_s, usegmt=True)
        return httpx.Response(200, json={"status": "success", "data": {"result": result}}, headers={"Date": date})

    return PrometheusMetrics(
        "http://prometheus:9090", names_of(MetricsSource()), transport=httpx.MockTransport(handle),
        clock=lambda: 1_000_000.0,
    )  # fmt: skip


@pytest.mark.parametrize("ahead_s", [-600.0, 600.0, 0.0])
def test_a_servers_clock_that_is_off_is_allowed_for(ahead_s: float) -> None:
    sent: list[httpx.Request] = []
    metrics = with_clock(ahead_s, scraped_ago_s=20.0, sent=sent)
    reading = metrics.latest([JOB], 1_000_000.0)[JOB][0]
    assert reading.time_s == pytest.approx(1_000_000.0 - 20.0)
    first_sweep = len(sent)
    metrics.latest([JOB], 1_000_000.0)
    assert len(sent) - first_sweep == 8


def test_a_clock_that_is_off_by_the_time_of_an_answer_is_left_alone() -> None:
    metrics = with_clock(5.0, scraped_ago_s=20.0, sent=[])
    assert metrics.latest([JOB], 1_000_000.0)[JOB][0].time_s == pytest.approx(1_000_000.0 - 15.0)
    assert metrics.ahead_s == 0.0

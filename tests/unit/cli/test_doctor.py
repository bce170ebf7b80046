from collections.abc import Callable
from urllib.parse import parse_qs

import httpx

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.cli.doctor import Finding, examined
from mfu_operator.model.baseline import BaselineSpec, Comparable, MetricsSource, WorkloadRef

SPEC = BaselineSpec(WorkloadRef("batch/v1", "Job", "team-a", "gpt"), Comparable("gpt"))
TARGET = {"namespace": "team-a", "job_name": "gpt", "pod": "gpt-abc"}
FLEET = MetricsSource(address="http://prometheus:9090")
Rows = list[tuple[dict[str, str], str]]


def findings(rows: Callable[[str], Rows], status: int = 200) -> dict[str, Finding]:
    def handle(request: httpx.Request) -> httpx.Response:
        promql = parse_qs(request.content.decode())["query"][0]
        result = [{"metric": labels, "value": [1000.0, value]} for labels, value in rows(promql)]
        return httpx.Response(status, json={"status": "success", "data": {"result": result}})

    metrics = PrometheusSources(FLEET, None, httpx.MockTransport(handle)).open(MetricsSource(), None)
    assert isinstance(metrics, PrometheusMetrics)
    return {finding.kind: finding for finding in examined(metrics, SPEC, 1000.0)}


def test_each_signal_is_told_with_its_query_and_its_values() -> None:
    found = findings(lambda promql: [(TARGET, "0.46")] if promql.startswith("mfu_probe_mfu_ratio{") else [])
    assert found["mfu"].ok
    assert "0.46" in found["mfu"].told
    assert found["mfu"].query == 'mfu_probe_mfu_ratio{namespace=~"team-a",job_name=~"gpt"}'


def test_a_missing_metric_says_what_is_lost_without_it() -> None:
    finding = findings(lambda promql: [])["phase"]
    assert finding.ok is None
    assert "no series is called mfu_probe_phase" in finding.advice
    assert "not gated" in finding.advice


def test_a_metric_under_other_labels_is_shown_where_it_is() -> None:
    def rows(promql: str) -> Rows:
        return [({"namespace": "team-b", "job_name": "other"}, "1")] if promql.startswith("count by") else []

    assert "exists for team-b/other" in findings(rows)["mfu"].advice


def test_a_percentage_is_recognised() -> None:
    found = findings(lambda promql: [(TARGET, "46")] if promql.startswith("mfu_probe_mfu_ratio{") else [])
    assert found["mfu"].ok is False
    assert "percentage" in found["mfu"].advice


def test_an_old_scrape_is_bad() -> None:
    found = findings(lambda promql: [(TARGET, "400")] if promql.startswith("timestamp(") else [])
    assert found["scrapedAt"].ok is False
    assert "10 min ago" in found["scrapedAt"].told


def test_a_source_that_refuses_is_asked_once() -> None:
    found = findings(lambda promql: [], status=403)
    assert list(found) == ["mfu"]
    assert found["mfu"].told == "PrometheusRefused"


def test_memory_and_losses_are_one_line_that_says_what_is_not_watched() -> None:
    def rows(promql: str) -> Rows:
        names = ("mfu_probe_host_memory_bytes", "mfu_probe_host_memory_limit_bytes")
        return [(TARGET | {"__name__": name}, "1") for name in names] if promql.startswith("{__name__") else []

    found = findings(rows)["vitals"]
    assert found.ok
    assert found.told == "hostMemory, hostMemoryLimit"
    assert "not watched: memoryAllocated, memoryReserved" in found.advice

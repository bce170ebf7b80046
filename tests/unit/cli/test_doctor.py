import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import httpx
import pytest
import yaml
from click.testing import CliRunner

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import PodMetrics, PodSources
from mfu_operator.cli.doctor.command import doctor_command, examined, of_the_server, overall
from mfu_operator.cli.doctor.findings import Finding
from mfu_operator.cli.doctor.pods import examined_pods
from mfu_operator.cli.source import Asked, opened
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import BaselineSpec, Comparable, Level, MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.model.workload import PodEndpoint
from tests.support.loopback import running
from tests.support.metrics_page import TEXT

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


def test_an_answer_without_a_part_of_its_data_is_told() -> None:
    down = 'fetch series for {cluster="y"}: connection refused'

    def handle(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"status": "success", "data": {"result": []}, "warnings": [down]})

    metrics = PrometheusSources(FLEET, None, httpx.MockTransport(handle)).open(MetricsSource(), None)
    assert isinstance(metrics, PrometheusMetrics)
    examined(metrics, SPEC, 1000.0)
    assert list(of_the_server(metrics)) == [
        f"the server answers without a part of its data, which may be this job's: {down}"
    ]


def test_memory_and_losses_are_one_line_that_says_what_is_not_watched() -> None:
    def rows(promql: str) -> Rows:
        names = ("mfu_probe_host_memory_bytes", "mfu_probe_host_memory_limit_bytes")
        return [(TARGET | {"__name__": name}, "1") for name in names] if promql.startswith("{__name__") else []

    found = findings(rows)["vitals"]
    assert found.ok
    assert found.told == "hostMemory, hostMemoryLimit"
    assert "not watched: memoryAllocated, memoryReserved" in found.advice


GPU = {"Hostname": "node-1", "gpu": "0", "modelName": "NVIDIA H200", "exported_namespace": "team-a"}


def test_hardware_is_one_line_that_says_what_dcgm_s_exporter_does_not_export() -> None:
    def rows(promql: str) -> Rows:
        gpu = GPU | {"exported_pod": "gpt-abc"}
        names = ("DCGM_FI_DEV_XID_ERROR", "DCGM_FI_PROF_SM_UTIL_RATIO")
        return [(gpu | {"__name__": name}, "0") for name in names] if "DCGM" in promql else []

    found = findings(rows)["hardware"]
    assert found.ok
    assert found.told == "1 GPU: XID errors, SM activity"
    assert "exported_pod=~" in found.query
    assert "not ruled out: link generation, its maximum, " in found.advice
    assert "DCGM_FI_DEV_PCIE_LINK_GEN, DCGM_FI_DEV_PCIE_MAX_LINK_GEN, " in found.advice
    assert "XID" not in found.advice


def test_without_dcgm_hardware_is_said_not_to_be_ruled_out() -> None:
    found = findings(lambda promql: [])["hardware"]
    assert (found.ok, found.told) == (None, "nothing")
    assert "no series of dcgm-exporter for these pods" in found.advice


def test_a_tls_failure_is_told_with_what_to_change() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused") from ssl.SSLError(1, "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] no")

    metrics = PrometheusSources(FLEET, None, httpx.MockTransport(handle)).open(MetricsSource(), None)
    assert isinstance(metrics, PrometheusMetrics)
    found = examined(metrics, SPEC, 1000.0)
    assert [finding.told for finding in found] == ["PrometheusTlsFailed"]


def pod_findings(pages: Mapping[str, str | MfuError], **names: str) -> list[Finding]:
    def fetch(target: Target) -> tuple[str, str]:
        page = pages[target.pod]
        if isinstance(page, MfuError):
            raise page
        return TEXT, page

    endpoints = tuple(PodEndpoint(name, "10.0.0.1") for name in pages)
    source = MetricsSource(pods=PodScrape((9400,)), names=names)
    found = {SPEC.workload: endpoints} if endpoints else {}
    metrics = PodSources(FLEET, lambda refs: found, fetch).open(source, None)
    assert isinstance(metrics, PodMetrics)
    return examined_pods(metrics, SPEC.workload)


def by_kind(found: Sequence[Finding]) -> dict[str, Finding]:
    return {finding.kind: finding for finding in found}


def test_each_page_of_a_pod_is_told_with_what_came_back() -> None:
    silent = Retry("PodUnreachable", "10.0.0.1:9400 cannot be reached: does it listen there?")
    found = pod_findings({"gpt-0": "mfu_probe_mfu_ratio 0.44\n", "gpt-1": silent})
    pages = [finding for finding in found if finding.kind == "page"]
    assert [(page.ok, page.told) for page in pages] == [(True, "1 samples of 1 kinds"), (False, "PodUnreachable")]
    assert pages[0].query == "GET http://10.0.0.1:9400/metrics (pod gpt-0)"
    assert "does it listen there" in pages[1].advice
    assert by_kind(found)["mfu"].told == "1 samples, 0.44 … 0.44"
    assert "no page has mfu_probe_phase" in by_kind(found)["phase"].advice


def test_a_percentage_on_a_page_and_a_counter_are_recognised() -> None:
    found = by_kind(pod_findings({"gpt-0": "mfu_probe_mfu_ratio 44\ntokens_total 7\n"}, throughput="tokens_total"))
    assert found["mfu"].ok is False
    assert "its rate is read" in found["throughput"].told


def test_pages_tell_of_memory_and_losses_in_one_line_too() -> None:
    found = by_kind(pod_findings({"gpt-0": "mfu_probe_mfu_ratio 0.44\nmfu_probe_nonfinite_loss_streak 0\n"}))["vitals"]
    assert (found.ok, found.told) == (True, "nonfiniteLosses")
    assert "mfu_probe_nonfinite_loss_streak" in found.query
    assert "not watched: memoryAllocated" in found.advice


def test_a_workload_without_pods_says_so() -> None:
    (finding,) = pod_findings({})
    assert (finding.ok, finding.told) == (False, "NoSeries")


def test_where_nothing_can_be_read_the_profile_says_what_to_install() -> None:
    spec = replace(SPEC, metrics=MetricsSource(profile="torchtitan"))
    told = overall(spec, [], (), {}, FLEET)
    assert "NoData" in told[0]
    assert "TorchTitan" in told[1]
    assert "mfu_probe.bridges" in told[1]


OK = [Finding("throughput", "q", True, "fine")]
TOKENS = Reading(1000.0, {Signal.THROUGHPUT: 10_000.0}, info={"gpu": "NVIDIA H100 80GB HBM3", "precision": "bf16"})


def test_mfu_that_the_operator_computes_is_shown_with_its_peak() -> None:
    spec = replace(SPEC, metrics=MetricsSource(model_flops_per_token=4.2e10))
    assert overall(spec, OK, [TOKENS], {}, FLEET) == [
        "MFU computed from throughput: 0.4245, at a peak of 989.4 TFLOP/s"
    ]


def test_a_peak_that_is_not_known_is_told() -> None:
    spec = replace(SPEC, metrics=MetricsSource(model_flops_per_token=4.2e10))
    assert overall(spec, OK, [replace(TOKENS, info={})], {}, FLEET)[0].startswith("UnknownPeak")


def test_a_level_of_mfu_alone_cannot_tell_a_changed_formula_and_doctor_says_what_to_declare() -> None:
    both = replace(TOKENS, values={Signal.MFU: 0.42, Signal.THROUGHPUT: 9012.0})
    alone, two = (replace(SPEC, declared=level) for level in (Level(mfu=0.42), Level(mfu=0.42, throughput=9000.0)))
    (told,) = overall(alone, OK, [both], {}, FLEET)
    assert "a changed formula of MFU would be taken for a loss" in told
    assert "baseline.values.tokensPerSecondPerGpu (it reads 9012 tokens/s per GPU)" in told
    assert overall(two, OK, [both], {}, FLEET) == overall(alone, OK, [TOKENS], {}, FLEET) == []
    steps = replace(TOKENS, values={Signal.MFU: 0.42, Signal.STEP_TIME: 2.0})
    assert "baseline.values.stepTimeSeconds (it reads 2 s)" in overall(alone, OK, [steps], {}, FLEET)[0]


def test_where_nobody_here_knows_a_prometheus_the_option_that_names_one_is_told() -> None:
    with pytest.raises(Stall) as told:
        opened(SPEC, MetricsSource(), Asked())
    assert told.value.reason == "NoPrometheus"
    assert "--prometheus URL" in told.value.message and "port-forward" in told.value.message


def test_what_differs_is_told_from_metrics_and_from_the_workloads_object() -> None:
    spec = replace(SPEC, comparable=Comparable("gpt", global_batch=256, gpu="A100"))
    assert overall(spec, OK, [TOKENS], {"global_batch": "512"}, FLEET) == [
        "NotComparable: GPU NVIDIA H100 80GB HBM3 instead of A100",
        "NotComparable: global batch 512 instead of 256",
    ]


def test_what_came_back_is_printed_for_programs_too(manifest: Path) -> None:
    with running(ThreadingHTTPServer(("127.0.0.1", 0), NoSeries)) as port:
        asked = ["--baseline", str(manifest), "--prometheus", f"http://127.0.0.1:{port}", "-o"]
        told = json.loads(CliRunner().invoke(doctor_command, [*asked, "json"], catch_exceptions=False).output)
        assert (
            yaml.safe_load(CliRunner().invoke(doctor_command, [*asked, "yaml"], catch_exceptions=False).output) == told
        )
    assert told["source"] == f"http://127.0.0.1:{port}"
    assert {"kind", "query", "ok", "told", "advice"} == set(told["findings"][0])
    assert told["advice"]


class NoSeries(BaseHTTPRequestHandler):
    """A Prometheus that has nothing."""

    def do_POST(self) -> None:
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        """Silence."""

"""Readings from the pods' own pages."""

from dataclasses import replace

import pytest

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.scrape.sources import PodMetrics, PodSources
from mfu_operator.errors import MfuError, Retry, Stall, Wait
from mfu_operator.model.baseline import MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.series import Phase
from mfu_operator.model.workload import PodEndpoint
from mfu_probe.identity import RunInfo
from mfu_probe.metrics import page_of
from mfu_probe.probe import Probe
from tests.support.metrics_page import OPENMETRICS, TEXT
from tests.support.pods_double import JOB, OTHER, PROBE, Pods


def test_a_page_is_a_reading_at_the_time_when_it_was_read(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE)
    reading = pods.reading()
    assert reading is not None
    assert reading.time_s == 1030.0
    assert reading.values == {Signal.MFU: 0.44, Signal.STEP_TIME: 2.0}
    assert (reading.phase, reading.step, reading.incarnation) == (Phase.RUNNING, 70.0, "gpt-0")
    assert reading.info["global_batch"] == "256"


def test_ranks_are_taken_together_and_kept_apart_by_pod(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE, gpt_1=PROBE.replace("0.44", "0.48"))
    reading = pods.reading()
    assert reading is not None
    assert reading.values[Signal.MFU] == pytest.approx(0.46)


def test_workloads_are_kept_apart(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE)
    pods.run(OTHER, llama_0=PROBE.replace("0.44", "0.30"))
    latest = pods.metrics.latest([JOB, OTHER], pods.now_s)
    assert (latest[JOB][0].values[Signal.MFU], latest[OTHER][0].values[Signal.MFU]) == (0.44, 0.30)


def test_what_mfu_probe_serves_is_read(pods: Pods) -> None:
    idle = Probe(info=RunInfo(model="gpt")).snapshot()
    snapshot = replace(idle, steps_total=12, mfu_ratio=0.41, step_seconds=1.5, tokens_per_second=900.0)
    pods.run(JOB, gpt_0=page_of(snapshot))
    found = pods.reading()
    assert found is not None
    assert found.values == {Signal.MFU: 0.41, Signal.STEP_TIME: 1.5, Signal.THROUGHPUT: 900.0}
    assert found.step == 12
    assert found.info == {"model": "gpt"}


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_finite_number_is_no_reading(pods: Pods, value: str) -> None:
    pods.run(JOB, gpt_0=f"mfu_probe_mfu_ratio {value}\n")
    assert pods.reading() is None


def test_a_sample_with_an_old_time_of_its_own_is_stale(pods: Pods) -> None:
    pods.run(JOB, gpt_0=f"mfu_probe_mfu_ratio 0.44 {int((pods.now_s - 400) * 1000)}\n")
    assert pods.reading() is None
    pods.run(JOB, gpt_0=f"mfu_probe_mfu_ratio 0.44 {int((pods.now_s - 30) * 1000)}\n")
    assert pods.reading() is not None


def test_a_pod_that_does_not_answer_leaves_the_others_reading(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE, gpt_1=Retry("PodUnreachable", "silent"))
    reading = pods.reading()
    assert reading is not None
    assert reading.incarnation == "gpt-0"
    assert pods.metrics.absence(JOB) is None


def test_a_job_none_of_whose_pods_answers_says_why(pods: Pods) -> None:
    pods.run(JOB, gpt_0=Retry("PodUnreachable", "silent"))
    assert pods.reading() is None
    problem = pods.metrics.absence(JOB)
    assert problem is not None
    assert problem.message == "silent"


@pytest.mark.parametrize("page", ["<html>hello</html>", 'mfu_probe_mfu_ratio{pod="x 0.4\n', "mfu_probe_mfu_ratio x\n"])
def test_a_page_that_is_no_metrics_page_is_said_to_be_none(pods: Pods, page: str) -> None:
    pods.run(JOB, gpt_0=page)
    assert pods.reading() is None
    problem = pods.metrics.absence(JOB)
    assert problem is not None
    assert problem.reason == "PodPageUnreadable"
    assert "http://10.0.0.0:9400/metrics of pod gpt-0" in problem.message


def test_an_openmetrics_page_without_its_end_is_cut_off(pods: Pods) -> None:
    pods.content_type = OPENMETRICS
    pods.run(JOB, gpt_0="# TYPE mfu_probe_mfu_ratio gauge\nmfu_probe_mfu_ratio 0.4\n")
    assert pods.reading() is None
    problem = pods.metrics.absence(JOB)
    assert problem is not None
    assert "EOF" in problem.message


def test_a_page_with_other_names_says_which_were_wanted(pods: Pods) -> None:
    pods.run(JOB, gpt_0="python_gc_objects_total 7\n")
    assert pods.reading() is None
    problem = pods.metrics.absence(JOB)
    assert isinstance(problem, Wait)
    assert "mfu_probe_mfu_ratio" in problem.message


def test_a_job_without_pods_is_waited_for(pods: Pods) -> None:
    assert pods.reading() is None
    problem = pods.metrics.absence(JOB)
    assert isinstance(problem, Wait)
    assert problem.reason == "NoSeries"


def test_there_is_no_history(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE)
    assert pods.metrics.history([JOB], 0.0, pods.now_s, 30.0) == {}


def test_a_fault_over_one_page_is_logged_and_costs_that_page_alone(
    pods: Pods, caplog: pytest.LogCaptureFixture
) -> None:
    pods.run(JOB, gpt_0=PROBE)
    pods.run(OTHER, llama_0=PROBE)
    del pods.pages["gpt-0"]
    assert set(pods.metrics.latest([JOB, OTHER], 1030.0)) == {OTHER}
    problem = pods.metrics.absence(JOB)
    assert problem is not None
    assert (problem.reason, "KeyError" in problem.message) == ("PodPageUnreadable", True)
    assert "Traceback" in caplog.text


def test_pods_of_one_namespace_that_may_not_be_listed_are_that_jobs_problem() -> None:
    refused = Stall("ClusterAccessDenied", "no")
    pod = PodEndpoint("llama-0", "10.0.0.1")
    known: dict[WorkloadRef, tuple[PodEndpoint, ...] | MfuError] = {JOB: refused, OTHER: (pod,)}
    metrics = PodMetrics(
        PodScrape((9400,)), names_of(MetricsSource()), lambda refs: known, fetch=lambda target: (TEXT, PROBE)
    )
    assert set(metrics.latest([JOB, OTHER], 1000.0)) == {OTHER}
    assert metrics.absence(JOB) is refused
    with pytest.raises(Stall):
        known.pop(OTHER)
        metrics.latest([JOB], 1000.0)


def test_equal_declarations_are_one_source_and_others_are_not() -> None:
    sources = PodSources(MetricsSource(), lambda refs: {})
    one = sources.open(MetricsSource(pods=PodScrape()), None)
    assert sources.open(MetricsSource(pods=PodScrape()), None) is one
    assert sources.open(MetricsSource(pods=PodScrape((9400,))), None) is not one
    assert sources.open(MetricsSource(pods=PodScrape(), profile="torchtitan"), None) is not one


def test_memory_and_streaks_are_those_of_the_pages_that_were_read(pods: Pods) -> None:
    page = PROBE + "mfu_probe_host_memory_bytes 6e9\nmfu_probe_host_memory_limit_bytes 8e9\n"
    pods.run(JOB, gpt_0=page, gpt_1=page.replace("6e9", "7e9"))
    assert pods.metrics.vitals([JOB], pods.now_s) == {}
    assert pods.reading() is not None
    host = pods.metrics.vitals([JOB], pods.now_s)[JOB].host
    assert host is not None
    assert (host.ratio, host.pod) == (0.875, "gpt-1")

"""What is asked for: how many queries, and which."""

import httpx
import pytest

from mfu_operator.adapters.prometheus.selectors import alternatives
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from tests.support.prometheus_double import JOB, answers, fails, mfu_only, opened


def test_ten_thousand_jobs_are_at_most_forty_queries() -> None:
    sent: list[httpx.Request] = []
    jobs = [WorkloadRef("batch/v1", "Job", f"team-{index % 50}", f"job-{index}") for index in range(10_000)]
    opened(answers(mfu_only([]), sent)).latest(jobs, 1000.0)
    assert len(sent) <= 40
    assert {request.method for request in sent} == {"POST"}


def test_names_with_dots_are_matched_literally() -> None:
    job = WorkloadRef("batch/v1", "Job", "team-a", "gpt.v2")
    promql = dict(opened(fails(200)).queries([job]))["mfu"]
    assert promql == 'mfu_probe_mfu_ratio{namespace=~"team-a",job_name=~"gpt\\\\.v2"}'


def test_names_and_labels_of_a_fleet_replace_those_of_the_profile() -> None:
    source = MetricsSource(names={"mfu": "our_mfu", "info": ""}, labels={"workload": "exported_job", "pod": "host"})
    queries = dict(opened(fails(200), source).queries([JOB]))
    assert queries["mfu"] == 'our_mfu{namespace=~"team-a",exported_job=~"gpt"}'
    assert "info" not in queries


def test_a_counter_is_asked_for_as_its_rate_and_steps_as_its_inverse() -> None:
    source = MetricsSource(names={"throughput": "tokens_total", "stepTime": "steps_total", "mfu": ""})
    queries = dict(opened(fails(200), source).queries([JOB]))
    matcher = '{namespace=~"team-a",job_name=~"gpt"}'
    assert queries["throughput"] == f"rate(tokens_total{matcher}[180s])"
    assert queries["stepTime"] == f"1 / rate(steps_total{matcher}[180s])"


def test_mfu_is_no_counter() -> None:
    with pytest.raises(Stall, match="a counter"):
        opened(fails(200), MetricsSource(names={"mfu": "mfu_total"}))


def test_a_text_cannot_end_the_string_it_stands_in() -> None:
    assert alternatives({'a"} or up{x="'}) == 'a\\"\\\\}\\\\ or\\\\ up\\\\{x=\\"'

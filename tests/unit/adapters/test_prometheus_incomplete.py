"""Answers without a part of their data, and queries that fail for want of it: as Thanos v0.42.4 gave them."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import Signal, WorkloadRef
from tests.support.prometheus_double import JOB, TARGET, opened

ABSENT = WorkloadRef("batch/v1", "Job", "team-a", "llama")
STORE_DOWN = (
    'fetch series for {cluster="y", prometheus_replica="a"} Addr: 127.0.0.1:34739 MinTime: 1795289488000 MaxTime: '
    "9223372036854775807: rpc error: code = Unavailable desc = connection error: desc = "
    '"transport: Error while dialing: dial tcp 127.0.0.1:34739: connect: connection refused"'
)
NO_COUNTER = (
    'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "mfu_probe_mfu_ratio"'
)
NO_STORE = f"expanding series: proxy Series(): {STORE_DOWN}"
TOO_MANY = "query processing would load too many samples into memory in query execution"
TOO_MANY_SERIES = (
    "the query exceeded the maximum number of series (limit: 100000 series) (err-mimir-max-series-per-query)"
)


class Answering:
    """A server that knows the MFU of one job, and says of its answers what `beside` holds."""

    def __init__(self, **beside: Any) -> None:
        self.beside: Mapping[str, Any] = beside

    def __call__(self, request: httpx.Request) -> httpx.Response:
        promql = parse_qs(request.content.decode())["query"][0]
        result = [{"metric": TARGET, "value": [1000.0, "0.4"]}] if promql.startswith("mfu_probe_mfu_ratio{") else []
        return httpx.Response(200, json={"status": "success", "data": {"result": result}, **self.beside})


class Failing:
    """A server whose evaluation of queries fails above some length, as with one that is without a store at any."""

    def __init__(self, words: str, from_bytes: int = 0) -> None:
        self.words, self.from_bytes, self.asked = words, from_bytes, 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if len(parse_qs(request.content.decode())["query"][0]) < self.from_bytes:
            return httpx.Response(200, json={"status": "success", "data": {"result": []}})
        body = {"status": "error", "errorType": "execution", "error": self.words}
        return httpx.Response(422, text=json.dumps(body))


@pytest.mark.parametrize("beside", [{"warnings": [STORE_DOWN]}, {"isPartial": True}], ids=["Thanos", "VictoriaMetrics"])
def test_what_came_is_read_and_what_did_not_is_said_to_be_missing_from_the_answer(beside: Mapping[str, Any]) -> None:
    metrics = opened(httpx.MockTransport(Answering(**beside)))
    found = metrics.latest([JOB, ABSENT], 1000.0)
    assert {job: reading.values for job, (reading,) in found.items()} == {JOB: {Signal.MFU: 0.4}}
    problem = metrics.absence(ABSENT)
    assert isinstance(problem, Retry)
    assert problem.reason == "PrometheusIncomplete"
    assert "without a part of its data" in problem.message


def test_the_store_that_is_missing_is_named() -> None:
    metrics = opened(httpx.MockTransport(Answering(warnings=[NO_COUNTER, STORE_DOWN])))
    metrics.latest([JOB], 1000.0)
    problem = metrics.absence(ABSENT)
    assert problem is not None
    assert 'cluster="y", prometheus_replica="a"' in problem.message


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({}, id="nothing is said"),
        pytest.param({"warnings": [NO_COUNTER]}, id="a word on the query, as Thanos has it"),
        pytest.param({"infos": [NO_COUNTER]}, id="a word on the query, as Prometheus has it"),
        pytest.param({"warnings": None, "isPartial": False}, id="no warnings"),
    ],
)
def test_an_answer_that_is_whole_explains_no_absence(beside: Mapping[str, Any]) -> None:
    metrics = opened(httpx.MockTransport(Answering(**beside)))
    metrics.latest([JOB], 1000.0)
    assert metrics.absence(ABSENT) is None


def test_once_the_store_is_back_nothing_is_said_to_be_missing() -> None:
    server = Answering(warnings=[STORE_DOWN])
    metrics = opened(httpx.MockTransport(server))
    metrics.latest([JOB], 1000.0)
    server.beside = {}
    metrics.latest([JOB], 1030.0)
    assert metrics.absence(ABSENT) is None


def test_a_query_that_fails_for_want_of_a_store_is_tried_again_and_not_called_malformed() -> None:
    """A querier with --no-query.partial-response answers 422, as Prometheus does to what it cannot evaluate."""
    jobs = [WorkloadRef("batch/v1", "Job", "team-a", f"pretraining-{n}") for n in range(2000)]
    server = Failing(NO_STORE)
    with pytest.raises(Retry, match=r'fetch series for \{cluster="y"') as caught:
        opened(httpx.MockTransport(server)).latest(jobs, 1000.0)
    assert caught.value.reason == "PrometheusUnavailable"
    assert server.asked == 1, "and not asked for in halves, which lack the store as well"


@pytest.mark.parametrize("words", [TOO_MANY, TOO_MANY_SERIES], ids=["Prometheus", "Mimir"])
def test_what_is_too_much_for_one_query_is_asked_for_in_halves(words: str) -> None:
    jobs = [WorkloadRef("batch/v1", "Job", "team-a", f"pretraining-{n}") for n in range(2000)]
    server = Failing(words, from_bytes=20_000)
    assert opened(httpx.MockTransport(server)).latest(jobs, 1000.0) == {}
    assert server.asked > 8


def test_one_job_that_is_too_much_for_a_query_names_the_limit() -> None:
    with pytest.raises(Stall, match=r"too many samples.*: let it load more") as caught:
        opened(httpx.MockTransport(Failing(TOO_MANY))).latest([JOB], 1000.0)
    assert caught.value.reason == "QueryRejected"

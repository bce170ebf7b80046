"""How a fleet is asked for where a server takes no query that is long enough for all of it."""

import json
import re
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.prometheus.portions import TAKEN_BYTES
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from mfu_operator.ports import Metrics
from tests.support.prometheus_double import opened

JOBS = [WorkloadRef("batch/v1", "Job", "team-a", f"pretraining-{n}") for n in range(2000)]


class Limited:
    """Takes queries up to so many bytes, and knows an MFU of every job."""

    def __init__(self, longest_bytes: int, status: int, words: str) -> None:
        self.longest_bytes, self.status, self.words = longest_bytes, status, words
        self.taken: list[str] = []
        self.refused = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        query = parse_qs(request.content.decode())["query"][0]
        if len(query) > self.longest_bytes:
            self.refused += 1
            return httpx.Response(self.status, text=self.words)
        self.taken.append(query)
        named = set(re.findall(r"pretraining-\d+", query)) if query.startswith("mfu_probe_mfu_ratio{") else set()
        rows = [
            {"metric": {"namespace": job.namespace, "job_name": job.name, "pod": f"{job.name}-0"}, "value": [1, "0.4"]}
            for job in JOBS
            if job.name in named
        ]
        return httpx.Response(200, json={"status": "success", "data": {"result": rows}})


TOO_LONG = "too long query; got 27614 bytes; mustn't exceed `-search.maxQueryLen=16384` bytes"
VICTORIAMETRICS = (422, json.dumps({"status": "error", "errorType": "422", "error": TOO_LONG}))
A_PROXY = (413, "<html>413 Request Entity Too Large</html>")
refusals = pytest.mark.parametrize(("status", "words"), [VICTORIAMETRICS, A_PROXY], ids=["VictoriaMetrics", "a proxy"])


@refusals
def test_what_is_refused_is_asked_for_in_halves_until_every_job_is_read(status: int, words: str) -> None:
    server = Limited(16_384, status, words)
    found = opened(httpx.MockTransport(server)).latest(JOBS, 1000.0)
    assert {job: found[job][0].values for job in JOBS} == {job: {Signal.MFU: 0.4} for job in JOBS}
    assert server.refused > 0


@refusals
def test_no_query_as_long_as_one_that_was_refused_is_sent_again(status: int, words: str) -> None:
    server = Limited(16_384, status, words)
    metrics = opened(httpx.MockTransport(server))
    metrics.latest(JOBS, 1000.0)
    first, server.refused, server.taken = server.refused, 0, []
    assert len(metrics.latest(JOBS, 1030.0)) == len(JOBS)
    assert (first, server.refused) == (1, 0)
    assert max(len(query) for query in server.taken) > 16_384 / 4, "and none is much shorter than it may be"


def test_a_server_that_takes_any_length_is_asked_for_all_at_once() -> None:
    server = Limited(10**9, *VICTORIAMETRICS)
    opened(httpx.MockTransport(server)).latest(JOBS, 1000.0)
    assert len(server.taken) == 8


def test_a_query_that_is_refused_for_what_it_says_is_not_asked_for_job_by_job() -> None:
    server = Limited(0, *VICTORIAMETRICS)
    with pytest.raises(Stall, match="too long query") as caught:
        opened(httpx.MockTransport(server)).latest(JOBS, 1000.0)
    assert caught.value.reason == "QueryRejected"
    assert server.refused <= 4, f"halves down to {TAKEN_BYTES} bytes"


def test_one_job_whose_query_is_refused_is_told_what_must_take_more() -> None:
    with pytest.raises(Stall, match=r"answered 413 to a query of .* bytes: let it, or the proxy") as caught:
        opened(httpx.MockTransport(Limited(0, *A_PROXY))).latest(JOBS[:1], 1000.0)
    assert caught.value.reason == "QueryRejected"


class Wordy(Limited):
    """Knows every job, and has a label for it that is as long as one likes."""

    def __init__(self, label_bytes: int) -> None:
        super().__init__(10**9, 200, "")
        self.label = "x" * label_bytes

    def __call__(self, request: httpx.Request) -> httpx.Response:
        answer = super().__call__(request)
        found = answer.json()
        for row in found["data"]["result"]:
            row["metric"]["long"] = self.label
        return httpx.Response(200, json=found)


def of_a_baseline(server: Wordy) -> Metrics:
    sources = PrometheusSources(MetricsSource(address="https://fleet.example"), None, httpx.MockTransport(server))
    return sources.open(MetricsSource(address="https://own.example"), None)


def test_what_a_baselines_own_prometheus_answers_is_read_in_pieces_that_are_small() -> None:
    server, jobs = Wordy(20_000), JOBS[:400]
    metrics = of_a_baseline(server)
    assert set(metrics.latest(jobs, 1000.0)) == set(jobs)
    queries = len(server.taken)
    assert queries > 2 and set(metrics.latest(jobs, 1000.0)) == set(jobs)
    assert len(server.taken) - queries < queries, "what was too large is not asked for again"


def test_an_answer_for_one_job_that_is_too_large_is_not_read() -> None:
    with pytest.raises(Retry, match="answered with more than 4 MiB"):
        of_a_baseline(Wordy(5 << 20)).latest(JOBS[:2], 1000.0)

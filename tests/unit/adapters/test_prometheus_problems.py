"""What stands between us and Prometheus is told with its remedy, and never a secret with it."""

import json
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.prometheus.api import INSTANT, LARGEST_ANSWER, READ_AT_ONCE, PrometheusApi
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import MetricsSource
from mfu_operator.ports import Credentials
from tests.support.metrics_page import Page, serving_page
from tests.support.prometheus_double import JOB, fails, opened


def problem_of(transport: httpx.BaseTransport, credentials: Credentials | None = None) -> MfuError:
    with pytest.raises(MfuError) as caught:
        opened(transport, credentials=credentials).latest([JOB], 1000.0)
    return caught.value


def test_a_server_that_cannot_be_reached_is_a_retry_with_the_remedy() -> None:
    problem = problem_of(fails(0, error=httpx.ConnectError("refused")))
    assert isinstance(problem, Retry)
    assert problem.reason == "PrometheusUnreachable"
    assert "http://prometheus:9090" in problem.message
    assert "prometheus.address" in problem.message


def test_a_server_that_does_not_answer_in_time_is_a_retry() -> None:
    assert problem_of(fails(0, error=httpx.ReadTimeout("slow"))).reason == "PrometheusUnreachable"


@contextmanager
def api_at(page: Page, deadline_s: float = 20.0, largest: int = 1 << 20) -> Iterator[PrometheusApi]:
    with serving_page(page) as port:
        yield PrometheusApi(f"http://127.0.0.1:{port}", None, None, None, time.time, deadline_s, largest)


def read(api: PrometheusApi) -> Generator[None]:
    with api.rows(INSTANT, {"query": "up"}):
        yield


def test_of_prometheuses_that_baselines_name_so_many_answers_are_in_memory_at_once() -> None:
    empty = Page('{"status": "success", "data": {"result": []}}')
    with api_at(empty, 0.5) as theirs, api_at(empty, 0.5, LARGEST_ANSWER) as own:
        held = [read(theirs) for _ in range(READ_AT_ONCE)]
        for each in held:
            next(each)
        with pytest.raises(Retry, match="the answers of 4 others are being read"):
            next(read(theirs))
        next(read(own))
        held[0].close()
        next(read(theirs))


def test_an_answer_that_trickles_is_given_up_in_time() -> None:
    page, waiting = Page("x" * 10_000), threading.Event()
    page.trickle = lambda: waiting.wait(0.05)
    with api_at(page, deadline_s=0.3) as api, pytest.raises(Retry, match=r"did not answer within 0\.3 s") as caught:
        list(read(api))
    assert caught.value.reason == "PrometheusUnreachable"


def test_an_answer_without_end_is_given_up() -> None:
    page = Page("x" * ((1 << 20) + 1))
    with api_at(page) as api, pytest.raises(Retry, match="more than 1 MiB") as caught:
        list(read(api))
    assert caught.value.reason == "PrometheusUnavailable"


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_name_the_secret_and_never_their_value(status: int) -> None:
    problem = problem_of(fails(status), Credentials(password="s3cret-token"))
    assert isinstance(problem, Retry)
    assert problem.reason == "PrometheusRefused"
    assert "Secret" in problem.message
    assert "s3cret" not in problem.message


def test_something_else_at_the_address_is_said_to_be_no_prometheus() -> None:
    problem = problem_of(fails(200, "<html>hello</html>"))
    assert "is not a Prometheus" in problem.message


@pytest.mark.parametrize(
    "data", [{"result": [1000, "0.4"]}, {"result": [{"metric": {"pod": 7}}]}, {"result": [{"value": ["now", "1"]}]}]
)
def test_an_answer_of_another_shape_is_a_retry_and_not_a_crash(data: object) -> None:
    problem = problem_of(fails(200, json.dumps({"status": "success", "data": data})))
    assert isinstance(problem, Retry)


def test_an_overloaded_server_is_a_retry() -> None:
    assert problem_of(fails(503, "busy")).reason == "PrometheusUnavailable"


def test_a_query_that_cannot_be_parsed_stalls_with_the_servers_words() -> None:
    body = json.dumps({"status": "error", "errorType": "bad_data", "error": "unexpected character"})
    problem = problem_of(fails(400, body))
    assert isinstance(problem, Stall)
    assert "unexpected character" in problem.message


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(Stall) as caught:
        opened(fails(200), MetricsSource(address="http://user:hunter2@prometheus:9090"))
    assert "hunter2" not in caught.value.message


def test_an_address_that_is_none_stalls() -> None:
    with pytest.raises(Stall):
        opened(fails(200), MetricsSource(address="prometheus:9090"))
    with pytest.raises(Stall) as caught:
        PrometheusSources(MetricsSource()).open(MetricsSource(), None)
    assert caught.value.reason == "NoPrometheus"


def test_an_unknown_profile_or_metric_names_what_there_is() -> None:
    with pytest.raises(Stall, match="mfu_probe"):
        opened(fails(200), MetricsSource(profile="nothing"))
    with pytest.raises(Stall, match="stepTime"):
        opened(fails(200), MetricsSource(names={"steptime": "x"}))

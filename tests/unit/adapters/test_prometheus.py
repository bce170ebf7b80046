import gc
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.metric_names import names_of, of_fleet
from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.adapters.prometheus.api import INSTANT, PrometheusApi
from mfu_operator.adapters.prometheus.sources import at_own_address
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import MetricsSource, SecretRef, Signal, WorkloadRef
from mfu_operator.model.series import Phase
from mfu_operator.ports import Credentials
from tests.support.metrics_page import Page, serving_page

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


def problem_of(transport: httpx.BaseTransport, credentials: Credentials | None = None) -> MfuError:
    with pytest.raises(MfuError) as caught:
        opened(transport, credentials=credentials).latest([JOB], 1000.0)
    return caught.value


def mfu_only(values: Rows) -> Callable[[str], Rows]:
    return lambda promql: values if promql.startswith("mfu_probe_mfu_ratio") else []


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


def test_an_answer_that_trickles_is_given_up_in_time() -> None:
    page, waiting = Page("x" * 10_000), threading.Event()
    page.trickle = lambda: waiting.wait(0.05) and None
    with api_at(page, deadline_s=0.3) as api, pytest.raises(Retry, match=r"did not answer within 0\.3 s") as caught:
        api.rows(INSTANT, {"query": "up"})
    assert caught.value.reason == "PrometheusUnreachable"


def test_an_answer_without_end_is_given_up() -> None:
    page = Page("x" * ((1 << 20) + 1))
    with api_at(page) as api, pytest.raises(Retry, match="more than 1 MiB") as caught:
        api.rows(INSTANT, {"query": "up"})
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
    assert "is no Prometheus" in problem.message


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


def test_equal_arguments_open_the_same_source() -> None:
    sources = PrometheusSources(FLEET, None, fails(200))
    assert sources.open(MetricsSource(), None) is sources.open(MetricsSource(), None)
    assert sources.open(MetricsSource(), None) is not sources.open(MetricsSource(tenant="b"), None)


def test_credentials_and_tenant_travel_in_headers() -> None:
    sent: list[httpx.Request] = []
    opened(answers(mfu_only([]), sent), MetricsSource(tenant="team"), Credentials(password="t")).latest([JOB], 1.0)
    assert sent[0].headers["authorization"] == "Bearer t"
    assert sent[0].headers["x-scope-orgid"] == "team"
    sent.clear()
    opened(answers(mfu_only([]), sent), None, Credentials("u", "p")).latest([JOB], 1.0)
    assert sent[0].headers["authorization"].startswith("Basic ")
    assert all(value != "t" for value in sent[0].url.params.values())


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


def test_nan_and_infinity_are_no_readings() -> None:
    values = ("NaN", "+Inf", "no number")
    rows: Rows = [(TARGET | {"instance": value}, value) for value in values]
    assert opened(answers(mfu_only(rows))).latest([JOB], 1000.0) == {}


def test_a_pair_of_prometheus_servers_counts_once() -> None:
    rows: Rows = [(TARGET | {"prometheus_replica": str(index)}, "0.4") for index in range(2)]
    reading = opened(answers(mfu_only(rows))).latest([JOB], 1000.0)[JOB][0]
    assert reading.values == {Signal.MFU: 0.4}
    assert reading.rank_step_s == {}


def test_processes_of_one_pod_are_told_apart_by_their_instance() -> None:
    rows: Rows = [(TARGET | {"instance": f"10.0.0.1:940{index}"}, value) for index, value in enumerate(("0.4", "0.5"))]
    reading = opened(answers(mfu_only(rows))).latest([JOB], 1000.0)[JOB][0]
    assert reading.values[Signal.MFU] == pytest.approx(0.45)


def test_pods_that_were_last_scraped_long_ago_belong_to_an_earlier_run() -> None:
    old, new = TARGET | {"pod": "gpt-old"}, TARGET | {"pod": "gpt-new"}

    def rows(promql: str) -> Rows:
        if promql.startswith("timestamp("):
            return [(old, "800"), (new, "995")]
        return [(old, "0.5"), (new, "0.3")] if promql.startswith("mfu_probe_mfu_ratio") else []

    reading = opened(answers(rows)).latest([JOB], 1000.0)[JOB][0]
    assert reading.values[Signal.MFU] == 0.3
    assert (reading.time_s, reading.incarnation) == (995.0, "gpt-new")


def test_one_rank_in_a_checkpoint_gates_the_job() -> None:
    def rows(promql: str) -> Rows:
        if promql.startswith("mfu_probe_phase"):
            return [(TARGET | {"pod": f"gpt-{index}", "phase": phase}, "1") for index, phase in
                    enumerate(("running", "checkpoint", "running"))]  # fmt: skip
        return []

    assert opened(answers(rows)).latest([JOB], 1000.0)[JOB][0].phase is Phase.CHECKPOINT


def test_throughput_of_a_process_with_several_gpus_is_per_gpu() -> None:
    def rows(promql: str) -> Rows:
        if promql.startswith("mfu_probe_tokens"):
            return [(TARGET, "8000")]
        return [(TARGET | {"gpus": "8"}, "1")] if promql.startswith("mfu_probe_info") else []

    assert opened(answers(rows)).latest([JOB], 1000.0)[JOB][0].values[Signal.THROUGHPUT] == 1000.0


def test_names_and_labels_of_a_fleet_replace_those_of_the_profile() -> None:
    source = MetricsSource(names={"mfu": "our_mfu", "info": ""}, labels={"workload": "exported_job", "pod": "host"})
    queries = dict(opened(fails(200), source).queries([JOB]))
    assert queries["mfu"] == 'our_mfu{namespace=~"team-a",exported_job=~"gpt"}'
    assert "info" not in queries


def test_of_a_pair_the_server_that_scraped_last_is_read() -> None:
    """One of the pair died three minutes ago: its last sample is repeated for five."""

    def rows(promql: str) -> Rows:
        pair = [TARGET | {"prometheus_replica": name} for name in ("alive", "dead")]
        if promql.startswith("timestamp("):
            return [(pair[0], "990"), (pair[1], "820")]
        return [(pair[0], "0.3"), (pair[1], "0.5")] if promql.startswith("mfu_probe_mfu_ratio") else []

    reading = opened(answers(rows)).latest([JOB], 1000.0)[JOB][0]
    assert (reading.values[Signal.MFU], reading.time_s) == (0.3, 990.0)


def test_a_counter_is_asked_for_as_its_rate_and_steps_as_its_inverse() -> None:
    source = MetricsSource(names={"throughput": "tokens_total", "stepTime": "steps_total", "mfu": ""})
    queries = dict(opened(fails(200), source).queries([JOB]))
    matcher = '{namespace=~"team-a",job_name=~"gpt"}'
    assert queries["throughput"] == f"rate(tokens_total{matcher}[180s])"
    assert queries["stepTime"] == f"1 / rate(steps_total{matcher}[180s])"


def test_steps_that_stand_still_have_no_seconds_per_step() -> None:
    source = MetricsSource(names={"stepTime": "steps_total"})
    rows = answers(lambda promql: [(TARGET, "+Inf")] if promql.startswith("1 / rate") else [])
    assert opened(rows, source).latest([JOB], 1000.0) == {}


def test_mfu_is_no_counter() -> None:
    with pytest.raises(Stall, match="a counter"):
        opened(fails(200), MetricsSource(names={"mfu": "mfu_total"}))


def test_what_makes_readings_comparable_is_read_from_the_labels_that_are_named() -> None:
    rows: Rows = [(TARGET | {"bs": "512", "gpu": "0"}, "0.4")]
    source = MetricsSource(labels={"globalBatch": "bs"})
    assert opened(answers(mfu_only(rows)), source).latest([JOB], 1000.0)[JOB][0].info == {"global_batch": "512"}


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


OWN = Credentials(password="fleet-token", ca=None)


def sent_by(source: MetricsSource, credentials: Credentials | None = None) -> httpx.Request:
    sent: list[httpx.Request] = []
    fleet = MetricsSource(
        address="http://own:9090", tenant="own", profile="torchtitan", names={"info": "x"}, labels={"pod": "host"}
    )
    sources = PrometheusSources(fleet, lambda: OWN, answers(mfu_only([]), sent))
    sources.open(source, credentials).latest([JOB], 1.0)
    return sent[0]


def test_a_baseline_that_says_nothing_gets_the_fleets_choice() -> None:
    request = sent_by(MetricsSource())
    assert request.url.host == "own"
    assert (request.headers["authorization"], request.headers["x-scope-orgid"]) == ("Bearer fleet-token", "own")
    assert "mfu___" in request.content.decode()


@pytest.mark.parametrize(
    "source",
    [
        MetricsSource(address="http://elsewhere:9090"),
        MetricsSource(tenant="somebody-else"),
        MetricsSource(address="http://elsewhere:9090", tenant="own"),
    ],
)
def test_the_operators_own_credentials_go_to_no_address_or_tenant_of_a_baseline(source: MetricsSource) -> None:
    request = sent_by(source)
    assert "authorization" not in request.headers
    assert request.headers.get("x-scope-orgid") == source.tenant


def test_a_baselines_own_credentials_replace_the_operators() -> None:
    source = MetricsSource(secret=SecretRef("mine"))
    request = sent_by(source, Credentials(password="mine"))
    assert request.headers["authorization"] == "Bearer mine"
    assert "x-scope-orgid" not in request.headers


def test_a_baseline_that_chooses_a_profile_gets_none_of_the_fleets_names() -> None:
    fleet = MetricsSource(profile="torchtitan", names={"mfu": "ours"}, labels={"pod": "host"})
    names = names_of(of_fleet(MetricsSource(profile="mfu_probe"), fleet))
    assert (names.names["mfu"], names.pod) == ("mfu_probe_mfu_ratio", "host")
    assert names_of(of_fleet(MetricsSource(), fleet)).names["mfu"] == "ours"


def test_a_source_that_nobody_holds_is_let_go_with_its_secret() -> None:
    sources = PrometheusSources(FLEET, None, fails(200))
    held = weakref.ref(sources.open(MetricsSource(), Credentials(password="old")))
    gc.collect()
    assert held() is None


def test_the_authority_of_the_operators_own_address_is_no_secret() -> None:
    """A baseline with a token of its own has to trust the same server; one with an authority of its own, that."""
    own = Credentials(password="own", ca="OWN")
    mine = MetricsSource(secret=SecretRef("mine"))
    assert at_own_address(MetricsSource(), None, own) == own
    assert at_own_address(MetricsSource(ca=SecretRef("ca")), Credentials(ca="MINE"), own) == Credentials(ca="MINE")
    assert at_own_address(mine, Credentials(password="mine"), own) == Credentials(password="mine", ca="OWN")
    assert at_own_address(mine, Credentials(password="mine", ca="MINE"), own).ca == "MINE"

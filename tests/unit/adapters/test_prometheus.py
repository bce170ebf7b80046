import json
from collections.abc import Callable
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from mfu_operator.model.series import Phase
from mfu_operator.ports import Credentials

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
TARGET = {"namespace": "team-a", "job_name": "gpt", "pod": "gpt-abc"}
Rows = list[tuple[dict[str, str], str]]


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
    metrics = PrometheusSources("http://prometheus:9090", transport).open(source or MetricsSource(), credentials)
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
        PrometheusSources(None).open(MetricsSource(), None)
    assert caught.value.reason == "NoPrometheus"


def test_an_unknown_profile_or_metric_names_what_there_is() -> None:
    with pytest.raises(Stall, match="mfu_probe"):
        opened(fails(200), MetricsSource(profile="nothing"))
    with pytest.raises(Stall, match="stepTime"):
        opened(fails(200), MetricsSource(names={"steptime": "x"}))


def test_equal_arguments_open_the_same_source() -> None:
    sources = PrometheusSources("http://prometheus:9090", fails(200))
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

import httpx
import pytest

from mfu_operator.adapters.exposition import samples_of
from mfu_operator.adapters.metric_names import names_of, profile_names
from mfu_operator.adapters.scrape import ScrapeMetrics, Target
from mfu_operator.errors import Retry, Unreadable
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from mfu_operator.model.series import Phase
from mfu_probe.metrics import Snapshot, registry_of

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
TARGETS = [Target("gpt-0", "http://10.0.0.1:9400/metrics"), Target("gpt-1", "http://10.0.0.2:9400/metrics")]


def served(mfu: float, openmetrics: bool) -> str:
    from prometheus_client import generate_latest
    from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

    snapshot = Snapshot(
        phase="running", steps_total=12, mfu_ratio=mfu, step_seconds=2.0, tokens_per_second=900.0,
        window_running_ratio=1.0, peak_flops=1e12, loss=2.0, info={"model": "gpt", "rank": "0"},
    )  # fmt: skip
    generate = generate_openmetrics if openmetrics else generate_latest
    return generate(registry_of(lambda: snapshot)).decode()


def source(answers: dict[str, httpx.Response | Exception]) -> ScrapeMetrics:
    def handle(request: httpx.Request) -> httpx.Response:
        answer = answers[str(request.url)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ScrapeMetrics(lambda workload: TARGETS, names_of(MetricsSource()), httpx.MockTransport(handle))


@pytest.mark.parametrize("openmetrics", [False, True])
def test_what_the_probe_serves_becomes_a_reading(openmetrics: bool) -> None:
    answers: dict[str, httpx.Response | Exception] = {
        target.address: httpx.Response(200, text=served(mfu, openmetrics))
        for target, mfu in zip(TARGETS, (0.4, 0.5), strict=True)
    }
    reading = source(answers).latest([JOB], 100.0)[JOB][0]
    assert reading.values[Signal.MFU] == pytest.approx(0.45)
    assert (reading.time_s, reading.phase, reading.step) == (100.0, Phase.RUNNING, 12.0)
    assert reading.info == {"model": "gpt"}
    assert reading.incarnation == "gpt-0,gpt-1"


def test_a_pod_that_does_not_answer_leaves_the_others() -> None:
    answers: dict[str, httpx.Response | Exception] = {
        TARGETS[0].address: httpx.Response(200, text=served(0.4, False)),
        TARGETS[1].address: httpx.ConnectError("refused"),
    }
    assert source(answers).latest([JOB], 100.0)[JOB][0].values[Signal.MFU] == pytest.approx(0.4)


def test_no_pod_that_answers_is_a_retry_with_the_remedy() -> None:
    answers: dict[str, httpx.Response | Exception] = {target.address: httpx.Response(404) for target in TARGETS}
    with pytest.raises(Retry, match="network policies"):
        source(answers).latest([JOB], 100.0)


def test_there_is_no_history() -> None:
    assert source({}).history([JOB], 0, 100, 10) == {}


def test_text_of_neither_format_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        list(samples_of("<html> {{{ \n"))


@pytest.mark.parametrize("profile", profile_names())
def test_every_profile_names_at_least_one_signal(profile: str) -> None:
    names = names_of(MetricsSource(profile=profile)).names
    assert {"mfu", "stepTime", "throughput"} & set(names)


def test_a_profile_in_per_cent_is_scaled_and_an_own_name_is_not() -> None:
    assert names_of(MetricsSource(profile="torchtitan")).scales == {"mfu": 0.01}
    assert names_of(MetricsSource(profile="torchtitan", names={"mfu": "ours"})).scales == {}

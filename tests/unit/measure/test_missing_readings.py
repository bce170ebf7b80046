import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.errors import Retry, Stall
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Verdict
from tests.cluster.process import await_condition
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.sweep_bench import BASELINE, SPEC, Bench


def test_a_source_that_fails_is_named_and_asked_less_and_less(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    bench.metrics.asked.clear()
    bench.metrics.fails = Retry("PrometheusUnreachable", "it did not answer")
    refused: list[float] = []
    bench.metrics.refuse = lambda: refused.append(bench.now_s)
    attempts = 0
    for _ in range(40):
        bench.now_s += 30
        bench.metrics.asked.clear()
        bench.sweep.run_once()
    assert [later - earlier for earlier, later in pairwise(refused)] == [30, 30, 60, 120, 240, 300, 300]
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "PrometheusUnreachable"
    bench.metrics.fails = None
    for _ in range(11):
        bench.now_s += 30
        bench.sweep.run_once()
        attempts += len(bench.metrics.asked) > 0
    assert attempts >= 1
    assert bench.view().problem is None


def test_one_source_that_fails_leaves_the_others_alone(bench: Bench) -> None:
    broken = MetricsDouble()
    broken.fails = Retry("PrometheusUnreachable", "it did not answer")
    bench.sweep = Sweep(SourcesDouble(bench.metrics, {"http://broken": broken}), lambda: bench.now_s, 30.0)
    bench.sweep.register("broken", replace(SPEC, metrics=MetricsSource(address="http://broken")), BASELINE)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    assert bench.view().problem is None
    assert bench.view("broken").problem is not None


class Slow(MetricsDouble):
    """A source that answers once it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.let = threading.Event()

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        self.begun += 1
        assert self.let.wait(60)
        return super().latest(workloads, now_s)


def test_sources_that_answer_slowly_hold_up_no_other_and_are_asked_one_thing_at_a_time(bench: Bench) -> None:
    slow = {f"http://slow-{place}": Slow() for place in range(5)}
    bench.sweep = Sweep(SourcesDouble(bench.metrics, slow), lambda: bench.now_s, 1.0)
    for address in slow:
        bench.sweep.register(address, replace(SPEC, metrics=MetricsSource(address=address)), BASELINE)
    bench.sweep.register("uid", SPEC, BASELINE)
    try:
        bench.run(20)
        assert (bench.verdict(), bench.view().problem) == (Verdict.HEALTHY, None)
        assert [source.begun for source in slow.values()] == [1] * 5
        problems = [bench.view(address).problem for address in slow]
        assert [problem.reason if problem else None for problem in problems] == ["SourceSlow"] * 5
    finally:
        for source in slow.values():
            source.let.set()
    await_condition("the slow ones are read again", lambda: read_again(bench, slow), timeout_s=60)
    problems = [bench.view(address).problem for address in slow]
    assert [problem.reason if problem else None for problem in problems] == ["NoSeries"] * 5


def read_again(bench: Bench, slow: Mapping[str, Slow]) -> bool:
    bench.run(0.5)
    return all(source.begun > 1 for source in slow.values())


class Together(MetricsDouble):
    """Sources that answer once four are asked at the same time."""

    now = most = 0
    met = threading.Barrier(4)
    lock = threading.Lock()

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        with Together.lock:
            Together.now += 1
            Together.most = max(Together.most, Together.now)
        Together.met.wait(60)
        with Together.lock:
            Together.now -= 1
        return {}


def test_four_sources_and_the_first_of_a_namespace_are_asked_at_the_same_time_and_no_more() -> None:
    sources = {f"http://source-{place}": Together() for place in range(8)}
    sweep = Sweep(SourcesDouble(MetricsDouble(), sources), lambda: 1000.0, 30.0)
    for address in sources:
        sweep.register(address, replace(SPEC, metrics=MetricsSource(address=address)), BASELINE)
    sweep.run_once()
    assert Together.most in (4, 5), "four, and one while it is the only one of its namespace"
    assert {sweep.view(address, 1000.0).filled for address in sources} == {True}


class Broken(MetricsDouble):
    """A source with a fault that nobody thought of."""

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        raise ZeroDivisionError


def test_a_fault_in_one_source_is_logged_and_its_problem_alone(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.sources = SourcesDouble(bench.metrics, {"http://broken": Broken()})
    bench.sweep = bench.another()
    broken = replace(SPEC, metrics=MetricsSource(address="http://broken"))
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.register("broken", broken, BASELINE)
    bench.run(30)
    problem = bench.view("broken").problem
    assert isinstance(problem, Retry)
    assert (problem.reason, "ZeroDivisionError" in problem.message) == ("SweepFailed", True)
    assert "Traceback" in caplog.text
    assert bench.view().problem is None
    assert bench.verdict() is Verdict.HEALTHY


def test_a_declaration_that_cannot_work_is_its_own_problem(bench: Bench) -> None:
    bench.sources.refuses = Stall("NoPrometheus", "no Prometheus is known")
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.view().problem
    assert isinstance(problem, Stall)
    bench.sources.refuses = None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(1)
    assert bench.view().problem is None


def test_what_is_in_memory_outlives_credentials_that_cannot_be_read_for_a_while(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    bench.run(4, loss=0.1)
    bench.sources.refuses = Stall("CredentialsUnfit", "key token is not text")
    bench.sweep.register("uid", SPEC, BASELINE)
    told = bench.view().problem
    assert told is not None and told.reason == "CredentialsUnfit"
    bench.run(4, loss=0.1)
    bench.sources.refuses = None
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(4, loss=0.1)
    assert bench.view().problem is None
    assert bench.verdict() is Verdict.REGRESSED
    assert [call for call, _ in bench.metrics.asked].count("history") == 1


def test_another_source_that_cannot_be_opened_is_not_replaced_by_the_one_before(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30)
    assert bench.verdict() is Verdict.HEALTHY
    bench.sources.refuses = Stall("CertificateUnreadable", "ca.crt holds no certificate in PEM")
    elsewhere = replace(SPEC, metrics=MetricsSource(address="https://elsewhere"))
    bench.sweep.register("uid", elsewhere, BASELINE)
    bench.run(1)
    assert not bench.view().filled


def test_a_source_that_answers_without_this_job_says_no_series(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "NoSeries"
    assert "team-a/gpt" in problem.message
    assert bench.verdict() is Verdict.NO_DATA


class Silent(MetricsDouble):
    """A source that knows why it has nothing."""

    def absence(self, workload: WorkloadRef) -> Retry:
        return Retry("PodUnreachable", "nothing listens there")


def test_a_source_that_knows_why_it_has_nothing_is_asked(bench: Bench) -> None:
    bench.metrics = Silent()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "PodUnreachable"


def test_a_job_that_was_read_before_and_cannot_be_read_for_minutes_says_why(bench: Bench) -> None:
    bench.metrics = Silent()
    bench.sources = SourcesDouble(bench.metrics)
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(5)
    assert bench.view().problem is None
    bench.now_s += 299
    assert bench.view().problem is None
    bench.now_s += 1
    problem = bench.view().problem
    assert problem is not None
    assert problem.reason == "PodUnreachable"


def test_a_job_that_a_partial_answer_has_nothing_of_is_not_said_to_be_without_series(bench: Bench) -> None:
    down = {"status": "success", "data": {"result": []}, "warnings": ["fetch series for {}: connection refused"]}
    fleet = MetricsSource(address="http://thanos:10902")
    sources = PrometheusSources(fleet, None, httpx.MockTransport(lambda _: httpx.Response(200, json=down)))
    bench.sweep = Sweep(sources, lambda: bench.now_s, 30.0)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    problem = bench.view().problem
    assert isinstance(problem, Retry)
    assert problem.reason == "PrometheusIncomplete"
    assert "connection refused" in problem.message
    assert bench.verdict() is Verdict.NO_DATA

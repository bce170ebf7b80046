"""Readings from the pods' own pages."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.page_turns import AT_ONCE, OF_ONE_WORKLOAD
from mfu_operator.adapters.pod_pages import HttpPages
from mfu_operator.adapters.pod_targets import Target, targets_of
from mfu_operator.adapters.scrape import PodMetrics, PodSources
from mfu_operator.errors import MfuError, Retry, Stall, Wait
from mfu_operator.model.baseline import MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.workload import PodEndpoint
from mfu_probe.identity import RunInfo
from mfu_probe.metrics import registry_of
from mfu_probe.probe import Probe
from tests.support.metrics_page import OPENMETRICS, TEXT, Page, serving_page

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
OTHER = WorkloadRef("batch/v1", "Job", "team-a", "llama")
PROBE = """
# TYPE mfu_probe_mfu_ratio gauge
mfu_probe_mfu_ratio 0.44
mfu_probe_step_seconds 2.0
mfu_probe_steps_total 70
mfu_probe_phase{phase="running"} 1
mfu_probe_phase{phase="checkpoint"} 0
mfu_probe_info{model="gpt-7b",global_batch="256",gpus="1"} 1
"""


class Pods:
    """Running pods and their pages, with a clock that is moved by hand."""

    def __init__(self, names: Mapping[str, str] | None = None, profile: str = "mfu_probe") -> None:
        self.now_s = 1000.0
        self.pages: dict[str, str | MfuError] = {}
        self.content_type = TEXT
        self.endpoints: dict[WorkloadRef, tuple[PodEndpoint, ...]] = {}
        source = MetricsSource(profile=profile, names=names or {})
        self.metrics = PodMetrics(PodScrape((9400,)), names_of(source), self._running, lambda: self.now_s, self._fetch)

    def run(self, workload: WorkloadRef, **pages: str | MfuError) -> None:
        """Pods by name with underscores, and what their pages show."""
        names = [name.replace("_", "-") for name in pages]
        self.endpoints[workload] = tuple(PodEndpoint(name, f"10.0.0.{i}") for i, name in enumerate(names))
        self.pages |= dict(zip(names, pages.values(), strict=True))

    def reading(self, after_s: float = 30.0, workload: WorkloadRef = JOB) -> Reading | None:
        self.now_s += after_s
        readings = self.metrics.latest([workload], self.now_s).get(workload, ())
        return readings[-1] if readings else None

    def value(self, signal: Signal, after_s: float = 30.0) -> float | None:
        reading = self.reading(after_s)
        return None if reading is None else reading.values.get(signal)

    def _running(self, workloads: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, Sequence[PodEndpoint]]:
        return {workload: self.endpoints[workload] for workload in workloads if workload in self.endpoints}

    def _fetch(self, target: Target) -> tuple[str, str]:
        page = self.pages[target.pod]
        if isinstance(page, MfuError):
            raise page
        return self.content_type, page


@pytest.fixture
def pods() -> Pods:
    return Pods()


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
    assert set(reading.rank_step_s) == {"gpt-0", "gpt-1"}


def test_workloads_are_kept_apart(pods: Pods) -> None:
    pods.run(JOB, gpt_0=PROBE)
    pods.run(OTHER, llama_0=PROBE.replace("0.44", "0.30"))
    latest = pods.metrics.latest([JOB, OTHER], pods.now_s)
    assert (latest[JOB][0].values[Signal.MFU], latest[OTHER][0].values[Signal.MFU]) == (0.44, 0.30)


def test_what_mfu_probe_serves_is_read_in_both_formats(pods: Pods) -> None:
    shown = {"steps_total": 12, "mfu_ratio": 0.41, "step_seconds": 1.5, "tokens_per_second": 900.0}
    snapshot = replace(Probe(info=RunInfo(model="gpt")).snapshot(), **shown)
    registry = registry_of(lambda: snapshot)
    pods.run(JOB, gpt_0=generate_latest(registry).decode())
    text = pods.reading()
    pods.content_type = OPENMETRICS
    pods.run(JOB, gpt_0=generate_openmetrics(registry).decode())
    openmetrics = pods.reading()
    assert text is not None
    assert openmetrics is not None
    assert text.values == openmetrics.values == {Signal.MFU: 0.41, Signal.STEP_TIME: 1.5, Signal.THROUGHPUT: 900.0}
    assert text.step == openmetrics.step == 12
    assert text.info == openmetrics.info == {"model": "gpt"}


def test_a_counter_of_tokens_is_read_as_its_rate() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for seconds in range(0, 300, 30):
        pods.run(JOB, gpt_0=f"tokens_total {1000 * seconds}\n")
        value = pods.value(Signal.THROUGHPUT)
        assert value == (None if seconds == 0 else pytest.approx(1000.0))


def test_a_counter_that_begins_anew_goes_on_from_there() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for tokens in (30_000, 60_000, 30_000):
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == pytest.approx(1000.0)


def test_a_rate_is_that_of_the_last_three_minutes() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    tokens = 0
    for minute in range(20):
        tokens += 60_000 if minute < 10 else 30_000
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT, after_s=60)
    assert value == pytest.approx(500.0)


def test_a_counter_of_steps_is_seconds_per_step() -> None:
    pods = Pods({"stepTime": "train_steps_total", "steps": "train_steps_total", "mfu": ""})
    for steps in (100, 115):
        pods.run(JOB, gpt_0=f"train_steps_total {steps}\n")
        reading = pods.reading()
    assert reading is not None
    assert (reading.values[Signal.STEP_TIME], reading.step) == (2.0, 115)


def test_a_counter_that_stands_still_has_no_seconds_per_step() -> None:
    pods = Pods({"stepTime": "train_steps_total", "steps": "train_steps_total", "mfu": ""})
    pods.run(JOB, gpt_0="train_steps_total 100\n")
    assert [pods.value(Signal.STEP_TIME) for _ in range(3)] == [None, None, None]


def test_a_gauge_that_a_profile_calls_a_counter_is_one() -> None:
    pods = Pods(profile="hf_trainer")
    for tokens in (0, 60_000):
        pods.run(JOB, gpt_0=f"train_num_input_tokens_seen {tokens}\ntrain_global_step 5\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == 2000.0


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_finite_number_is_no_reading(pods: Pods, value: str) -> None:
    pods.run(JOB, gpt_0=f"mfu_probe_mfu_ratio {value}\n")
    assert pods.reading() is None


def test_a_counter_that_is_no_number_leaves_the_rate_alone() -> None:
    pods = Pods({"throughput": "tokens_total", "mfu": ""})
    for tokens in ("30000", "NaN", "90000"):
        pods.run(JOB, gpt_0=f"tokens_total {tokens}\n")
        value = pods.value(Signal.THROUGHPUT)
    assert value == pytest.approx(1000.0)


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


def endpoint(**more: object) -> PodEndpoint:
    return PodEndpoint("gpt-0", "10.0.0.1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pod", "wanted", "urls"),
    [
        (endpoint(), PodScrape((9400, 9401)), ["http://10.0.0.1:9400/metrics", "http://10.0.0.1:9401/metrics"]),
        (endpoint(ports={"prom": 8000}), PodScrape(("prom",), "/m"), ["http://10.0.0.1:8000/m"]),
        (endpoint(ports={"prom": 8000}), PodScrape(("other",)), []),
        (endpoint(annotations={"prometheus.io/port": "8001"}), PodScrape(), ["http://10.0.0.1:8001/metrics"]),
        (
            endpoint(annotations={"prometheus.io/port": "8001", "prometheus.io/path": "stats"}),
            PodScrape(),
            ["http://10.0.0.1:8001/stats"],
        ),
        (endpoint(annotations={"prometheus.io/scrape": "false", "prometheus.io/port": "1"}), PodScrape(), []),
        (
            endpoint(ports={"metrics-1": 9401, "metrics": 9400, "http": 80}),
            PodScrape(),
            ["http://10.0.0.1:9400/metrics", "http://10.0.0.1:9401/metrics"],
        ),
        (endpoint(ports={"http": 80}), PodScrape(), []),
        (PodEndpoint("gpt-0", "fd00::1"), PodScrape((9400,)), ["http://[fd00::1]:9400/metrics"]),
        (
            endpoint(ports={"metrics": 1}, annotations={"prometheus.io/port": "²"}),
            PodScrape(),
            ["http://10.0.0.1:1/metrics"],
        ),
        (endpoint(annotations={"prometheus.io/port": "65536"}), PodScrape(), []),
        (endpoint(annotations={"prometheus.io/port": "0"}), PodScrape(), []),
        (endpoint(annotations={"prometheus.io/path": "/metrics\n"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/metrics x"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/métrics"}), PodScrape((9400,)), []),
        (endpoint(annotations={"prometheus.io/path": "/" * 1025}), PodScrape((9400,)), []),
    ],
)
def test_a_port_is_found_by_number_name_annotation_or_convention(
    pod: PodEndpoint, wanted: PodScrape, urls: list[str]
) -> None:
    assert [target.url for target in targets_of(JOB, pod, wanted)] == urls


@pytest.mark.parametrize("path", ["/metrics\n", "/" * 70_000])
def test_a_path_that_is_none_is_its_own_jobs_problem(path: str) -> None:
    odd = endpoint(annotations={"prometheus.io/path": path})
    running = {JOB: (odd,), OTHER: (PodEndpoint("llama-0", "10.0.0.2"),)}
    names = names_of(MetricsSource())
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: running, fetch=lambda target: (TEXT, PROBE))
    assert set(metrics.latest([JOB, OTHER], 1000.0)) == {OTHER}
    problem = metrics.absence(JOB)
    assert problem is not None
    assert (problem.reason, "prometheus.io/path" in problem.message) == ("NoMetricsPort", True)
    assert len(problem.message) < 300


def test_pods_that_do_not_say_where_their_metrics_are_are_told_how() -> None:
    metrics = PodMetrics(PodScrape(), names_of(MetricsSource()), lambda refs: {JOB: (endpoint(),)})
    assert metrics.latest([JOB], 0.0) == {}
    problem = metrics.absence(JOB)
    assert problem is not None
    assert problem.reason == "NoMetricsPort"
    assert "prometheus.io/port" in problem.message


def target(port: int) -> Target:
    return Target(JOB, "gpt-0", "127.0.0.1", port, "/metrics")


def failure(page: Page, pages: HttpPages) -> MfuError:
    with serving_page(page) as port, pytest.raises(MfuError) as caught:
        pages.fetch(target(port))
    return caught.value


def test_a_page_is_fetched_over_http() -> None:
    page = Page(PROBE)
    with serving_page(page) as port:
        assert HttpPages().fetch(target(port)) == (TEXT, PROBE)
    assert page.asked == ["/metrics"]


def test_a_port_where_nothing_listens_says_what_to_check() -> None:
    with serving_page(Page()) as port:
        pass
    with pytest.raises(Retry, match="does the training process listen there") as caught:
        HttpPages().fetch(target(port))
    assert caught.value.reason == "PodUnreachable"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_another_answer_than_ok_is_no_page_and_no_redirect_is_followed(status: int) -> None:
    page = Page(PROBE, status=status)
    assert f"answered {status}" in failure(page, HttpPages()).message
    assert page.asked == ["/metrics"]


def test_a_page_without_end_is_given_up() -> None:
    assert "larger than 1 MiB" in failure(Page("x" * (1 << 20) + "y"), HttpPages(largest=1 << 20)).message


def test_a_page_that_trickles_is_given_up_in_time() -> None:
    page, waiting = Page("x" * 10_000), threading.Event()
    page.trickle = lambda: waiting.wait(0.05) and None
    assert "did not end within 0.3 s" in failure(page, HttpPages(deadline_s=0.3)).message


def test_pages_that_hang_do_not_hold_up_the_others() -> None:
    released = threading.Event()

    def fetch(target: Target) -> tuple[str, str]:
        if target.pod == "silent":
            released.wait(30)
        return TEXT, PROBE

    endpoints = (PodEndpoint("silent", "10.0.0.1"), PodEndpoint("gpt-0", "10.0.0.2"))
    names = names_of(MetricsSource())
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: {JOB: endpoints}, fetch=fetch, deadline_s=0.5)
    try:
        reading = metrics.latest([JOB], 1000.0)[JOB][0]
    finally:
        released.set()
    assert reading.incarnation == "gpt-0"


class Together:
    """Pages that are answered once `count` are being read at the same time; `most` were, by workload and in all."""

    def __init__(self, count: int) -> None:
        self._begun = threading.Barrier(count)
        self._lock = threading.Lock()
        self._now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def fetch(self, target: Target) -> tuple[str, str]:
        who = target.workload.name
        with self._lock:
            self._now.update((who, "all"))
            self.most |= self._now
        self._begun.wait(10)
        with self._lock:
            self._now.subtract((who, "all"))
        return TEXT, PROBE


def running(*jobs: str, pods: int) -> dict[WorkloadRef, tuple[PodEndpoint, ...]]:
    return {
        replace(JOB, name=job): tuple(PodEndpoint(f"{job}-{pod}", f"10.0.{index}.{pod}") for pod in range(pods))
        for index, job in enumerate(jobs)
    }


def test_at_most_so_many_pages_are_asked_for_at_once() -> None:
    together, found = Together(AT_ONCE), running("a", "b", "c", "d", "e", "f", pods=AT_ONCE // 2)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=together.fetch)
    looks = metrics.looks(list(found))
    assert (len(looks), {look.problem for look in looks}) == (3 * AT_ONCE, {None})
    assert together.most["all"] == AT_ONCE


def test_one_job_may_not_take_all_turns() -> None:
    together, found = Together(OF_ONE_WORKLOAD), running("a", pods=2 * OF_ONE_WORKLOAD)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=together.fetch)
    assert len(metrics.looks(list(found))) == 2 * OF_ONE_WORKLOAD
    assert together.most["a"] == OF_ONE_WORKLOAD


def test_a_job_none_of_whose_many_pods_answers_holds_up_no_other() -> None:
    released, found = threading.Event(), running("silent", "good", pods=2 * AT_ONCE)

    def fetch(target: Target) -> tuple[str, str]:
        if target.workload.name == "silent":
            released.wait(30)
        return TEXT, PROBE

    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=fetch, deadline_s=2.0)
    try:
        looks = metrics.looks(list(found))
    finally:
        released.set()
    assert sum(look.problem is None for look in looks) == 2 * AT_ONCE
    assert {look.target.workload.name for look in looks if look.problem is None} == {"good"}


def test_a_page_whose_last_request_is_still_open_is_not_asked_for_again() -> None:
    released, asked = threading.Event(), list[str]()

    def fetch(target: Target) -> tuple[str, str]:
        asked.append(target.pod)
        released.wait(30)
        return TEXT, PROBE

    found = running("a", pods=1)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=fetch, deadline_s=0.1)
    try:
        (first,), (second,) = metrics.looks(list(found)), metrics.looks(list(found))
    finally:
        released.set()
    assert asked == ["a-0"]
    assert first.problem is not None
    assert second.problem is not None
    assert "has not answered since the last sweep" in second.problem.message


def test_two_baselines_of_one_pod_share_its_page() -> None:
    asked, tokens = list[str](), [0]

    def fetch(target: Target) -> tuple[str, str]:
        asked.append(target.url)
        tokens[0] += 30_000
        return TEXT, f"tokens_total {tokens[0]}\n"

    side = replace(JOB, container="side")
    names = names_of(MetricsSource(names={"throughput": "tokens_total", "mfu": ""}))
    now = [1000.0]
    found = {JOB: (endpoint(),), side: (endpoint(),)}
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: found, lambda: now[0], fetch)
    for _ in range(2):
        now[0] += 30
        latest = metrics.latest([JOB, side], now[0])
    assert len(asked) == 2
    assert [latest[ref][0].values for ref in (JOB, side)] == [{Signal.THROUGHPUT: 1000.0}] * 2


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
    known: dict[WorkloadRef, tuple[PodEndpoint, ...] | MfuError] = {JOB: refused, OTHER: (endpoint(),)}
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

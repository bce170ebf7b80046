"""What every source of readings does, on the real Prometheus and on the double."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import PodMetrics
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.workload import PodEndpoint
from mfu_operator.ports import Credentials, Metrics
from tests.support import victoriametrics_server
from tests.support.certificates import Authority
from tests.support.metrics_double import MetricsDouble
from tests.support.metrics_page import TEXT
from tests.support.prometheus_server import NEEDS_PROMETHEUS, Guard, sample, serving

BEGIN_S = 1_700_000_000.0
EVERY_S = 15.0
SCRAPES = 40
OFFSET_S = 3.25
"""Scrapes happen between the round moments that queries ask for."""

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SAME_NAME_ELSEWHERE = WorkloadRef("batch/v1", "Job", "team-b", "gpt")
SET = WorkloadRef("jobset.x-k8s.io/v1alpha2", "JobSet", "team-a", "llama")
ABSENT = WorkloadRef("batch/v1", "Job", "team-a", "absent")
PASSWORD = "reading"
PASSWORD_BCRYPT = "$2b$04$abcdefghijklmnopqrstuunlU.WldpuNAbnWBAkfWLvuSdDznuaLO"
INFO = {"model": "gpt-7b", "gpu": "H100", "world_size": "2", "global_batch": "256"}


def _readings(mfus: Sequence[float], pods: Sequence[str], info: Mapping[str, str]) -> list[Reading]:
    return [
        Reading(
            time_s=BEGIN_S + OFFSET_S + EVERY_S * index,
            values={Signal.MFU: sum(mfus) / len(mfus), Signal.STEP_TIME: 2.0},
            phase=Phase.CHECKPOINT if index % 8 == 7 else Phase.RUNNING,
            step=float(10 * index),
            incarnation=",".join(sorted(pods)),
            info=info,
            running_ratio=1.0,
        )
        for index in range(SCRAPES)
    ]


RUNS = {
    JOB: ((0.44, 0.48), ("gpt-0-abcde", "gpt-1-fghij")),
    SAME_NAME_ELSEWHERE: ((0.30,), ("gpt-x",)),
    SET: ((0.40,), ("llama-workers-0-0-k2x",)),
}


def _families() -> Iterator[tuple[str, str, list[str]]]:
    """The same readings as one sample per scrape and pod."""
    families: dict[str, list[str]] = {}
    for workload, (mfus, pods) in RUNS.items():
        for mfu, pod in zip(mfus, pods, strict=True):
            target = {"namespace": workload.namespace, "pod": pod, "instance": f"{pod}:9400"}
            if workload.kind == "Job":
                target["job_name"] = workload.name
            for index in range(SCRAPES):
                at_s = BEGIN_S + OFFSET_S + EVERY_S * index
                for name, labels, value in _scraped(target, mfu, index):
                    families.setdefault(name, []).append(sample(name, labels, value, at_s))
    for name, lines in families.items():
        yield name.removesuffix("_total"), "counter" if name.endswith("_total") else "gauge", lines


def _scraped(target: dict[str, str], mfu: float, index: int) -> Iterator[tuple[str, dict[str, str], float]]:
    now = "checkpoint" if index % 8 == 7 else "running"
    yield "mfu_probe_mfu_ratio", target, mfu
    yield "mfu_probe_step_seconds", target, 2.0
    yield "mfu_probe_window_running_ratio", target, 1.0
    yield "mfu_probe_steps_total", target, 10.0 * index
    yield "mfu_probe_info", target | INFO | {"rank": "0"}, 1.0
    for phase in ("running", "checkpoint"):
        yield "mfu_probe_phase", target | {"phase": phase}, float(phase == now)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """The real server over a database made of the readings."""
    with serving(_families(), tmp_path_factory.mktemp("prometheus")) as address:
        yield PrometheusSources(MetricsSource(address=address)).open(MetricsSource(), None)


@pytest.fixture(scope="module")
def victoriametrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    with victoriametrics_server.serving(_families(), tmp_path_factory.mktemp("victoriametrics")) as address:
        source = MetricsSource(address=address)
        yield PrometheusSources(MetricsSource()).open(source, None)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """The same behind TLS of a private authority, which asks for a client certificate, a user and a password."""
    authority = Authority(tmp_path_factory.mktemp("authority"))
    client = authority.issue("client")
    guard = Guard(authority.issue("server"), authority.certificate, "operator", PASSWORD_BCRYPT)
    credentials = Credentials(
        "operator",
        PASSWORD,
        authority.certificate.read_text(),
        client.certificate.read_text(),
        client.key.read_text(),
    )
    with serving(_families(), tmp_path_factory.mktemp("guarded"), guard) as address:
        source = MetricsSource(address=address)
        yield PrometheusSources(MetricsSource()).open(source, credentials)
        with pytest.raises(Retry, match="certificateSecretRef"):
            PrometheusSources(MetricsSource()).open(source, Credentials(ca=credentials.ca)).latest([JOB], BEGIN_S)
        stranger = replace(credentials, password="wrong")
        with pytest.raises(Retry, match="answered 401"):
            PrometheusSources(MetricsSource()).open(source, stranger).latest([JOB], BEGIN_S)


class PodsThen(PodMetrics):
    """Pods whose pages are as they were at a scrape of the past: a page itself shows the present alone."""

    def __init__(self) -> None:
        self._at_s = 0.0
        endpoints = {
            workload: tuple(PodEndpoint(pod, f"{pod}.pods") for pod in pods) for workload, (_, pods) in RUNS.items()
        }
        names = names_of(MetricsSource())
        super().__init__(PodScrape((9400,)), names, lambda refs: endpoints, lambda: self._at_s, self._page)

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """As the scrape before then had it."""
        self._at_s = BEGIN_S + OFFSET_S + EVERY_S * self._scrape_before(now_s)
        return super().latest(workloads, now_s)

    def _scrape_before(self, now_s: float) -> int:
        return int((now_s - BEGIN_S - OFFSET_S) // EVERY_S)

    def _page(self, target: Target) -> tuple[str, str]:
        index = self._scrape_before(self._at_s)
        mfus, pods = RUNS[target.workload]
        mfu = mfus[pods.index(target.pod)]
        lines = [
            sample(name, labels, value, self._at_s).rsplit(" ", 1)[0]
            for name, labels, value in _scraped({}, mfu, index)
            if index >= 0
        ]
        return TEXT, "\n".join(lines) + "\n"


@pytest.fixture
def pods() -> Metrics:
    return PodsThen()


@pytest.fixture
def double() -> Metrics:
    return MetricsDouble({workload: _readings(mfus, pods, INFO) for workload, (mfus, pods) in RUNS.items()})


REAL = [
    *(pytest.param(name, marks=NEEDS_PROMETHEUS) for name in ("prometheus", "guarded")),
    pytest.param("victoriametrics", marks=victoriametrics_server.NEEDS_VICTORIAMETRICS),
]


@pytest.fixture(params=[*REAL, "pods", "double"])
def metrics(request: pytest.FixtureRequest) -> Metrics:
    source: Metrics = request.getfixturevalue(request.param)
    return source


@pytest.fixture(params=[*REAL, "double"])
def with_history(request: pytest.FixtureRequest) -> Metrics:
    """Sources that remember: a pod's page does not."""
    source: Metrics = request.getfixturevalue(request.param)
    return source


def test_the_latest_reading_carries_the_time_of_its_scrape(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 10 * EVERY_S + 10)[JOB][-1]
    assert reading.time_s == pytest.approx(BEGIN_S + OFFSET_S + 10 * EVERY_S)


def test_a_reading_is_the_mean_over_the_ranks(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 100)[JOB][-1]
    assert reading.values[Signal.MFU] == pytest.approx(0.46)
    assert reading.values[Signal.STEP_TIME] == pytest.approx(2.0)
    assert reading.incarnation == "gpt-0-abcde,gpt-1-fghij"


def test_phase_step_and_info_come_with_it(metrics: Metrics) -> None:
    reading = metrics.latest([JOB], BEGIN_S + 7 * EVERY_S + 5)[JOB][-1]
    assert reading.phase is Phase.CHECKPOINT
    assert reading.step == 70
    assert reading.info == INFO
    assert reading.running_ratio == 1.0
    assert metrics.latest([JOB], BEGIN_S + 8 * EVERY_S + 5)[JOB][-1].phase is Phase.RUNNING


def test_workloads_of_one_name_in_two_namespaces_are_kept_apart(metrics: Metrics) -> None:
    latest = metrics.latest([JOB, SAME_NAME_ELSEWHERE], BEGIN_S + 100)
    assert latest[SAME_NAME_ELSEWHERE][-1].values[Signal.MFU] == pytest.approx(0.30)
    assert latest[JOB][-1].values[Signal.MFU] == pytest.approx(0.46)


def test_other_kinds_are_found_by_their_pods_names(metrics: Metrics) -> None:
    latest = metrics.latest([JOB, SET], BEGIN_S + 100)
    assert latest[SET][-1].values[Signal.MFU] == pytest.approx(0.40)
    assert latest[JOB][-1].values[Signal.MFU] == pytest.approx(0.46)


def test_a_workload_without_series_is_absent(metrics: Metrics) -> None:
    assert set(metrics.latest([JOB, ABSENT], BEGIN_S + 100)) == {JOB}
    assert metrics.latest([], BEGIN_S) == {}


def test_a_time_without_scrapes_is_empty(metrics: Metrics) -> None:
    assert metrics.latest([JOB], BEGIN_S - 3600) == {}


def test_history_holds_each_scrape_once_and_the_oldest_first(with_history: Metrics) -> None:
    end_s = BEGIN_S + SCRAPES * EVERY_S
    readings = with_history.history([JOB], BEGIN_S, end_s, 5.0)[JOB]
    times = [reading.time_s for reading in readings]
    assert times == pytest.approx([BEGIN_S + OFFSET_S + EVERY_S * index for index in range(SCRAPES)])
    assert [reading.step for reading in readings] == [10.0 * index for index in range(SCRAPES)]


def test_nothing_is_known_of_the_memory_and_the_gpus_of_a_workload_without_series(metrics: Metrics) -> None:
    now_s = BEGIN_S + 100
    metrics.latest([JOB, ABSENT], now_s)
    assert ABSENT not in metrics.vitals([JOB, ABSENT], now_s)
    assert metrics.vitals_history([ABSENT], BEGIN_S, now_s, 60.0) == {}
    assert metrics.hardware([ABSENT], now_s) == {}


def test_nothing_is_in_the_way_of_a_workload_that_was_read(metrics: Metrics) -> None:
    metrics.latest([JOB], BEGIN_S + 100)
    assert metrics.absence(JOB) is None

"""What scraping does to series, on real servers: each is what the operator reads, not what a double says."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.ports import Metrics
from tests.support.awaited import awaited
from tests.support.metrics_page import Page, serving_page
from tests.support.metrics_servers import SERVERS, SERVING
from tests.support.prometheus_server import NEEDS_PROMETHEUS, sample, scraping

BEGIN_S = 1_700_000_000.0
EVERY_S = 15.0
JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
PAIR = WorkloadRef("batch/v1", "Job", "team-a", "pair")
BROKEN = WorkloadRef("batch/v1", "Job", "team-a", "broken")
PATIENCE_S = 120.0
Scraper = Callable[[str, Path], AbstractContextManager[str]]


def target(workload: WorkloadRef, **more: str) -> dict[str, str]:
    pod = f"{workload.name}-0"
    return {"namespace": "team-a", "job_name": workload.name, "pod": pod, "instance": f"{pod}:9400"} | more


def _families() -> Iterator[tuple[str, str, list[str]]]:
    """Ten minutes: a counter of 1,000 tokens a second that begins again; a pair, one of which dies; NaN and Inf."""
    times = [BEGIN_S + EVERY_S * index for index in range(41)]
    tokens = [1000.0 * (at - BEGIN_S if at < BEGIN_S + 300 else at - BEGIN_S - 300) for at in times]
    steps = [value / 2000.0 for value in tokens]
    alive, dead = (target(PAIR, prometheus_replica=name) for name in ("alive", "dead"))
    yield "tokens", "counter", [
        sample("tokens_total", target(JOB), value, at) for at, value in zip(times, tokens, strict=True)
    ]  # fmt: skip
    yield "train_steps", "counter", [
        sample("train_steps_total", target(JOB), value, at) for at, value in zip(times, steps, strict=True)
    ]  # fmt: skip
    yield "mfu_probe_mfu_ratio", "gauge", [
        *(sample("mfu_probe_mfu_ratio", alive, 0.40 if at < times[32] else 0.30, at) for at in times),
        *(sample("mfu_probe_mfu_ratio", dead, 0.40, at) for at in times[:32]),
        *(sample("mfu_probe_mfu_ratio", target(BROKEN), float("nan"), at) for at in times),
        *(sample("mfu_probe_mfu_ratio", target(BROKEN, pod="broken-1"), float("inf"), at) for at in times),
    ]  # fmt: skip


@pytest.fixture(scope="module", params=SERVERS)
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with SERVING[request.param](_families(), tmp_path_factory.mktemp(request.param)) as url:
        yield url


def opened(address: str, **names: str) -> Metrics:
    return PrometheusSources(MetricsSource(address=address)).open(MetricsSource(names=names), None)


def test_a_counter_that_begins_anew_costs_its_rate_one_scrape_of_the_window_and_no_more(address: str) -> None:
    """What was counted after the last scrape before is lost; the restart itself gates these minutes."""
    metrics = opened(address, throughput="tokens_total", steps="tokens_total", mfu="")
    readings = metrics.history([JOB], BEGIN_S + 200, BEGIN_S + 600, EVERY_S)[JOB]
    rates = {reading.time_s - BEGIN_S: reading.values[Signal.THROUGHPUT] for reading in readings}
    assert len(rates) > 20
    assert [rate for at_s, rate in rates.items() if not 300 <= at_s <= 480] == pytest.approx([1000.0] * 14, rel=0.01)
    assert all(1000 * (1 - EVERY_S / 180) * 0.99 < rate < 1010 for rate in rates.values())


def test_a_counter_of_steps_is_seconds_per_step(address: str) -> None:
    metrics = opened(address, stepTime="train_steps_total", steps="train_steps_total", mfu="")
    reading = metrics.latest([JOB], BEGIN_S + 280)[JOB][0]
    assert reading.values[Signal.STEP_TIME] == pytest.approx(2.0, rel=0.02)


def test_of_a_pair_one_of_which_died_the_other_is_read(address: str) -> None:
    """Two minutes after its death Prometheus still repeats the last sample of the dead one."""
    metrics = opened(address)
    reading = metrics.latest([PAIR], BEGIN_S + 600)[PAIR][0]
    assert (reading.values[Signal.MFU], reading.time_s) == (0.30, BEGIN_S + 600)


@pytest.mark.parametrize(
    ("job", "names"),
    [
        pytest.param(PAIR, {}, id="MFU alone"),
        pytest.param(JOB, {"throughput": "tokens_total"}, id="throughput alone"),
        pytest.param(JOB, {"stepTime": "train_steps_total"}, id="step time alone"),
    ],
)
def test_whatever_a_job_exports_its_reading_carries_the_time_of_its_scrape(
    address: str, job: WorkloadRef, names: dict[str, str]
) -> None:
    assert opened(address, **names).latest([job], BEGIN_S + 611)[job][0].time_s == BEGIN_S + 600


def test_nan_and_infinity_are_no_readings(address: str) -> None:
    assert opened(address).latest([BROKEN], BEGIN_S + 600) == {}


def test_a_series_that_ended_is_no_reading_once_its_last_scrape_is_old(address: str) -> None:
    metrics = opened(address)
    assert PAIR in metrics.latest([PAIR], BEGIN_S + 600 + 290)
    assert metrics.latest([PAIR], BEGIN_S + 600 + 310) == {}


@pytest.mark.parametrize("scraper", [pytest.param(scraping, marks=NEEDS_PROMETHEUS, id="prometheus")])
def test_a_series_that_a_target_stops_exporting_is_gone_at_once(scraper: Scraper, tmp_path: Path) -> None:
    """Prometheus marks it as stale; without the mark it would be repeated for five minutes."""
    page = Page('mfu_probe_mfu_ratio{namespace="team-a",job_name="gpt",pod="gpt-0"} 0.4\n')
    with serving_page(page) as port, scraper(f"127.0.0.1:{port}", tmp_path) as url:
        metrics = opened(url)

        def reading() -> Reading | None:
            return metrics.latest([JOB], time.time()).get(JOB, (None,))[0]

        first = awaited(reading, lambda found: found is not None, PATIENCE_S)
        assert first is not None
        assert abs(first.time_s - time.time()) < PATIENCE_S
        page.text = "python_info 1\n"
        assert awaited(reading, lambda found: found is None, PATIENCE_S) is None

"""Memory and streaks as real servers give them."""

from collections.abc import Iterator

import pytest

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import (
    Baseline,
    BaselineSpec,
    Comparable,
    Level,
    MetricsSource,
    Provenance,
    Spread,
    WorkloadRef,
)
from mfu_operator.model.vitals import Ailment, Fill, Streak
from tests.support.metrics_double import SourcesDouble
from tests.support.metrics_servers import SERVERS, SERVING
from tests.support.prometheus_server import sample

BEGIN_S = 1_700_000_000.0
EVERY_S = 30.0
SCRAPES = 240
STUCK_AT = 120
"""The scrape from which on the step counter has not moved."""

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SET = WorkloadRef("jobset.x-k8s.io/v1alpha2", "JobSet", "team-a", "llama")
ABSENT = WorkloadRef("batch/v1", "Job", "team-a", "absent")
GIB = 2.0**30


def _families() -> Iterator[tuple[str, str, list[str]]]:
    """Two ranks of a Job of which one leaks and peaks at every fifth scrape, and which stands still after an hour; a
    JobSet that says less."""
    ranks = [
        {"namespace": "team-a", "pod": f"gpt-{rank}-x", "instance": f"gpt-{rank}-x:9400", "job_name": "gpt"}
        for rank in range(2)
    ]
    other = {"namespace": "team-a", "pod": "llama-workers-0-0-k2x", "instance": "llama:9400"}
    lines: dict[str, list[str]] = {}

    def say(name: str, labels: dict[str, str], value: float, at_s: float) -> None:
        lines.setdefault(f"mfu_probe_{name}", []).append(sample(f"mfu_probe_{name}", labels, value, at_s))

    for index in range(SCRAPES):
        at_s = BEGIN_S + EVERY_S * index
        for rank, labels in enumerate(ranks):
            peak = 10 if index % 5 == 4 else 0
            say("memory_allocated_bytes", labels, (20 + rank * index / 10 + peak) * GIB, at_s)
            say("memory_reserved_bytes", labels, 60 * GIB, at_s)
            say("memory_limit_bytes", labels, 80 * GIB, at_s)
            say("nonfinite_loss_streak", labels, float(4 * rank), at_s)
            say("steps_total", labels, float(min(index, STUCK_AT)), at_s)
        say("host_memory_bytes", other, 3 * GIB, at_s)
        say("host_memory_limit_bytes", other, 8 * GIB, at_s)
    for name, found in lines.items():
        yield name.removesuffix("_total"), "counter" if name.endswith("_total") else "gauge", found


@pytest.fixture(scope="module", params=SERVERS)
def metrics(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusMetrics]:
    with SERVING[request.param](_families(), tmp_path_factory.mktemp(request.param)) as address:
        source = PrometheusSources(MetricsSource(address=address)).open(MetricsSource(), None)
        assert isinstance(source, PrometheusMetrics)
        yield source


def test_the_worst_rank_speaks_for_each_job_and_what_is_absent_is_none(metrics: PrometheusMetrics) -> None:
    now_s = BEGIN_S + 100 * EVERY_S + 5
    found = metrics.vitals([JOB, SET, ABSENT], now_s)
    assert set(found) == {JOB, SET}
    assert found[JOB].time_s == now_s
    assert found[JOB].allocated == Fill(30 * GIB, 80 * GIB, "gpt-1-x")
    assert found[JOB].nonfinite == Streak(4, "gpt-1-x")
    assert (found[JOB].host, found[JOB].skipped) == (None, None)
    assert found[SET].host == Fill(3 * GIB, 8 * GIB, "llama-workers-0-0-k2x")
    assert (found[SET].allocated, found[SET].nonfinite) == (None, None)


def test_history_holds_the_least_of_each_span_the_oldest_first(metrics: PrometheusMetrics) -> None:
    history = metrics.vitals_history([JOB, ABSENT], BEGIN_S + 600, BEGIN_S + SCRAPES * EVERY_S, 600.0)
    assert set(history) == {JOB}
    fills = [one.allocated for one in history[JOB] if one.allocated is not None]
    assert [fill.used / GIB for fill in fills[:3]] == pytest.approx([20.1, 22.1, 24.1], abs=0.11)
    assert [one.time_s for one in history[JOB]] == sorted(one.time_s for one in history[JOB])
    assert all(fill.limit == 80 * GIB for fill in fills)


def test_a_profile_without_vitals_is_not_asked_for_any(metrics: PrometheusMetrics) -> None:
    other = PrometheusSources(MetricsSource(address=metrics.address)).open(MetricsSource(profile="megatron"), None)
    assert isinstance(other, PrometheusMetrics)
    assert other.vitals([JOB], BEGIN_S + 600) == {}
    assert other.vitals_history([JOB], BEGIN_S, BEGIN_S + 600, 600.0) == {}


def test_from_what_is_scraped_to_what_is_wrong(metrics: PrometheusMetrics) -> None:
    """A hang after its ten minutes, to the scrape; a lost loss beside it; both again after a restart."""
    baseline = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)
    now_s = BEGIN_S + 60 * EVERY_S

    def sweep_of() -> Sweep:
        made = Sweep(SourcesDouble(metrics), lambda: now_s, EVERY_S)
        made.register("uid", BaselineSpec(JOB, Comparable("gpt")), baseline)
        return made

    def ailments(sweep: Sweep) -> list[Ailment]:
        sweep.run_once()
        return [symptom.reason for symptom in sweep.view("uid", now_s).symptoms or ()]

    sweep, hung_after_s = sweep_of(), None
    while now_s < BEGIN_S + (SCRAPES - 2) * EVERY_S:
        now_s += EVERY_S
        found = ailments(sweep)
        if Ailment.HUNG in found and hung_after_s is None:
            hung_after_s = now_s - (BEGIN_S + STUCK_AT * EVERY_S)
    assert hung_after_s == pytest.approx(600, abs=2 * EVERY_S)
    assert found == [Ailment.HUNG, Ailment.LOSS_NOT_FINITE]
    assert ailments(sweep_of()) == [Ailment.HUNG, Ailment.LOSS_NOT_FINITE]

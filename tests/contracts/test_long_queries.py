"""A fleet whose query is longer than the server takes, which VictoriaMetrics does at 16 KiB."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, Signal, WorkloadRef
from tests.support.metrics_servers import SERVERS, SERVING
from tests.support.prometheus_server import sample

JOBS = [WorkloadRef("batch/v1", "Job", f"team-{n % 7}", f"pretraining-of-a-model-{n}") for n in range(1200)]
MFU = {job: 0.3 + n / 10_000 for n, job in enumerate(JOBS)}


@pytest.fixture(params=SERVERS)
def metrics(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PrometheusMetrics]:
    now_s = time.time() - 60.0
    lines = [
        sample(
            "mfu_probe_mfu_ratio",
            {"namespace": job.namespace, "job_name": job.name, "pod": f"{job.name}-0"},
            mfu,
            now_s,
        )
        for job, mfu in MFU.items()
    ]
    with SERVING[request.param]([("mfu_probe_mfu_ratio", "gauge", lines)], tmp_path) as address:
        found = PrometheusSources(MetricsSource(address=address)).open(MetricsSource(), None)
        assert isinstance(found, PrometheusMetrics)
        yield found


def test_every_job_of_a_fleet_is_read_now_and_from_history(metrics: PrometheusMetrics) -> None:
    assert len(metrics.queries(JOBS).__next__()[1]) > 16_384
    now_s = time.time()
    latest = metrics.latest(JOBS, now_s)
    assert {job: latest[job][0].values[Signal.MFU] for job in JOBS} == pytest.approx(MFU)
    history = metrics.history(JOBS, now_s - 240, now_s, 30.0)
    assert {job: history[job][-1].values[Signal.MFU] for job in JOBS} == pytest.approx(MFU)


def test_a_query_that_is_refused_for_what_it_says_is_refused(metrics: PrometheusMetrics) -> None:
    with pytest.raises(Stall) as caught:
        metrics.query("sum by (", time.time())
    assert caught.value.reason == "QueryRejected"

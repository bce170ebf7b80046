"""How many queries a sweep sends, counted at the real adapter: the number must not grow with the number of jobs."""

from collections import Counter
from dataclasses import replace
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
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

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SPEC = BaselineSpec(JOB, Comparable("gpt"))
BASELINE = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)
MOST_A_SWEEP = 40


class Fleet:
    """Many jobs of a Prometheus that answers with nothing and counts what it is asked."""

    def __init__(self, jobs: int, regressed: int) -> None:
        self.now_s, self.asked = 1_000_000.0, Counter[str]()
        self.sweep = Sweep(
            PrometheusSources(
                MetricsSource(address="http://prometheus:9090"), transport=httpx.MockTransport(self._answer)
            ),
            lambda: self.now_s,
            30.0,
        )
        for index in range(jobs):
            spec = replace(SPEC, workload=replace(JOB, name=f"job-{index}"))
            since_s = self.now_s - 1800 if index < regressed else None
            self.sweep.register(str(index), spec, BASELINE, incident_since_s=since_s)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        form = parse_qs(request.content.decode())
        kind = "history" if request.url.path.endswith("query_range") else "instant"
        self.asked["floors" if "min_over_time" in form["query"][0] else kind] += 1
        return httpx.Response(200, json={"status": "success", "data": {"result": []}})

    def swept(self) -> Counter[str]:
        """The queries of one sweep."""
        self.asked.clear()
        self.now_s += 30
        self.sweep.run_once()
        return Counter(self.asked)


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    """Ten thousand jobs of which one in a hundred has a loss, after the sweep that reads their history."""
    made = Fleet(10_000, 100)
    made.swept()
    return made


def test_ten_thousand_jobs_take_at_most_forty_queries_a_sweep_also_while_a_day_of_memory_is_read(fleet: Fleet) -> None:
    while_remembering = [fleet.swept() for _ in range(40)]
    assert sum(sweep["floors"] for sweep in while_remembering) == 39
    assert max(sweep.total() for sweep in while_remembering) <= MOST_A_SWEEP
    ordinary = [fleet.swept() for _ in range(20)]
    assert {sweep["floors"] for sweep in ordinary} == {0}
    assert max(sweep.total() for sweep in ordinary) <= MOST_A_SWEEP - 4


def test_a_job_takes_as_many_as_a_chunk_of_them() -> None:
    one, many = Fleet(1, 0), Fleet(2000, 0)
    for each in (one, many):
        for _ in range(12):
            each.swept()
    assert max(one.swept().total() for _ in range(4)) == max(many.swept().total() for _ in range(4))

"""What a sweep costs: `python -m tests.bench.sweep [--jobs 10000]`, on a real Prometheus.

Prints CPU seconds, memory and queries of the first sweep (history and all) and of ordinary ones, and what judging all
baselines costs, for the number of jobs and for twice as many.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.prometheus import PrometheusMetrics
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
from mfu_operator.ports import Credentials, Metrics
from mfu_operator.process.garbage import collect_seldom
from tests.support.prometheus_server import sample, serving

BEGIN_S = 1_700_000_000.0
EVERY_S = 30.0
SCRAPES = 6
NAMESPACES = 50
BASELINE = Baseline(Level(mfu=0.46, step_time_s=2.0), Spread(0.01, None, 0.003, 1), Provenance.DECLARED)
PHASES = ("starting", "running", "checkpoint", "evaluation", "paused")
GAUGES = {
    "mfu_probe_mfu_ratio": 0.46,
    "mfu_probe_step_seconds": 2.0,
    "mfu_probe_tokens_per_second": 900.0,
    "mfu_probe_window_running_ratio": 1.0,
}
INFO = {"model": "gpt", "gpu": "H100", "world_size": "8", "global_batch": "256", "rank": "0"}


class Counting(httpx.HTTPTransport):
    """Counts requests."""

    queries = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.queries += 1
        return super().handle_request(request)


class OneSource:
    """Opens the same source for all."""

    def __init__(self, metrics: PrometheusMetrics) -> None:
        self._metrics = metrics

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        return self._metrics


def families(jobs: int) -> Iterator[tuple[str, str, Iterator[str]]]:
    """What the probe of every job exports."""
    for name, value in GAUGES.items():
        yield name, "gauge", _lines(name, jobs, [({}, value)])
    yield "mfu_probe_steps", "counter", _lines("mfu_probe_steps_total", jobs, [({}, None)])
    phases: list[tuple[dict[str, str], float | None]] = [({"phase": p}, float(p == "running")) for p in PHASES]
    yield "mfu_probe_phase", "gauge", _lines("mfu_probe_phase", jobs, phases)
    yield "mfu_probe_info", "gauge", _lines("mfu_probe_info", jobs, [(INFO, 1.0)])


def _lines(name: str, jobs: int, series: list[tuple[dict[str, str], float | None]]) -> Iterator[str]:
    for job in range(jobs):
        target = {"namespace": f"team-{job % NAMESPACES}", "job_name": f"job-{job}", "pod": f"job-{job}-abcde"}
        for labels, value in series:
            for scrape in range(SCRAPES):
                number = float(scrape + 1) if value is None else value
                yield sample(name, target | labels, number, BEGIN_S + EVERY_S * scrape)


def measure(jobs: int) -> None:
    """One size, in this process."""
    collect_seldom()
    with tempfile.TemporaryDirectory() as folder, serving(families(jobs), Path(folder)) as address:
        transport = Counting()
        now_s = BEGIN_S + 2 * EVERY_S + 10
        metrics = PrometheusMetrics(address, names_of(MetricsSource()), transport=transport)
        sweep = Sweep(OneSource(metrics), lambda: now_s, EVERY_S)
        for job in range(jobs):
            workload = WorkloadRef("batch/v1", "Job", f"team-{job % NAMESPACES}", f"job-{job}")
            sweep.register(str(job), BaselineSpec(workload, Comparable("gpt")), BASELINE)
        for label in ("first sweep", "sweep", "sweep"):
            wall_s, cpu_s, transport.queries = time.monotonic(), time.process_time(), 0
            sweep.run_once()
            wall_s, cpu_s = time.monotonic() - wall_s, time.process_time() - cpu_s
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            sys.stdout.write(
                f"{jobs:6} jobs  {label:12} {wall_s:5.2f} s  {cpu_s:5.2f} s CPU  {transport.queries:4} queries  "
                f"peak {peak:.0f} MiB\n"
            )
            now_s += EVERY_S
        cpu_s = time.process_time()
        for job in range(jobs):
            sweep.view(str(job), now_s)
        sys.stdout.write(f"{jobs:6} jobs  judging      {'':7}  {time.process_time() - cpu_s:5.2f} s CPU\n")


def main() -> None:
    """Measure in fresh processes, so that the memory of one size is not the other's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--one", action="store_true", help="this size only, in this process")
    options = parser.parse_args()
    if options.one:
        measure(options.jobs)
        return
    for jobs in (options.jobs, 2 * options.jobs):
        subprocess.run([sys.executable, "-m", "tests.bench.sweep", "--one", "--jobs", str(jobs)], check=True)


if __name__ == "__main__":
    main()

"""The stages of the benchmark, and what each measures."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.prometheus import PrometheusMetrics
from mfu_operator.api import decode
from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import initial
from mfu_operator.model.baseline import MetricsSource
from mfu_operator.process.fleet import REST_S
from mfu_operator.reconcile.level import declared_baseline
from tests.bench.fleet import jobs
from tests.bench.fleet.api import Watch, create
from tests.bench.fleet.meter import Meter, exposition, series
from tests.bench.fleet.stage import METRICS_PORT, SCRAPE_S, Stage
from tests.cluster.process import await_condition
from tests.cluster.progress import progress

SLOW_SHARE = 0.01
LOSS = 0.2
METRICS_URL = f"http://127.0.0.1:{METRICS_PORT}/metrics"
PATIENCE_S = 1200.0
CALM_S = 30.0
CALM_SHARE = 0.01
CALM_TICKS = 1.25
"""Times as many ticks as come where every baseline is at rest."""


@dataclass
class Steady:
    """What an undisturbed span cost."""

    baselines: int
    span_s: float
    cores: float
    peak_mib: float
    queries: float
    writes: float
    api_requests: float


@dataclass
class Lag:
    """From the scrape that decides to the status: the worst and the median of the baselines that were made slow."""

    wanted: int
    found: int
    worst_s: float
    median_s: float


@dataclass
class Report:
    """Everything that was measured."""

    half: Steady | None = None
    whole: Steady | None = None
    lag: Lag | None = None
    restart_s: float = 0.0
    restart_cpu_s: float = 0.0
    restart_peak_mib: float = 0.0
    history_s: float = 0.0
    restart_lag: Lag | None = None
    restart_writes: float = 0.0
    start_s: float = 0.0
    start_peak_mib: float = 0.0
    idle_writes: int = 0


class Benchmark:
    """One run over so many baselines."""

    def __init__(self, state: Path, baselines: int, span_s: float) -> None:
        self.baselines = baselines
        self.span_s = span_s
        self.half = baselines // 2
        self.stage = Stage(state, self.half)
        self.report = Report()
        slow = max(1, int(baselines * SLOW_SHARE))
        self.first = range(slow)
        self.second = range(slow, 2 * slow)

    def run(self) -> Report:
        """All stages in order."""
        begun_s = time.time()
        with progress("start etcd, the API server, Prometheus and the exporter"):
            self.stage.start()
        self.watch = Watch(self.stage.api_url, self.stage.context())
        self.watch.start()
        try:
            with progress(f"create {self.half} jobs, pods and baselines"):
                self._create(range(self.half))
            with progress(f"start the operator and have {self.half} judged"):
                self._start(self.half)
            with progress(f"measure {self.half} baselines"):
                self.report.half = self._steady(self.half)
            with progress(f"create {self.baselines - self.half} more"):
                self._post("/jobs", {"count": self.baselines})
                self._create(range(self.half, self.baselines))
            with progress(f"have {self.baselines} judged"):
                self._judged(self.baselines)
                self._settled(self.baselines)
            with progress(f"measure {self.baselines} baselines"):
                self.report.whole = self._steady(self.baselines)
            with progress(f"slow {len(self.first)} down and await their statuses"):
                self.report.lag = self._slow(self.first, lambda: None)
            self.report.history_s = time.time() - begun_s
            with progress(f"slow {len(self.second)} down, kill the operator, and start it again"):
                self.report.restart_lag = self._slow(self.second, self._kill)
            self.report.idle_writes = self.watch.idle
        finally:
            self.watch.stop()
            self.stage.stop()
        return self.report

    def _create(self, numbers: range) -> None:
        slow = set(self.first) | set(self.second)
        create(self.stage.api_url, self.stage.context(), numbers, lambda number: jobs.SHORT if number in slow else {})

    def _start(self, count: int) -> None:
        begun_s = time.time()
        self._run_operator()
        self._judged(count)
        self.report.start_s = time.time() - begun_s
        self._settled(count)
        self.report.start_peak_mib = self.meter.peak_mib()

    def _run_operator(self) -> None:
        self.stage.operator.start()
        assert self.stage.operator.pid is not None
        self.meter = Meter(self.stage.operator.pid)

    def _judged(self, count: int) -> None:
        """Every baseline has a verdict in the operator's own metrics."""
        self._await(f"{count} verdicts", lambda: series(exposition(METRICS_URL), "mfu_operator_verdict") >= count)

    def _settled(self, count: int) -> None:
        """No run is starting any more, and in the last half minute hardly one status in a hundred was written and no
        more baselines were ticked than have their turn."""
        past: list[tuple[float, int, float]] = []

        def calm() -> bool:
            ticks = series(exposition(METRICS_URL), "mfu_operator_tick_seconds_count")
            past.append((time.time(), self.watch.writes, ticks))
            earlier = [each for each in past if each[0] <= time.time() - CALM_S]
            if not earlier or self.watch.at_work() < count:
                return False
            before_s, writes, before = earlier[-1]
            turns = CALM_TICKS * count * (time.time() - before_s) / REST_S
            return self.watch.writes - writes < CALM_SHARE * count and ticks - before < turns

        self._await("calm after the first statuses", calm, CALM_S / 3)

    def _await(self, what: str, check: Callable[[], bool], every_s: float = 1.0) -> None:
        await_condition(what, check, PATIENCE_S, every_s, log_tail=self.stage.operator.log_tail)

    def _steady(self, count: int) -> Steady:
        before_s, before = time.time(), self._counts()
        time.sleep(self.span_s)
        after_s, after = time.time(), self._counts()
        sweeps = (after_s - before_s) / SCRAPE_S
        return Steady(
            baselines=count,
            span_s=after_s - before_s,
            cores=self.meter.cores(before_s, after_s),
            peak_mib=self.meter.peak_mib(before_s, after_s),
            queries=(after["queries"] - before["queries"]) / sweeps,
            writes=after["writes"] - before["writes"],
            api_requests=(after["requests"] - before["requests"]) / (after_s - before_s),
        )

    def _counts(self) -> dict[str, float]:
        """What Prometheus and the API server have counted: queries that they answered, statuses that were patched."""
        prometheus = exposition(f"{self.stage.prometheus_url}/metrics")
        answered = httpx.get(f"{self.stage.api_url}/metrics", verify=self.stage.context(), trust_env=False, timeout=60)
        written = {"resource": "trainingbaselines", "subresource": "status", "verb": "PATCH"}
        return {
            "queries": series(prometheus, "prometheus_http_requests_total", handler="/api/v1/query")
            + series(prometheus, "prometheus_http_requests_total", handler="/api/v1/query_range"),
            "writes": series(answered.text, "apiserver_request_total", **written),
            "requests": series(answered.text, "apiserver_request_total"),
        }

    def _slow(self, numbers: range, meanwhile: Callable[[], None]) -> Lag:
        self._post("/slow", {"jobs": list(numbers), "loss": LOSS})
        slowed_s = time.time()
        meanwhile()
        self._await("all of them in the status", lambda: len(self.watch.regressed(numbers)) == len(numbers))
        seen = self.watch.regressed(numbers)
        decided = self._decided(numbers, slowed_s)
        lags = sorted(seen[number] - decided[number] for number in numbers)
        return Lag(len(numbers), len(seen), lags[-1], lags[len(lags) // 2])

    def _decided(self, numbers: range, slowed_s: float) -> dict[int, float]:
        """When the rule, fed with what Prometheus has scraped, says Regressed of each."""
        specs = {number: decode.spec(jobs.baseline(number, jobs.SHORT)) for number in numbers}
        metrics = PrometheusMetrics(self.stage.prometheus_url, names_of(MetricsSource()))
        refs = [spec.workload for spec in specs.values()]
        history = metrics.history(refs, slowed_s - 600, time.time(), SCRAPE_S / 2)
        found = {}
        for number, spec in specs.items():
            level, state = declared_baseline(spec), initial()
            assert level is not None
            for reading in history[spec.workload]:
                state = advance(state, reading, level, spec.detection)
                if state.alarmed:
                    found[number] = reading.time_s
                    break
        return found

    def _kill(self) -> None:
        """In the midst of collecting evidence: SIGKILL, and start it again at once."""
        time.sleep(2 * SCRAPE_S)
        before = self._counts()
        assert self.stage.operator.pid is not None
        os.kill(self.stage.operator.pid, signal.SIGKILL)
        await_condition("its end", lambda: not self.stage.operator.running(), 10)
        begun_s = time.time()
        self._run_operator()
        self._judged(self.baselines)
        self.report.restart_s = time.time() - begun_s
        self.report.restart_cpu_s = self.meter.cpu_s
        self.report.restart_peak_mib = self.meter.peak_mib()
        self.report.restart_writes = self._counts()["writes"] - before["writes"]

    def _post(self, path: str, body: object) -> None:
        httpx.post(f"{self.stage.exporter_url}{path}", json=body, trust_env=False).raise_for_status()

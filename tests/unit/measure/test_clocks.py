"""A wall clock that is set must not stop the sweep: what is scheduled goes by a clock that nobody sets."""

import time
from collections.abc import Mapping, Sequence

from mfu_operator.errors import Retry
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import Reading
from tests.cluster.process import await_condition
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.sweep_bench import BASELINE, SPEC

HOUR_S = 3600.0
INTERVAL_S = 30.0


class Clocks:
    """The wall clock, which is off by what it was set by, and the one that nobody sets."""

    def __init__(self) -> None:
        self.steady_s, self.set_by_s = 10_000.0, 0.0

    def wall(self) -> float:
        return self.steady_s + self.set_by_s

    def steady(self) -> float:
        return self.steady_s


def test_a_source_that_failed_is_asked_again_though_the_clock_was_set_back() -> None:
    clocks, metrics = Clocks(), MetricsDouble()
    sweep = Sweep(SourcesDouble(metrics), clocks.wall, INTERVAL_S, clocks.steady)
    sweep.register("uid", SPEC, BASELINE)
    metrics.fails = Retry("PrometheusUnreachable", "it did not answer")
    for _ in range(3):
        sweep.run_once()
        clocks.steady_s += INTERVAL_S
    metrics.fails, clocks.set_by_s = None, -HOUR_S
    clocks.steady_s += 10 * INTERVAL_S
    sweep.run_once()
    assert metrics.asked != []
    assert sweep.view("uid", clocks.wall()).filled


class SetWhileAsked(MetricsDouble):
    """A source during whose answer the wall clock is set by an hour."""

    def __init__(self, clocks: Clocks) -> None:
        super().__init__()
        self.clocks = clocks
        self.problems: list[str] = []
        self.sweep: Sweep | None = None

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        self.clocks.set_by_s += HOUR_S
        assert self.sweep is not None
        problem = self.sweep.view("uid", self.clocks.wall()).problem
        self.problems.append("none" if problem is None else problem.reason)
        return super().latest(workloads, now_s)


def test_a_source_is_not_slow_because_the_clock_was_set_forward() -> None:
    clocks = Clocks()
    metrics = SetWhileAsked(clocks)
    metrics.sweep = sweep = Sweep(SourcesDouble(metrics), clocks.wall, INTERVAL_S, clocks.steady)
    sweep.register("uid", SPEC, BASELINE)
    sweep.run_once()
    assert metrics.problems == ["NoSeries"]


class SetBack(MetricsDouble):
    """A source during whose third answer the wall clock is set back by an hour."""

    def __init__(self, clocks: Clocks) -> None:
        super().__init__()
        self.clocks = clocks

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        found = super().latest(workloads, now_s)
        if len(self.asked) == 3:
            self.clocks.set_by_s = -HOUR_S
        return found


def test_sweeps_go_on_though_the_clock_is_set_back_in_the_middle_of_one() -> None:
    clocks = Clocks()
    metrics = SetBack(clocks)
    sweep = Sweep(SourcesDouble(metrics), lambda: time.time() + clocks.set_by_s, 0.05, time.monotonic)
    sweep.register("uid", SPEC, BASELINE)
    sweep.start()
    try:
        await_condition("sweeps after the clock was set back", lambda: len(metrics.asked) > 8, timeout_s=60)
    finally:
        sweep.stop()

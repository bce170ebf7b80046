"""Namespaces whose sources never answer delay nobody else's readings by more than a sweep."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest

from mfu_operator.measure.sweep import Sweep
from mfu_operator.measure.turns import Turns
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.ports import Metrics
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.sweep_bench import BASELINE, JOB, SPEC, Bench

HOSTILE, ADDRESSES = 6, 30


class Hanging(MetricsDouble):
    """Answers when it is given up, and nothing then."""

    let = threading.Event()

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        assert Hanging.let.wait(60)
        return {}


@pytest.fixture
def hanging() -> Iterator[Mapping[str, MetricsDouble]]:
    Hanging.let.clear()
    yield {f"https://{space}-{place}": Hanging() for space in range(HOSTILE) for place in range(ADDRESSES)}
    Hanging.let.set()


def test_however_many_addresses_hang_the_others_miss_one_sweep_at_most(
    hanging: Mapping[str, MetricsDouble],
) -> None:
    bench, interval_s = Bench(), 0.5
    own = MetricsDouble()
    sound = replace(SPEC, workload=replace(JOB, namespace="team-z"), metrics=MetricsSource(address="https://own"))
    bench.sweep = Sweep(SourcesDouble(bench.metrics, {**hanging, "https://own": own}), lambda: bench.now_s, interval_s)
    for address in hanging:
        spec = replace(SPEC, workload=replace(JOB, namespace=f"hostile-{address[8]}"))
        bench.sweep.register(address, replace(spec, metrics=MetricsSource(address=address)), BASELINE)
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.register("own", sound, BASELINE)
    bench.run(1)
    bench.metrics.asked.clear()
    own.asked.clear()
    bench.run(5)
    for source in (bench.metrics, own):
        assert source.asked.count(("latest", 1)) >= 9, "of ten sweeps at most one goes by without them"


class Named:
    workload: WorkloadRef

    def __init__(self, namespace: str) -> None:
        self.workload = replace(JOB, namespace=namespace)


def asked(turns: Turns, source: MetricsDouble, at_s: float, took_s: float) -> None:
    turns.begins(source, at_s)
    turns.ended(source, at_s + took_s)


def test_quick_ones_come_first_and_then_each_namespace_in_its_turn() -> None:
    turns, quick = Turns(), MetricsDouble()
    slow = [MetricsDouble() for _ in range(4)]
    measured: dict[Metrics, list[Named]] = {
        slow[0]: [Named("a")],
        slow[1]: [Named("a")],
        slow[2]: [Named("b")],
        slow[3]: [Named("a")],
        quick: [Named("c")],
    }
    assert turns.in_order(measured, list(measured)) == [slow[0], slow[2], quick, slow[1], slow[3]]
    for at_s, source in enumerate((slow[0], slow[2])):
        asked(turns, source, float(at_s), 20.0)
    asked(turns, quick, 3.0, 0.1)
    assert turns.in_order(measured, list(measured)) == [quick, slow[1], slow[2], slow[3], slow[0]]
    assert turns.in_order(measured, [slow[0]]) == [slow[0]]


def test_a_source_of_thousands_of_baselines_may_take_its_time() -> None:
    turns, fleet, other = Turns(), MetricsDouble(), MetricsDouble()
    measured: dict[Metrics, list[Named]] = {other: [Named("a")], fleet: [Named("b")] * 1000}
    asked(turns, fleet, 1.0, 20.0)
    asked(turns, other, 1.0, 20.0)
    assert turns.in_order(measured, list(measured)) == [fleet, other]

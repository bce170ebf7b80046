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

HOSTILE, ADDRESSES = 30, 12


class Hanging(MetricsDouble):
    """Answers when it is given up, and nothing then."""

    let = threading.Event()

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        assert Hanging.let.wait(60)
        return {}


@pytest.fixture
def hanging() -> Iterator[Mapping[str, MetricsDouble]]:
    Hanging.let.clear()
    yield {f"https://{space:02}-{place}": Hanging() for space in range(HOSTILE) for place in range(ADDRESSES)}
    Hanging.let.set()


def test_however_many_addresses_hang_the_others_miss_one_sweep_at_most(
    hanging: Mapping[str, MetricsDouble],
) -> None:
    bench, interval_s = Bench(), 0.5
    own = MetricsDouble()
    sound = replace(SPEC, workload=replace(JOB, namespace="team-z"), metrics=MetricsSource(address="https://own"))
    bench.sweep = Sweep(SourcesDouble(bench.metrics, {**hanging, "https://own": own}), lambda: bench.now_s, interval_s)
    for address in hanging:
        spec = replace(SPEC, workload=replace(JOB, namespace=f"hostile-{address[8:10]}"))
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


def asked(turns: Turns, source: Metrics, at_s: float, took_s: float) -> None:
    turns.begins(source, at_s)
    turns.ended(source, at_s + took_s)


def in_order(turns: Turns, measured: Mapping[Metrics, list[Named]], due: Sequence[Metrics]) -> list[Metrics]:
    order = turns.in_order(measured, due)
    return [*order.quick, *order.firsts, *order.others]


def test_a_namespace_that_names_new_addresses_again_and_again_does_not_come_before_one_that_waits() -> None:
    turns, slow = Turns(), MetricsDouble()
    measured: dict[Metrics, list[Named]] = {slow: [Named("team-a")]}
    in_order(turns, measured, [slow])
    asked(turns, slow, 1.0, 9.0)
    for number in range(30):
        new: dict[Metrics, list[Named]] = {MetricsDouble(): [Named(f"hostile-{each}")] for each in range(30)}
        found = in_order(turns, {**new, slow: [Named("team-a")]}, [*new, slow])
        assert found[0] is slow or number == 0, "the hostile ones were all asked since"
        for source in new:
            asked(turns, source, 10.0 + number, 9.0)


def test_of_each_namespace_of_which_nothing_is_asked_one_has_a_thread_of_its_own() -> None:
    turns = Turns()
    hangs, other, own = MetricsDouble(), MetricsDouble(), MetricsDouble()
    measured: dict[Metrics, list[Named]] = {hangs: [Named("a")], other: [Named("a")], own: [Named("b")]}
    assert turns.in_order(measured, [hangs, other, own]).firsts == [hangs, own]
    asked(turns, hangs, 1.0, 60.0)
    order = turns.in_order(measured, [other, own], asking=[hangs])
    assert (order.firsts, order.others) == ([own], [other])
    del measured[hangs]
    assert turns.in_order(measured, [other, own], asking=[hangs]).firsts == [own], "it hangs though nobody names it"


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
    assert in_order(turns, measured, list(measured)) == [slow[0], slow[2], quick, slow[1], slow[3]]
    for at_s, source in enumerate((slow[0], slow[2])):
        asked(turns, source, float(at_s), 20.0)
    asked(turns, quick, 3.0, 0.1)
    assert in_order(turns, measured, list(measured)) == [quick, slow[1], slow[2], slow[3], slow[0]]
    assert in_order(turns, measured, [slow[0]]) == [slow[0]]


def test_a_source_of_thousands_of_baselines_may_take_its_time() -> None:
    turns, fleet, other = Turns(), MetricsDouble(), MetricsDouble()
    measured: dict[Metrics, list[Named]] = {other: [Named("a")], fleet: [Named("b")] * 1000}
    asked(turns, fleet, 1.0, 20.0)
    asked(turns, other, 1.0, 20.0)
    assert in_order(turns, measured, list(measured)) == [fleet, other]

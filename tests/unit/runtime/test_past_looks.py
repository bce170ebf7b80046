"""Readings of a span that is over, for whoever asks for them."""

from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Signal
from tests.support.sweep_bench import BASELINE, SPEC, Bench


def test_they_are_read_after_the_next_sweep_and_handed_over_once(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(30, loss=0.1)
    span = (bench.now_s - 600, bench.now_s - 300)
    bench.run(5)
    assert bench.sweep.past("uid", span) is None
    bench.run(0.5)
    found = bench.sweep.past("uid", span)
    assert found is not None
    assert [reading.values[Signal.MFU] for reading in found] == [0.46 * 0.9] * 11
    assert bench.sweep.past("uid", span) is None


def test_of_many_that_are_asked_for_one_is_read_a_sweep(bench: Bench) -> None:
    keys = [str(number) for number in range(3)]
    for key in keys:
        bench.sweep.register(key, SPEC, BASELINE)
    bench.run(10)
    span = (bench.now_s - 600, bench.now_s)
    for expected in range(len(keys)):
        assert sum(bench.sweep.past(key, span) is not None for key in keys) == min(expected, 1)
        bench.metrics.asked.clear()
        bench.run(0.5)
        assert [call for call, _ in bench.metrics.asked].count("speeds") == 1


def test_a_source_that_fails_is_asked_again(bench: Bench) -> None:
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(10)
    span = (bench.now_s - 300, bench.now_s)
    assert bench.sweep.past("uid", span) is None
    bench.metrics.fails = Retry("PrometheusUnreachable", "it did not answer")
    bench.run(0.5)
    assert bench.sweep.past("uid", span) is None
    bench.metrics.fails = None
    bench.run(2)
    assert bench.sweep.past("uid", span) is not None

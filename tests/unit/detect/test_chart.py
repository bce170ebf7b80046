import pytest

from mfu_operator.detect.chart import chart_of
from mfu_operator.detect.replay import Span
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate
from mfu_operator.picture import Chart, Loss

READINGS = [Reading(30.0, {Signal.MFU: 0.4, Signal.STEP_TIME: 2.0}), Reading(60.0, {Signal.THROUGHPUT: 9.0})]


def chart(signal: Signal, level: float) -> Chart:
    return chart_of(
        "llm", signal, level, 0.2, READINGS, [Span(Gate.CHECKPOINT, 1.0, 2.0)], [(45.0, "Regressed")],
        [Loss(30.0, 60.0)], dated=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("signal", "level", "limit", "title", "points"),
    [
        (Signal.MFU, 0.5, 0.4, "llm: MFU", [(30.0, 0.4)]),
        (Signal.STEP_TIME, 2.0, 2.5, "llm: step time (s)", [(30.0, 2.0)]),
        (Signal.THROUGHPUT, 10.0, 8.0, "llm: throughput (tokens/s per GPU)", [(60.0, 9.0)]),
    ],
)
def test_a_chart_shows_the_signal_its_level_and_what_is_a_fifth_slower(
    signal: Signal, level: float, limit: float, title: str, points: list[tuple[float, float]]
) -> None:
    shown = chart(signal, level)
    assert (shown.title, shown.points, shown.level) == (title, points, level)
    assert shown.limit == pytest.approx(limit)
    assert shown.limit_text == "20 % slower"


def test_a_chart_shows_what_was_gated_and_said() -> None:
    shown = chart(Signal.MFU, 0.5)
    assert shown.gates == [(1.0, 2.0, "Checkpoint")]
    assert shown.events == [(45.0, "Regressed")]
    assert shown.level_text == "baseline 0.500"
    assert not shown.dated

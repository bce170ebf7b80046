"""What is kept of a signal for the picture in a pull request."""

import math

from mfu_operator.measure.trail import NO_TRAIL, Trail
from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import COURSE_POINTS, COURSE_SPAN_S
from tests.support.sweep_bench import BASELINE, SPEC, Bench


def trail(*readings: tuple[float, float], signal: Signal = Signal.MFU) -> Trail:
    found = NO_TRAIL
    for time_s, value in readings:
        found = found.passed(signal, time_s, value)
    return found


def test_the_last_value_of_each_span_is_kept() -> None:
    found = trail((600.0, 0.4), (1190.0, 0.41), (1200.0, 0.3), (2400.0, 0.2))
    assert found.course("mfu") == ((600.0, 0.41), (1200.0, 0.3), (2400.0, 0.2))
    assert math.isnan(found.values[2])


def test_no_more_than_twenty_spans_are_kept_however_long_the_silence() -> None:
    found = trail(*((place * COURSE_SPAN_S, float(place)) for place in range(100)))
    assert found.course("mfu") == tuple((place * COURSE_SPAN_S, float(place)) for place in range(80, 100))
    later = found.passed(Signal.MFU, 1e9, 0.5)
    assert len(later.values) == COURSE_POINTS and len(later.course("mfu")) == 1


def test_another_signal_begins_anew_and_is_not_taken_for_the_first() -> None:
    found = trail((600.0, 0.4)).passed(Signal.STEP_TIME, 660.0, 1.5)
    assert found.course("stepTime") == ((600.0, 1.5),)
    assert found.course("mfu") == () == NO_TRAIL.course("mfu")


def test_a_reading_older_than_the_last_span_changes_nothing() -> None:
    found = trail((1200.0, 0.4))
    assert found.passed(Signal.MFU, 600.0, 0.3) == found


def test_the_sweep_keeps_the_course_of_a_loss_and_has_it_again_after_a_restart() -> None:
    bench = Bench()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.run(60)
    bench.run(40, loss=0.1)
    kept = bench.view().trail.course("mfu")
    assert [round(value, 3) for _, value in kept] == [0.46] * 6 + [0.414] * 5
    bench.sweep = bench.another()
    bench.sweep.register("uid", SPEC, BASELINE)
    bench.sweep.run_once()
    again = bench.view().trail.course("mfu")
    assert again and kept[-len(again) :] == again

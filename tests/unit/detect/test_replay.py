"""Replaying readings says what the operator would have said, reading by reading."""

from mfu_operator.detect.replay import replay
from mfu_operator.model.baseline import Baseline, Comparable, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate

BASELINE = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)


def readings(mfu: float, minutes: int, begin_s: float, batch: str) -> list[Reading]:
    info = {"global_batch": batch}
    times = [begin_s + 30 * index for index in range(2 * minutes)]
    return [Reading(time_s, {Signal.MFU: mfu}, incarnation="a", info=info) for time_s in times]


def test_readings_of_another_configuration_are_gated_and_said_to_be_not_comparable() -> None:
    """A batch of 512 is slower for two hours, then 256 runs again."""
    history = [
        *readings(0.46, 60, 0.0, "256"),
        *readings(0.36, 120, 3600.0, "512"),
        *readings(0.46, 60, 10_800.0, "256"),
    ]
    found = replay(history, BASELINE, Detection(), Comparable("gpt", global_batch=256))
    assert [said.event for said in found.said] == ["NotComparable"]
    assert "512 instead of 256" in found.said[0].message
    [gated] = [span for span in found.gated if span.gate is Gate.INCOMPARABLE]
    assert (gated.start_s, gated.end_s) == (3600.0, 10_770.0)

"""Series of readings for the detection tests: levels in MFU, times in seconds from zero."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.detect.advance import advance
from mfu_operator.detect.evidence import State, initial
from mfu_operator.detect.judge import judge
from mfu_operator.model.baseline import Baseline, Detection, Level, Provenance, Signal, Spread
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate, Judgement

QUIET = Spread(within=0.005, between=0.001, slow=0.001, runs=5)
BASELINE = Baseline(level=Level(mfu=0.46), spread=QUIET, provenance=Provenance.RECORDED)
RULE = Detection()
MINUTE = 60.0


def flat(
    minutes: float,
    loss: float = 0.0,
    *,
    start_s: float = 0.0,
    every_s: float = 30.0,
    phase: Phase = Phase.UNKNOWN,
    incarnation: str = "a",
    level: float = 0.46,
) -> list[Reading]:
    """Readings at `loss` (relative) below the level, the first `every_s` after `start_s`."""
    count = round(minutes * MINUTE / every_s)
    return [
        Reading(
            time_s=start_s + (index + 1) * every_s,
            values={Signal.MFU: level * (1 - loss)},
            phase=phase,
            incarnation=incarnation,
        )
        for index in range(count)
    ]


def joined(*parts: Sequence[Reading]) -> list[Reading]:
    """One part after the other, each moved to begin where the one before ended."""
    readings: list[Reading] = []
    for part in parts:
        offset_s = readings[-1].time_s if readings else 0.0
        readings += [replace(reading, time_s=reading.time_s + offset_s) for reading in part]
    return readings


def counted(readings: Iterable[Reading], first: float = 1.0) -> list[Reading]:
    """The readings with a step counter that moves by one each."""
    return [replace(reading, step=first + index) for index, reading in enumerate(readings)]


def states(
    readings: Iterable[Reading],
    baseline: Baseline = BASELINE,
    rule: Detection = RULE,
    gates: frozenset[Gate] = frozenset(),
) -> Iterator[State]:
    """The state after each reading."""
    state = initial()
    for reading in readings:
        state = advance(state, reading, baseline, rule, gates)
        yield state


def last(readings: Sequence[Reading], baseline: Baseline = BASELINE, rule: Detection = RULE) -> State:
    """The state after the last reading."""
    return list(states(readings, baseline, rule))[-1]


def judged(readings: Sequence[Reading], baseline: Baseline = BASELINE, rule: Detection = RULE) -> Judgement:
    """The judgement right after the last reading."""
    return judge(last(readings, baseline, rule), baseline, rule, readings[-1].time_s)


def alarm_time(readings: Sequence[Reading], baseline: Baseline = BASELINE, rule: Detection = RULE) -> float | None:
    """The time of the reading that raised the alarm."""
    for reading, state in zip(readings, states(readings, baseline, rule), strict=True):
        if state.alarmed:
            return reading.time_s
    return None


def about(value: float) -> Any:
    """The number but for rounding, for a place where a type asks for a number."""
    return pytest.approx(value)

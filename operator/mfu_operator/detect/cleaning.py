"""What a raw reading says about speed: unusable values dropped, every signal turned so that a loss is positive."""

import math
from collections.abc import Mapping

from mfu_operator.model.baseline import Level, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate

STRENGTH = (Signal.MFU, Signal.THROUGHPUT, Signal.STEP_TIME)
"""Signals, the one that decides first. MFU compares across batch shapes, throughput less, step time least."""

MIN_RUNNING_RATIO = 0.5
"""A window that was mostly a checkpoint or an evaluation says more about these than about training."""

_SMALLEST, _LARGEST = 1e-30, 1e30
"""Nothing that is measured of a job lies beyond, in any unit; what does is a counter that broke."""

_MISSING_SHARE = 0.1
"""Where ranks differ (the stages of a pipeline) by a fifth, the mean of nine tenths of them is off by 2 % at most:
the default tolerance."""

RANKS_APART_STEPS = 2.0
"""Synchronous ranks are in the same step or the next when they are scraped; a missing rank moves the maximum by it."""

_GATE_OF_PHASE = {
    Phase.STARTING: Gate.STARTING,
    Phase.CHECKPOINT: Gate.CHECKPOINT,
    Phase.EVALUATION: Gate.EVALUATION,
    Phase.PAUSED: Gate.PAUSED,
}


def gate_of(phase: Phase) -> Gate | None:
    """The gate that a phase closes; None for running, and where the job does not say."""
    return _GATE_OF_PHASE.get(phase)


def values_of(reading: Reading) -> dict[Signal, float]:
    """The values that a job can have (finite, positive), in the signals' units, as they were while it was running.

    A value is a mean over a window of wall time. Where the job says which share of it was running, dividing by that
    share (multiplying, for seconds per step) takes a checkpoint's seconds out again. A window with less than
    MIN_RUNNING_RATIO has no values.
    """
    ratio = 1.0 if reading.running_ratio is None else min(reading.running_ratio, 1.0)
    if not ratio >= MIN_RUNNING_RATIO:
        return {}
    return {
        signal: value * ratio if signal is Signal.STEP_TIME else value / ratio
        for signal, value in reading.values.items()
        if _SMALLEST < value < _LARGEST
    }


def log_speed(signal: Signal, value: float) -> float:
    """ln x with x the throughput-like reading: 1/value for step time."""
    return -math.log(value) if signal is Signal.STEP_TIME else math.log(value)


def level_of(level: Level, signal: Signal) -> float | None:
    """The baseline's value of a signal in its unit, None where there is none."""
    return {Signal.MFU: level.mfu, Signal.THROUGHPUT: level.throughput, Signal.STEP_TIME: level.step_time_s}[signal]


def losses_of(values: Mapping[Signal, float], level: Level) -> dict[Signal, float]:
    """d = m0 − ln x for every signal that is both measured and in the baseline, the strongest first.

    Positive is slower; 0.05 is a loss of 4.9 %.
    """
    losses = {}
    for signal in STRENGTH:
        reference = level_of(level, signal)
        if reference is not None and signal in values:
            losses[signal] = log_speed(signal, reference) - log_speed(signal, values[signal])
    return losses


def is_restart(incarnation: str, step: float | None, reading: Reading) -> bool:
    """Whether `reading` is of another incarnation than the one that was at `step`.

    A pod that was not there before is; one that is missing is not (its scrape failed). So is a step counter that went
    back, by more than ranks are apart from each other: a container that was restarted in its pod.
    """
    if step is not None and reading.step is not None and reading.step < step - RANKS_APART_STEPS:
        return True
    if reading.incarnation == incarnation:
        return False
    return not set(reading.incarnation.split(",")) <= set(incarnation.split(","))


def missing_pods(incarnation: str | None, reading: Reading) -> frozenset[str]:
    """The pods of an incarnation that a reading has nothing of; none where it is of another incarnation."""
    if incarnation is None or incarnation == reading.incarnation:
        return frozenset()
    known, read = frozenset(incarnation.split(",")), frozenset(reading.incarnation.split(","))
    return known - read if read < known else frozenset()


def tells_the_speed(incarnation: str | None, reading: Reading) -> bool:
    """Whether so many of the pods were read that their mean is the run's."""
    missing = missing_pods(incarnation, reading)
    return len(missing) <= _MISSING_SHARE * (reading.incarnation.count(",") + 1 + len(missing))

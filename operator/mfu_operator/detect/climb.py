"""How much slower than its level a healthy run is in its first hour, by its age.

A mixture of experts routes badly at first, caches fill, a compiler compiles: such a run settles within the hour, at the
same age each time. A run of that age is compared with earlier runs of that age, and not with the level alone.
"""

from collections.abc import Sequence
from statistics import median

from mfu_operator.detect.cleaning import gate_of, losses_of, values_of
from mfu_operator.model.baseline import Level, Signal
from mfu_operator.model.series import Reading

BIN_S = 300.0
BINS = 12
"""An hour. A run that is slow for longer has not settled; it is slow."""

_FEWEST = 3
"""Readings of one age that make a median."""

_SMALLEST = 0.005
"""Less is within what readings move by themselves."""


def climb_of(runs: Sequence[Sequence[Reading]], level: Level) -> tuple[float, ...]:
    """By age, the median over the runs of how much slower they were than at the end of their first hour (d, 0 where
    they were not).

    Args:
        runs: each from its beginning on, oldest reading first. One that lasted for less than the hour does not count.
        level: the baseline's; its signals count.
    """
    ages = [found for run in runs if run and (found := _by_age(run, level))]
    climb = [median(each[at] for each in ages) if ages else 0.0 for at in range(BINS)]
    rounded = [round(loss, 4) if loss >= _SMALLEST else 0.0 for loss in climb]
    while rounded and not rounded[-1]:
        rounded.pop()
    return tuple(rounded)


def _by_age(run: Sequence[Reading], level: Level) -> list[float] | None:
    bins: list[list[float]] = [[] for _ in range(BINS)]
    for reading in run:
        age_s = age_of(run[0].time_s, reading, level)
        losses = losses_of(values_of(reading), level) if gate_of(reading.phase) is None else {}
        if age_s is not None and losses:
            bins[int(age_s // BIN_S)].append(min(losses.values()))
    known = [median(each) if len(each) >= _FEWEST else None for each in bins]
    settled = known[-1]
    if settled is None:
        return None
    return [0.0 if loss is None else max(0.0, loss - settled) for loss in known]


def age_of(born_s: float | None, reading: Reading, level: Level) -> float | None:
    """How old the run is, within its first hour; None afterwards, where its beginning was not seen, and where its step
    says that it goes on from a checkpoint: what settles with training has settled then.

    Args:
        born_s: when the run began.
    """
    age_s = None if born_s is None else reading.time_s - born_s
    if age_s is None or not 0 <= age_s < BIN_S * BINS:
        return None
    trained_s = (reading.step or 0.0) * (level.step_time_s or 0.0)
    return age_s if trained_s < 2 * BIN_S * BINS else None


def usual_loss(climb: Sequence[float], age_s: float | None) -> float:
    """The loss d that runs of this age usually have: the largest of its five minutes and of those beside them, because
    runs do not settle to the minute.

    Args:
        climb: as `climb_of` gives it.
        age_s: as `age_of` gives it.
    """
    if age_s is None or not climb:
        return 0.0
    at = int(age_s // BIN_S)
    return max(climb[max(0, at - 1) : at + 2], default=0.0)


def beyond_usual(losses: dict[Signal, float], usual: float) -> dict[Signal, float]:
    """The losses beyond what is usual at that age. A run that is as fast as its level has neither loss nor gain."""
    if not usual:
        return losses
    return {signal: loss if loss <= 0 else max(0.0, loss - usual) for signal, loss in losses.items()}

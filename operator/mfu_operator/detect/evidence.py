"""What is remembered of the readings of one job: the evidence for and against a loss.

Evidence is counted in seconds, not in samples: the rule does not depend on the scrape interval.
"""

import math
from statistics import median
from typing import Any, NamedTuple

from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection, Signal
from mfu_operator.model.verdict import Gate

_PHASE_KNOWN_SHARE = 0.7
"""A job that says when it checkpoints has no unexplained dips, and needs 7 of 10 minutes."""

INDEPENDENT_SHARE = 0.05
"""The mean loss counts a reading every 30 s (of 10 min) at most: scraped more often, a gauge repeats itself."""

_MOST_LOSSES = 256
"""Losses kept for a median; beyond it every other one is kept, then every fourth, and so on."""

Shown = tuple[Signal, float]
"""A signal, and the loss d that it shows."""


class Losses(NamedTuple):
    """Losses of a span, at most _MOST_LOSSES of them: every `stride`-th, `skipped` since the last that was kept."""

    values: tuple[float, ...] = ()
    stride: int = 1
    skipped: int = 0

    def and_one(self, loss: float) -> "Losses":
        """With the next loss."""
        if self.skipped + 1 < self.stride:
            return Losses(self.values, self.stride, self.skipped + 1)
        values = (*self.values, loss)
        if len(values) <= _MOST_LOSSES:
            return Losses(values, self.stride)
        return Losses(values[::2], self.stride * 2)


class State(NamedTuple):
    """What is remembered of one job between two readings. All times are the readings' own.

    evidence_s, contradiction_s and recover_s are the clipped sums for a loss, for signals that contradict each other,
    and for a recovery; contradicting are the slowest and the fastest signal when they last did; unusual_s counts
    readings in another unit, the last of them being `unusual`. Of after_s seconds since the alarm, beyond_s were
    beyond the tolerance. Without a step counter, the values `shown` stand since shown_since_s, and moved so many times
    since shown_from_s. window holds (time, least loss, worst loss) of the readings that are smoothed over. losses are
    those since the onset; since grown_since_s the clipped sum grown_s, for a loss that can be confirmed, is above
    nothing: smaller are the losses from the onset to there, larger those since. cut_sum and counted are the sum and
    number of the cut losses since the onset and, after the alarm, within the span that confirms. The level was taken
    from readings up to level_until_s (None: from others).
    """

    reading_s: float | None = None
    counted_s: float | None = None
    usable_s: float | None = None
    incarnation: str | None = None
    restarts: int = 0
    step: float | None = None
    step_moved_s: float | None = None
    shown: tuple[float, ...] = ()
    shown_from_s: float = 0.0
    shown_since_s: float = 0.0
    moves: int = 0
    arming: bool = True
    arming_since_s: float | None = None
    level_until_s: float | None = None
    good_s: float = 0.0
    bad_since_s: float | None = None
    gates: frozenset[Gate] = frozenset()
    phase_known: bool = False
    signal: Signal | None = None
    recent: tuple[tuple[float, float], ...] = ()
    window: tuple[tuple[float, float, float], ...] = ()
    evidence_s: float = 0.0
    onset_s: float | None = None
    losses: Losses = Losses()
    grown_s: float = 0.0
    grown_since_s: float | None = None
    smaller: tuple[float, ...] = ()
    larger: Losses = Losses()
    cut_sum: float = 0.0
    counted: float = 0.0
    contradiction_s: float = 0.0
    contradicting: tuple[Shown, Shown] | None = None
    unusual_s: float = 0.0
    unusual: Shown | None = None
    alarmed: bool = False
    after_s: float = 0.0
    beyond_s: float = 0.0
    confirmed: bool = False
    recover_s: float = 0.0
    recovered_at_s: float | None = None

    @property
    def drop(self) -> float | None:
        """The median relative loss since the onset."""
        return -math.expm1(-median(self.losses.values)) if self.losses.values else None

    @property
    def value(self) -> float | None:
        """The median of the last minutes, in the signal's unit."""
        return median(value for _, value in self.recent) if self.recent else None


def replace(state: State, **changes: Any) -> State:
    """The state with these fields changed. A tuple, for it is made some times for every reading of a fleet, and takes a
    fifth of the time that `dataclasses.replace` does."""
    return state._replace(**changes)


def initial(level_until_s: float | None = None) -> State:
    """The state before the first reading.

    Args:
        level_until_s: where the level is that of these very readings up to a moment: a run that has not held it once by
            then is still starting, however long that takes.
    """
    return State(level_until_s=level_until_s)


def resumed(alarmed: bool, onset_s: float | None) -> State:
    """The state after the operator was restarted; with `alarmed`, an incident is open in the status."""
    return State(alarmed=alarmed, onset_s=onset_s)


def reopened(state: State, onset_s: float | None) -> State:
    """The same state with the alarm standing: an incident is open, and history alone did not show it."""
    if state.alarmed or state.recovered_at_s is not None:
        return state
    return replace(state, alarmed=True, onset_s=onset_s if onset_s is not None else state.onset_s)


def of_another_loss(state: State, onset_s: float) -> State:
    """The same alarm for a loss that began later: it has to be confirmed by readings of its own."""
    return replace(
        without_evidence(state),
        evidence_s=state.evidence_s,
        onset_s=onset_s,
        after_s=0.0,
        beyond_s=0.0,
        confirmed=False,
        recover_s=0.0,
    )


def alarm_after_s(state: State, detection: Detection) -> float:
    """Seconds of evidence that make a loss Regressed: `sustain_s`, or 0.7 of it where the job exports its phase."""
    return detection.sustain_s * (_PHASE_KNOWN_SHARE if state.phase_known else 1.0)


def smallest_visible_loss(tolerance: Tolerance, alarm_s: float, detection: Detection) -> float:
    """The relative loss that gathers `alarm_s` of evidence, and is told from noise, within 1.5 times the horizon.

    With scale g: κ + 2g/3, or κ + 0.47·g where the job exports its phase, unless noise asks for more.
    """
    rate = alarm_s / (1.5 * detection.sustain_s)
    beyond = max(tolerance.scale * rate, tolerance.told_from_noise(1.5 / INDEPENDENT_SHARE))
    return -math.expm1(-(tolerance.kappa + beyond))


def is_told_from_noise(state: State, kappa: float, tolerance: Tolerance) -> bool:
    """Whether the mean loss lies so far beyond `kappa` that its readings do not say so by chance."""
    if state.counted <= 0:
        return False
    return state.cut_sum / state.counted >= kappa + tolerance.told_from_noise(state.counted)


def restarted(state: State) -> State:
    """Another set of pods may run another commit: what was collected towards an alarm belongs to the one before."""
    state = replace(
        state,
        incarnation=None,
        restarts=state.restarts + 1,
        arming=True,
        arming_since_s=None,
        good_s=0.0,
        bad_since_s=None,
        step=None,
        step_moved_s=None,
        contradiction_s=0.0,
        contradicting=None,
        unusual_s=0.0,
        unusual=None,
        recover_s=0.0,
        window=(),
    )
    return state if state.alarmed else without_evidence(state)


def without_evidence(state: State) -> State:
    """The state with nothing collected towards an alarm."""
    return replace(
        state,
        evidence_s=0.0,
        onset_s=None,
        losses=Losses(),
        grown_s=0.0,
        grown_since_s=None,
        smaller=(),
        larger=Losses(),
        cut_sum=0.0,
        counted=0.0,
    )


def added(sum_s: float, rate: float, step_s: float, most_s: float) -> float:
    """max(0, S + clip(rate, −1, 1)·Δt), and no more than is needed."""
    return min(most_s, max(0.0, sum_s + max(-1.0, min(1.0, rate)) * step_s))

"""What is remembered of the readings of one job: the evidence for and against a loss.

Evidence is counted in seconds, not in samples: the rule does not depend on the scrape interval.
"""

import math
from statistics import median
from typing import NamedTuple

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


class Run(NamedTuple):
    """The set of pods that runs, and how far it is. Without a step counter `step` and `step_moved_s` are None; so is
    `born_s`, when the run began, where that was not seen."""

    incarnation: str | None = None
    restarts: int = 0
    step: float | None = None
    step_moved_s: float | None = None
    phase_known: bool = False
    born_s: float | None = None


class Gauge(NamedTuple):
    """Values without a step counter beside them: they stand since `since_s`, and moved `moves` times since `from_s`."""

    values: tuple[float, ...] = ()
    from_s: float = 0.0
    since_s: float = 0.0
    moves: int = 0


class Start(NamedTuple):
    """The start of a run, which is waited for: since `since_s`, and good for `good_s` without a break."""

    waiting: bool = True
    since_s: float | None = None
    good_s: float = 0.0


class Doubt(NamedTuple):
    """What speaks against the readings themselves.

    contradiction_s is the clipped sum for signals that contradict each other, `contradicting` the slowest and the
    fastest of them when they last did; unusual_s counts readings in another unit, the last of them being `unusual`.
    """

    contradiction_s: float = 0.0
    contradicting: tuple[Shown, Shown] | None = None
    unusual_s: float = 0.0
    unusual: Shown | None = None


class Mean(NamedTuple):
    """The sum and the number of cut losses: since the onset and, after the alarm, within the span that confirms."""

    cut_sum: float = 0.0
    counted: float = 0.0


class Growth(NamedTuple):
    """A loss that can be confirmed: since `since_s` its clipped sum `evidence_s` is above nothing. `smaller` are the
    losses from the onset to there, `larger` those since."""

    evidence_s: float = 0.0
    since_s: float | None = None
    smaller: tuple[float, ...] = ()
    larger: Losses = Losses()


class Loss(NamedTuple):
    """A loss since `onset_s`: evidence_s is its clipped sum, `losses` are those of the readings since the onset."""

    evidence_s: float = 0.0
    onset_s: float | None = None
    losses: Losses = Losses()
    growth: Growth = Growth()
    mean: Mean = Mean()


class Alarm(NamedTuple):
    """The alarm. Of after_s seconds in the span that confirms, beyond_s were beyond what confirming asks for; recover_s
    is the clipped sum for a recovery."""

    raised: bool = False
    after_s: float = 0.0
    beyond_s: float = 0.0
    confirmed: bool = False
    recover_s: float = 0.0
    recovered_at_s: float | None = None


class State(NamedTuple):
    """What is remembered of one job between two readings. All times are the readings' own.

    The last reading was at reading_s, the last that was looked at for the speed at counted_s, the last that could be
    compared at usable_s. `recent` holds (time, value) of the last minutes, `window` (time, least loss, worst loss) of
    the readings that are smoothed over. Readings are beyond the tolerance since bad_since_s while nothing else is known
    of them. The level was taken from readings up to level_until_s (None: from others). `usual` is the loss that earlier
    runs had at the last reading's age.

    Tuples within a tuple, for one is made some times for every reading of a fleet, and takes a fifth of the time of
    `dataclasses.replace`; what `_replace` is given is checked like the arguments of a constructor.
    """

    reading_s: float | None = None
    counted_s: float | None = None
    usable_s: float | None = None
    level_until_s: float | None = None
    bad_since_s: float | None = None
    gates: frozenset[Gate] = frozenset()
    usual: float = 0.0
    signal: Signal | None = None
    recent: tuple[tuple[float, float], ...] = ()
    window: tuple[tuple[float, float, float], ...] = ()
    run: Run = Run()
    gauge: Gauge = Gauge()
    start: Start = Start()
    doubt: Doubt = Doubt()
    loss: Loss = Loss()
    alarm: Alarm = Alarm()

    @property
    def alarmed(self) -> bool:
        """Whether a loss is sustained."""
        return self.alarm.raised

    @property
    def confirmed(self) -> bool:
        """Whether it lasted as long as a proposal needs it to."""
        return self.alarm.confirmed

    @property
    def evidence_s(self) -> float:
        """Seconds of evidence for a loss."""
        return self.loss.evidence_s

    @property
    def onset_s(self) -> float | None:
        """When the loss began."""
        return self.loss.onset_s

    @property
    def drop(self) -> float | None:
        """The median relative loss since the onset."""
        losses = self.loss.losses.values
        return -math.expm1(-median(losses)) if losses else None

    @property
    def value(self) -> float | None:
        """The median of the last minutes, in the signal's unit."""
        return median(value for _, value in self.recent) if self.recent else None

    def without_evidence(self) -> "State":
        """With nothing collected towards an alarm."""
        return self._replace(loss=Loss())


def initial(level_until_s: float | None = None, born_s: float | None = None) -> State:
    """The state before the first reading.

    Args:
        born_s: when the run began, where the first readings are of its beginning.
        level_until_s: where the level is that of these very readings up to a moment: a run that has not held it once by
            then is still starting, however long that takes.
    """
    return State(level_until_s=level_until_s, run=Run(born_s=born_s))


def as_of_now(state: State) -> State:
    """The same state with nothing collected for or against a loss, as where the level was not known yet."""
    return state._replace(loss=Loss(), alarm=Alarm(), doubt=Doubt(), bad_since_s=None)


def resumed(alarmed: bool, onset_s: float | None) -> State:
    """The state after the operator was restarted; with `alarmed`, an incident is open in the status."""
    return State(loss=Loss(onset_s=onset_s), alarm=Alarm(raised=alarmed))


def reopened(state: State, onset_s: float | None) -> State:
    """The same state with the alarm standing: an incident is open, and history alone did not show it."""
    if state.alarm.raised or state.alarm.recovered_at_s is not None:
        return state
    loss = state.loss if onset_s is None else state.loss._replace(onset_s=onset_s)
    return state._replace(loss=loss, alarm=state.alarm._replace(raised=True))


def of_another_loss(state: State, onset_s: float) -> State:
    """The same alarm for a loss that began later: it has to be confirmed by readings of its own."""
    alarm = Alarm(raised=state.alarm.raised, recovered_at_s=state.alarm.recovered_at_s)
    return state._replace(loss=Loss(evidence_s=state.loss.evidence_s, onset_s=onset_s), alarm=alarm)


def alarm_after_s(state: State, detection: Detection) -> float:
    """Seconds of evidence that make a loss Regressed: `sustain_s`, or 0.7 of it where the job exports its phase."""
    return detection.sustain_s * (_PHASE_KNOWN_SHARE if state.run.phase_known else 1.0)


def smallest_visible_loss(tolerance: Tolerance, alarm_s: float, detection: Detection) -> float:
    """The relative loss that gathers `alarm_s` of evidence, and is told from noise, within 1.5 times the horizon.

    With scale g: κ + 2g/3, or κ + 0.47·g where the job exports its phase, unless noise asks for more.
    """
    rate = alarm_s / (1.5 * detection.sustain_s)
    beyond = max(tolerance.scale * rate, tolerance.told_from_noise(1.5 / INDEPENDENT_SHARE))
    return -math.expm1(-(tolerance.kappa + beyond))


def is_told_from_noise(state: State, kappa: float, tolerance: Tolerance) -> bool:
    """Whether the mean loss lies so far beyond `kappa` that its readings do not say so by chance."""
    mean = state.loss.mean
    if mean.counted <= 0:
        return False
    return mean.cut_sum / mean.counted >= kappa + tolerance.told_from_noise(mean.counted)


def restarted(state: State, born_s: float | None = None) -> State:
    """Another set of pods may run another commit: what was collected towards an alarm belongs to the one before."""
    state = state._replace(
        run=Run(restarts=state.run.restarts + 1, phase_known=state.run.phase_known, born_s=born_s),
        start=Start(),
        bad_since_s=None,
        window=(),
        doubt=Doubt(),
        alarm=state.alarm._replace(recover_s=0.0),
    )
    return state if state.alarm.raised else state.without_evidence()


def added(sum_s: float, rate: float, step_s: float, most_s: float) -> float:
    """max(0, S + clip(rate, −1, 1)·Δt), and no more than is needed."""
    return min(most_s, max(0.0, sum_s + max(-1.0, min(1.0, rate)) * step_s))

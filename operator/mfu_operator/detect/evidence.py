"""The evidence for and against a loss, one reading at a time.

Evidence is counted in seconds, not in samples: the rule does not depend on the scrape interval. Each second counts at
most as one, whatever the depth: no dip shorter than the horizon can alarm. A gated second counts nothing.
"""

import math
from statistics import median
from typing import Any, NamedTuple

from mfu_operator.detect.cleaning import gate_of, is_restart, level_of, losses_of, values_of
from mfu_operator.detect.statistics import Tolerance, tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate

_PHASE_KNOWN_SHARE = 0.7
"""A job that says when it checkpoints has no unexplained dips, and needs 7 of 10 minutes."""

_SMOOTHING_SHARE = 0.25
"""Losses are judged as their running median over 2.5 of 10 minutes: noise from reading to reading is no evidence, and a
median adds nothing to the length of a dip."""

_MOST_SMOOTHED = 15
"""… of at most so many readings: more cost time in a fleet that is scraped every second."""

_INDEPENDENT_SHARE = 0.05
"""The mean loss counts a reading every 30 s (of 10 min) at most: scraped more often, a gauge repeats itself."""

_MEAN_CUT = 3.0
"""In the mean each loss is cut at three scales around what it is compared with: one wild reading is no level."""

_LONGEST_STEP_SHARE = 0.25
"""One reading counts for at most 2.5 of 10 minutes, however long nothing was heard before it."""

_GAP_SHARE = 2.0
"""After 20 minutes (of 10) without a usable reading, what was collected before belongs to another time."""

_ARMING_SHARE = 1.5
"""A run that is not good within 15 minutes (of 10) after its start is no longer starting; it is slow."""

_HANG_SHARE = 1.0
"""A step counter that stands still for the whole horizon hangs: 10 minutes, the collectives' own watchdog."""

_HANG_STEPS = 10.0
"""… but never before ten of the baseline's steps."""

_CONFIRM_SHARE = 0.6
"""Share of the time after the alarm that must lie beyond the tolerance for a loss to be confirmed."""

_IMPLAUSIBLE = math.log(50.0)
"""Fifty times faster or slower is another unit (per cent, milliseconds), not another speed."""

_MOST_LOSSES = 256
"""Losses kept for the median since the onset; beyond it every other one is kept, then every fourth, and so on."""

_RECENT_SHARE = 0.5
"""The value shown is the median of the last 5 minutes (of 10)."""

_MOST_RECENT = 64
"""… and of at most so many readings: it bounds the memory of a fleet scraped every second."""


class State(NamedTuple):
    """What is remembered of one job between two readings. All times are the readings' own.

    evidence_s, contradiction_s and recover_s are the clipped sums for a loss, for signals that contradict each other,
    and for a recovery; unusual_s counts readings in another unit. Of after_s seconds since the alarm, beyond_s were
    beyond the tolerance. window holds (time, least loss, worst loss) of the readings that are smoothed over; stride and
    skipped thin out `losses`. cut_sum and counted are the sum and number of the cut losses since the onset and, after
    the alarm, within the span that confirms. The level was taken from readings up to level_until_s (None: from others).
    """

    reading_s: float | None = None
    counted_s: float | None = None
    usable_s: float | None = None
    incarnation: str | None = None
    restarts: int = 0
    step: float | None = None
    step_moved_s: float | None = None
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
    losses: tuple[float, ...] = ()
    stride: int = 1
    skipped: int = 0
    cut_sum: float = 0.0
    counted: float = 0.0
    contradiction_s: float = 0.0
    contradicting: tuple[Signal, Signal] | None = None
    unusual_s: float = 0.0
    alarmed: bool = False
    after_s: float = 0.0
    beyond_s: float = 0.0
    confirmed: bool = False
    recover_s: float = 0.0
    recovered_at_s: float | None = None

    @property
    def drop(self) -> float | None:
        """The median relative loss since the onset."""
        return -math.expm1(-median(self.losses)) if self.losses else None

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
        _without_evidence(state),
        evidence_s=state.evidence_s,
        onset_s=onset_s,
        after_s=0.0,
        beyond_s=0.0,
        confirmed=False,
        recover_s=0.0,
    )


def alarm_after_s(state: State, detection: Detection) -> float:
    """Seconds of evidence that make a loss Regressed: `sustain_s`, or 0.8 of it where the job exports its phase."""
    return detection.sustain_s * (_PHASE_KNOWN_SHARE if state.phase_known else 1.0)


def smallest_visible_loss(tolerance: Tolerance, alarm_s: float, detection: Detection) -> float:
    """The relative loss that gathers `alarm_s` of evidence, and is told from noise, within 1.5 times the horizon: about
    κ + g/2."""
    rate = alarm_s / (1.5 * detection.sustain_s)
    beyond = max(tolerance.scale * rate, tolerance.told_from_noise(1.5 / _INDEPENDENT_SHARE))
    return -math.expm1(-(tolerance.kappa + beyond))


def is_told_from_noise(state: State, kappa: float, tolerance: Tolerance) -> bool:
    """Whether the mean loss lies so far beyond `kappa` that its readings do not say so by chance."""
    if state.counted <= 0:
        return False
    return state.cut_sum / state.counted >= kappa + tolerance.told_from_noise(state.counted)


def advance(
    state: State,
    reading: Reading,
    baseline: Baseline,
    detection: Detection,
    gates: frozenset[Gate] = frozenset(),
) -> State:
    """The state after one more reading; readings that are not newer than the last one change nothing.

    Args:
        state: what is remembered so far.
        reading: the next one.
        baseline: the level and spread to compare with.
        detection: tolerance and horizons.
        gates: gates that are closed from outside at the reading's time.
    """
    if state.reading_s is not None and reading.time_s <= state.reading_s:
        return state
    state = _seen(state, reading)
    held = set(gates)
    gate = gate_of(reading.phase)
    if gate is not None:
        held.add(gate)
    if held:
        return replace(state, gates=frozenset(held), counted_s=reading.time_s, step_moved_s=reading.time_s)
    if state.step_moved_s is not None and state.step_moved_s < reading.time_s and reading.step is not None:
        return _standing_still(state, reading.time_s, baseline, detection)
    losses = losses_of(values_of(reading), baseline.level)
    if not losses:
        return replace(state, counted_s=reading.time_s, gates=frozenset())
    return _usable(state, reading, losses, baseline, detection)


def _seen(state: State, reading: Reading) -> State:
    """Note the time, the phase, the step and whether another incarnation runs."""
    if state.incarnation is not None and is_restart(state.incarnation, state.step, reading):
        state = _restarted(state)
    moved = reading.step is not None and reading.step != state.step
    return replace(
        state,
        reading_s=reading.time_s,
        incarnation=reading.incarnation if state.incarnation is None else state.incarnation,
        phase_known=state.phase_known or reading.phase is not Phase.UNKNOWN,
        step=reading.step if reading.step is not None else state.step,
        step_moved_s=reading.time_s if moved else state.step_moved_s,
    )


def _restarted(state: State) -> State:
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
        recover_s=0.0,
        window=(),
    )
    return state if state.alarmed else _without_evidence(state)


def _without_evidence(state: State) -> State:
    return replace(state, evidence_s=0.0, onset_s=None, losses=(), stride=1, skipped=0, cut_sum=0.0, counted=0.0)


def _standing_still(state: State, time_s: float, baseline: Baseline, detection: Detection) -> State:
    """The same step number twice is no new information, and after a while it is a hang."""
    step_s = level_of(baseline.level, Signal.STEP_TIME) or 0.0
    limit_s = max(_HANG_SHARE * detection.sustain_s, _HANG_STEPS * step_s)
    if state.step_moved_s is None or time_s - state.step_moved_s < limit_s:
        return replace(state, gates=state.gates & {Gate.HUNG, Gate.STARTING, Gate.RESTARTING})
    return replace(state, gates=frozenset({Gate.HUNG}), counted_s=time_s)


def _usable(
    state: State, reading: Reading, losses: dict[Signal, float], baseline: Baseline, detection: Detection
) -> State:
    now_s = reading.time_s
    tolerance = tolerance_of(baseline.spread, detection)
    signal = next(iter(losses))
    state = _after_gap(state, now_s, detection)
    elapsed_s = 0.0 if state.counted_s is None else now_s - state.counted_s
    step_s = min(elapsed_s, _LONGEST_STEP_SHARE * detection.sustain_s)
    state = replace(
        state,
        counted_s=now_s,
        usable_s=now_s,
        gates=frozenset(),
        signal=signal,
        recent=_recent(state, now_s, values_of(reading)[signal], signal, detection),
    )
    state, plausible = _plausible(state, losses, step_s, tolerance, detection)
    if not plausible:
        return state
    state = replace(state, window=_window(state, now_s, losses, detection))
    if state.arming:
        state = _arm(state, now_s, step_s, tolerance, detection)
        if state.arming:
            return state
    return _collect(state, now_s, min(losses.values()), step_s, tolerance, detection)


def _window(
    state: State, now_s: float, losses: dict[Signal, float], detection: Detection
) -> tuple[tuple[float, float, float], ...]:
    since_s = now_s - _SMOOTHING_SHARE * detection.sustain_s
    kept = [entry for entry in state.window if entry[0] > since_s]
    return (*kept[-(_MOST_SMOOTHED - 1) :], (now_s, min(losses.values()), max(losses.values())))


def _smoothed(state: State) -> tuple[float, float]:
    """Running medians of the loss that every signal shows, and of the worst one."""
    return median(entry[1] for entry in state.window), median(entry[2] for entry in state.window)


def _begin_s(state: State, now_s: float, step_s: float, tolerance: Tolerance) -> float:
    """When the loss that is seen now began: after the last good reading of the window."""
    if state.bad_since_s is not None:
        return state.bad_since_s
    begun_s = now_s - step_s
    for time_s, loss, _ in reversed(state.window):
        if loss <= tolerance.kappa:
            return min(begun_s, time_s)
        begun_s = min(begun_s, time_s)
    return begun_s


def _after_gap(state: State, now_s: float, detection: Detection) -> State:
    if state.usable_s is None or now_s - state.usable_s <= _GAP_SHARE * detection.sustain_s:
        return state
    state = replace(state, recover_s=0.0, counted_s=None, window=())
    return state if state.alarmed else _without_evidence(state)


def _recent(
    state: State, now_s: float, value: float, signal: Signal, detection: Detection
) -> tuple[tuple[float, float], ...]:
    if signal is not state.signal:
        return ((now_s, value),)
    since_s = now_s - _RECENT_SHARE * detection.sustain_s
    kept = [point for point in state.recent if point[0] >= since_s]
    return (*kept[-(_MOST_RECENT - 1) :], (now_s, value))


def _plausible(
    state: State, losses: dict[Signal, float], step_s: float, tolerance: Tolerance, detection: Detection
) -> tuple[State, bool]:
    """Sum up readings in another unit, and signals that contradict each other: then it is the formula that changed."""
    limit_s = alarm_after_s(state, detection)
    if any(abs(loss) > _IMPLAUSIBLE for loss in losses.values()):
        return replace(state, unusual_s=min(limit_s, state.unusual_s + step_s)), False
    most = max(losses, key=lambda signal: losses[signal])
    least = min(losses, key=lambda signal: losses[signal])
    apart = losses[most] - losses[least]
    contradiction_s = _added(state.contradiction_s, (apart - tolerance.kappa) / tolerance.scale, step_s, limit_s)
    contradicting = (most, least) if apart > tolerance.kappa else state.contradicting
    return replace(
        state,
        unusual_s=max(0.0, state.unusual_s - step_s),
        contradiction_s=contradiction_s,
        contradicting=contradicting if contradiction_s > 0 else None,
    ), True


def _arm(state: State, now_s: float, step_s: float, tolerance: Tolerance, detection: Detection) -> State:
    """Ignore the start of a run until it was good for `warmup_s` without a break, or until it takes too long."""
    since_s = now_s if state.arming_since_s is None else state.arming_since_s
    good = _smoothed(state)[0] <= tolerance.kappa
    good_s = state.good_s + step_s if good else 0.0
    bad_since_s = None if good else now_s - step_s if state.bad_since_s is None else state.bad_since_s
    longest_s = _ARMING_SHARE * detection.sustain_s
    if state.level_until_s is not None and not state.restarts:
        longest_s = max(longest_s, state.level_until_s - since_s)
    waiting = good_s < detection.warmup_s and now_s - since_s < longest_s
    gate = Gate.RESTARTING if state.restarts else Gate.STARTING
    return replace(
        state,
        arming=waiting,
        arming_since_s=since_s,
        good_s=good_s,
        bad_since_s=bad_since_s,
        gates=frozenset({gate}) if waiting else frozenset(),
    )


def _collect(
    state: State, now_s: float, loss: float, step_s: float, tolerance: Tolerance, detection: Detection
) -> State:
    """One usable reading of an armed run. A loss counts only where every signal shows it."""
    smoothed, worst = _smoothed(state)
    alarm_s = alarm_after_s(state, detection)
    evidence_s = _added(state.evidence_s, (smoothed - tolerance.kappa) / tolerance.scale, step_s, alarm_s)
    if evidence_s <= 0 and not state.alarmed:
        return replace(_without_evidence(state), bad_since_s=None)
    if state.onset_s is None:
        state = replace(state, onset_s=_begin_s(state, now_s, step_s, tolerance))
    state = replace(_with_loss(state, loss), evidence_s=evidence_s, bad_since_s=None)
    state = _with_mean(state, loss, step_s, tolerance, detection)
    if state.alarmed:
        return _after_alarm(state, now_s, smoothed, worst, step_s, tolerance, detection)
    if evidence_s < alarm_s or not is_told_from_noise(state, tolerance.kappa, tolerance):
        return state
    state = _new_span(state)
    return replace(state, alarmed=True, confirmed=False, recover_s=0.0, recovered_at_s=None)


def _with_mean(state: State, loss: float, step_s: float, tolerance: Tolerance, detection: Detection) -> State:
    weight = min(1.0, step_s / (_INDEPENDENT_SHARE * detection.sustain_s))
    centre = tolerance.confirm_kappa if state.alarmed else tolerance.kappa
    reach = _MEAN_CUT * tolerance.scale
    cut = max(centre - reach, min(centre + reach, loss))
    return replace(state, cut_sum=state.cut_sum + weight * cut, counted=state.counted + weight)


def _new_span(state: State) -> State:
    return replace(state, after_s=0.0, beyond_s=0.0, cut_sum=0.0, counted=0.0)


def _after_alarm(
    state: State,
    now_s: float,
    loss: float,
    worst: float,
    step_s: float,
    tolerance: Tolerance,
    detection: Detection,
) -> State:
    """Towards Confirmed and towards Recovered. Confirmation looks at one whole span after the other."""
    beyond_s = step_s if loss > tolerance.confirm_kappa else 0.0
    state = replace(state, after_s=state.after_s + step_s, beyond_s=state.beyond_s + beyond_s)
    if not state.confirmed and state.after_s >= detection.confirm_s:
        state = replace(state, confirmed=True) if _confirms(state, tolerance) else _new_span(state)
    rate = (tolerance.kappa / 2 - worst) / tolerance.scale
    recover_s = _added(state.recover_s, rate, step_s, detection.recover_s)
    if recover_s < detection.recover_s:
        return replace(state, recover_s=recover_s)
    state = _new_span(_without_evidence(state))
    return replace(state, alarmed=False, confirmed=False, recover_s=0.0, recovered_at_s=now_s)


def _confirms(state: State, tolerance: Tolerance) -> bool:
    """Most of the span lies beyond what confirming asks for, and its mean does by more than chance."""
    most = state.beyond_s >= _CONFIRM_SHARE * state.after_s
    return most and is_told_from_noise(state, tolerance.confirm_kappa, tolerance)


def _added(sum_s: float, rate: float, step_s: float, most_s: float) -> float:
    """max(0, S + clip(rate, −1, 1)·Δt), and no more than is needed."""
    return min(most_s, max(0.0, sum_s + max(-1.0, min(1.0, rate)) * step_s))


def _with_loss(state: State, loss: float) -> State:
    """Keep every stride-th loss since the onset, at most _MOST_LOSSES of them."""
    if state.skipped + 1 < state.stride:
        return replace(state, skipped=state.skipped + 1)
    losses = (*state.losses, loss)
    if len(losses) <= _MOST_LOSSES:
        return replace(state, losses=losses, skipped=0)
    return replace(state, losses=losses[::2], stride=state.stride * 2, skipped=0)

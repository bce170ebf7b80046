"""The evidence after one more reading: whether the reading counts, for how many seconds, and as what.

A gated second counts nothing, and the start of a run is waited for.
"""

import math

from mfu_operator.detect.cleaning import gate_of, is_restart, level_of, losses_of, tells_the_speed, values_of
from mfu_operator.detect.climb import age_of, beyond_usual, usual_loss
from mfu_operator.detect.cusum import collect, running_medians
from mfu_operator.detect.evidence import Doubt, Gauge, Start, State, added, alarm_after_s, restarted
from mfu_operator.detect.statistics import Tolerance, tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Signal
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate

_SMOOTHING_SHARE = 0.25
"""Losses are judged as their running median over 2.5 of 10 minutes: noise from reading to reading is not evidence,
and a median adds nothing to the length of a dip."""

_MOST_SMOOTHED = 15
"""… of at most so many readings: more cost time in a fleet that is scraped every second."""

LONGEST_STEP_SHARE = 0.25
"""One reading counts for at most 2.5 of 10 minutes, however long nothing was heard before it."""

GAP_SHARE = 2.0
"""After 20 minutes (of 10) without a usable reading, what was collected before belongs to another time."""

_ARMING_SHARE = 1.5
"""A run that is not good within 15 minutes (of 10) after its start is no longer starting; it is slow."""

_HANG_SHARE = 1.0
"""A step counter that stands still for the whole horizon hangs: 10 minutes, the collectives' own watchdog."""

_HANG_STEPS = 10.0
"""… but never before ten of the baseline's steps."""

_STILL_SHARE = 2.0
"""Without a step counter, values that stand still for 20 minutes (of 10) …"""

_STILL_MOVES = 10.0
"""… and for ten times as long as they usually do are a gauge that nobody sets: where they move at random, chance leaves
them for so long once in e¹⁰, 22,000, times."""

_FEWEST_MOVES = 20
"""A series that moved less often may be one that is rounded, or written by hand."""

_IMPLAUSIBLE = math.log(50.0)
"""Fifty times faster or slower is another unit (per cent, milliseconds), not another speed."""

_RECENT_SHARE = 0.5
"""The value shown is the median of the last 5 minutes (of 10)."""

_MOST_RECENT = 64
"""… and of at most so many readings: it bounds the memory of a fleet scraped every second."""


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
        if gate is None and state.run.step_moved_s != reading.time_s:
            held |= state.gates & {Gate.HUNG}
        run = state.run if gate is None else state.run._replace(step_moved_s=reading.time_s)
        return state._replace(gates=frozenset(held), counted_s=reading.time_s, run=run)
    moved_s = state.run.step_moved_s
    if moved_s is not None and moved_s < reading.time_s and reading.step is not None:
        return _standing_still(state, reading.time_s, reading.time_s - moved_s, baseline, detection)
    usual = usual_loss(baseline.climb, age_of(state.run.born_s, reading, baseline.level)) if baseline.climb else 0.0
    state = state._replace(usual=usual) if usual != state.usual else state
    losses = beyond_usual(losses_of(values_of(reading), baseline.level), usual)
    if not losses or not tells_the_speed(state.run.incarnation, reading):
        return state._replace(counted_s=reading.time_s, gates=frozenset())
    if reading.step is None:
        state = state._replace(gauge=_shown(state.gauge, reading))
        if _stands_still(state.gauge, reading.time_s, detection):
            return state._replace(counted_s=reading.time_s)
    return _usable(state, reading, losses, baseline, detection)


def _seen(state: State, reading: Reading) -> State:
    """Note the time, the phase, the step and whether another incarnation runs.

    The first step after a hang is as that of another incarnation: the readings' own windows still hold the hang.
    """
    run = state.run
    moved = reading.step is not None and reading.step != run.step
    hang_ended = moved and Gate.HUNG in state.gates
    if run.incarnation is not None and (hang_ended or is_restart(run.incarnation, run.step, reading)):
        state = restarted(state, run.born_s if hang_ended else reading.time_s)
        run, moved = state.run, reading.step is not None
    run = run._replace(
        incarnation=reading.incarnation if run.incarnation is None else run.incarnation,
        phase_known=run.phase_known or reading.phase is not Phase.UNKNOWN,
        step=reading.step if reading.step is not None else run.step,
        step_moved_s=reading.time_s if moved else run.step_moved_s,
    )
    return state._replace(reading_s=reading.time_s, run=run)


def _standing_still(state: State, time_s: float, still_s: float, baseline: Baseline, detection: Detection) -> State:
    """The same step number twice is not new information, and after a while it is a hang."""
    step_s = level_of(baseline.level, Signal.STEP_TIME) or 0.0
    limit_s = max(_HANG_SHARE * detection.sustain_s, _HANG_STEPS * step_s)
    if still_s < limit_s:
        return state._replace(gates=state.gates & {Gate.HUNG, Gate.STARTING, Gate.RESTARTING})
    return state._replace(gates=frozenset({Gate.HUNG}), counted_s=time_s)


def _shown(gauge: Gauge, reading: Reading) -> Gauge:
    """Note the values, and since when they are the same."""
    values, now_s = tuple(reading.values.values()), reading.time_s
    if values == gauge.values:
        return gauge
    if not gauge.values:
        return gauge._replace(values=values, from_s=now_s, since_s=now_s)
    return gauge._replace(values=values, since_s=now_s, moves=gauge.moves + 1)


def _stands_still(gauge: Gauge, time_s: float, detection: Detection) -> bool:
    """Whether a gauge repeats itself: a job that evaluates or hangs is scraped as well, and shows its last step."""
    if gauge.moves < _FEWEST_MOVES:
        return False
    usual_s = (gauge.since_s - gauge.from_s) / gauge.moves
    return time_s - gauge.since_s > max(_STILL_SHARE * detection.sustain_s, _STILL_MOVES * usual_s)


def _usable(
    state: State, reading: Reading, losses: dict[Signal, float], baseline: Baseline, detection: Detection
) -> State:
    now_s = reading.time_s
    tolerance = tolerance_of(baseline.spread, detection)
    signal = next(iter(losses))
    state = _after_gap(state, now_s, detection)
    elapsed_s = 0.0 if state.counted_s is None else now_s - state.counted_s
    step_s = min(elapsed_s, LONGEST_STEP_SHARE * detection.sustain_s)
    doubt, plausible = _doubted(state.doubt, losses, step_s, tolerance, alarm_after_s(state, detection))
    state = state._replace(
        counted_s=now_s,
        usable_s=now_s,
        gates=_waited_for(state) if state.start.waiting else frozenset(),
        signal=signal,
        recent=_recent(state, now_s, values_of(reading)[signal], signal, detection),
        doubt=doubt,
        window=_window(state, now_s, losses, detection) if plausible else state.window,
    )
    if not plausible:
        return state
    if state.start.waiting:
        state = _arm(state, now_s, step_s, tolerance, detection)
        if state.start.waiting:
            return state
    return collect(state, now_s, min(losses.values()), step_s, tolerance, detection)


def _window(
    state: State, now_s: float, losses: dict[Signal, float], detection: Detection
) -> tuple[tuple[float, float, float], ...]:
    since_s = now_s - _SMOOTHING_SHARE * detection.sustain_s
    kept = [entry for entry in state.window if entry[0] > since_s]
    return (*kept[-(_MOST_SMOOTHED - 1) :], (now_s, min(losses.values()), max(losses.values())))


def _after_gap(state: State, now_s: float, detection: Detection) -> State:
    if state.usable_s is None or now_s - state.usable_s <= GAP_SHARE * detection.sustain_s:
        return state
    state = state._replace(alarm=state.alarm._replace(recover_s=0.0), counted_s=None, window=())
    return state if state.alarmed else state.without_evidence()


def _recent(
    state: State, now_s: float, value: float, signal: Signal, detection: Detection
) -> tuple[tuple[float, float], ...]:
    if signal is not state.signal:
        return ((now_s, value),)
    since_s = now_s - _RECENT_SHARE * detection.sustain_s
    kept = [point for point in state.recent if point[0] >= since_s]
    return (*kept[-(_MOST_RECENT - 1) :], (now_s, value))


def _doubted(
    doubt: Doubt, losses: dict[Signal, float], step_s: float, tolerance: Tolerance, limit_s: float
) -> tuple[Doubt, bool]:
    """Sum up readings in another unit, and signals that contradict each other: then it is the formula that changed.
    False for a reading in another unit."""
    for signal, loss in losses.items():
        if abs(loss) > _IMPLAUSIBLE:
            return doubt._replace(unusual_s=min(limit_s, doubt.unusual_s + step_s), unusual=(signal, loss)), False
    most = max(losses, key=lambda signal: losses[signal])
    least = min(losses, key=lambda signal: losses[signal])
    apart = losses[most] - losses[least]
    contradiction_s = added(doubt.contradiction_s, (apart - tolerance.kappa) / tolerance.scale, step_s, limit_s)
    pair = (most, losses[most]), (least, losses[least])
    contradicting = pair if apart > tolerance.kappa else doubt.contradicting
    return doubt._replace(
        unusual_s=max(0.0, doubt.unusual_s - step_s),
        contradiction_s=contradiction_s,
        contradicting=contradicting if contradiction_s > 0 else None,
    ), True


def _arm(state: State, now_s: float, step_s: float, tolerance: Tolerance, detection: Detection) -> State:
    """Ignore the start of a run until it was good for `warmup_s` without a break, or until it takes too long."""
    since_s = now_s if state.start.since_s is None else state.start.since_s
    good = running_medians(state)[0] <= tolerance.kappa
    good_s = state.start.good_s + step_s if good else 0.0
    bad_since_s = None if good else now_s - step_s if state.bad_since_s is None else state.bad_since_s
    longest_s = _ARMING_SHARE * detection.sustain_s
    if state.level_until_s is not None and not state.run.restarts:
        longest_s = max(longest_s, state.level_until_s - since_s)
    waiting = good_s < detection.warmup_s and now_s - since_s < longest_s
    return state._replace(
        start=Start(waiting, since_s, good_s),
        bad_since_s=bad_since_s,
        gates=_waited_for(state) if waiting else frozenset(),
    )


def _waited_for(state: State) -> frozenset[Gate]:
    return frozenset({Gate.RESTARTING if state.run.restarts else Gate.STARTING})

"""Evidence for a loss, summed up: a CUSUM of clipped seconds that raises the alarm, confirms it and ends it.

Each second counts at most as one, whatever the depth: no dip shorter than the horizon can alarm.
E. S. Page, Continuous Inspection Schemes, Biometrika 41 (1954), with the increments clipped.
"""

from statistics import median

from mfu_operator.detect.evidence import (
    INDEPENDENT_SHARE,
    State,
    added,
    alarm_after_s,
    is_told_from_noise,
    replace,
    without_evidence,
)
from mfu_operator.detect.onset import begin_s, since_it_grew, with_growth
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection

_MEAN_CUT = 3.0
"""In the mean each loss is cut at three scales around what it is compared with: one wild reading is no level."""

_CONFIRM_SHARE = 0.6
"""Share of the time after the alarm that must lie beyond the tolerance for a loss to be confirmed."""


def collect(
    state: State, now_s: float, loss: float, step_s: float, tolerance: Tolerance, detection: Detection
) -> State:
    """One usable reading of an armed run. A loss counts only where every signal shows it."""
    smoothed, worst = running_medians(state)
    alarm_s = alarm_after_s(state, detection)
    evidence_s = added(state.evidence_s, (smoothed - tolerance.kappa) / tolerance.scale, step_s, alarm_s)
    if evidence_s <= 0 and not state.alarmed:
        return replace(without_evidence(state), bad_since_s=None)
    if state.onset_s is None:
        state = replace(state, onset_s=begin_s(state, now_s, step_s, tolerance.kappa))
    state = replace(state, losses=state.losses.and_one(loss), evidence_s=evidence_s)
    state = with_growth(state, now_s, loss, smoothed, step_s, tolerance, detection)
    state = _with_mean(replace(state, bad_since_s=None), loss, step_s, tolerance, detection)
    if state.alarmed:
        return _after_alarm(state, now_s, smoothed, worst, step_s, tolerance, detection)
    if evidence_s < alarm_s or not is_told_from_noise(state, tolerance.kappa, tolerance):
        return state
    state = _new_span(state)
    return replace(state, alarmed=True, confirmed=False, recover_s=0.0, recovered_at_s=None)


def running_medians(state: State) -> tuple[float, float]:
    """Of the losses in the window: of what every signal shows, and of the worst one."""
    return median(entry[1] for entry in state.window), median(entry[2] for entry in state.window)


def _with_mean(state: State, loss: float, step_s: float, tolerance: Tolerance, detection: Detection) -> State:
    weight = min(1.0, step_s / (INDEPENDENT_SHARE * detection.sustain_s))
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
        if _confirms(state, tolerance):
            state = replace(since_it_grew(state, now_s, tolerance, detection), confirmed=True)
        else:
            state = _new_span(state)
    rate = (tolerance.kappa / 2 - worst) / tolerance.scale
    recover_s = added(state.recover_s, rate, step_s, detection.recover_s)
    if recover_s < detection.recover_s:
        return replace(state, recover_s=recover_s)
    state = _new_span(without_evidence(state))
    return replace(state, alarmed=False, confirmed=False, recover_s=0.0, recovered_at_s=now_s)


def _confirms(state: State, tolerance: Tolerance) -> bool:
    """Most of the span lies beyond what confirming asks for, and its mean does by more than chance."""
    most = state.beyond_s >= _CONFIRM_SHARE * state.after_s
    return most and is_told_from_noise(state, tolerance.confirm_kappa, tolerance)

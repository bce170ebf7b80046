"""Evidence for a loss, summed up: a CUSUM of clipped seconds that raises the alarm, confirms it and ends it.

Each second counts at most as one, whatever the depth: no dip shorter than the horizon can alarm.
E. S. Page, Continuous Inspection Schemes, Biometrika 41 (1954), with the increments clipped.
"""

from statistics import median

from mfu_operator.detect.evidence import (
    INDEPENDENT_SHARE,
    Alarm,
    Mean,
    State,
    added,
    alarm_after_s,
    is_told_from_noise,
)
from mfu_operator.detect.onset import begin_s, grown, since_it_grew
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection

_MEAN_CUT = 3.0
"""In the mean each loss is cut at three scales around what it is compared with: one wild reading is not a level."""

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
        return state.without_evidence()._replace(bad_since_s=None)
    onset_s = state.onset_s if state.onset_s is not None else begin_s(state, now_s, step_s, tolerance.kappa)
    losses = state.loss.losses.and_one(loss)
    state = state._replace(loss=state.loss._replace(evidence_s=evidence_s, onset_s=onset_s, losses=losses))
    growth = grown(state, now_s, loss, smoothed, step_s, tolerance, detection)
    mean = _with(state.loss.mean, loss, step_s, tolerance, detection, alarmed=state.alarmed)
    state = state._replace(loss=state.loss._replace(growth=growth, mean=mean), bad_since_s=None)
    if state.alarmed:
        return _after_alarm(state, now_s, smoothed, worst, step_s, tolerance, detection)
    if evidence_s < alarm_s or not is_told_from_noise(state, tolerance.kappa, tolerance):
        return state
    return state._replace(loss=state.loss._replace(mean=Mean()), alarm=Alarm(raised=True))


def running_medians(state: State) -> tuple[float, float]:
    """Of the losses in the window: of what every signal shows, and of the worst one."""
    return median(entry[1] for entry in state.window), median(entry[2] for entry in state.window)


def _with(mean: Mean, loss: float, step_s: float, tolerance: Tolerance, detection: Detection, *, alarmed: bool) -> Mean:
    weight = min(1.0, step_s / (INDEPENDENT_SHARE * detection.sustain_s))
    centre = tolerance.confirm_kappa if alarmed else tolerance.kappa
    reach = _MEAN_CUT * tolerance.scale
    cut = max(centre - reach, min(centre + reach, loss))
    return Mean(mean.cut_sum + weight * cut, mean.counted + weight)


def _after_alarm(
    state: State,
    now_s: float,
    loss: float,
    worst: float,
    step_s: float,
    tolerance: Tolerance,
    detection: Detection,
) -> State:
    """Towards Confirmed and towards Recovered."""
    beyond_s = step_s if loss > tolerance.confirm_kappa else 0.0
    alarm = state.alarm._replace(after_s=state.alarm.after_s + step_s, beyond_s=state.alarm.beyond_s + beyond_s)
    state = state._replace(alarm=alarm)
    if not alarm.confirmed and alarm.after_s >= detection.confirm_s:
        state = _at_the_end_of_a_span(state, now_s, tolerance, detection)
    rate = (tolerance.kappa / 2 - worst) / tolerance.scale
    recover_s = added(state.alarm.recover_s, rate, step_s, detection.recover_s)
    if recover_s < detection.recover_s:
        return state._replace(alarm=state.alarm._replace(recover_s=recover_s))
    return state.without_evidence()._replace(alarm=Alarm(recovered_at_s=now_s))


def _at_the_end_of_a_span(state: State, now_s: float, tolerance: Tolerance, detection: Detection) -> State:
    """Confirmation looks at one whole span after the other."""
    if _confirms(state, tolerance):
        loss = since_it_grew(state, now_s, tolerance, detection)
        return state._replace(loss=loss, alarm=state.alarm._replace(confirmed=True))
    return state._replace(loss=state.loss._replace(mean=Mean()), alarm=state.alarm._replace(after_s=0.0, beyond_s=0.0))


def _confirms(state: State, tolerance: Tolerance) -> bool:
    """Most of the span lies beyond what confirming asks for, and its mean does by more than chance."""
    most = state.alarm.beyond_s >= _CONFIRM_SHARE * state.alarm.after_s
    return most and is_told_from_noise(state, tolerance.confirm_kappa, tolerance)

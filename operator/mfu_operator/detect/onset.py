"""When a loss began. A drift at the edge of the tolerance may stand for hours, too small to be confirmed, when another
loss comes on top of it: what is confirmed then began with that one."""

from statistics import median

from mfu_operator.detect.evidence import INDEPENDENT_SHARE, Losses, State, added, alarm_after_s, replace
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection


def begin_s(state: State, now_s: float, step_s: float, kappa: float) -> float:
    """When the loss beyond `kappa` that is seen now began: halfway from the window's last good reading to the first one
    after it, for nobody looked between them."""
    if state.bad_since_s is not None:
        return state.bad_since_s
    first_s, good_s = now_s, None
    for time_s, loss, _ in reversed(state.window):
        if loss > kappa:
            first_s = time_s
        elif time_s < now_s:
            good_s = time_s
            break
    return (first_s + (first_s - step_s if good_s is None else good_s)) / 2


def with_growth(
    state: State,
    now_s: float,
    loss: float,
    smoothed: float,
    step_s: float,
    tolerance: Tolerance,
    detection: Detection,
) -> State:
    """Note since when the loss is one that can be confirmed, and the losses before and since."""
    rate = (smoothed - tolerance.confirm_kappa) / tolerance.scale
    grown_s = added(state.grown_s, rate, step_s, detection.sustain_s)
    if grown_s <= 0:
        if state.grown_since_s is None:
            return state
        return replace(state, grown_s=0.0, grown_since_s=None, smaller=(), larger=Losses())
    if state.grown_since_s is None:
        since_s = begin_s(state, now_s, step_s, tolerance.confirm_kappa)
        state = replace(state, grown_since_s=since_s, smaller=state.losses.values)
    return replace(state, grown_s=grown_s, larger=state.larger.and_one(loss))


def since_it_grew(state: State, now_s: float, tolerance: Tolerance, detection: Detection) -> State:
    """The loss with the onset of what it grew to, where it grew for a whole horizon, by more than the tolerance and by
    more than chance."""
    if state.grown_since_s is None or state.onset_s is None or state.grown_s < alarm_after_s(state, detection):
        return state
    if not state.smaller:
        return state
    apart_s = INDEPENDENT_SHARE * detection.sustain_s
    before = min(len(state.smaller), max(1.0, (state.grown_since_s - state.onset_s) / apart_s))
    since = min(len(state.larger.values), max(1.0, (now_s - state.grown_since_s) / apart_s))
    growth = median(state.larger.values) - median(state.smaller)
    if growth <= tolerance.kappa + tolerance.told_from_noise(before * since / (before + since)):
        return state
    return replace(state, onset_s=state.grown_since_s, losses=state.larger)

"""When a loss began. A drift at the edge of the tolerance may stand for hours, too small to be confirmed, when another
loss comes on top of it: what is confirmed then began with that one."""

from statistics import median

from mfu_operator.detect.evidence import INDEPENDENT_SHARE, Growth, Loss, State, added, alarm_after_s
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


def grown(
    state: State,
    now_s: float,
    loss: float,
    smoothed: float,
    step_s: float,
    tolerance: Tolerance,
    detection: Detection,
) -> Growth:
    """Since when the loss is one that can be confirmed, and the losses before and since."""
    before = state.loss.growth
    rate = (smoothed - tolerance.confirm_kappa) / tolerance.scale
    evidence_s = added(before.evidence_s, rate, step_s, detection.sustain_s)
    if evidence_s <= 0:
        return Growth()
    since_s, smaller = before.since_s, before.smaller
    if since_s is None:
        since_s, smaller = begin_s(state, now_s, step_s, tolerance.confirm_kappa), state.loss.losses.values
    return Growth(evidence_s, since_s, smaller, before.larger.and_one(loss))


def since_it_grew(state: State, now_s: float, tolerance: Tolerance, detection: Detection) -> Loss:
    """The loss with the onset of what it grew to, where it grew for a whole horizon, by more than the tolerance and by
    more than chance."""
    loss, growth = state.loss, state.loss.growth
    if growth.since_s is None or loss.onset_s is None or growth.evidence_s < alarm_after_s(state, detection):
        return loss
    if not growth.smaller:
        return loss
    apart_s = INDEPENDENT_SHARE * detection.sustain_s
    before = min(len(growth.smaller), max(1.0, (growth.since_s - loss.onset_s) / apart_s))
    since = min(len(growth.larger.values), max(1.0, (now_s - growth.since_s) / apart_s))
    by = median(growth.larger.values) - median(growth.smaller)
    if by <= tolerance.kappa + tolerance.told_from_noise(before * since / (before + since)):
        return loss
    return loss._replace(onset_s=growth.since_s, losses=growth.larger)

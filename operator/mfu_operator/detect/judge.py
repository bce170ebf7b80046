"""The verdict: what the evidence amounts to now, in numbers and in one sentence."""

import math

from mfu_operator.detect.cleaning import STRENGTH, level_of
from mfu_operator.detect.evidence import Shown, State, alarm_after_s, smallest_visible_loss
from mfu_operator.detect.formatting import bare, duration, name_of, per_cent, quantity
from mfu_operator.detect.statistics import FEWEST_RUNS, LEVEL_SIGMAS, Tolerance, tolerance_of
from mfu_operator.model.baseline import Baseline, Detection, Signal
from mfu_operator.model.verdict import Gate, Judgement, Verdict

_STALE_SHARE = 0.5
"""Without any reading for 5 minutes (of 10) there is no data: Prometheus' own look-back is as long."""

_SOONEST_STALE_S = 60.0
"""… but never before two scrapes of the usual 30 s, however short the horizon."""

_GATED_SHARE = 2.0
"""After 20 minutes (of 10) without a usable one, gated readings no longer say that the job is well."""

_OWN = frozenset({Gate.PROFILING})
"""The gate of our own Jobs, which their deadlines end: a loss that is being profiled is not taken back for it."""


def judge(
    state: State, baseline: Baseline, detection: Detection, now_s: float, differences: tuple[str, ...] = ()
) -> Judgement:
    """The judgement now.

    Args:
        state: the evidence so far.
        baseline: the level and spread it was gathered against.
        detection: tolerance and horizons.
        now_s: the time of judging.
        differences: fields in which the job is not the baseline's (`comparable.differences`).
    """
    tolerance = tolerance_of(baseline.spread, detection)
    verdict, reason, message = _decide(state, baseline, detection, tolerance, now_s, differences)
    signal = _signal(state, baseline)
    reference = level_of(baseline.level, signal) if signal else None
    value = state.value if state.signal is signal else None
    return Judgement(
        verdict=verdict,
        reason=reason,
        message=message,
        signal=str(signal) if signal else "",
        gates=tuple(sorted(state.gates)),
        value=value,
        baseline=reference,
        limit=None if reference is None or signal is None else _limit(signal, reference, tolerance),
        tolerance=tolerance.ratio,
        change=None if signal is None else _change(signal, value, reference),
        evidence_s=state.evidence_s,
        sustain_s=alarm_after_s(state, detection),
        confirm_evidence_s=min(state.alarm.after_s, detection.confirm_s),
        confirm_s=detection.confirm_s,
        recover_evidence_s=state.alarm.recover_s,
        recover_s=detection.recover_s,
        onset_s=state.onset_s,
        drop=state.drop if state.alarmed else None,
        confirmed=state.alarmed and state.confirmed,
        recovered=state.alarm.recovered_at_s is not None and not state.alarmed,
        smallest_visible_drop=smallest_visible_loss(tolerance, alarm_after_s(state, detection), detection),
        last_usable_s=state.usable_s,
    )


def stale_after_s(detection: Detection) -> float:
    """How old the last reading may be before there is no data."""
    return max(_SOONEST_STALE_S, _STALE_SHARE * detection.sustain_s)


def _decide(
    state: State,
    baseline: Baseline,
    detection: Detection,
    tolerance: Tolerance,
    now_s: float,
    differences: tuple[str, ...],
) -> tuple[Verdict, str, str]:
    if differences:
        return Verdict.NOT_COMPARABLE, "ConfigurationDiffers", f"not the baseline's job: {'; '.join(differences)}"
    if not any(level_of(baseline.level, signal) for signal in STRENGTH):
        return Verdict.NO_DATA, "NoBaseline", "no baseline level is declared or recorded yet"
    if tolerance.too_noisy and not state.alarmed:
        return Verdict.NOT_COMPARABLE, "BaselineTooNoisy", _too_noisy(tolerance)
    limit_s = alarm_after_s(state, detection)
    if state.doubt.unusual_s >= limit_s:
        return Verdict.NOT_COMPARABLE, "UnitChanged", _unit_changed(state, baseline)
    if state.doubt.contradicting and state.doubt.contradiction_s >= limit_s:
        return Verdict.NOT_COMPARABLE, "SignalsDisagree", _disagree(state.doubt.contradicting, tolerance)
    missing = _no_data(state, detection, now_s)
    if missing:
        return Verdict.NO_DATA, *missing
    if state.alarmed:
        return Verdict.REGRESSED, "SustainedLoss", _regressed(state, baseline, tolerance, now_s)
    reason = "EvidenceCollecting" if state.evidence_s > 0 else "WithinTolerance"
    return Verdict.HEALTHY, reason, _healthy(state, baseline, tolerance, limit_s)


def _no_data(state: State, detection: Detection, now_s: float) -> tuple[str, str] | None:
    if state.reading_s is None:
        return "NoReadings", "no reading of this job has arrived yet: `kubectl mfu doctor` shows what was asked for"
    if now_s - state.reading_s > stale_after_s(detection):
        return "Stale", f"the last reading is {duration(now_s - state.reading_s)} old: is the job running and scraped?"
    if Gate.HUNG in state.gates:
        since = "" if state.run.step_moved_s is None else f" for {duration(now_s - state.run.step_moved_s)}"
        return "Hung", f"the step counter has stayed at {state.run.step:g}{since}"
    if state.alarmed and state.gates == _OWN:
        return None
    longest_s = max(_SOONEST_STALE_S, _GATED_SHARE * detection.sustain_s)
    unusable_s = math.inf if state.usable_s is None else now_s - state.usable_s
    if state.gates and unusable_s > longest_s:
        return "Gated", f"readings arrive and none counts: the job is {_gates(state)}"
    if state.usable_s is None:
        return "NoUsableSignal", "readings arrive, and none of the signals that the baseline declares is among them"
    if unusable_s > longest_s:
        told = f"none of the last {duration(unusable_s)} says anything new of the speed"
        return "NoUsableSignal", f"readings arrive, and {told}: they are not numbers above 0, or the same again"
    return None


def _signal(state: State, baseline: Baseline) -> Signal | None:
    if state.signal is not None:
        return state.signal
    return next((signal for signal in STRENGTH if level_of(baseline.level, signal) is not None), None)


def _limit(signal: Signal, reference: float, tolerance: Tolerance) -> float:
    keeps = 1 - tolerance.ratio
    return reference / keeps if signal is Signal.STEP_TIME else reference * keeps


def _change(signal: Signal, value: float | None, reference: float | None) -> float | None:
    if value is None or reference is None:
        return None
    return (reference / value if signal is Signal.STEP_TIME else value / reference) - 1


def _limit_text(signal: Signal, reference: float, tolerance: Tolerance) -> str:
    limit = bare(signal, _limit(signal, reference, tolerance))
    if signal is Signal.STEP_TIME:
        return f"limit {limit} s = baseline {bare(signal, reference)} s at {per_cent(tolerance.ratio)} less speed"
    return f"limit {limit} = baseline {bare(signal, reference)} − {per_cent(tolerance.ratio)}"


def _measured(state: State, baseline: Baseline, tolerance: Tolerance, since: str) -> str:
    signal = _signal(state, baseline)
    reference = level_of(baseline.level, signal) if signal else None
    if signal is None or reference is None:
        return "nothing measured"
    value = "not measured now" if state.value is None else quantity(signal, state.value)
    return f"{name_of(signal)} {value}{since}, {_limit_text(signal, reference, tolerance)}"


def _regressed(state: State, baseline: Baseline, tolerance: Tolerance, now_s: float) -> str:
    since = "" if state.onset_s is None else f" for {duration(now_s - state.onset_s)}"
    text = _measured(state, baseline, tolerance, since)
    if state.alarm.recover_s > 0:
        text += "; within tolerance again, not yet long enough"
    elif not state.confirmed and (state.drop or 0.0) < tolerance.confirm_ratio:
        text += _too_small_to_confirm(baseline, tolerance)
    return text + (f"; gated: {_gates(state)}" if state.gates else "")


def _too_small_to_confirm(baseline: Baseline, tolerance: Tolerance) -> str:
    text = f"; not confirmed below {per_cent(tolerance.confirm_ratio)}"
    if baseline.spread.runs >= FEWEST_RUNS:
        return text
    runs = "1 run" if baseline.spread.runs <= 1 else f"{baseline.spread.runs} runs"
    return f"{text} with a baseline of {runs}: record {FEWEST_RUNS}, or declare detection.tolerance"


def _healthy(state: State, baseline: Baseline, tolerance: Tolerance, limit_s: float) -> str:
    text = _measured(state, baseline, tolerance, "") + _usual_text(state.usual)
    if state.evidence_s > 0:
        text += f"; {_progress(state.evidence_s, limit_s)} of evidence for a loss"
    if state.evidence_s >= limit_s:
        text += ", whose mean is still within the readings' own noise"
    return text + (f"; gated: {_gates(state)}" if state.gates else "")


def _usual_text(usual: float) -> str:
    return f"; earlier runs were up to {per_cent(-math.expm1(-usual))} slower than that at this age" if usual else ""


def _progress(part_s: float, whole_s: float) -> str:
    if whole_s < 90:
        return f"{part_s:.0f} of {whole_s:.0f} s"
    return f"{part_s / 60:.1f} of {whole_s / 60:g} min"


def _gates(state: State) -> str:
    return ", ".join(sorted(str(gate) for gate in state.gates))


def _too_noisy(tolerance: Tolerance) -> str:
    needed = LEVEL_SIGMAS * tolerance.level_sigma
    return (
        f"healthy runs of this baseline differ so much that only a loss beyond {per_cent(tolerance.ratio)} is seen: "
        f'record a steadier baseline, or accept that with detection.tolerance: "{math.ceil(100 * needed)}%"'
    )


def _unit_changed(state: State, baseline: Baseline) -> str:
    signal, loss = state.doubt.unusual if state.doubt.unusual is not None else (None, 0.0)
    reference = level_of(baseline.level, signal) if signal else None
    if signal is None or reference is None:
        return "the readings are in another unit than the baseline"
    value = reference * math.exp(loss if signal is Signal.STEP_TIME else -loss)
    return (
        f"{name_of(signal)} reads {bare(signal, value)} against a baseline of {bare(signal, reference)}: "
        "that is another unit (per cent, milliseconds), not another speed"
    )


def _disagree(contradicting: tuple[Shown, Shown], tolerance: Tolerance) -> str:
    moved, other = sorted(contradicting, key=lambda shown: -abs(shown[1]))
    still = abs(other[1]) <= tolerance.kappa
    rest = "that of the baseline" if still else _speed(other[1])
    means = (
        f"the formula of MFU changed{', not the speed' if still else ''}"
        if moved[0] is Signal.MFU
        else "the batch, the sequence length or the formula of one of them changed"
    )
    return (
        f"{name_of(moved[0])} shows {_speed(moved[1])} speed and {name_of(other[0])} {rest}: {means}; "
        "declare or record the baseline again if that was on purpose"
    )


def _speed(loss: float) -> str:
    """A loss d as a person says it: "13 % less"."""
    return f"{per_cent(abs(math.expm1(-loss)))} {'less' if loss > 0 else 'more'}"

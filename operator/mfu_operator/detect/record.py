"""A baseline's level and spread from the readings of healthy runs. A pure function of the readings: it may be asked
again after every reading and after every restart."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import NamedTuple

from mfu_operator.detect.advance import LONGEST_STEP_SHARE
from mfu_operator.detect.cleaning import STRENGTH, gate_of, is_restart, log_speed, tells_the_speed, values_of
from mfu_operator.detect.climb import climb_of
from mfu_operator.detect.comparable import completed, differences
from mfu_operator.detect.formatting import duration, per_cent
from mfu_operator.detect.statistics import DEFAULT_TOLERANCE, LARGEST_TOLERANCE, MEDIAN_VARIANCE, mad_sigma, spread_of
from mfu_operator.errors import Unreadable
from mfu_operator.model.baseline import Baseline, Comparable, Detection, Level, Provenance, RecordPlan, Signal
from mfu_operator.model.incident import Recording
from mfu_operator.model.series import Reading

_BLOCK_SHARE = 1.5
"""Blocks whose medians tell slow drift: 15 minutes with a horizon of 10."""

_FEWEST_READINGS = 12
"""Fewer give no median deviation worth a name (its own error is then beyond a third)."""

_MOST_TENTHS = 20
"""A level that is not steady within three times the span asked for will not become one."""

_CHANCE_SIGMAS = 2.0
"""A trend within two of its own standard errors may be chance."""

_TREND_SHARE = 0.5
"""The first and the last third of a run may differ by half of the tolerance: more, and the level is not one yet."""


@dataclass(slots=True)
class _Run:
    """Usable readings of one incarnation after its warm-up: (time, seconds it stands for, values).

    `info` is what the job said of itself.
    """

    started_s: float
    points: list[tuple[float, float, dict[Signal, float]]] = field(default_factory=list)
    info: Mapping[str, str] = field(default_factory=dict)

    @property
    def collected_s(self) -> float:
        return sum(step_s for _, step_s, _ in self.points)

    def last(self, span_s: float) -> "_Run":
        """The newest part that covers `span_s` of usable time and the fewest readings, or all there is."""
        covered = 0.0
        for index in range(len(self.points) - 1, -1, -1):
            covered += self.points[index][1]
            if covered >= span_s and len(self.points) - index >= _FEWEST_READINGS:
                return _Run(self.points[index][0], self.points[index:])
        return self

    def logs(self, signal: Signal) -> list[tuple[float, float]]:
        return [(time_s, log_speed(signal, values[signal])) for time_s, _, values in self.points if signal in values]


def record(
    readings: Sequence[Reading],
    plan: RecordPlan,
    started_at: float,
    detection: Detection | None = None,
) -> Recording | Baseline:
    """The baseline, or how far it is.

    A run is one incarnation of the workload; `plan.runs` of them are needed, each with `plan.duration_s` of usable
    readings in the running phase after `plan.warmup_s`. Of a longer run the newest part counts, so that a run that was
    unsteady at first is accepted once it is steady; how runs climb to the level is kept of those whose beginning is
    among the readings. Runs that say that they are of another configuration than the
    newest do not count.

    Args:
        readings: all since `started_at` (older ones are ignored), oldest first.
        plan: duration, warm-up, runs.
        started_at: when recording began, Unix seconds.
        detection: tolerance and horizons that the baseline will be judged with.
    """
    rule = detection or Detection()
    since = [reading for reading in readings if reading.time_s >= started_at]
    runs, unlike = _alike(_runs(since, plan, rule))
    signal = _strongest(runs)
    steady: list[_Run] = []
    problem: str | None = None
    for run in runs:
        if run.collected_s < plan.duration_s:
            if run is not runs[-1]:
                problem = f"a run ended after {duration(run.collected_s)} of usable readings"
            continue
        window = run.last(plan.duration_s)
        unsteady = _unsteady(window, signal, rule) if signal else "no signal"
        if unsteady is None:
            steady.append(window)
        problem = unsteady
    if signal and len(steady) >= plan.runs:
        found = _baseline(steady[-plan.runs :], signal, rule)
        return replace(found, climb=climb_of(list(_incarnations(since))[1:], found.level))
    return _progress(runs, steady, plan, started_at, problem or unlike or _none_counts(since))


def _none_counts(readings: Sequence[Reading]) -> str | None:
    """Why nothing is collected, where not a single reading counts."""
    if not readings or any(_counting(reading) for reading in readings):
        return None
    gates = sorted({str(gate) for gate in map(gate_of, (reading.phase for reading in readings)) if gate})
    why = f"the job is in {', '.join(gates)}" if gates else "they hold no mfu, throughput or step time above 0"
    return f"none of the readings counts: {why}"


def _counting(reading: Reading) -> dict[Signal, float]:
    """The values of a reading of the running phase."""
    return {} if gate_of(reading.phase) else values_of(reading)


class FirstLevel(NamedTuple):
    """A baseline from a series itself, since when it is that of it, and what is doubtful about that (None: nothing)."""

    baseline: Baseline
    doubt: str | None
    since_s: float


def record_first(readings: Sequence[Reading], span_s: float, detection: Detection) -> FirstLevel:
    """A baseline from the first `span_s` of a series.

    A twentieth of the span, at most 5 minutes, is taken as warm-up. While the span is not steady it is moved on through
    the series by its tenths; where no span is, the first one is taken with what it shows. A series that is shorter than
    three spans gives its first third.

    Raises:
        Unreadable: (NothingToRecord) where there are too few usable readings.
    """
    if not readings:
        raise Unreadable("NothingToRecord", "the series has no readings")
    begin_s, end_s = readings[0].time_s, readings[-1].time_s
    span_s = min(span_s, (end_s - begin_s) / 3)
    plan = RecordPlan(duration_s=span_s, warmup_s=min(300.0, span_s / 20))
    problem: str | None = None
    for tenth in range(_MOST_TENTHS):
        until_s = begin_s + 2 * plan.warmup_s + span_s * (1 + tenth / 10)
        if until_s > end_s:
            break
        run = _joined(_runs([reading for reading in readings if reading.time_s <= until_s], plan, detection)).last(
            span_s
        )
        signal = _strongest([run])
        unsteady = _unsteady(run, signal, detection) if signal else "none of the readings is usable"
        if unsteady is None and signal is not None:
            later = f"the first {duration(span_s)} give no level, so it was recorded later: {problem}"
            return FirstLevel(_baseline([run], signal, detection), later if problem else None, run.points[0][0])
        problem = problem or unsteady
    run = _joined(_runs([reading for reading in readings if reading.time_s <= begin_s + span_s], plan, detection))
    signal = _strongest([run])
    if signal is None:
        raise Unreadable("NothingToRecord", f"no baseline can be recorded from the series: {problem}")
    never = f"no part of the series gives a level, so the operator would record none: {problem}"
    return FirstLevel(_baseline([run], signal, detection), never, run.points[0][0])


def _joined(runs: Sequence[_Run]) -> _Run:
    return _Run(runs[0].started_s, [point for run in runs for point in run.points])


def _runs(readings: Sequence[Reading], plan: RecordPlan, rule: Detection) -> list[_Run]:
    """Usable readings by incarnation; a gated reading ends the span that the next one stands for."""
    longest_s = LONGEST_STEP_SHARE * rule.sustain_s
    runs: list[_Run] = []
    for group in _incarnations(readings):
        begun_s: float | None = None
        before_s = group[0].time_s
        step: float | None = None
        run = _Run(before_s)
        for reading in group:
            if reading.step is not None and reading.step == step:
                continue
            step = reading.step
            values = _counting(reading) if tells_the_speed(group[0].incarnation, reading) else {}
            if values:
                begun_s = reading.time_s if begun_s is None else begun_s
                if reading.time_s - begun_s >= plan.warmup_s:
                    run.points.append((reading.time_s, min(reading.time_s - before_s, longest_s), values))
            before_s = reading.time_s
        run.info = next((reading.info for reading in reversed(group) if reading.info), {})
        runs.append(run)
    return runs


def _alike(runs: Sequence[_Run]) -> tuple[Sequence[_Run], str | None]:
    """The runs that are the newest one's job as far as they say, and in what others differ."""
    newest = runs[-1].info if runs else {}
    job = completed(Comparable(newest.get("model", "")), newest, {})
    unlike = {id(run): differences(job, run.info, {}) for run in runs}
    others = sorted({told for run in runs for told in unlike[id(run)]})
    kept = [run for run in runs if not unlike[id(run)]]
    return kept, f"runs of another configuration do not count: {'; '.join(others)}" if others else None


def _incarnations(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    group: list[Reading] = []
    for reading in readings:
        if group and is_restart(group[0].incarnation, group[-1].step, reading):
            yield group
            group = []
        group.append(reading)
    if group:
        yield group


def _strongest(runs: Sequence[_Run]) -> Signal | None:
    for signal in STRENGTH:
        if any(signal in values for run in runs for _, _, values in run.points):
            return signal
    return None


def _unsteady(run: _Run, signal: Signal, rule: Detection) -> str | None:
    """Why a run is not a baseline: too few readings, a trend, or too much noise."""
    logs = [value for _, value in run.logs(signal)]
    if len(logs) < _FEWEST_READINGS:
        return f"{len(logs)} readings in {duration(run.collected_s)} are too few: record longer, or scrape more often"
    tolerance = rule.tolerance if rule.tolerance is not None else DEFAULT_TOLERANCE
    third = len(logs) // 3
    trend = median(logs[-third:]) - median(logs[:third])
    noise = mad_sigma(logs)
    if abs(trend) > _TREND_SHARE * tolerance:
        unsteady = (
            f"the run is not steady: it became {per_cent(abs(trend))} {'faster' if trend > 0 else 'slower'} while "
            f"recorded, and a level permits {per_cent(_TREND_SHARE * tolerance)} at most"
        )
        if abs(trend) < _CHANCE_SIGMAS * noise * math.sqrt(2 * MEDIAN_VARIANCE / third):
            return f"{unsteady}; the noise of its readings does that in so short a time: record longer"
        return unsteady
    most = max(LARGEST_TOLERANCE, tolerance)
    if noise > most:
        return f"the run is too noisy: readings vary by {per_cent(noise)}, and a level permits {per_cent(most)} at most"
    return None


def _baseline(runs: Sequence[_Run], signal: Signal, rule: Detection) -> Baseline:
    """Levels are medians over the runs of each run's median, for every signal that was present."""
    block_s = _BLOCK_SHARE * rule.sustain_s
    return Baseline(
        level=Level(
            mfu=_level(runs, Signal.MFU),
            step_time_s=_level(runs, Signal.STEP_TIME),
            throughput=_level(runs, Signal.THROUGHPUT),
        ),
        spread=spread_of([run.logs(signal) for run in runs], block_s),
        provenance=Provenance.RECORDED,
        recorded_at=runs[-1].points[-1][0],
    )


def _level(runs: Sequence[_Run], signal: Signal) -> float | None:
    medians = [
        median(values)
        for values in ([values[signal] for _, _, values in run.points if signal in values] for run in runs)
        if values
    ]
    return median(medians) if medians else None


def _progress(
    runs: Sequence[_Run], steady: Sequence[_Run], plan: RecordPlan, started_at: float, problem: str | None
) -> Recording:
    collected_s = runs[-1].collected_s if runs else 0.0
    return Recording(
        started_at=started_at,
        collected_s=min(collected_s, plan.duration_s),
        needed_s=plan.duration_s,
        run=min(len(steady) + 1, plan.runs),
        runs=plan.runs,
        problem=problem,
    )

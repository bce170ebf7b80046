"""What the operator would have said over a span of readings, and when. The same code as in the operator, reading by
reading."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from mfu_operator.detect.advance import GAP_SHARE, LONGEST_STEP_SHARE, advance
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.evidence import as_of_now, initial
from mfu_operator.detect.formatting import duration
from mfu_operator.detect.judge import judge, stale_after_s
from mfu_operator.model.baseline import Baseline, Comparable, Detection
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict

_MISSED = 3.0
"""A log that was written every ten minutes is silent after three lines that did not come."""


_GATED_SHARE = 2.0
"""A log is silent during an evaluation, where an exporter goes on: 20 minutes (of 10), as for gated readings."""


_INCOMPARABLE = frozenset({Gate.INCOMPARABLE})


@dataclass(frozen=True, slots=True)
class Said:
    """One thing said. event is "Regressed", "Confirmed", "Recovered", "NoData" or "NotComparable"; drop is relative.

    A recovery carries the onset and the drop of what it ends.
    """

    event: str
    time_s: float
    onset_s: float | None
    drop: float | None
    message: str


@dataclass(frozen=True, slots=True)
class Span:
    """Readings from `start_s` to `end_s` that a gate kept from counting."""

    gate: Gate
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Replay:
    """What was said, what was gated, and the judgement at the end (None without readings).

    `usable_s` is what the readings that counted stand for.
    """

    said: tuple[Said, ...]
    gated: tuple[Span, ...]
    last: Judgement | None
    usable_s: float

    @property
    def confirmed(self) -> Said | None:
        """The first loss that was confirmed."""
        return next((each for each in self.said if each.event == "Confirmed"), None)


def replay(
    readings: Sequence[Reading],
    baseline: Baseline,
    detection: Detection,
    comparable: Comparable | None = None,
    follow: Callable[[float, Judgement], None] | None = None,
    born_s: float | None = None,
) -> Replay:
    """Judge after every reading, and before every one that comes after a silence.

    Args:
        readings: oldest first.
        baseline: level and spread. Of one that was recorded, nothing is said before `recorded_at`: until then the
            operator had no level. What it had read by then it knows: which pods run, and how far they are.
        detection: tolerance and horizons.
        comparable: what the job must be for a reading to count, as far as the reading tells; None: anything.
        born_s: when the run of the first readings began, where they are of its beginning.
        follow: called with time and judgement after every reading.
    """
    state = initial(baseline.recorded_at, born_s)
    teller = _Teller()
    quiet_s = max(stale_after_s(detection), _MISSED * _usual_gap(readings)) + 1.0
    gated_s = max(quiet_s, _GATED_SHARE * detection.sustain_s)
    gates = _Gates()
    usable_s = 0.0
    last: Judgement | None = None
    known_s = -math.inf if baseline.recorded_at is None else baseline.recorded_at
    for reading in readings:
        if reading.time_s <= known_s:
            state = as_of_now(advance(state, reading, baseline, detection))
            continue
        if state.reading_s is not None:
            moment_s = state.reading_s + (gated_s if state.gates else quiet_s)
            if moment_s < reading.time_s:
                teller.hear(moment_s, judge(state, baseline, detection, moment_s))
        before = state
        unlike = differences(comparable, reading.info, {}) if comparable is not None and reading.info else ()
        state = advance(state, reading, baseline, detection, _INCOMPARABLE if unlike else frozenset())
        if state.usable_s != before.usable_s and before.counted_s is not None:
            usable_s += min(reading.time_s - before.counted_s, LONGEST_STEP_SHARE * detection.sustain_s)
        last = judge(state, baseline, detection, reading.time_s, unlike)
        teller.hear(reading.time_s, last)
        gates.hear(reading.time_s, last.gates)
        if follow is not None:
            follow(reading.time_s, last)
    return Replay(tuple(teller.said), tuple(gates.closed), last, usable_s)


def too_far_between(readings: Sequence[Reading], detection: Detection) -> str | None:
    """What it means for the rule where readings come more seldom than each may count for; None where they do not."""
    gap_s = _usual_gap(readings)
    most_s, forget_s = LONGEST_STEP_SHARE * detection.sustain_s, GAP_SHARE * detection.sustain_s
    if gap_s > forget_s:
        return (
            f"a reading comes every {duration(gap_s)}, and {duration(forget_s)} without one forget what was collected: "
            "no loss can be seen in this series (are its times milliseconds?)"
        )
    if gap_s > most_s:
        takes_s = math.ceil(detection.sustain_s / most_s) * gap_s
        return (
            f"a reading comes every {duration(gap_s)} and counts for {duration(most_s)} at most: "
            f"a loss is Regressed after {duration(takes_s)}, not {duration(detection.sustain_s)}"
        )
    return None


def _usual_gap(readings: Sequence[Reading]) -> float:
    return median([after.time_s - before.time_s for before, after in pairwise(readings)] or [0.0])


class _Teller:
    """Tells transitions, each once."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self._before: Verdict | None = None
        self._in_incident = False
        self._confirmed = False
        self._loss: tuple[float | None, float | None] = (None, None)

    def hear(self, time_s: float, judgement: Judgement) -> None:
        """Compare with what was heard before."""
        if judgement.drop is not None:
            self._loss = judgement.onset_s, judgement.drop
        if judgement.verdict is Verdict.REGRESSED and not self._in_incident:
            self._in_incident = True
            self._say("Regressed", time_s, judgement)
        if judgement.confirmed and not self._confirmed:
            self._confirmed = True
            self._say("Confirmed", time_s, judgement)
        if judgement.recovered and self._in_incident:
            self._in_incident = self._confirmed = False
            self._say("Recovered", time_s, judgement)
        quiet = judgement.verdict in (Verdict.NO_DATA, Verdict.NOT_COMPARABLE)
        if quiet and judgement.verdict is not self._before and self._before is not None:
            self._say(str(judgement.verdict), time_s, judgement)
        self._before = judgement.verdict

    def _say(self, event: str, time_s: float, judgement: Judgement) -> None:
        onset_s, drop = self._loss if event == "Recovered" else (judgement.onset_s, judgement.drop)
        self.said.append(Said(event, time_s, onset_s, drop, judgement.message))


class _Gates:
    """Joins gated readings to spans."""

    def __init__(self) -> None:
        self.closed: list[Span] = []
        self._joins = False

    def hear(self, time_s: float, gates: Sequence[Gate]) -> None:
        """The gates that are closed at a reading."""
        for gate in gates:
            if self.closed and self.closed[-1].gate is gate and self._joins:
                self.closed[-1] = Span(gate, self.closed[-1].start_s, time_s)
            else:
                self.closed.append(Span(gate, time_s, time_s))
        self._joins = bool(gates)

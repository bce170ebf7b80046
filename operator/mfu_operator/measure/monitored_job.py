"""What is remembered of one baseline between two sweeps, and how its readings become evidence.

Nothing here waits for a source. A `State` of a few hundred bytes and the last reading are kept, and, only while a
baseline is being recorded, the readings since then.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from mfu_operator.detect.advance import advance
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.evidence import State, initial, of_another_loss, reopened, resumed
from mfu_operator.detect.judge import judge
from mfu_operator.detect.utilisation import with_mfu
from mfu_operator.errors import MfuError
from mfu_operator.measure.gates import Gates
from mfu_operator.measure.hardware_record import HardwareRecord
from mfu_operator.measure.terms import Terms
from mfu_operator.measure.trail import NO_TRAIL, Trail
from mfu_operator.measure.view import RunMark, SweepView
from mfu_operator.measure.vitals_record import VitalsRecord
from mfu_operator.model.baseline import BaselineSpec, WorkloadRef
from mfu_operator.model.series import Reading, TimeSpan
from mfu_operator.model.verdict import Gate

_MOST_RECORDED = 50_000
"""Readings kept for one recording: two weeks at 30 s, 30 MB."""

_ONSETS_APART_S = 1.0
"""An onset that was read back from the status has lost its microseconds; one of another incident differs by more."""

_AFTER_GATE_SHARE = 0.25
"""Readings are means over a window: after a gate opens, the next 2.5 of 10 minutes may still hold what it hid."""


@dataclass(frozen=True, slots=True)
class SpeedRecord:
    """What the readings amount to. `history_read`: those of the time before it was registered are among them."""

    history_read: bool = False
    state: State = field(default_factory=initial)
    latest: Reading | None = None
    readings: tuple[Reading, ...] = ()
    trail: Trail = NO_TRAIL

    @property
    def run(self) -> RunMark | None:
        """Which run it is; None before any reading."""
        if self.latest is None:
            return None
        run = self.state.run
        return RunMark(run.incarnation or self.latest.incarnation, run.restarts, self.latest.info)


class MonitoredJob:
    """One registered baseline. Any thread may call; the sweep of its source alone calls what takes readings.

    Args:
        terms: what it is measured by.
        gates: when readings do not count.
        vitals: what is remembered of its memory; that of the job before it where that read the same.
        problem: why its source cannot be opened.
    """

    def __init__(self, terms: Terms, gates: Gates, vitals: VitalsRecord, problem: MfuError | None) -> None:
        self._lock = Lock()
        self._terms = terms
        self._gates = gates
        self._problem = problem
        self._speed = SpeedRecord()
        self._hardware = HardwareRecord()
        self._compared: tuple[Mapping[str, str], tuple[str, ...]] | None = None
        self.vitals = vitals

    @property
    def terms(self) -> Terms:
        """What it is measured by."""
        return self._terms

    @property
    def spec(self) -> BaselineSpec:
        """What it declares."""
        return self._terms.spec

    @property
    def workload(self) -> WorkloadRef:
        """The training job."""
        return self._terms.workload

    @property
    def problem(self) -> MfuError | None:
        """Why its source cannot be opened; None where it can."""
        return self._problem

    @property
    def speed(self) -> SpeedRecord:
        """What its readings amount to."""
        return self._speed

    @property
    def hardware(self) -> HardwareRecord:
        """What is known of its GPUs."""
        return self._hardware

    @property
    def began_s(self) -> float | None:
        """When the loss that is open began."""
        onset_s = self._speed.state.onset_s
        return onset_s if onset_s is not None else self._terms.incident_since_s

    @property
    def holds_baseline(self) -> bool:
        """Whether the run is at work and holds its baseline: what its hardware reads now is usual."""
        state = self._speed.state
        losing = state.alarmed or state.start.waiting or state.gates or state.evidence_s > 0
        return not losing and state.usable_s is not None

    def registered(
        self, terms: Terms, gated: Mapping[Gate, Sequence[TimeSpan]] | None, problem: MfuError | None, now_s: float
    ) -> "MonitoredJob":
        """The job that goes by these terms: this one, or a fresh one where what is in memory was gathered with
        another measure, or before anybody said that a part of it does not count."""
        with self._lock:
            if self._terms.measure_as(terms) and not self._read_in_ignorance(terms.facts, gated, now_s):
                self._go_by(terms, gated, problem)
                return self
            vitals = self.vitals if self._terms.reads_as(terms) else VitalsRecord()
            gates = Gates(self._gates.spans).updated(gated)
        return MonitoredJob(terms, gates, vitals, problem)

    def close(self, gate: Gate, from_s: float, to_s: float) -> None:
        """Let readings of a span not count, in place of the spans of this gate before."""
        with self._lock:
            self._gates = self._gates.closed(gate, from_s, to_s)

    def fill(self, readings: Sequence[Reading], from_s: float) -> None:
        """Take a history. An alarm that stood when the open incident began was of the loss before it."""
        with self._lock:
            onset_s = self._terms.incident_since_s
            if onset_s is None:
                self._take(readings)
            else:
                if onset_s < from_s:
                    self._becomes(resumed(True, onset_s))
                self._take([reading for reading in readings if reading.time_s < onset_s])
                if self._speed.state.alarmed:
                    self._becomes(of_another_loss(self._speed.state, onset_s))
                self._take(readings)
                self._becomes(reopened(self._speed.state, onset_s))
            self._speed = replace(self._speed, history_read=True)

    def take(self, readings: Sequence[Reading]) -> None:
        """Advance the evidence by the readings that are new."""
        with self._lock:
            self._take(readings)

    def note_hardware(self, record: HardwareRecord) -> None:
        """Note what is known of its GPUs now."""
        self._hardware = record

    def view(self, now_s: float, problem: MfuError | None) -> SweepView:
        """What is known of it now, `problem` being what is wrong with its source."""
        with self._lock:
            terms, speed, hardware = self._terms, self._speed, self._hardware
            latest = speed.latest
            mismatches = self._mismatches(latest.info if latest is not None else {})
        spec, baseline, state = terms.spec, terms.baseline, speed.state
        filled = speed.history_read and (hardware.complete or terms.incident_since_s is None or not state.alarmed)
        step_s = baseline.level.step_time_s if baseline is not None else None
        judged = None
        if filled and baseline is not None:
            judged = judge(state, baseline, spec.detection, now_s, mismatches)
        return SweepView(
            filled=filled,
            judgement=judged,
            mismatches=mismatches,
            symptoms=self.vitals.symptoms(spec.watch, spec.detection, step_s, now_s) if speed.history_read else None,
            readings=speed.readings,
            latest=latest,
            run=speed.run,
            trail=speed.trail,
            problem=problem,
            hardware=hardware,
        )

    def _read_in_ignorance(
        self, facts: Mapping[str, str], gated: Mapping[Gate, Sequence[TimeSpan]] | None, now_s: float
    ) -> bool:
        """Whether the history was read before anybody said that it, or a part of it, does not count."""
        if self._gates.known or not self._speed.history_read or gated is None:
            return False
        since_s = now_s - self._terms.history_s(now_s)
        if any(to_s > since_s for spans in gated.values() for _, to_s in spans):
            return True
        info = self._speed.latest.info if self._speed.latest is not None else {}
        return bool(facts and differences(self.spec.comparable, info, facts))

    def _go_by(self, terms: Terms, gated: Mapping[Gate, Sequence[TimeSpan]] | None, problem: MfuError | None) -> None:
        """Go by what is said of the same measure now: a recording goes on from when it began here."""
        before, self._problem = self._terms, problem
        if (before.spec.comparable, before.facts) != (terms.spec.comparable, terms.facts):
            self._compared = None
        self._terms = replace(before, spec=terms.spec, facts=terms.facts, incident_since_s=terms.incident_since_s)
        self._gates = self._gates.updated(gated)
        self._note_incident(before.incident_since_s, terms.incident_since_s)

    def _note_incident(self, known_since_s: float | None, since_s: float | None) -> None:
        """Go by the incident that is open in the status: an alarm is its, or was of the loss before it."""
        if since_s is None or not self._speed.history_read:
            return
        self._becomes(reopened(self._speed.state, since_s))
        if known_since_s is not None and since_s > known_since_s + _ONSETS_APART_S:
            self._becomes(of_another_loss(self._speed.state, since_s))

    def _becomes(self, state: State) -> None:
        self._speed = replace(self._speed, state=state)

    def _take(self, readings: Sequence[Reading]) -> None:
        speed, terms = self._speed, self._terms
        last_s = speed.latest.time_s if speed.latest else -math.inf
        fresh = [with_mfu(reading, terms.spec) for reading in readings if reading.time_s > last_s]
        if not fresh:
            return
        self.vitals.read(fresh)
        gates = [self._gates_at(reading) for reading in fresh]
        state, trail = speed.state, speed.trail
        if terms.baseline is not None:
            for reading, held in zip(fresh, gates, strict=True):
                state = advance(state, reading, terms.baseline, terms.spec.detection, held)
                if state.signal is not None and state.recent:
                    trail = trail.passed(state.signal, *state.recent[-1])
        kept = [fresh[-1]]
        if terms.recording_since_s is not None:
            counting = (reading for reading, held in zip(fresh, gates, strict=True) if not held)
            kept = [*speed.readings, *counting][-_MOST_RECORDED:]
        self._speed = SpeedRecord(
            speed.history_read,
            state,
            fresh[-1],
            tuple(kept),
            trail,
        )

    def _gates_at(self, reading: Reading) -> frozenset[Gate]:
        held = self._gates.at(reading.time_s, _AFTER_GATE_SHARE * self.spec.detection.sustain_s)
        return held | {Gate.INCOMPARABLE} if self._mismatches(reading.info) else held

    def _mismatches(self, info: Mapping[str, str]) -> tuple[str, ...]:
        """In what the job that said so differs from the baseline's. It says the same for hours: it is compared once."""
        known = self._compared
        if known is None or known[0] != info:
            known = self._compared = (info, differences(self.spec.comparable, info, self._terms.facts))
        return known[1]


def workloads(baselines: Sequence[MonitoredJob]) -> list[WorkloadRef]:
    """The workloads of these baselines, each once, in an order that does not change from sweep to sweep."""
    return sorted({one.workload for one in baselines}, key=lambda ref: (ref.namespace, ref.kind, ref.name))

"""What is remembered of one baseline between two sweeps, and how its readings become evidence.

Nothing here waits for a source; whoever calls holds the sweep's lock. A `State` of a few hundred bytes and the last
reading are kept, and, only while a baseline is being recorded, the readings since then.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from mfu_operator.detect.advance import advance
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.evidence import State, initial, of_another_loss, reopened, resumed
from mfu_operator.detect.hardware import merged
from mfu_operator.detect.utilisation import with_mfu
from mfu_operator.detect.vitals import VitalSigns
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import Baseline, BaselineSpec, WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import Metrics
from mfu_operator.runtime.occupancy import Span

_REFILL_SHARE = 4.0
"""Arming takes up to 1.5 horizons, evidence one, a gap may last two more before it is forgotten."""

_LONGEST_REFILL_S = 6 * 3600.0
"""An incident older than this is taken from the status; its readings would be hours of history for nothing new."""

_LONGEST_RECORDING_S = 7 * 86400.0
"""Runs of a recording are looked for in one week: longer, and the fleet under them has changed."""

_MOST_RECORDED = 50_000
"""Readings kept for one recording: two weeks at 30 s, 30 MB."""

_ONSETS_APART_S = 1.0
"""An onset that was read back from the status has lost its microseconds; one of another incident differs by more."""

_RANK_READINGS = 5
"""A slow rank is told by the medians of its last readings: one noisy one names nobody."""

_AFTER_GATE_SHARE = 0.25
"""Readings are means over a window: after a gate opens, the next 2.5 of 10 minutes may still hold what it hid."""


@dataclass(slots=True)
class Watched:
    """One registered baseline. Replaced as a whole where what it was measured with changes."""

    spec: BaselineSpec
    baseline: Baseline | None
    source: Metrics | None
    problem: MfuError | None
    recording_since_s: float | None
    incident_since_s: float | None
    facts: Mapping[str, str]
    gates_known: bool = False
    filled: bool = False
    state: State = field(default_factory=initial)
    readings: list[Reading] = field(default_factory=list)
    latest: Reading | None = None
    gates: dict[Gate, Sequence[Span]] = field(default_factory=dict)
    usual_hardware: tuple[HardwareReading, ...] | None = None
    usual_rank_step_s: Mapping[str, float] = field(default_factory=dict)
    last_look: tuple[float, tuple[HardwareReading, ...], Mapping[str, float]] | None = None
    """When the GPUs were last looked at while the baseline held, what they read, and the ranks' seconds per step then:
    usual once it is known that no loss had begun by then."""
    hardware: tuple[HardwareReading, ...] = ()
    looks_back: int = 0
    """How often what was usual before the loss was asked for."""
    looked: bool = False
    """Whether the hardware was looked at since the loss, and what is usual of it before."""
    ranks: tuple[Mapping[str, float], ...] = ()
    signs: VitalSigns = field(default_factory=VitalSigns)
    remembered: bool = False
    """Whether the history of its memory was read, so that its symptoms mean something."""
    compared: tuple[Mapping[str, str], Mapping[str, str], bool] | None = None
    past_span: Span | None = None
    """A span that is over, whose readings are asked for."""
    past: tuple[Reading, ...] | None = None

    @property
    def workload(self) -> WorkloadRef:
        """The training job."""
        return self.spec.workload

    @property
    def began_s(self) -> float | None:
        """When the loss that is open began."""
        return self.state.onset_s if self.state.onset_s is not None else self.incident_since_s

    @property
    def holds_baseline(self) -> bool:
        """Whether the run is at work and holds its baseline: what its hardware reads now is usual."""
        state = self.state
        losing = state.alarmed or state.arming or state.gates or state.evidence_s > 0
        return not losing and state.usable_s is not None

    def note_look(self, at_s: float, gpus: tuple[HardwareReading, ...]) -> None:
        """Note what the GPUs read while the baseline held; what they read before is usual by now."""
        self.take_as_usual(at_s)
        self.last_look = at_s, gpus, self.latest.rank_step_s if self.latest else {}

    def take_as_usual(self, before_s: float) -> None:
        """Take the last look for usual where it was before a moment, and for nothing otherwise."""
        if self.last_look is not None and self.last_look[0] < before_s:
            _, gpus, ranks = self.last_look
            self.usual_hardware = merged(self.usual_hardware or (), gpus)
            self.usual_rank_step_s = ranks
        self.last_look = None

    def is_measured_with(
        self,
        spec: BaselineSpec,
        baseline: Baseline | None,
        source: Metrics | None,
        recording_since_s: float | None,
    ) -> bool:
        """Whether what is in memory was gathered with the same workload, source, rule and level."""
        return (
            self.spec.workload == spec.workload
            and self.source is source
            and self.spec.detection == spec.detection
            and _measure(self.baseline) == _measure(baseline)
            and _covers(self.recording_since_s, recording_since_s)
        )

    def is_filled_in_ignorance(
        self, gated: Mapping[Gate, Sequence[Span]] | None, facts: Mapping[str, str] | None, now_s: float
    ) -> bool:
        """Whether the history was read before anybody said that it, or a part of it, does not count."""
        if self.gates_known or not self.filled or gated is None:
            return False
        since_s = now_s - self.history_s(now_s)
        if any(to_s > since_s for spans in gated.values() for _, to_s in spans):
            return True
        info = self.latest.info if self.latest is not None else {}
        return bool(facts and differences(self.spec.comparable, info, facts))

    def keep_from(self, before: "Watched") -> None:
        """Take over what another measure of the same workload has no say in."""
        self.gates = {**before.gates, **self.gates}
        if before.spec.workload == self.spec.workload and before.source is self.source:
            self.signs, self.remembered = before.signs, before.remembered

    def note(
        self, spec: BaselineSpec, gated: Mapping[Gate, Sequence[Span]] | None, facts: Mapping[str, str] | None
    ) -> None:
        """Go by what is said of the same measure now."""
        if self.spec.comparable != spec.comparable or self.facts != (facts or {}):
            self.facts, self.compared = facts or {}, None
        self.spec = spec
        self.gates_known = self.gates_known or gated is not None
        self.gates.update(gated or {})

    def note_incident(self, since_s: float | None) -> None:
        """Go by the incident that is open in the status: an alarm is its, or was of the loss before it."""
        known_since_s, self.incident_since_s = self.incident_since_s, since_s
        if since_s is None or not self.filled:
            return
        self.state = reopened(self.state, since_s)
        if known_since_s is not None and since_s > known_since_s + _ONSETS_APART_S:
            self.state = of_another_loss(self.state, since_s)

    def history_s(self, now_s: float) -> float:
        """How far back readings matter for this baseline."""
        usual_s = _REFILL_SHARE * self.spec.detection.sustain_s
        if self.recording_since_s is not None:
            return min(_LONGEST_RECORDING_S, max(usual_s, now_s - self.recording_since_s))
        if self.incident_since_s is not None:
            return min(_LONGEST_REFILL_S, usual_s + now_s - self.incident_since_s)
        return usual_s

    def replay(self, readings: Sequence[Reading], from_s: float) -> None:
        """Take a history. An alarm that stood when the open incident began was of the loss before it."""
        onset_s = self.incident_since_s
        if onset_s is None:
            self.take(readings)
            return
        if onset_s < from_s:
            self.state = resumed(True, onset_s)
        self.take([reading for reading in readings if reading.time_s < onset_s])
        if self.state.alarmed:
            self.state = of_another_loss(self.state, onset_s)
        self.take(readings)
        self.state = reopened(self.state, onset_s)

    def take(self, readings: Sequence[Reading]) -> None:
        """Advance the state by the readings that are new."""
        last_s = self.latest.time_s if self.latest else -math.inf
        fresh = [with_mfu(reading, self.spec) for reading in readings if reading.time_s > last_s]
        if not fresh:
            return
        self.latest = fresh[-1]
        for reading in fresh:
            self.signs.read(reading)
        if self.baseline is not None:
            for reading in fresh:
                self.state = advance(self.state, reading, self.baseline, self.spec.detection, self._gates_at(reading))
        seen = fresh[-1].rank_step_s
        self.ranks = (*self.ranks[1 - _RANK_READINGS :], seen) if seen and self.state.alarmed else ()
        if self.recording_since_s is None:
            self.readings = [fresh[-1]]
        else:
            kept = [reading for reading in fresh if not self._gates_at(reading)]
            self.readings = (self.readings + kept)[-_MOST_RECORDED:]

    def rank_step_s(self) -> dict[str, float]:
        """The median step of each rank that is in the last reading, seconds."""
        latest = self.ranks[-1] if self.ranks else {}
        return {rank: median(reading[rank] for reading in self.ranks if rank in reading) for rank in latest}

    def _gates_at(self, reading: Reading) -> frozenset[Gate]:
        after_s = _AFTER_GATE_SHARE * self.spec.detection.sustain_s
        held = {
            gate
            for gate, spans in self.gates.items()
            if any(from_s <= reading.time_s <= to_s + after_s for from_s, to_s in spans)
        }
        return frozenset(held if self._is_comparable(reading) else held | {Gate.INCOMPARABLE})

    def _is_comparable(self, reading: Reading) -> bool:
        """Whether the job was the baseline's when it was read. A job says the same for hours: it is compared once."""
        known = self.compared
        if known is None or known[0] != reading.info or known[1] is not self.facts:
            same = not differences(self.spec.comparable, reading.info, self.facts)
            known = self.compared = (reading.info, self.facts, same)
        return known[2]


def workloads(baselines: Sequence[Watched]) -> list[WorkloadRef]:
    """The workloads of these baselines, each once, in an order that does not change from sweep to sweep."""
    return sorted({one.workload for one in baselines}, key=lambda ref: (ref.namespace, ref.kind, ref.name))


def _covers(kept_since_s: float | None, wanted_since_s: float | None) -> bool:
    """Whether readings kept since one moment serve a recording that began at the other."""
    if kept_since_s is None or wanted_since_s is None:
        return kept_since_s is wanted_since_s
    return kept_since_s <= wanted_since_s


def _measure(baseline: Baseline | None) -> object:
    return None if baseline is None else (baseline.level, baseline.spread)

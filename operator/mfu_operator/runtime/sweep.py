"""Measuring, apart from reconciling: every source of readings is asked once per interval for all baselines together.

`Sweep` is called from two sides. The ticks of the baselines `register` what is to be watched and take `judgement`,
`readings` and `source_problem` from memory; none of these waits for the network. `run_once` asks the sources; it runs
in a thread of its own between `start` and `stop`. All methods may be called from any thread.

What is remembered per baseline is a `State` of a few hundred bytes and the last reading, and, only while a baseline is
being recorded, the readings since then. A baseline that is new here, or whose rule or level changed, is filled from the
source's history first, so that a restart of the operator loses no evidence.
"""

import logging
import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol, runtime_checkable

from mfu_operator.detect.comparable import differences
from mfu_operator.detect.evidence import State, advance, initial, of_another_loss, reopened, resumed
from mfu_operator.detect.hardware import Ruling, merged, rule_out
from mfu_operator.detect.judge import judge
from mfu_operator.detect.utilisation import mfu_problem, with_mfu
from mfu_operator.detect.vitals import VitalSigns
from mfu_operator.errors import MfuError, Retry, Wait
from mfu_operator.model.baseline import Baseline, BaselineSpec, WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.verdict import Gate, Judgement
from mfu_operator.model.vitals import Symptom, Vitals
from mfu_operator.ports import Credentials, Metrics, MetricsSources
from mfu_operator.runtime.occupancy import Span

log = logging.getLogger(__name__)

_PARALLEL_SOURCES = 4
"""A source that does not answer holds up a thread for its deadline; three others go on."""

_LONGEST_BACK_OFF_S = 300.0
"""A source that was down is asked again within five minutes of its return."""

_REFILL_SHARE = 4.0
"""Arming takes up to 1.5 horizons, evidence one, a gap may last two more before it is forgotten."""

_LONGEST_REFILL_S = 6 * 3600.0
"""An incident older than this is taken from the status; its readings would be hours of history for nothing new."""

_LONGEST_RECORDING_S = 7 * 86400.0
"""Runs of a recording are looked for in one week: longer, and the fleet under them has changed."""

_MOST_POINTS = 10_000
"""Prometheus refuses range queries of more than 11,000 points."""

_MOST_RECORDED = 50_000
"""Readings kept for one recording: two weeks at 30 s, 30 MB."""

_FILLED_AT_ONCE = 250
"""Histories that are in memory together: each is some dozens of kilobytes before it is the state that is kept of it."""

_EARLY_SHARE = 0.2
"""New baselines bring the next sweep forward, to a fifth of the interval: ten thousand at once do it a few times."""

_ONSETS_APART_S = 1.0
"""An onset that was read back from the status has lost its microseconds; one of another incident differs by more."""

_USUAL_EVERY = 20
"""What hardware usually reads is looked at in every twentieth sweep, of a twentieth of the baselines that hold theirs:
each ten minutes, and ten thousand are one query more a sweep."""

_BEFORE_LOSS_S = 600.0
_MOST_LOOKS_BACK = 2
"""Of a loss whose beginning this process did not see, the hardware of ten minutes before it is asked for: of losses
that began within the same ten minutes together, and of two such spans a sweep."""

_MOST_TRIES_BACK = 10
"""A Prometheus that fails for minutes holds up a diagnosis for ten sweeps; after that nothing is known to be usual."""

_RANK_READINGS = 5
"""A slow rank is told by the medians of its last readings: one noisy one names nobody."""

_SILENT_S = 300.0
"""A pod that restarts is silent for less."""

_VITALS_EVERY = 4
"""Memory and streaks are looked at in every fourth sweep, of a quarter of the baselines each: ten thousand jobs are one
query more a sweep, and a loss that is lost is told within two minutes."""

_VITALS_REFILL_S = 26 * 3600.0
_VITALS_REFILL_STEP_S = 960.0
_MOST_REFILLED = 250
"""After a restart the floors of a day are read again, of so many baselines a sweep, in one query."""

_AFTER_GATE_SHARE = 0.25
"""Readings are means over a window: after a gate opens, the next 2.5 of 10 minutes may still hold what it hid."""


@runtime_checkable
class HardwareSource(Protocol):
    """A source of readings that knows the GPUs too."""

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """The GPUs of each workload, absent keys where nothing is known of them."""


@runtime_checkable
class VitalsSource(Protocol):
    """A source of readings that knows memory and streaks too."""

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """The vitals of each workload now, absent keys where nothing is known of them."""

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """The least memory of each step of a span, oldest first."""


@runtime_checkable
class ExplainingSource(Protocol):
    """A source that knows why it has nothing of a workload."""

    def absence(self, workload: WorkloadRef) -> MfuError | None:
        """What was in the way at the last look; None where nothing was."""


@dataclass(slots=True)
class _Watched:
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

    def is_comparable(self, reading: Reading) -> bool:
        """Whether the job was the baseline's when it was read. A job says the same for hours: it is compared once."""
        known = self.compared
        if known is None or known[0] != reading.info or known[1] is not self.facts:
            same = not differences(self.spec.comparable, reading.info, self.facts)
            known = self.compared = (reading.info, self.facts, same)
        return known[2]


@dataclass(slots=True)
class _Health:
    """How a source has been answering."""

    failures: int = 0
    not_before_s: float = 0.0
    problem: MfuError | None = None


class Sweep:
    """The readings of all baselines, and the evidence in them.

    Args:
        sources: opens the source of a baseline.
        clock: the time now, Unix seconds.
        interval_s: seconds from the start of one sweep to the start of the next.
    """

    def __init__(self, sources: MetricsSources, clock: Callable[[], float], interval_s: float) -> None:
        self._sources = sources
        self._clock = clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._health: dict[Metrics, _Health] = {}
        self._stopping = threading.Event()
        self._asked_early = threading.Event()
        self._thread: threading.Thread | None = None
        self._started_s: float | None = None
        self._finished_s: float | None = None
        self._turn = 0

    def register(
        self,
        key: str,
        spec: BaselineSpec,
        baseline: Baseline | None,
        *,
        credentials: Credentials | None = None,
        incident_since_s: float | None = None,
        recording_since_s: float | None = None,
        gated: Mapping[Gate, Sequence[Span]] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Watch a baseline, or tell what changed about it; the same arguments twice change nothing.

        Args:
            key: names the baseline (its uid).
            spec: what it declares.
            baseline: the level in force; None while none is declared or recorded.
            credentials: of its metrics source. Where none can be opened with them, that of those before serves on.
            incident_since_s: the onset of the incident that is open in its status, None without one.
            recording_since_s: when the recording in progress began, None without one.
            gated: every span of these gates, for what is read from the history too; None while they are not known.
                A history that was read before is read again where they turn out to lie in it.
            facts: what the workload's object says about the run; readings of another than the baseline's do not count.
        """
        source, problem = self._opened(spec, credentials)
        with self._lock:
            before = self._watched.get(key)
            if source is None and before is not None and before.spec.metrics == spec.metrics:
                source = before.source
            if (
                before is None
                or not _same_measure(before, spec, baseline, source, recording_since_s)
                or self._filled_in_ignorance(before, gated, facts)
            ):
                fresh = _Watched(spec, baseline, source, problem, recording_since_s, incident_since_s, facts or {})
                fresh.gates = {**(before.gates if before is not None else {}), **(gated or {})}
                fresh.gates_known = gated is not None
                if before is not None and before.spec.workload == spec.workload and before.source is source:
                    fresh.signs, fresh.remembered = before.signs, before.remembered
                self._watched[key] = fresh
                self._asked_early.set()
                return
            if before.spec.comparable != spec.comparable or before.facts != (facts or {}):
                before.facts, before.compared = facts or {}, None
            before.spec = spec
            before.gates_known = before.gates_known or gated is not None
            before.gates.update(gated or {})
            before.problem = problem
            known_since_s, before.incident_since_s = before.incident_since_s, incident_since_s
            if incident_since_s is not None and before.filled:
                before.state = reopened(before.state, incident_since_s)
                if known_since_s is not None and incident_since_s > known_since_s + _ONSETS_APART_S:
                    before.state = of_another_loss(before.state, incident_since_s)

    def _filled_in_ignorance(
        self, watched: _Watched, gated: Mapping[Gate, Sequence[Span]] | None, facts: Mapping[str, str] | None
    ) -> bool:
        """Whether the history was read before anybody said that it, or a part of it, does not count."""
        if watched.gates_known or not watched.filled or gated is None:
            return False
        now_s = self._clock()
        since_s = now_s - _history_s(watched, now_s)
        if any(to_s > since_s for spans in gated.values() for _, to_s in spans):
            return True
        info = watched.latest.info if watched.latest is not None else {}
        return bool(facts and differences(watched.spec.comparable, info, facts))

    def forget(self, key: str) -> None:
        """Watch a baseline no longer; unknown ones are forgotten already."""
        with self._lock:
            self._watched.pop(key, None)

    def gate(self, key: str, gate: Gate, from_s: float, to_s: float | None = None) -> None:
        """Let readings of a span not count; `to_s` None: until told otherwise. The last span of a gate is in force."""
        with self._lock:
            if key in self._watched:
                self._watched[key].gates[gate] = ((from_s, math.inf if to_s is None else to_s),)

    def judgement(self, key: str, now_s: float, differences: tuple[str, ...] = ()) -> Judgement | None:
        """The verdict now; None for a baseline that is unknown here or has no level yet."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or watched.baseline is None:
                return None
            state, baseline, detection = watched.state, watched.baseline, watched.spec.detection
        return judge(state, baseline, detection, now_s, differences)

    def symptoms(self, key: str, now_s: float) -> tuple[Symptom, ...] | None:
        """What is wrong with the run apart from its speed; None while that is not known (yet)."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or not watched.filled or not watched.remembered:
                return None
            spec = watched.spec
            step_s = watched.baseline.level.step_time_s if watched.baseline is not None else None
            return watched.signs.symptoms(spec.watch, spec.detection, step_s, now_s)

    def readings(self, key: str) -> tuple[Reading, ...]:
        """Readings in memory, oldest first: all since a recording began, otherwise the last one."""
        with self._lock:
            watched = self._watched.get(key)
            return tuple(watched.readings) if watched else ()

    def latest(self, key: str) -> Reading | None:
        """The last reading, whether it counted or not."""
        with self._lock:
            watched = self._watched.get(key)
            return watched.latest if watched else None

    def ruling(self, key: str, node_of: Mapping[str, str] | None = None, usual_nodes: Collection[str] = ()) -> Ruling:
        """What of the hardware explains the loss that is open now, against what was read while there was none.

        Args:
            key: names the baseline.
            node_of: node by pod, to name the slow rank's.
            usual_nodes: the nodes on which the baseline was held; empty: not known.
        """
        with self._lock:
            watched = self._watched.get(key)
            if watched is None:
                return rule_out(())
            ranks = _medians(watched.ranks)
            now, usual = watched.hardware, watched.usual_hardware or ()
        return rule_out(now, usual, ranks, node_of, usual_nodes)

    def run(self, key: str) -> object:
        """What tells one run of the job from the next: equal while nothing was restarted. None before any reading."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or watched.latest is None:
                return None
            last, state = watched.latest, watched.state
            return state.incarnation or last.incarnation, state.restarts, last.info

    def filled(self, key: str) -> bool:
        """Whether the history of a baseline has been read, and while its incident lasts its hardware: what it judges
        and rules out means something."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or not watched.filled:
                return False
            return watched.looked or watched.incident_since_s is None or not watched.state.alarmed

    def source_problem(self, key: str) -> MfuError | None:
        """What is wrong with a baseline's source; Wait(NoSeries) where it answers and has nothing of this job."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None:
                return None
            health = self._health.get(watched.source) if watched.source is not None else None
            problem = watched.problem or (health.problem if health else None)
            if problem is not None or not watched.filled:
                return problem
            if watched.latest is None:
                return _no_series(watched)
            return _silence(watched, self._clock()) or _no_mfu(watched, watched.latest)

    @property
    def finished_s(self) -> float | None:
        """When the last sweep ended; None before the first one did."""
        return self._finished_s

    @property
    def started_s(self) -> float | None:
        """When sweeping began; None before `start`."""
        return self._started_s

    @property
    def alive(self) -> bool:
        """Whether the thread runs, or was never started."""
        return self._thread is None or self._thread.is_alive()

    def run_once(self) -> None:
        """One sweep over all sources that are not backing off. Failures are kept for `source_problem`."""
        now_s = self._clock()
        with self._lock:
            by_source: dict[Metrics, dict[str, _Watched]] = {}
            for key, watched in self._watched.items():
                if watched.source is not None:
                    by_source.setdefault(watched.source, {})[key] = watched
            self._turn += 1
            self._health = {source: self._health.get(source, _Health()) for source in by_source}
            due = [
                (source, by_source[source]) for source, health in self._health.items() if health.not_before_s <= now_s
            ]
        if due:
            with ThreadPoolExecutor(min(_PARALLEL_SOURCES, len(due)), thread_name_prefix="source") as pool:
                list(pool.map(lambda one: self._survived(one[0], one[1], now_s), due))
        self._finished_s = self._clock()

    def start(self) -> None:
        """Sweep every `interval_s` in a thread of its own until `stop`, and at once where a baseline is new."""
        self._stopping.clear()
        self._started_s = self._clock()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 30.0) -> None:
        """Finish the sweep in progress and end the thread; safe without a start."""
        self._stopping.set()
        self._asked_early.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._asked_early.clear()
            begun_s = self._clock()
            self.run_once()
            left_s = self._interval_s - (self._clock() - begun_s)
            if left_s > 0 and not self._stopping.is_set():
                self._stopping.wait(min(left_s, _EARLY_SHARE * self._interval_s))
                self._asked_early.wait(max(0.0, left_s - _EARLY_SHARE * self._interval_s))

    def _opened(self, spec: BaselineSpec, credentials: Credentials | None) -> tuple[Metrics | None, MfuError | None]:
        try:
            return self._sources.open(spec.metrics, credentials), None
        except MfuError as problem:
            return None, problem

    def _survived(self, source: Metrics, watched: Mapping[str, _Watched], now_s: float) -> None:
        """Sweep one source; whatever it was not written to survive is its own problem, and no other source's."""
        try:
            self._sweep_source(source, watched, now_s)
        except Exception as error:
            log.exception("the sweep of a source failed")
            told = f"a fault of the operator ({type(error).__name__}): its log has the traceback, please report it"
            self._failed(source, Retry("SweepFailed", told), now_s)

    def _sweep_source(self, source: Metrics, watched: Mapping[str, _Watched], now_s: float) -> None:
        try:
            self._fill(source, [one for one in watched.values() if not one.filled], now_s)
            current = [one for one in watched.values() if one.filled]
            latest = source.latest(sorted({_ref(one) for one in current}, key=_by_name), now_s) if current else {}
        except MfuError as problem:
            self._failed(source, problem, now_s)
            return
        with self._lock:
            self._health[source] = _Health()
            for one in current:
                self._take(one, latest.get(_ref(one), ()))
        if isinstance(source, HardwareSource):
            self._look_at_hardware(source, current, now_s)
        else:
            with self._lock:
                for one in current:
                    one.looked = True
        self._look_at_vitals(source, current, now_s)

    def _look_at_vitals(self, source: Metrics, current: Sequence[_Watched], now_s: float) -> None:
        """Of a quarter of the baselines, after the history of those that are new here. No answer is no look."""
        if not isinstance(source, VitalsSource):
            with self._lock:
                for one in current:
                    one.remembered = True
            return
        self._remember(source, [one for one in current if not one.remembered][:_MOST_REFILLED], now_s)
        asked = [one for one in current if one.remembered][self._turn % _VITALS_EVERY :: _VITALS_EVERY]
        if not asked:
            return
        try:
            found = source.vitals(sorted({_ref(one) for one in asked}, key=_by_name), now_s)
        except MfuError as problem:
            log.info("memory and streaks: %s: %s", problem.reason, problem.message)
            return
        with self._lock:
            for one in asked:
                vitals = found.get(_ref(one))
                if vitals is not None:
                    one.signs.look(vitals, one.spec.watch)

    def _remember(self, source: VitalsSource, fresh: Sequence[_Watched], now_s: float) -> None:
        """Read the floors of a day, so that a restart of the operator does not forget a leak."""
        if not fresh:
            return
        refs = sorted({_ref(one) for one in fresh}, key=_by_name)
        try:
            history = source.vitals_history(refs, now_s - _VITALS_REFILL_S, now_s, _VITALS_REFILL_STEP_S)
            latest = source.vitals(refs, now_s)
        except MfuError as problem:
            log.info("memory of the last day: %s: %s", problem.reason, problem.message)
            history, latest = {}, {}
        with self._lock:
            for one in fresh:
                one.signs.remember(history.get(_ref(one), ()), one.spec.watch)
                if _ref(one) in latest:
                    one.signs.look(latest[_ref(one)], one.spec.watch)
                one.remembered = True

    def _look_at_hardware(self, source: HardwareSource, current: Sequence[_Watched], now_s: float) -> None:
        """At every sweep of those with a loss, now and then of those that are well. No answer is no reading."""
        slow = [one for one in current if one.state.alarmed]
        well = [one for one in current[self._turn % _USUAL_EVERY :: _USUAL_EVERY] if _holds(one)]
        for at_s, group in _by_beginning([one for one in slow if _wants_usual(one)]):
            for one in group:
                one.looks_back += 1
            self._note_usual(group, self._hardware(source, group, at_s))
        found = self._hardware(source, [*slow, *well], now_s)
        with self._lock:
            for one in slow:
                one.hardware = (found or {}).get(_ref(one), ())
                one.looked = not _wants_usual(one)
        self._note_usual(well, found)

    def _note_usual(
        self, baselines: Sequence[_Watched], found: Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None
    ) -> None:
        """`found` None: it could not be asked for, so nothing is usual yet."""
        if found is None:
            return
        with self._lock:
            for one in baselines:
                one.usual_hardware = merged(one.usual_hardware or (), found.get(_ref(one), ()))

    def _hardware(
        self, source: HardwareSource, baselines: Sequence[_Watched], at_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]] | None:
        """None where the source could not be asked."""
        if not baselines:
            return {}
        try:
            return source.hardware(sorted({_ref(one) for one in baselines}, key=_by_name), at_s)
        except MfuError as problem:
            log.info("hardware metrics: %s: %s", problem.reason, problem.message)
            return None

    def _failed(self, source: Metrics, problem: MfuError, now_s: float) -> None:
        with self._lock:
            health = self._health.setdefault(source, _Health())
            health.failures += 1
            health.problem = problem
            wait_s = min(_LONGEST_BACK_OFF_S, self._interval_s * (2 ** min(health.failures - 1, 10) - 1))
            health.not_before_s = now_s + wait_s
        log.warning("metrics source: %s: %s", problem.reason, problem.message)

    def _fill(self, source: Metrics, watched: Sequence[_Watched], now_s: float) -> None:
        """Read the history of baselines that are new here, those with a span of like length together."""
        by_span: dict[float, list[_Watched]] = {}
        for one in watched:
            by_span.setdefault(_rounded_up(_history_s(one, now_s)), []).append(one)
        portions = (
            (span_s, group[start : start + _FILLED_AT_ONCE])
            for span_s, group in by_span.items()
            for start in range(0, len(group), _FILLED_AT_ONCE)
        )
        for span_s, group in portions:
            step_s = max(self._interval_s, span_s / _MOST_POINTS)
            refs = sorted({_ref(one) for one in group}, key=_by_name)
            history = source.history(refs, now_s - span_s, now_s, step_s)
            with self._lock:
                for one in group:
                    self._replay(one, history.get(_ref(one), ()), now_s - span_s)
                    one.filled = True

    def _replay(self, watched: _Watched, readings: Sequence[Reading], from_s: float) -> None:
        """Take a history. An alarm that stood when the open incident began was of the loss before it. The lock is
        held."""
        onset_s = watched.incident_since_s
        if onset_s is None:
            self._take(watched, readings)
            return
        if onset_s < from_s:
            watched.state = resumed(True, onset_s)
        self._take(watched, [reading for reading in readings if reading.time_s < onset_s])
        if watched.state.alarmed:
            watched.state = of_another_loss(watched.state, onset_s)
        self._take(watched, readings)
        watched.state = reopened(watched.state, onset_s)

    def _take(self, watched: _Watched, readings: Sequence[Reading]) -> None:
        """Advance the state by the readings that are new. The lock is held."""
        last_s = watched.latest.time_s if watched.latest else -math.inf
        fresh = [with_mfu(reading, watched.spec) for reading in readings if reading.time_s > last_s]
        if not fresh:
            return
        watched.latest = fresh[-1]
        for reading in fresh:
            watched.signs.read(reading)
        baseline = watched.baseline
        if baseline is not None:
            for reading in fresh:
                gates = _gates_at(watched, reading)
                watched.state = advance(watched.state, reading, baseline, watched.spec.detection, gates)
        seen = fresh[-1].rank_step_s
        watched.ranks = (*watched.ranks[1 - _RANK_READINGS :], seen) if seen and watched.state.alarmed else ()
        if watched.recording_since_s is None:
            watched.readings = [fresh[-1]]
        else:
            kept = [reading for reading in fresh if not _gates_at(watched, reading)]
            watched.readings = (watched.readings + kept)[-_MOST_RECORDED:]


def _holds(watched: _Watched) -> bool:
    """Whether the run is at work and holds its baseline: what its hardware reads now is usual."""
    state = watched.state
    return not (state.alarmed or state.arming or state.gates or state.evidence_s > 0) and state.usable_s is not None


def _wants_usual(watched: _Watched) -> bool:
    """Whether what was usual before the loss is not known yet, and asking for it may still tell."""
    unknown = watched.usual_hardware is None and _began_s(watched) is not None
    return unknown and watched.looks_back < _MOST_TRIES_BACK


def _began_s(watched: _Watched) -> float | None:
    """When the loss began."""
    return watched.state.onset_s if watched.state.onset_s is not None else watched.incident_since_s


def _by_beginning(baselines: Sequence[_Watched]) -> list[tuple[float, list[_Watched]]]:
    """Those whose losses began within the same span, with a time before it; only the first spans."""
    spans: dict[int, list[_Watched]] = {}
    for one in baselines:
        spans.setdefault(int((_began_s(one) or 0.0) // _BEFORE_LOSS_S), []).append(one)
    return [((span - 1) * _BEFORE_LOSS_S, spans[span]) for span in sorted(spans)[:_MOST_LOOKS_BACK]]


def _medians(readings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median by rank, of the ranks that are in the last reading."""
    latest = readings[-1] if readings else {}
    return {rank: median(reading[rank] for reading in readings if rank in reading) for rank in latest}


def _same_measure(
    watched: _Watched,
    spec: BaselineSpec,
    baseline: Baseline | None,
    source: Metrics | None,
    recording_since_s: float | None,
) -> bool:
    """Whether what is in memory was gathered with the same workload, source, rule and level."""
    return (
        watched.spec.workload == spec.workload
        and watched.source is source
        and watched.spec.detection == spec.detection
        and _measure(watched.baseline) == _measure(baseline)
        and _covers(watched.recording_since_s, recording_since_s)
    )


def _covers(kept_since_s: float | None, wanted_since_s: float | None) -> bool:
    """Whether readings kept since one moment serve a recording that began at the other."""
    if kept_since_s is None or wanted_since_s is None:
        return kept_since_s is wanted_since_s
    return kept_since_s <= wanted_since_s


def _measure(baseline: Baseline | None) -> object:
    return None if baseline is None else (baseline.level, baseline.spread)


def _ref(watched: _Watched) -> WorkloadRef:
    return watched.spec.workload


def _by_name(workload: WorkloadRef) -> tuple[str, str, str]:
    return workload.namespace, workload.kind, workload.name


def _history_s(watched: _Watched, now_s: float) -> float:
    """How far back readings matter for this baseline."""
    usual_s = _REFILL_SHARE * watched.spec.detection.sustain_s
    if watched.recording_since_s is not None:
        return min(_LONGEST_RECORDING_S, max(usual_s, now_s - watched.recording_since_s))
    if watched.incident_since_s is not None:
        return min(_LONGEST_REFILL_S, usual_s + now_s - watched.incident_since_s)
    return usual_s


def _rounded_up(span_s: float) -> float:
    """To the next quarter of a power of two of a minute: few different spans, so few queries, and a fifth too much."""
    quarters = max(0, math.ceil(4 * math.log2(span_s / 60.0)))
    return 60.0 * math.exp2(quarters / 4)


def _gates_at(watched: _Watched, reading: Reading) -> frozenset[Gate]:
    after_s = _AFTER_GATE_SHARE * watched.spec.detection.sustain_s
    held = {
        gate
        for gate, spans in watched.gates.items()
        if any(from_s <= reading.time_s <= to_s + after_s for from_s, to_s in spans)
    }
    return frozenset(held if watched.is_comparable(reading) else held | {Gate.INCOMPARABLE})


def _silence(watched: _Watched, now_s: float) -> MfuError | None:
    """What has kept a job that was read before from being read for minutes; a run that merely ended is no failure."""
    if watched.latest is None or now_s - watched.latest.time_s < _SILENT_S:
        return None
    absence = _absence(watched)
    return None if isinstance(absence, Wait) else absence


def _absence(watched: _Watched) -> MfuError | None:
    source = watched.source
    return source.absence(watched.spec.workload) if isinstance(source, ExplainingSource) else None


def _no_mfu(watched: _Watched, reading: Reading) -> MfuError | None:
    """Why a level of MFU has no reading to be held against."""
    if watched.baseline is None or watched.baseline.level.mfu is None:
        return None
    return mfu_problem(watched.spec, reading)


def _no_series(watched: _Watched) -> MfuError:
    spec, workload, absence = watched.spec, watched.spec.workload, _absence(watched)
    if absence is not None:
        return absence
    return Wait(
        "NoSeries",
        f"the metrics source has no series of {workload.kind} {workload.namespace}/{workload.name} under "
        f"the names of {_profile(spec)}: is the job running and scraped, and do metrics.names and metrics.labels fit? "
        "`kubectl mfu doctor` shows each query",
    )


def _profile(spec: BaselineSpec) -> str:
    return "the fleet's profile" if spec.metrics.profile is None else f"profile {spec.metrics.profile}"

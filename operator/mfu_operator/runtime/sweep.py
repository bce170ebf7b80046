"""Measuring, apart from reconciling: every source of readings is asked once per interval for all baselines together.

`Sweep` is called from two sides. The ticks of the baselines `register` what is to be watched and take `judgement`,
`readings` and `source_problem` from memory; none of these waits for the network. `run_once` asks the sources; it runs
in a thread of its own between `start` and `stop`. All methods may be called from any thread.

A baseline that is new here, or whose rule or level changed, is filled from the source's history first, so that a
restart of the operator loses no evidence. What is remembered of each is a `Watched`.
"""

import logging
import math
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from mfu_operator.detect.hardware import Ruling, rule_out
from mfu_operator.detect.judge import judge
from mfu_operator.detect.words import duration
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.ports import MOST_POINTS, Credentials, Metrics, MetricsSources
from mfu_operator.runtime.hardware_looks import look_at_hardware
from mfu_operator.runtime.occupancy import Span
from mfu_operator.runtime.past_looks import look_at_past
from mfu_operator.runtime.round import Round
from mfu_operator.runtime.silence import ExplainingSource, silence, without_parts
from mfu_operator.runtime.vitals_looks import look_at_vitals
from mfu_operator.runtime.watched import Watched, workloads

log = logging.getLogger(__name__)

_PARALLEL_SOURCES = 4
"""A source that does not answer holds up a thread for its deadline; three others go on. One that is still being asked
when the next sweep begins keeps its thread and is passed over; there is always one thread for the others."""

_SLOW_S = 300.0
"""A source that is asked for longer than this tells nothing of ten sweeps in between. Histories of ten thousand after a
restart take less."""

_LONGEST_BACK_OFF_S = 300.0
"""A source that was down is asked again within five minutes of its return."""

_FILLED_AT_ONCE = 250
"""Histories that are in memory together: each is some dozens of kilobytes before it is the state that is kept of it."""

_EARLY_SHARE = 0.2
"""New baselines bring the next sweep forward, to a fifth of the interval: ten thousand at once do it a few times."""


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
        self._watched: dict[str, Watched] = {}
        self._health: dict[Metrics, _Health] = {}
        self._asking: dict[Metrics, float] = {}
        """Sources that are being asked, and since when."""
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
                before is not None
                and before.is_measured_with(spec, baseline, source, recording_since_s)
                and not before.is_filled_in_ignorance(gated, facts, self._clock())
            ):
                before.problem = problem
                before.note(spec, gated, facts)
                before.note_incident(incident_since_s)
                return
            fresh = Watched(spec, baseline, source, problem, recording_since_s, incident_since_s, facts or {})
            fresh.note(spec, gated, facts)
            if before is not None:
                fresh.keep_from(before)
            self._watched[key] = fresh
            self._asked_early.set()

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

    def past(self, key: str, span: Span) -> tuple[Reading, ...] | None:
        """Readings of a span that is over, oldest first, some 160 at most, handed over once; None until one of the next
        sweeps has read them."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None:
                return None
            if watched.past_span != span:
                watched.past_span, watched.past = span, None
            found = watched.past
            if found is not None:
                watched.past_span = watched.past = None
            return found

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
            ranks, usual_ranks = watched.rank_step_s(), watched.usual_rank_step_s
            now, usual = watched.hardware, watched.usual_hardware or ()
        return rule_out(now, usual, ranks, node_of, usual_nodes, usual_ranks)

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
            problem = watched.problem or self._slowness(watched.source) or (health.problem if health else None)
            if problem is not None or not watched.filled:
                return problem
            return silence(watched, self._clock())

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
        """One sweep over all sources that are not backing off and are not being asked still. It ends with the last of
        them, or after an interval; what was not begun by then is left for the next. Failures are kept for
        `source_problem`."""
        now_s = self._clock()
        with self._lock:
            by_source: dict[Metrics, dict[str, Watched]] = {}
            for key, watched in self._watched.items():
                if watched.source is not None:
                    by_source.setdefault(watched.source, {})[key] = watched
            self._turn += 1
            self._health = {source: self._health.get(source, _Health()) for source in by_source}
            due = [
                (source, by_source[source])
                for source, health in self._health.items()
                if health.not_before_s <= now_s and source not in self._asking
            ]
            at_once = min(max(1, _PARALLEL_SOURCES - len(self._asking)), len(due))
            self._asking.update((source, now_s) for source, _ in due)
        if due:
            self._ask(due, at_once, now_s)
        self._finished_s = self._clock()

    def _ask(self, due: Sequence[tuple[Metrics, Mapping[str, Watched]]], at_once: int, now_s: float) -> None:
        pool = ThreadPoolExecutor(at_once, thread_name_prefix="source")
        begun = {pool.submit(self._survived, source, watched, now_s): source for source, watched in due}
        wait(begun, self._interval_s)
        pool.shutdown(wait=False)
        not_begun = [source for future, source in begun.items() if future.cancel()]
        with self._lock:
            for source in not_begun:
                self._asking.pop(source)

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

    def _survived(self, source: Metrics, watched: Mapping[str, Watched], now_s: float) -> None:
        """Sweep one source; whatever it was not written to survive is its own problem, and no other source's."""
        try:
            self._sweep_source(source, watched, now_s)
        except Exception as error:
            log.exception("the sweep of a source failed")
            told = f"a fault of the operator ({type(error).__name__}): its log has the traceback, please report it"
            self._failed(source, Retry("SweepFailed", told), now_s)
        finally:
            with self._lock:
                self._asking.pop(source)

    def _slowness(self, source: Metrics | None) -> MfuError | None:
        """That a source has been asked for long; the lock is held."""
        since_s = self._asking.get(source) if source is not None else None
        asked_s = 0.0 if since_s is None else self._clock() - since_s
        if asked_s < _SLOW_S:
            return None
        return Retry(
            "SourceSlow",
            f"the metrics source has been answering for {duration(asked_s)}, and nothing of it is judged before it is "
            "done: see what else it is asked, and what slows its queries down",
        )

    def _sweep_source(self, source: Metrics, watched: Mapping[str, Watched], now_s: float) -> None:
        try:
            self._fill(source, [one for one in watched.values() if not one.filled], now_s)
            current = [one for one in watched.values() if one.filled]
            latest = source.latest(workloads(current), now_s) if current else {}
        except MfuError as problem:
            self._failed(source, problem, now_s)
            return
        explaining = source if isinstance(source, ExplainingSource) else None
        with self._lock:
            self._health[source] = _Health()
            for one in current:
                readings = latest.get(one.workload, ())
                one.take(readings if explaining is None else without_parts(explaining, one, readings))
        swept = Round(current, now_s, self._turn, self._lock)
        look_at_hardware(source, swept)
        look_at_vitals(source, swept)
        look_at_past(source, swept, self._interval_s)

    def _failed(self, source: Metrics, problem: MfuError, now_s: float) -> None:
        with self._lock:
            health = self._health.setdefault(source, _Health())
            health.failures += 1
            health.problem = problem
            wait_s = min(_LONGEST_BACK_OFF_S, self._interval_s * (2 ** min(health.failures - 1, 10) - 1))
            health.not_before_s = now_s + wait_s
        log.warning("metrics source: %s: %s", problem.reason, problem.message)

    def _fill(self, source: Metrics, watched: Sequence[Watched], now_s: float) -> None:
        """Read the history of baselines that are new here, those with a span of like length together."""
        by_span: dict[float, list[Watched]] = {}
        for one in watched:
            by_span.setdefault(_rounded_up(one.history_s(now_s)), []).append(one)
        portions = (
            (span_s, group[start : start + _FILLED_AT_ONCE])
            for span_s, group in by_span.items()
            for start in range(0, len(group), _FILLED_AT_ONCE)
        )
        for span_s, group in portions:
            step_s = max(self._interval_s, span_s / MOST_POINTS)
            history = source.history(workloads(group), now_s - span_s, now_s, step_s)
            with self._lock:
                for one in group:
                    one.replay(history.get(one.workload, ()), now_s - span_s)
                    one.filled = True


def _rounded_up(span_s: float) -> float:
    """To the next quarter of a power of two of a minute: few different spans, so few queries, and a fifth too much."""
    quarters = max(0, math.ceil(4 * math.log2(span_s / 60.0)))
    return 60.0 * math.exp2(quarters / 4)

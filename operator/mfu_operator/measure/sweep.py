"""Measuring, apart from reconciling: every source of readings is asked once per interval for all baselines together.

`Sweep` is called from two sides. The loop and the ticks of the baselines `register` what is to be watched and take a
`view` of it from memory; neither waits for the network. `run_once` asks the sources; it runs in a thread of its own
between `start` and `stop`. All methods may be called from any thread.

A baseline that is new here, or whose rule or level changed, is filled from the source's history first, so that a
restart of the operator loses no evidence. What is remembered of each is a `MonitoredJob`.
"""

import logging
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from mfu_operator.detect.formatting import duration
from mfu_operator.errors import MfuError, Retry
from mfu_operator.measure.gates import Gates
from mfu_operator.measure.hardware import look_at_hardware
from mfu_operator.measure.missing_readings import why_missing, without_parts
from mfu_operator.measure.monitored_job import MonitoredJob, workloads
from mfu_operator.measure.sweep_round import SweepRound
from mfu_operator.measure.terms import Terms
from mfu_operator.measure.turns import Turns
from mfu_operator.measure.view import SweepView
from mfu_operator.measure.vitals import look_at_vitals
from mfu_operator.measure.vitals_record import VitalsRecord
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.model.series import TimeSpan
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import MOST_POINTS, Credentials, Metrics, MetricsSources

log = logging.getLogger(__name__)

_PARALLEL_SOURCES = 4
"""A source that does not answer holds up a thread for its deadline; three others go on."""

_MOST_SOURCES = 8
"""One that is still being asked when the next sweep begins keeps its thread and is passed over, and others take its
place up to so many. There is always one for the others, and those first that answered quickly (`measure/turns.py`)."""

_MOST_FIRSTS = 56
"""Beyond those, one for each namespace of which nothing is being asked: threads that wait cost little, and thirty
namespaces whose addresses never answer hold up no other's first reading. What their answers take is bounded by what is
decoded at once (`adapters/prometheus/api.py`)."""

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
    not_before_s: float = -math.inf
    problem: MfuError | None = None


class Sweep:
    """`Measuring` by sweeps: the readings of all baselines, and the evidence in them.

    Args:
        sources: opens the source of a baseline.
        clock: the time now, Unix seconds, for what is asked and judged.
        interval_s: seconds from the start of one sweep to the start of the next.
        steady: seconds on a clock that nobody sets, for what is scheduled; by default the same as `clock`.
    """

    def __init__(
        self,
        sources: MetricsSources,
        clock: Callable[[], float],
        interval_s: float,
        steady: Callable[[], float] | None = None,
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._steady = steady or clock
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._watched: dict[str, MonitoredJob] = {}
        self._health: dict[Metrics, _Health] = {}
        self._asking: dict[Metrics, float] = {}
        """Sources that are being asked, and since when."""
        self._firsts = set[Metrics]()
        """Those of them that have a thread of their own."""
        self._turns = Turns()
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
        gated: Mapping[Gate, Sequence[TimeSpan]] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """As `Measuring.register`."""
        source, problem = self._opened(spec, credentials)
        with self._lock:
            before = self._watched.get(key)
            if source is None and before is not None and before.spec.metrics == spec.metrics:
                source = before.terms.source
            terms = Terms(spec, baseline, source, recording_since_s, incident_since_s, facts or {})
            if before is None:
                job = MonitoredJob(terms, Gates().updated(gated), VitalsRecord(), problem)
            else:
                job = before.registered(terms, gated, problem, self._clock())
            if job is not before:
                self._watched[key] = job
                self._asked_early.set()

    def forget(self, key: str) -> None:
        """Watch a baseline no longer; unknown ones are forgotten already."""
        with self._lock:
            self._watched.pop(key, None)

    def gate(self, key: str, gate: Gate, from_s: float, to_s: float | None = None) -> None:
        """Let readings of a span not count; `to_s` None: until told otherwise. The last span of a gate is in force."""
        with self._lock:
            job = self._watched.get(key)
        if job is not None:
            job.close(gate, from_s, math.inf if to_s is None else to_s)

    def view(self, key: str, now_s: float) -> SweepView:
        """What is known of a baseline now."""
        with self._lock:
            job = self._watched.get(key)
            problem = None if job is None else job.problem or self._trouble(job.terms.source)
        if job is None:
            return SweepView()
        if problem is None and job.speed.history_read:
            problem = why_missing(job, now_s)
        return job.view(now_s, problem)

    @property
    def finished_s(self) -> float | None:
        """When the last sweep ended, on the clock that nobody sets; None before the first one did."""
        return self._finished_s

    @property
    def started_s(self) -> float | None:
        """When sweeping began, on the clock that nobody sets; None before `start`."""
        return self._started_s

    @property
    def alive(self) -> bool:
        """Whether the thread runs, or was never started."""
        return self._thread is None or self._thread.is_alive()

    def run_once(self) -> None:
        """One sweep over all sources that are not backing off and are not being asked still. It ends with the last of
        them, or after an interval; what was not begun by then is left for the next. Failures are kept for
        `view`."""
        now_s, steady_s = self._clock(), self._steady()
        with self._lock:
            by_source: dict[Metrics, dict[str, MonitoredJob]] = {}
            for key, watched in self._watched.items():
                if watched.terms.source is not None:
                    by_source.setdefault(watched.terms.source, {})[key] = watched
            self._turn += 1
            self._health = {source: self._health.get(source, _Health()) for source in by_source}
            awake = [
                source
                for source, health in self._health.items()
                if health.not_before_s <= steady_s and source not in self._asking
            ]
            measured = {source: watched.values() for source, watched in by_source.items()}
            order = self._turns.in_order(measured, awake, self._asking)
            firsts = order.firsts[: _MOST_FIRSTS - len(self._firsts)]
            others = [*order.quick, *order.firsts[len(firsts) :], *order.others]
            at_once = min(_PARALLEL_SOURCES, max(1, _MOST_SOURCES - len(self._asking) + len(self._firsts)))
            self._firsts.update(firsts)
            self._asking.update((source, steady_s) for source in (*firsts, *others))
            due = ((firsts, len(firsts)), (others, at_once))
        self._ask([(sources, most) for sources, most in due if sources], by_source, now_s)
        self._finished_s = self._steady()

    def _ask(
        self,
        due: Sequence[tuple[Sequence[Metrics], int]],
        watched: Mapping[Metrics, Mapping[str, MonitoredJob]],
        now_s: float,
    ) -> None:
        """Ask sources, each group of them so many at once."""
        begun = dict[Future[None], Metrics]()
        for sources, most in due:
            pool = ThreadPoolExecutor(min(most, len(sources)), thread_name_prefix="source")
            begun |= {pool.submit(self._survived, source, watched[source], now_s): source for source in sources}
            pool.shutdown(wait=False)
        wait(begun, self._interval_s)
        not_begun = [source for future, source in begun.items() if future.cancel()]
        with self._lock:
            for source in not_begun:
                self._ended(source)

    def start(self) -> None:
        """Sweep every `interval_s` in a thread of its own until `stop`, and at once where a baseline is new."""
        self._stopping.clear()
        self._started_s = self._steady()
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
            begun_s = self._steady()
            self.run_once()
            left_s = self._interval_s - (self._steady() - begun_s)
            if left_s > 0 and not self._stopping.is_set():
                self._stopping.wait(min(left_s, _EARLY_SHARE * self._interval_s))
                self._asked_early.wait(max(0.0, left_s - _EARLY_SHARE * self._interval_s))

    def _opened(self, spec: BaselineSpec, credentials: Credentials | None) -> tuple[Metrics | None, MfuError | None]:
        try:
            return self._sources.open(spec.metrics, credentials), None
        except MfuError as problem:
            return None, problem

    def _survived(self, source: Metrics, watched: Mapping[str, MonitoredJob], now_s: float) -> None:
        """Sweep one source; whatever it was not written to survive is its own problem, and no other source's."""
        self._turns.begins(source, self._steady())
        try:
            self._sweep_source(source, watched, now_s)
        except Exception as error:
            log.exception("the sweep of a source failed")
            told = f"a fault of the operator ({type(error).__name__}): its log has the traceback, please report it"
            self._failed(source, Retry("SweepFailed", told))
        finally:
            self._turns.ended(source, self._steady())
            with self._lock:
                self._ended(source)

    def _ended(self, source: Metrics) -> None:
        """Nothing is asked of a source any more; the lock is held."""
        self._asking.pop(source)
        self._firsts.discard(source)

    def _trouble(self, source: Metrics | None) -> MfuError | None:
        """That a source has been asked for long, or what it failed with; the lock is held."""
        if source is None:
            return None
        since_s = self._asking.get(source)
        asked_s = 0.0 if since_s is None else self._steady() - since_s
        if asked_s < _SLOW_S:
            return self._health[source].problem if source in self._health else None
        return Retry(
            "SourceSlow",
            f"the metrics source has been answering for {duration(asked_s)}, and nothing is judged until it is done: "
            "see what else it is asked, and what slows its queries down",
        )

    def _sweep_source(self, source: Metrics, watched: Mapping[str, MonitoredJob], now_s: float) -> None:
        try:
            self._fill(source, [one for one in watched.values() if not one.speed.history_read], now_s)
            current = [one for one in watched.values() if one.speed.history_read]
            latest = source.latest(workloads(current), now_s) if current else {}
        except MfuError as problem:
            self._failed(source, problem)
            return
        with self._lock:
            self._health[source] = _Health()
        for one in current:
            one.take(without_parts(source, one, latest.get(one.workload, ())))
        swept = SweepRound(current, now_s, self._turn)
        look_at_hardware(source, swept)
        look_at_vitals(source, swept)

    def _failed(self, source: Metrics, problem: MfuError) -> None:
        with self._lock:
            health = self._health.setdefault(source, _Health())
            health.failures += 1
            health.problem = problem
            again = health.failures - 1
            wait_s = growing_pause_s(self._interval_s, _LONGEST_BACK_OFF_S, again) if again else 0.0
            health.not_before_s = self._steady() + wait_s
        log.warning("metrics source: %s: %s", problem.reason, problem.message)

    def _fill(self, source: Metrics, watched: Sequence[MonitoredJob], now_s: float) -> None:
        """Read the history of baselines that are new here, those with a span of like length together."""
        by_span: dict[float, list[MonitoredJob]] = {}
        for one in watched:
            by_span.setdefault(_rounded_up(one.terms.history_s(now_s)), []).append(one)
        portions = (
            (span_s, group[start : start + _FILLED_AT_ONCE])
            for span_s, group in by_span.items()
            for start in range(0, len(group), _FILLED_AT_ONCE)
        )
        for span_s, group in portions:
            step_s = max(self._interval_s, span_s / MOST_POINTS)
            history = source.history(workloads(group), now_s - span_s, now_s, step_s)
            for one in group:
                one.fill(history.get(one.workload, ()), now_s - span_s)


def _rounded_up(span_s: float) -> float:
    """To the next quarter of a power of two of a minute: few different spans, so few queries, and a fifth too much."""
    quarters = max(0, math.ceil(4 * math.log2(span_s / 60.0)))
    return 60.0 * math.exp2(quarters / 4)

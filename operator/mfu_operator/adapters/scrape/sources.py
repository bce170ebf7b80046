"""Readings from the pods' own metrics pages, where there is no Prometheus.

Each page is asked for once a sweep, many at a time, each with its own deadline and all together with one. A page is
parsed by prometheus-client, as OpenMetrics where the pod says so and as the text format otherwise. There is no history:
what a page showed before is gone.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from mfu_operator.adapters.metric_names import MetricNames, names_of, of_fleet
from mfu_operator.adapters.open_sources import OpenSources
from mfu_operator.adapters.scrape.exposition import samples_of
from mfu_operator.adapters.scrape.fair_queue import read_in_turns
from mfu_operator.adapters.scrape.pod_pages import Fetch, HttpPages
from mfu_operator.adapters.scrape.pod_targets import Target, no_target, targets_of
from mfu_operator.detect.samples import SCRAPED_AT, STEP_TIME, Assembly
from mfu_operator.detect.vital_samples import VITALS, VitalAssembly
from mfu_operator.errors import MfuError, Retry, Unreadable, Wait
from mfu_operator.model.baseline import MetricsSource, PodScrape, WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.model.workload import PodEndpoint
from mfu_operator.ports import Credentials, Metrics

log = logging.getLogger(__name__)

SWEEP_DEADLINE_S = 20.0
"""For all pages of a sweep, shorter than a sweep of 30 s: pages that were not read by then are read the next time."""

RATE_WINDOW_S = 180.0
"""Of counters: as Prometheus is asked for them."""

EndpointsOf = Callable[[Sequence[WorkloadRef]], Mapping[WorkloadRef, Sequence[PodEndpoint] | MfuError]]
"""The running pods of workloads, or why a workload's cannot be known."""


@dataclass(frozen=True, slots=True)
class Look:
    """What came of asking for one page. `samples` are (kind, labels, value) as they are; problem None: it was read."""

    target: Target
    at_s: float
    samples: tuple[tuple[str, Mapping[str, str], float], ...] = ()
    problem: MfuError | None = None


class PodMetrics:
    """The port `Metrics` over the pods' own pages.

    Args:
        scrape: which ports and page.
        names: what metrics are called.
        endpoints_of: the running pods of workloads.
        clock: the time now, Unix seconds.
        fetch: reads a page; by default over HTTP.
        deadline_s: for all pages of a sweep.
    """

    def __init__(
        self,
        scrape: PodScrape,
        names: MetricNames,
        endpoints_of: EndpointsOf,
        clock: Callable[[], float] = time.time,
        fetch: Fetch | None = None,
        deadline_s: float = SWEEP_DEADLINE_S,
    ) -> None:
        self.names = names
        self._scrape = scrape
        self._endpoints_of = endpoints_of
        self._clock = clock
        self._fetch = fetch or HttpPages().fetch
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._counters: dict[tuple[Target, str], _Counter] = {}
        self._hanging: set[str] = set()
        self._absent: dict[WorkloadRef, MfuError] = {}
        self._answered: frozenset[str] = frozenset()
        self._looks: tuple[Look, ...] = ()

    @property
    def measures_hardware(self) -> bool:
        """No page shows the GPUs."""
        return False

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """Nothing."""
        return {}

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """One reading per workload, at the time when its pages were read."""
        assembly = Assembly(self.names.compared)
        looks = self.looks(workloads)
        with self._lock:
            for look in looks:
                if look.problem is None:
                    self._add(assembly, look, now_s)
            self._forget(looks)
            self._looks = tuple(looks)
        return assembly.readings()

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """Memory and streaks as the pages showed them when `latest` read them: no page is asked for twice."""
        found: dict[WorkloadRef, VitalAssembly] = {}
        wanted = frozenset(workloads)
        for look in (each for each in self._looks if each.target.workload in wanted):
            for kind, labels, value in look.samples:
                if kind in VITALS:
                    place = {**labels, "instance": look.target.instance}
                    found.setdefault(look.target.workload, VitalAssembly()).add(place, look.target.pod, kind, value)
        return {workload: assembly.vitals(now_s) for workload, assembly in found.items()}

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """Nothing, like the history."""
        return {}

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Nothing: a page shows the present alone."""
        return {}

    def absence(self, workload: WorkloadRef) -> MfuError | None:
        """Why the last sweep read nothing of a workload; None where it did, or none was made."""
        with self._lock:
            return self._absent.get(workload)

    def looks(self, workloads: Sequence[WorkloadRef]) -> list[Look]:
        """Ask for every page of these workloads, those that answered last time first, each page once.

        Raises MfuError where of no workload the pods can be known.
        """
        targets, absent = self._targets(workloads)
        pages: dict[object, list[Target]] = {}
        for target in targets:
            pages.setdefault(target.page, []).append(target)
        once = sorted((same[0] for same in pages.values()), key=lambda target: target.url not in self._answered)
        looks = [replace(look, target=each) for look in self._asked(once) for each in pages[look.target.page]]
        read = {look.target.workload for look in looks if look.samples}
        for look in looks:
            if look.target.workload not in read:
                absent.setdefault(look.target.workload, look.problem or _no_sample(look.target, self.names))
        with self._lock:
            self._absent = absent
            self._answered = frozenset(look.target.url for look in looks if look.problem is None)
        return looks

    def _targets(self, workloads: Sequence[WorkloadRef]) -> tuple[list[Target], dict[WorkloadRef, MfuError]]:
        """Every page, and of workloads without any the reason."""
        known = self._endpoints_of(workloads)
        targets: list[Target] = []
        absent: dict[WorkloadRef, MfuError] = {}
        for workload in workloads:
            endpoints = known.get(workload, ())
            if isinstance(endpoints, MfuError):
                absent[workload] = endpoints
                continue
            mine = [target for each in endpoints for target in targets_of(workload, each, self._scrape)]
            targets += mine
            if not mine:
                absent[workload] = no_target(workload, endpoints, self._scrape)
        failed = [problem for problem in known.values() if isinstance(problem, MfuError)]
        if failed and len(failed) == len(workloads):
            raise failed[0]
        return targets, absent

    def _asked(self, targets: Sequence[Target]) -> list[Look]:
        """One look for each. A page whose last request still hangs is not asked for again."""
        with self._lock:
            hanging = frozenset(self._hanging)
        found = read_in_turns([each for each in targets if each.url not in hanging], self._look, self._deadline_s)
        return [self._came(target, found.get(target), target.url in hanging) for target in targets]

    def _came(self, target: Target, future: Future[Look] | None, hangs: bool) -> Look:
        """What came of asking; a fault that nobody thought of costs this page alone."""
        where = f"{target.url} of pod {target.pod}"
        if future is None:
            late = f"was not read within {self._deadline_s:g} s: too many others do not answer"
            told = "has not answered since the last sweep" if hangs else late
            return Look(target, self._clock(), problem=Retry("PodUnreachable", f"{where} {told}"))
        error = future.exception()
        if error is None:
            return future.result()
        log.error("reading %s failed", where, exc_info=error)
        told = f"a fault of the operator ({type(error).__name__}): its log has the traceback, please report it"
        return Look(target, self._clock(), problem=Retry("PodPageUnreadable", f"{where}: {told}"))

    def _look(self, target: Target) -> Look:
        with self._lock:
            self._hanging.add(target.url)
        try:
            content_type, text = self._fetch(target)
            at_s = self._clock()
            return Look(target, at_s, tuple(samples_of(content_type, text, self.names, at_s)))
        except Unreadable as problem:
            told = Retry(problem.reason, f"{target.url} of pod {target.pod}: {problem.message}")
            return Look(target, self._clock(), problem=told)
        except MfuError as problem:
            return Look(target, self._clock(), problem=problem)
        finally:
            with self._lock:
                self._hanging.discard(target.url)

    def _add(self, assembly: Assembly, look: Look, now_s: float) -> None:
        target = look.target
        place = {"instance": target.instance, "pod": target.pod, "namespace": target.workload.namespace}
        for kind, labels, value in look.samples:
            if kind in VITALS:
                continue
            read = self._rate(look, kind, labels, value) if kind in self.names.counters else value
            if read is not None:
                scaled = read * self.names.scales.get(kind, 1.0)
                assembly.add(target.workload, {**labels, **place}, target.pod, kind, [(now_s, scaled)])
        if look.samples:
            assembly.add(target.workload, place, target.pod, SCRAPED_AT, [(now_s, look.at_s)])

    def _rate(self, look: Look, kind: str, labels: Mapping[str, str], value: float) -> float | None:
        """Per second, or seconds per step; None where it cannot be told yet, and of steps that stand still."""
        key = (look.target, f"{kind} {sorted(labels.items())}")
        rate = self._counters.setdefault(key, _Counter()).note(look.at_s, value)
        if kind == STEP_TIME:
            return 1 / rate if rate else None
        return rate

    def _forget(self, looks: Sequence[Look]) -> None:
        """Counters of pages that are not there any more."""
        there = {look.target for look in looks}
        self._counters = {key: counter for key, counter in self._counters.items() if key[0] in there}


@dataclass(slots=True)
class _Counter:
    """A counter over the last minutes."""

    points: list[tuple[float, float]] = field(default_factory=list)

    def note(self, at_s: float, value: float) -> float | None:
        """The rate per second over the window; None before the second point. A counter that fell began again at 0."""
        if not math.isfinite(value) or (self.points and at_s <= self.points[-1][0]):
            return None
        self.points.append((at_s, value))
        while len(self.points) > 2 and self.points[1][0] <= at_s - RATE_WINDOW_S:
            del self.points[0]
        if len(self.points) < 2:
            return None
        pairs = zip(self.points, self.points[1:], strict=False)
        grown = sum(now - before if now >= before else now for (_, before), (_, now) in pairs)
        return grown / (at_s - self.points[0][0])


class PodSources:
    """The port `MetricsSources` for baselines that declare `metrics.pods`: one source for equal declarations.

    Args:
        fleet: the operator's choice of names, for baselines that declare none.
        endpoints_of: the running pods of workloads.
        fetch: reads a page; by default over HTTP.
        clock: the time now, Unix seconds.
    """

    def __init__(
        self,
        fleet: MetricsSource,
        endpoints_of: EndpointsOf,
        fetch: Fetch | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fleet = fleet
        self._endpoints_of = endpoints_of
        self._fetch = fetch
        self._clock = clock
        self._open = OpenSources[PodMetrics]()

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The source, the same one for equal arguments; credentials are sent to no pod."""
        pods = source.pods
        assert pods is not None
        wanted = of_fleet(source, self._fleet)
        key = (
            pods, wanted.profile, tuple(sorted(wanted.names.items())), tuple(sorted(wanted.labels.items())),
        )  # fmt: skip
        return self._open.one(
            key, lambda: PodMetrics(pods, names_of(wanted), self._endpoints_of, self._clock, self._fetch)
        )


def _no_sample(target: Target, names: MetricNames) -> MfuError:
    wanted = ", ".join(names.names.values())
    return Wait("NoSeries", f"{target.url} of pod {target.pod} has none of {wanted}: correct metrics.profile or names")

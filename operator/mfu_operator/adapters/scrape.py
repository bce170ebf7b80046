"""Readings from the pods' own metrics pages, where there is no Prometheus.

Each page is asked for once a sweep, many at a time, each with its own deadline and all together with one. A page is
parsed by prometheus-client, as OpenMetrics where the pod says so and as the text format otherwise. There is no history:
what a page showed before is gone.
"""

import math
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import httpx
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_families

from mfu_operator.adapters.metric_names import MetricNames, names_of, of_fleet
from mfu_operator.detect.samples import SCRAPED_AT, STEP_TIME, Assembly
from mfu_operator.detect.vital_samples import VITALS, VitalAssembly
from mfu_operator.errors import MfuError, Retry, Unreadable, Wait
from mfu_operator.model.baseline import MetricsSource, PodScrape, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.model.workload import PodEndpoint
from mfu_operator.ports import Credentials, Metrics

AT_ONCE = 32
"""Pages that are asked for at the same time: 10 ms a page is 3,000 pages a second, from 32 sockets."""

PAGE_DEADLINE_S = 5.0
"""For one page, from connecting to its last byte; a pod of the same cluster answers in milliseconds."""

SWEEP_DEADLINE_S = 20.0
"""For all pages of a sweep, shorter than a sweep of 30 s: pages that were not read by then are read the next time."""

LARGEST_PAGE = 8 * 1024 * 1024
"""Bytes. A training process exports kilobytes."""

OLD_SAMPLE_S = 300.0
"""A sample that carries a time of its own and is older is of the past: Prometheus' own look-back."""

RATE_WINDOW_S = 180.0
"""Of counters: as Prometheus is asked for them."""

_ACCEPT = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
_PORT, _PATH, _SCRAPE = "prometheus.io/port", "prometheus.io/path", "prometheus.io/scrape"
_PORT_NAME = "metrics"

EndpointsOf = Callable[[Sequence[WorkloadRef]], Mapping[WorkloadRef, Sequence[PodEndpoint]]]


@dataclass(frozen=True, slots=True)
class Target:
    """One page of one pod of a workload."""

    workload: WorkloadRef
    pod: str
    ip: str
    port: int
    path: str

    @property
    def instance(self) -> str:
        """What tells processes of one pod apart: address and port, as Prometheus has it."""
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{self.instance}{self.path}"


@dataclass(frozen=True, slots=True)
class Look:
    """What came of asking for one page. `samples` are (kind, labels, value) as they are; problem None: it was read."""

    target: Target
    at_s: float
    samples: tuple[tuple[str, Mapping[str, str], float], ...] = ()
    problem: MfuError | None = None


Fetch = Callable[[Target], tuple[str, str]]
"""(content type, text) of a page. Raises MfuError."""


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
        self._counters: dict[tuple[str, str], _Counter] = {}
        self._absent: dict[WorkloadRef, MfuError] = {}
        self._answered: frozenset[str] = frozenset()
        self._looks: tuple[Look, ...] = ()

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
        """Ask for every page of these workloads, those that answered last time first."""
        endpoints = self._endpoints_of(workloads)
        targets: list[Target] = []
        absent: dict[WorkloadRef, MfuError] = {}
        for workload in workloads:
            mine = [t for each in endpoints.get(workload, ()) for t in targets_of(workload, each, self._scrape)]
            targets += mine
            if not mine:
                absent[workload] = _no_target(workload, endpoints.get(workload, ()), self._scrape)
        looks = self._asked(sorted(targets, key=lambda target: target.url not in self._answered))
        read = {look.target.workload for look in looks if look.samples}
        for look in looks:
            if look.target.workload not in read:
                absent.setdefault(look.target.workload, look.problem or _no_sample(look.target, self.names))
        with self._lock:
            self._absent = absent
            self._answered = frozenset(look.target.url for look in looks if look.problem is None)
        return looks

    def _asked(self, targets: Sequence[Target]) -> list[Look]:
        if not targets:
            return []
        pool = ThreadPoolExecutor(min(AT_ONCE, len(targets)), thread_name_prefix="scrape")
        futures: dict[Target, Future[Look]] = {target: pool.submit(self._look, target) for target in targets}
        done, _ = wait(futures.values(), timeout=self._deadline_s)
        pool.shutdown(wait=False, cancel_futures=True)
        late = Retry("PodUnreachable", f"not read within {self._deadline_s:g} s: too many others do not answer")
        now_s = self._clock()
        return [
            future.result() if future in done else Look(target, now_s, problem=late)
            for target, future in futures.items()
        ]

    def _look(self, target: Target) -> Look:
        try:
            content_type, text = self._fetch(target)
            at_s = self._clock()
            return Look(target, at_s, tuple(_samples(content_type, text, self.names, at_s)))
        except Unreadable as problem:
            told = Retry(problem.reason, f"{target.url} of pod {target.pod}: {problem.message}")
            return Look(target, self._clock(), problem=told)
        except MfuError as problem:
            return Look(target, self._clock(), problem=problem)

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
        key = (look.target.url, f"{kind} {sorted(labels.items())}")
        rate = self._counters.setdefault(key, _Counter()).note(look.at_s, value)
        if kind == STEP_TIME:
            return 1 / rate if rate else None
        return rate

    def _forget(self, looks: Sequence[Look]) -> None:
        """Counters of pages that are not there any more."""
        there = {look.target.url for look in looks}
        self._counters = {key: counter for key, counter in self._counters.items() if key[0] in there}


@dataclass(slots=True)
class _Counter:
    """A counter over the last minutes."""

    points: list[tuple[float, float]] = field(default_factory=list)

    def note(self, at_s: float, value: float) -> float | None:
        """The rate per second over the window; None before the second point. A counter that fell began anew at 0."""
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


class HttpPages:
    """Reads pages over HTTP: no proxy, no redirect, no more than `largest` bytes, no longer than `deadline_s`."""

    def __init__(self, deadline_s: float = PAGE_DEADLINE_S, largest: int = LARGEST_PAGE) -> None:
        self._deadline_s = deadline_s
        self._largest = largest
        self._client = httpx.Client(
            timeout=deadline_s,
            headers={"Accept": _ACCEPT},
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=0),
        )

    def fetch(self, target: Target) -> tuple[str, str]:
        """(content type, text). Raises Retry(PodUnreachable), Unreadable(PodPageUnreadable)."""
        ends_s = time.monotonic() + self._deadline_s
        where = f"{target.url} of pod {target.pod}"
        try:
            with self._client.stream("GET", target.url) as response:
                if response.status_code != httpx.codes.OK:
                    raise Retry(
                        "PodUnreachable", f"{where} answered {response.status_code}: check metrics.pods.ports and path"
                    )
                return response.headers.get("content-type", ""), self._body(response, ends_s).decode(errors="replace")
        except httpx.TimeoutException:
            raise Retry("PodUnreachable", f"{where} did not answer within {self._deadline_s:g} s: {_POLICY}") from None
        except httpx.HTTPError as error:
            raise Retry(
                "PodUnreachable",
                f"{where} cannot be reached ({type(error).__name__}): does the training process listen there, on all "
                f"addresses? {_POLICY}",
            ) from None

    def _body(self, response: httpx.Response, ends_s: float) -> bytes:
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._largest:
                raise Unreadable("PodPageUnreadable", f"it is larger than {self._largest >> 20} MiB")
            if time.monotonic() > ends_s:
                raise Unreadable("PodPageUnreadable", f"it did not end within {self._deadline_s:g} s")
        return b"".join(parts)


_POLICY = "do the NetworkPolicies of its namespace and of the operator's let the operator in?"


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
        self._lock = threading.Lock()
        self._open: weakref.WeakValueDictionary[object, PodMetrics] = weakref.WeakValueDictionary()

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The source, the same one for equal arguments; credentials are sent to no pod."""
        assert source.pods is not None
        wanted = of_fleet(source, self._fleet)
        key = (
            source.pods, wanted.profile, tuple(sorted(wanted.names.items())), tuple(sorted(wanted.labels.items())),
        )  # fmt: skip
        with self._lock:
            opened = self._open.get(key)
            if opened is None:
                opened = PodMetrics(source.pods, names_of(wanted), self._endpoints_of, self._clock, self._fetch)
                self._open[key] = opened
            return opened


def targets_of(workload: WorkloadRef, endpoint: PodEndpoint, scrape: PodScrape) -> tuple[Target, ...]:
    """The pages of a pod: the declared ports, else its annotation, else its container ports called metrics…"""
    path = scrape.path or endpoint.annotations.get(_PATH) or "/metrics"
    return tuple(
        Target(workload, endpoint.name, endpoint.ip, port, path if path.startswith("/") else f"/{path}")
        for port in _ports(endpoint, scrape)
    )


def _ports(endpoint: PodEndpoint, scrape: PodScrape) -> Iterator[int]:
    if scrape.ports:
        for wanted in scrape.ports:
            port = endpoint.ports.get(wanted) if isinstance(wanted, str) else wanted
            if port is not None:
                yield port
        return
    if endpoint.annotations.get(_SCRAPE) == "false":
        return
    annotated = endpoint.annotations.get(_PORT, "")
    if annotated.isdigit():
        yield int(annotated)
        return
    yield from (port for name, port in sorted(endpoint.ports.items()) if name.startswith(_PORT_NAME))


def _samples(
    content_type: str, text: str, names: MetricNames, at_s: float
) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """The wanted samples of a page. Raises Unreadable(PodPageUnreadable)."""
    kinds: dict[str, list[str]] = {}
    for kind, name in (*names.names.items(), *names.vitals.items()):
        kinds.setdefault(name, []).append(kind)
    try:
        families: list[Metric] = list(_parser(content_type)(text))
    except (ValueError, KeyError, IndexError) as error:
        raise Unreadable("PodPageUnreadable", f"it is no metrics page: {error}") from None
    for family in families:
        for sample in family.samples:
            wanted = kinds.get(sample.name, ())
            if not wanted or (sample.timestamp is not None and at_s - float(sample.timestamp) > OLD_SAMPLE_S):
                continue
            for kind in wanted:
                yield kind, sample.labels, float(sample.value)


def _parser(content_type: str) -> Callable[[str], Iterable[Metric]]:
    if content_type.startswith("application/openmetrics-text"):
        return openmetrics.text_string_to_metric_families
    return text_families


def _no_target(workload: WorkloadRef, endpoints: Sequence[PodEndpoint], scrape: PodScrape) -> MfuError:
    who = f"{workload.kind} {workload.namespace}/{workload.name}"
    if not endpoints:
        return Wait("NoSeries", f"no pod of {who} runs")
    wanted = ", ".join(str(port) for port in scrape.ports)
    if wanted:
        return Wait("NoMetricsPort", f"no pod of {who} has a container port of the name {wanted}")
    return Wait(
        "NoMetricsPort",
        f"pod {endpoints[0].name} of {who} does not say where its metrics are: write metrics.pods.ports, annotate it "
        f'with {_PORT}, or call a container port "{_PORT_NAME}"',
    )


def _no_sample(target: Target, names: MetricNames) -> MfuError:
    wanted = ", ".join(names.names.values())
    return Wait("NoSeries", f"{target.url} of pod {target.pod} has none of {wanted}: correct metrics.profile or names")

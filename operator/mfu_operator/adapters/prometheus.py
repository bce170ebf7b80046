"""Readings from Prometheus, or anything that speaks its HTTP API (Thanos, Mimir, VictoriaMetrics).

One instant query per metric for all workloads, split into chunks of label matchers. A sample of an instant query
carries the time of the query; the scrape's own time comes from one more query, `timestamp(metric)`.
"""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
import msgspec

from mfu_operator.adapters import dcgm, tls
from mfu_operator.adapters.metric_names import MetricNames, names_of, of_fleet
from mfu_operator.adapters.open_sources import OpenSources
from mfu_operator.detect.samples import MFU, PHASE, SCRAPED_AT, STEP_TIME, STEPS, THROUGHPUT, Assembly
from mfu_operator.detect.vital_samples import MEMORY, VitalAssembly
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Credentials, Metrics

CHUNK = 2500
"""Workloads in one query: 10,000 jobs are 4 chunks of 8 queries and a few for memory and hardware, below 40 a sweep;
2,500 names are 100 KB of matcher, which Prometheus takes as a set of literals."""

HISTORY_CHUNK = 250
"""A range query answers with every step of every series: a tenth of the workloads at a time keeps it in memory."""

DEADLINE_S = 20.0
"""For one query. Longer than Prometheus needs for 10,000 series, shorter than a sweep of 30 s."""

_KIND = "mfu_kind"
"""The label that tells the series of a history apart, which have lost their names."""

RATE_WINDOW_S = 180
"""Of counters: three scrapes of the slowest common interval, 60 s, so that one may fail."""

CLOCKS_APART_S = 30.0
"""Its clock and ours may differ by the seconds that an answer takes; beyond it, its times are not ours."""

_TENANT_HEADER = "X-Scope-OrgID"
_MOST_ERROR_TEXT = 200


class _Row(msgspec.Struct):
    """One series of an answer: `value` of an instant query, `values` of a range query, as (time, text)."""

    metric: dict[str, str] = {}
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []

    def points(self) -> list[tuple[float, float]]:
        """(time, number); what is no number is NaN."""
        pairs = self.values if self.value is None else [self.value]
        return [(at_s, _number(text)) for at_s, text in pairs]


class _Data(msgspec.Struct):
    result: list[_Row] = []


class _Answer(msgspec.Struct):
    """What every Prometheus API answers with."""

    status: str = ""
    error: str = "no explanation"
    data: _Data | None = None


class PrometheusMetrics:
    """The port `Metrics` over one Prometheus API.

    Args:
        address: base URL, without credentials.
        names: what metrics and labels are called.
        credentials: sent as a bearer token (password alone) or as basic authentication.
        tenant: the tenant of a Mimir or Cortex.
        transport: another httpx transport, for tests.
        clock: the time here, Unix seconds, to tell how far the server's clock is off.

    Raises:
        Stall: InvalidPrometheusAddress, CredentialsInAddress, CertificateUnreadable.
    """

    def __init__(
        self,
        address: str,
        names: MetricNames,
        credentials: Credentials | None = None,
        tenant: str | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Stall(
                "InvalidPrometheusAddress",
                "spec.metrics.prometheus.address must be a URL like http://prometheus.monitoring:9090",
            )
        if parts.username or parts.password:
            raise Stall(
                "CredentialsInAddress",
                "spec.metrics.prometheus.address holds a password: put it into a Secret, prometheus.secretRef",
            )
        self.address = address.rstrip("/")
        self.names = names
        self.ahead_s = 0.0
        """How far the server's clock is ahead of ours, where that is more than an answer takes; learnt from answers."""
        self._clock = clock
        headers = {_TENANT_HEADER: tenant} if tenant else {}
        auth = None
        if credentials and credentials.password and credentials.username:
            auth = httpx.BasicAuth(credentials.username, credentials.password)
        elif credentials and credentials.password:
            headers["Authorization"] = f"Bearer {credentials.password}"
        self._client = httpx.Client(
            base_url=self.address,
            headers=headers,
            auth=auth,
            timeout=DEADLINE_S,
            transport=transport,
            verify=tls.context_of(credentials),
            trust_env=False,
        )

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """One reading per workload, at its scrape's own time. Raises Retry, or Stall where a query is refused."""
        return self._read(workloads, CHUNK, "/api/v1/query", lambda: {"time": self._there(now_s)})

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of a span, each scrape once, at most one per `step_s`."""

        def span() -> Mapping[str, str]:
            return {"start": self._there(start_s), "end": self._there(end_s), "step": f"{step_s:g}"}

        return self._read(workloads, HISTORY_CHUNK, "/api/v1/query_range", span)

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """The GPUs of each workload as dcgm-exporter has them; absent keys where it has none."""
        by_name = {(workload.namespace, workload.name): workload for workload in workloads}
        rows: dict[WorkloadRef, list[tuple[Mapping[str, str], float]]] = {}
        for start in range(0, len(workloads), CHUNK):
            chunk = workloads[start : start + CHUNK]
            promql = dcgm.query(_alternatives({w.namespace for w in chunk}), _alternatives({w.name for w in chunk}))
            for labels, value in self.query(promql, now_s):
                owner = _by_prefix(by_name, *dcgm.pod_of(labels))
                if owner is not None:
                    rows.setdefault(owner, []).append((labels, value))
        return {workload: dcgm.readings(found) for workload, found in rows.items()}

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """Memory and streaks of each workload now, absent keys where it exports none: one query a chunk for all."""
        kinds = {name: kind for kind, name in self.names.vitals.items()}
        owner_of = _owners(workloads, self.names)
        found: dict[WorkloadRef, VitalAssembly] = {}
        for start in range(0, len(workloads) if kinds else 0, CHUNK):
            for labels, value in self.query(self.vitals_query(workloads[start : start + CHUNK]), now_s):
                owner, kind = owner_of(labels), kinds.get(labels.get("__name__", ""))
                if owner is not None and kind is not None:
                    pod = labels.get(self.names.pod, "")
                    found.setdefault(owner, VitalAssembly()).add(labels, pod, kind, value)
        return {workload: assembly.vitals(now_s) for workload, assembly in found.items()}

    def vitals_query(self, workloads: Sequence[WorkloadRef]) -> str:
        """The query for the vitals of workloads that fit into one chunk."""
        names = "|".join(sorted(self.names.vitals.values()))
        return f'{{__name__=~"{names}",{_matcher(workloads, self.names)[1:]}'

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """The least memory of each step of a span, oldest first; a bounded number of queries for all together."""
        owner_of = _owners(workloads, self.names)
        span = {"start": self._there(start_s), "end": self._there(end_s), "step": f"{step_s:g}"}
        found: dict[WorkloadRef, dict[float, VitalAssembly]] = {}
        for start in range(0, len(workloads), HISTORY_CHUNK):
            promql = self._floors_query(workloads[start : start + HISTORY_CHUNK], step_s)
            for row in self._ask("/api/v1/query_range", {"query": promql, **span}) if promql else ():
                owner, kind = owner_of(row.metric), row.metric.get(_KIND, "")
                if owner is None:
                    continue
                moments = found.setdefault(owner, {})
                for at_s, value in row.points():
                    moments.setdefault(at_s - self.ahead_s, VitalAssembly()).add(
                        row.metric, row.metric.get(self.names.pod, ""), kind, value
                    )
        return {
            workload: tuple(moments[at_s].vitals(at_s) for at_s in sorted(moments))
            for workload, moments in found.items()
        }

    def _floors_query(self, workloads: Sequence[WorkloadRef], step_s: float) -> str:
        """min_over_time drops a metric's name, so each kind is put into a label of its own."""
        matcher = _matcher(workloads, self.names)
        return " or ".join(
            f'label_replace(min_over_time({name}{matcher}[{step_s:.0f}s]), "{_KIND}", "{kind}", "", "")'
            for kind, name in self.names.vitals.items()
            if kind in MEMORY
        )

    def queries(self, workloads: Sequence[WorkloadRef]) -> Iterator[tuple[str, str]]:
        """(kind, PromQL) of every query that is sent for these workloads, given that they fit into one chunk."""
        matcher = _matcher(workloads, self.names)
        for kind, name in self.names.names.items():
            yield kind, self._promql(kind, f"{name}{matcher}")
        clock = next((self.names.names[k] for k in (STEPS, MFU, STEP_TIME, THROUGHPUT) if k in self.names.names), None)
        if clock:
            yield SCRAPED_AT, f"timestamp({clock}{matcher})"

    def query(self, promql: str, now_s: float) -> list[tuple[Mapping[str, str], float]]:
        """The instant vector of one query, as (labels, value)."""
        rows = self._ask("/api/v1/query", {"query": promql, "time": self._there(now_s)})
        return [(row.metric, points[0][1]) for row in rows if (points := row.points())]

    def _promql(self, kind: str, selector: str) -> str:
        """What is asked for one kind. Prometheus' rate() knows a counter that began anew."""
        if kind == PHASE:
            return f"{selector} == 1"
        if kind not in self.names.counters:
            return selector
        rate = f"rate({selector}[{RATE_WINDOW_S}s])"
        return f"1 / {rate}" if kind == STEP_TIME else rate

    def _read(
        self, workloads: Sequence[WorkloadRef], chunk: int, path: str, when: Callable[[], Mapping[str, str]]
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Read once, and once more where the first answers showed that the server's clock is another."""
        ahead_s = self.ahead_s
        readings = self._read_once(workloads, chunk, path, when)
        return readings if self.ahead_s == ahead_s else self._read_once(workloads, chunk, path, when)

    def _read_once(
        self, workloads: Sequence[WorkloadRef], chunk: int, path: str, when: Callable[[], Mapping[str, str]]
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        assembly = Assembly(self.names.compared)
        owner_of = _owners(workloads, self.names)
        span, ahead_s = when(), self.ahead_s
        for start in range(0, len(workloads), chunk):
            for kind, promql in self.queries(workloads[start : start + chunk]):
                scale = self.names.scales.get(kind, 1.0)
                offset = -ahead_s if kind == SCRAPED_AT else 0.0
                for row in self._ask(path, {"query": promql, **span}):
                    owner = owner_of(row.metric)
                    if owner is not None:
                        points = [(at_s - ahead_s, value * scale + offset) for at_s, value in row.points()]
                        assembly.add(owner, row.metric, row.metric.get(self.names.pod, ""), kind, points)
        return assembly.readings()

    def _there(self, time_s: float) -> str:
        """A time of ours as the server's clock has it."""
        return f"{time_s + self.ahead_s:.3f}"

    def _note_clock(self, response: httpx.Response) -> None:
        try:
            server_s = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        ahead_s = server_s - self._clock()
        if abs(ahead_s - self.ahead_s) > CLOCKS_APART_S:
            self.ahead_s = ahead_s if abs(ahead_s) > CLOCKS_APART_S else 0.0

    def _ask(self, path: str, form: Mapping[str, str]) -> list[_Row]:
        """The result rows of a query. Raises Retry, or Stall for a query that Prometheus cannot understand."""
        try:
            response = self._client.post(path, data=dict(form))
        except httpx.TimeoutException:
            raise Retry("PrometheusUnreachable", f"{self.address} did not answer within {DEADLINE_S:g} s") from None
        except httpx.HTTPError as error:
            problem = tls.explained(error)
            if problem is not None:
                raise Retry("PrometheusTlsFailed", f"{self.address}: {problem}") from None
            raise Retry(
                "PrometheusUnreachable",
                f"{self.address} cannot be reached ({type(error).__name__}): check "
                "spec.metrics.prometheus.address and the network",
            ) from None
        self._note_clock(response)
        if response.status_code in (401, 403):
            raise Retry(
                "PrometheusRefused",
                f"{self.address} answered {response.status_code}: check the Secret that "
                "spec.metrics.prometheus.secretRef names",
            )
        answer = self._decoded(response)
        if response.status_code in (400, 422):
            raise Stall(
                "QueryRejected",
                f"{self.address} rejected a query: {answer.error[:_MOST_ERROR_TEXT]}: check metrics.names",
            )
        if response.status_code != httpx.codes.OK or answer.status != "success" or answer.data is None:
            raise Retry(
                "PrometheusUnavailable",
                f"{self.address} answered {response.status_code}: {answer.error[:_MOST_ERROR_TEXT]}",
            )
        return answer.data.result

    def _decoded(self, response: httpx.Response) -> _Answer:
        try:
            return _DECODER.decode(response.content)
        except msgspec.DecodeError:
            pass
        if response.status_code >= 500 or response.status_code == 429:
            raise Retry("PrometheusUnavailable", f"{self.address} answered {response.status_code}")
        raise Retry(
            "PrometheusUnreachable",
            f"{self.address} answered {response.status_code} and is no Prometheus API: check "
            "spec.metrics.prometheus.address",
        )


class PrometheusSources:
    """The port `MetricsSources`: one client per address, tenant, names and credentials, as long as somebody holds it.

    Args:
        fleet: the operator's own Prometheus and its choice of names, for baselines that declare none.
        own_credentials: those of the operator's own Prometheus. They go nowhere else, and to no tenant of a baseline's.
        transport: another httpx transport, for tests.
    """

    def __init__(
        self,
        fleet: MetricsSource,
        own_credentials: Callable[[], Credentials] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._fleet = fleet
        self._own_credentials = own_credentials
        self._transport = transport
        self._open = OpenSources[PrometheusMetrics]()

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The source, the same one for equal arguments. Raises Stall where the declaration cannot work."""
        if source.address is None and self._own_credentials is not None:
            credentials = at_own_address(source, credentials, self._own_credentials())
        wanted = of_fleet(source, self._fleet)
        if not wanted.address:
            raise Stall(
                "NoPrometheus",
                "no Prometheus is known: set spec.metrics.prometheus.address, or MFU_PROMETHEUS_ADDRESS "
                'for the whole operator, or read the pods\' own pages with "spec.metrics.pods: {}"',
            )
        names = tuple(sorted(wanted.names.items())), tuple(sorted(wanted.labels.items()))
        key = (wanted.address, wanted.tenant, wanted.profile, names, credentials)
        address, tenant, transport = wanted.address, wanted.tenant, self._transport
        return self._open.one(key, lambda: PrometheusMetrics(address, names_of(wanted), credentials, tenant, transport))


def at_own_address(source: MetricsSource, given: Credentials | None, own: Credentials) -> Credentials:
    """What a baseline that names no address sends to the operator's own: all of the operator's, or only its own.

    The authority is no secret: the server is the same one, whoever asks.
    """
    if not source.own_prometheus:
        return own
    given = given or Credentials()
    return replace(given, ca=given.ca or own.ca)


def _by_label(workload: WorkloadRef, names: MetricNames) -> bool:
    """A Job's name is a label of its pods' series; other kinds are known by the names that they give their pods."""
    return workload.kind == "Job" and bool(names.workload)


def _matcher(workloads: Sequence[WorkloadRef], names: MetricNames) -> str:
    """A selector for all these workloads; it may match more, which `_owners` leaves out."""
    namespaces = _alternatives({workload.namespace for workload in workloads})
    matchers = [f'{names.namespace}=~"{namespaces}"']
    if all(_by_label(workload, names) for workload in workloads):
        matchers.append(f'{names.workload}=~"{_alternatives({workload.name for workload in workloads})}"')
    else:
        matchers.append(f'{names.pod}=~"({_alternatives({workload.name for workload in workloads})})-.*"')
    return "{" + ",".join(matchers) + "}"


def _alternatives(texts: set[str]) -> str:
    return "|".join(re.escape(text).replace("\\-", "-").replace("\\", "\\\\") for text in sorted(texts))


def _owners(workloads: Sequence[WorkloadRef], names: MetricNames) -> Callable[[Mapping[str, str]], WorkloadRef | None]:
    """Finds the workload that a series belongs to, by its labels."""
    labelled = {(w.namespace, w.name): w for w in workloads if _by_label(w, names)}
    prefixed = {(w.namespace, w.name): w for w in workloads if not _by_label(w, names)}

    def owner_of(labels: Mapping[str, str]) -> WorkloadRef | None:
        namespace = labels.get(names.namespace, "")
        owner = labelled.get((namespace, labels.get(names.workload, "")))
        if owner is not None or not prefixed:
            return owner
        return _by_prefix(prefixed, namespace, labels.get(names.pod, ""))

    return owner_of


def _by_prefix(workloads: Mapping[tuple[str, str], WorkloadRef], namespace: str, pod: str) -> WorkloadRef | None:
    """The workload with the longest name that a pod's name begins with."""
    prefix = pod
    while "-" in prefix:
        prefix = prefix.rpartition("-")[0]
        if (namespace, prefix) in workloads:
            return workloads[(namespace, prefix)]
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


_DECODER = msgspec.json.Decoder(_Answer)

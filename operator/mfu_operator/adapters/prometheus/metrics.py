"""The readings of many workloads from one Prometheus API, in a few queries.

One query per metric for all workloads, split into chunks of label matchers. A sample of an instant query carries the
time of the query; the scrape's own time comes from one more query, `timestamp(metric) or …`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import httpx

from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.adapters.prometheus import dcgm, promql
from mfu_operator.adapters.prometheus.api import INSTANT, LARGEST_ANSWER, RANGE, PrometheusApi, Row
from mfu_operator.adapters.prometheus.portions import Portions, Query
from mfu_operator.adapters.prometheus.selectors import alternatives, by_prefix, matcher, owners, runs_of
from mfu_operator.detect.samples import SCRAPED_AT, Assembly
from mfu_operator.detect.vital_samples import VitalAssembly
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Credentials

CHUNK = 2500
"""Workloads in one query: 10,000 jobs are 4 chunks of 8 queries and a few for memory and hardware, below 40 a sweep;
2,500 names are 100 KB of matcher, which Prometheus takes as a set of literals."""

HISTORY_CHUNK = 250
"""A range query answers with every step of every series: a tenth of the workloads at a time keeps it in memory."""


class PrometheusMetrics:
    """The port `Metrics` over one Prometheus API.

    Args:
        names: what metrics and labels are called.

    The other arguments, and what is raised, are those of `PrometheusApi`.
    """

    def __init__(
        self,
        address: str,
        names: MetricNames,
        credentials: Credentials | None = None,
        tenant: str | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.time,
        egress: Egress = ANYWHERE,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        self.names = names
        self._api = PrometheusApi(address, credentials, tenant, transport, clock, largest=largest, egress=egress)
        self._portions = Portions(self._api)
        self._lacking: str | None = None

    @property
    def address(self) -> str:
        """Base URL."""
        return self._api.address

    @property
    def measures_hardware(self) -> bool:
        """Whether GPUs are known: where dcgm-exporter is scraped."""
        return True

    @property
    def ahead_s(self) -> float:
        """How far the server's clock is ahead of ours, where that is more than an answer takes; learnt from answers."""
        return self._api.ahead_s

    @property
    def lacking(self) -> str | None:
        """What part of its data the server could not reach since the last `latest` began, in its own words."""
        return self._api.lacking

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """One reading per workload, at its scrape's own time. Raises Retry, or Stall where a query is refused."""
        self._api.lacking = None
        found = self._read(workloads, CHUNK, INSTANT, lambda: {"time": self._api.there(now_s)})
        self._lacking = self._api.lacking
        return found

    def absence(self, workload: WorkloadRef) -> MfuError | None:
        """That `latest` may have had nothing, or not all, of a workload because its answers were without a part of the
        data."""
        if self._lacking is None:
            return None
        return Retry(
            "PrometheusIncomplete",
            f"{self.address} answers without a part of its data, and without {workload.kind} "
            f"{workload.namespace}/{workload.name} or some of its pods: {self._lacking}",
        )

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Readings of a span, each scrape once, at most one per `step_s`; with those of the runs before it."""
        spanned = [run for workload in workloads for run in runs_of(workload)]
        found = self._read(spanned, HISTORY_CHUNK, RANGE, lambda: self._span(start_s, end_s, step_s))
        whole = {workload: [each for run in runs_of(workload) for each in found.get(run, ())] for workload in workloads}
        return {
            workload: tuple(sorted(readings, key=lambda each: each.time_s))
            for workload, readings in whole.items()
            if readings
        }

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """The GPUs of each workload as dcgm-exporter has them; absent keys where it has none."""
        by_name = {(workload.namespace, workload.name): workload for workload in workloads}
        rows: dict[WorkloadRef, list[tuple[Mapping[str, str], float]]] = {}
        asked = self._instant(len(workloads), lambda start, end: self.hardware_query(workloads[start:end]), now_s)
        for labels, value in asked:
            owner = by_prefix(by_name, *dcgm.pod_of(labels))
            if owner is not None:
                rows.setdefault(owner, []).append((labels, value))
        return {workload: dcgm.readings(found) for workload, found in rows.items()}

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """Memory and streaks of each workload now, absent keys where it exports none: one query a chunk for all."""
        kinds = {name: kind for kind, name in self.names.vitals.items()}
        owner_of = owners(workloads, self.names)
        found: dict[WorkloadRef, VitalAssembly] = {}
        count = len(workloads) if kinds else 0
        for labels, value in self._instant(count, lambda start, end: self.vitals_query(workloads[start:end]), now_s):
            owner, kind = owner_of(labels), kinds.get(labels.get("__name__", ""))
            if owner is not None and kind is not None:
                found.setdefault(owner, VitalAssembly()).add(labels, labels.get(self.names.pod, ""), kind, value)
        return {workload: assembly.vitals(now_s) for workload, assembly in found.items()}

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """The least memory of each step of a span, oldest first; a bounded number of queries for all together."""
        owner_of = owners(workloads, self.names)
        span = self._span(start_s, end_s, step_s)
        found: dict[WorkloadRef, dict[float, VitalAssembly]] = {}

        def floors(start: int, end: int) -> str:
            return promql.floors_query(matcher(workloads[start:end], self.names), self.names, step_s)

        for row in self._portions.rows(RANGE, span, len(workloads), HISTORY_CHUNK, floors):
            owner, kind = owner_of(row.metric), row.metric.get(promql.FLOOR_KIND, "")
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

    def queries(self, workloads: Sequence[WorkloadRef]) -> Iterator[tuple[str, str]]:
        """(kind, PromQL) of every query that is sent for these workloads, given that they fit into one chunk."""
        selected = matcher(workloads, self.names)
        for kind in promql.kinds(self.names):
            yield kind, promql.query(kind, selected, self.names)

    def vitals_query(self, workloads: Sequence[WorkloadRef]) -> str:
        """The query for the vitals of workloads that fit into one chunk."""
        return promql.vitals_query(matcher(workloads, self.names), self.names)

    def hardware_query(self, workloads: Sequence[WorkloadRef]) -> str:
        """The query for the GPUs of workloads that fit into one chunk."""
        return dcgm.query(alternatives({w.namespace for w in workloads}), alternatives({w.name for w in workloads}))

    def query(self, asked: str, now_s: float) -> list[tuple[Mapping[str, str], float]]:
        """The instant vector of one query in PromQL, as (labels, value)."""
        return list(self._instant(1, lambda *_: asked, now_s))

    def _instant(self, count: int, query: Query, now_s: float) -> Iterator[tuple[Mapping[str, str], float]]:
        for row in self._portions.rows(INSTANT, {"time": self._api.there(now_s)}, count, CHUNK, query):
            points = row.points()
            if points:
                yield row.metric, points[0][1]

    def _span(self, start_s: float, end_s: float, step_s: float) -> Mapping[str, str]:
        return {"start": self._api.there(start_s), "end": self._api.there(end_s), "step": f"{step_s:g}"}

    def _read(
        self,
        workloads: Sequence[WorkloadRef],
        chunk: int,
        path: str,
        when: Callable[[], Mapping[str, str]],
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Read once, and once more where the first answers showed that the server's clock is another."""
        ahead_s = self.ahead_s
        readings = self._read_once(workloads, chunk, path, when())
        return readings if self.ahead_s == ahead_s else self._read_once(workloads, chunk, path, when())

    def _read_once(
        self, workloads: Sequence[WorkloadRef], chunk: int, path: str, when: Mapping[str, str]
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        assembly = Assembly(self.names.compared)
        owner_of = owners(workloads, self.names)
        ahead_s = self.ahead_s
        for kind, row in self._rows(workloads, chunk, path, when):
            owner = owner_of(row.metric)
            if owner is not None:
                scale, offset = self.names.scales.get(kind, 1.0), -ahead_s if kind == SCRAPED_AT else 0.0
                points = [(at_s - ahead_s, value * scale + offset) for at_s, value in row.points()]
                assembly.add(owner, row.metric, row.metric.get(self.names.pod, ""), kind, points)
        return assembly.readings()

    def _rows(
        self, workloads: Sequence[WorkloadRef], chunk: int, path: str, when: Mapping[str, str]
    ) -> Iterator[tuple[str, Row]]:
        """(kind, row) of the samples of these workloads, of every kind that the names hold."""

        @cache
        def selected(start: int, end: int) -> str:
            return matcher(workloads[start:end], self.names)

        for kind in promql.kinds(self.names):

            def query(start: int, end: int, kind: str = kind) -> str:
                return promql.query(kind, selected(start, end), self.names)

            for row in self._portions.rows(path, when, len(workloads), chunk, query):
                yield kind, row

"""Readings from the pods' own /metrics, where no Prometheus exists."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from mfu_operator.adapters.exposition import samples_of
from mfu_operator.adapters.metric_names import MetricNames
from mfu_operator.detect.samples import SCRAPED_AT, Assembly
from mfu_operator.errors import Retry, Unreadable
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.series import Reading

DEADLINE_S = 5.0
"""A process that computes 5 s without answering is scraped again at the next sweep."""

PARALLEL = 16
MOST_BYTES = 4 * 1024 * 1024
"""An exporter of training metrics serves kilobytes; more is another process' port."""


@dataclass(frozen=True, slots=True)
class Target:
    """One process: its pod's name and the address of its metrics ("http://10.0.0.7:9400/metrics")."""

    pod: str
    address: str


class ScrapeMetrics:
    """The port `Metrics` over the pods themselves. There is no history: after a restart, evidence begins anew.

    Args:
        targets_of: the processes of a workload now.
        names: what the metrics are called.
        transport: another httpx transport, for tests.
    """

    def __init__(
        self,
        targets_of: Callable[[WorkloadRef], Sequence[Target]],
        names: MetricNames,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._targets_of = targets_of
        self._kinds = {name: kind for kind, name in names.names.items()}
        self._scales = names.scales
        self._client = httpx.Client(timeout=DEADLINE_S, transport=transport, trust_env=False)

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """One reading per workload, of `now_s`. Raises Retry where there are targets and none answers."""
        targets = [(workload, target) for workload in workloads for target in self._targets_of(workload)]
        with ThreadPoolExecutor(PARALLEL, thread_name_prefix="scrape") as pool:
            answers = list(pool.map(lambda pair: self._text(pair[1]), targets))
        if targets and all(answer is None for answer in answers):
            raise Retry(
                "MetricsUnreachable",
                f"none of {len(targets)} pods answers at its metrics port: is the port right, and do network policies "
                "let the operator in?",
            )
        assembly = Assembly()
        for (workload, target), answer in zip(targets, answers, strict=True):
            if answer is not None:
                self._add(assembly, workload, target, answer, now_s)
        return assembly.readings()

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """Nothing: a process remembers no past."""
        return {}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _text(self, target: Target) -> str | None:
        """What the process serves; None where it does not answer, or with something else."""
        try:
            response = self._client.get(target.address)
        except httpx.HTTPError:
            return None
        if response.status_code != httpx.codes.OK or len(response.content) > MOST_BYTES:
            return None
        return response.text

    def _add(self, assembly: Assembly, workload: WorkloadRef, target: Target, text: str, now_s: float) -> None:
        try:
            samples = list(samples_of(text))
        except Unreadable:
            return
        for name, labels, value in samples:
            kind = self._kinds.get(name)
            if kind is not None:
                scaled = value * self._scales.get(kind, 1.0)
                assembly.add(workload, {**labels, "instance": target.address}, target.pod, kind, [(now_s, scaled)])
        assembly.add(workload, {"instance": target.address}, target.pod, SCRAPED_AT, [(now_s, now_s)])

"""Pods that show metrics pages, without a cluster or a network."""

from collections.abc import Mapping, Sequence

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import PodMetrics
from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.series import Reading
from mfu_operator.model.workload import PodEndpoint
from tests.support.metrics_page import TEXT

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
OTHER = WorkloadRef("batch/v1", "Job", "team-a", "llama")

PROBE = """
# TYPE mfu_probe_mfu_ratio gauge
mfu_probe_mfu_ratio 0.44
mfu_probe_step_seconds 2.0
mfu_probe_steps_total 70
mfu_probe_phase{phase="running"} 1
mfu_probe_phase{phase="checkpoint"} 0
mfu_probe_info{model="gpt-7b",global_batch="256",gpus="1"} 1
"""


class Pods:
    """Running pods and their pages, with a clock that is moved by hand."""

    def __init__(self, names: Mapping[str, str] | None = None, profile: str = "mfu_probe") -> None:
        self.now_s = 1000.0
        self.pages: dict[str, str | MfuError] = {}
        self.content_type = TEXT
        self.endpoints: dict[WorkloadRef, tuple[PodEndpoint, ...]] = {}
        source = MetricsSource(profile=profile, names=names or {})
        self.metrics = PodMetrics(PodScrape((9400,)), names_of(source), self._running, lambda: self.now_s, self._fetch)

    def run(self, workload: WorkloadRef, **pages: str | MfuError) -> None:
        """Pods by name with underscores, and what their pages show."""
        names = [name.replace("_", "-") for name in pages]
        self.endpoints[workload] = tuple(PodEndpoint(name, f"10.0.0.{i}") for i, name in enumerate(names))
        self.pages |= dict(zip(names, pages.values(), strict=True))

    def reading(self, after_s: float = 30.0, workload: WorkloadRef = JOB) -> Reading | None:
        self.now_s += after_s
        readings = self.metrics.latest([workload], self.now_s).get(workload, ())
        return readings[-1] if readings else None

    def value(self, signal: Signal, after_s: float = 30.0) -> float | None:
        reading = self.reading(after_s)
        return None if reading is None else reading.values.get(signal)

    def _running(self, workloads: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, Sequence[PodEndpoint]]:
        return {workload: self.endpoints[workload] for workload in workloads if workload in self.endpoints}

    def _fetch(self, target: Target) -> tuple[str, str]:
        page = self.pages[target.pod]
        if isinstance(page, MfuError):
            raise page
        return self.content_type, page

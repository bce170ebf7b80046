"""A sweep over one training job, with a clock that is moved by hand."""

from mfu_operator.measure.sweep import Sweep
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import (
    Baseline,
    BaselineSpec,
    Comparable,
    Detection,
    Level,
    Provenance,
    Signal,
    Spread,
    WorkloadRef,
)
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Verdict
from tests.support.metrics_double import MetricsDouble, SourcesDouble

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
SPEC = BaselineSpec(workload=JOB, comparable=Comparable("gpt"), detection=Detection())
BASELINE = Baseline(Level(mfu=0.46), Spread(0.005, 0.001, 0.001, 5), Provenance.DECLARED)


class Bench:
    """A sweep with a clock that is moved by hand and a source that scrapes whenever it moves."""

    def __init__(self) -> None:
        self.now_s = 10_000.0
        self.metrics = MetricsDouble()
        self.sources = SourcesDouble(self.metrics)
        self.sweep = self.another()

    def read_from(self, metrics: MetricsDouble) -> None:
        """Another source, and a sweep that knows no other."""
        self.metrics = metrics
        self.sources = SourcesDouble(metrics)
        self.sweep = self.another()

    def another(self) -> Sweep:
        """The operator after a restart."""
        return Sweep(self.sources, lambda: self.now_s, 30.0)

    def run(self, minutes: float, loss: float = 0.0, *, swept: bool = True, job: WorkloadRef = JOB) -> None:
        for _ in range(round(minutes * 2)):
            self.now_s += 30
            self.metrics.add(job, Reading(self.now_s, {Signal.MFU: 0.46 * (1 - loss)}, incarnation="a"))
            if swept:
                self.sweep.run_once()

    def view(self, key: str = "uid") -> SweepView:
        """What the sweep knows now."""
        return self.sweep.view(key, self.now_s)

    def verdict(self) -> Verdict | None:
        judgement = self.view().judgement
        return judgement.verdict if judgement else None

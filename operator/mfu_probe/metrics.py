"""The readings as Prometheus metrics. A reading that does not exist yet is absent, never zero and never −1."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from mfu_probe.phases import PHASES, Phase


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All readings at one moment. None means that there is no such reading."""

    phase: Phase
    steps_total: int
    mfu_ratio: float | None
    step_seconds: float | None
    tokens_per_second: float | None
    window_running_ratio: float | None
    peak_flops: float | None
    loss: float | None
    info: dict[str, str]


_GAUGES: tuple[tuple[str, str, str], ...] = (
    (
        "mfu_ratio",
        "mfu_probe_mfu_ratio",
        "Model FLOPs utilisation of this process over the window's wall time, 0 to 1.",
    ),
    ("step_seconds", "mfu_probe_step_seconds", "Mean wall time per completed step over the window, in seconds."),
    ("tokens_per_second", "mfu_probe_tokens_per_second", "Tokens this process trained on per second of wall time."),
    (
        "window_running_ratio",
        "mfu_probe_window_running_ratio",
        "Share of the window's wall time in the phase running, 0 to 1; below 1 the readings hold a dip.",
    ),
    ("peak_flops", "mfu_probe_peak_flops", "Peak of the devices of this process, in FLOP/s, as declared or measured."),
    ("loss", "mfu_probe_loss", "Training loss last reported, in the units of the training script."),
)


class SnapshotCollector(Collector):
    """Turns the snapshot taken at the moment of the scrape into metric families."""

    def __init__(self, take: Callable[[], Snapshot]) -> None:
        self._take = take

    def describe(self) -> Iterator[Metric]:
        """Nothing in advance: which readings exist is only known when they are taken."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The metrics of this moment."""
        snapshot = self._take()
        for field, name, documentation in _GAUGES:
            value = getattr(snapshot, field)
            if value is not None:
                yield GaugeMetricFamily(name, documentation, value=value)
        yield CounterMetricFamily("mfu_probe_steps", "Steps completed by this process.", value=snapshot.steps_total)
        yield _phase_family(snapshot.phase)
        yield InfoMetricFamily("mfu_probe", "What the run declares about itself.", value=snapshot.info)


def _phase_family(current: Phase) -> GaugeMetricFamily:
    family = GaugeMetricFamily("mfu_probe_phase", "1 for the phase the run is in, 0 for the others.", labels=["phase"])
    for phase in PHASES:
        family.add_metric([phase], 1.0 if phase == current else 0.0)
    return family


def registry_of(take: Callable[[], Snapshot]) -> CollectorRegistry:
    """A registry of the probe's own, so that nothing it exports meets the training script's own metrics."""
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(take))
    return registry

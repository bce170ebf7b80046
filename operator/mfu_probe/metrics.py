"""The readings as Prometheus metrics. A reading that does not exist yet is absent, never zero and never −1."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from mfu_probe.memory import DeviceMemory, HostMemory
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
    nonfinite_loss_streak: int | None
    nonfinite_losses_total: int | None
    skipped_step_streak: int | None
    skipped_steps_total: int | None
    device_memory: DeviceMemory | None
    host_memory: HostMemory | None
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
    (
        "nonfinite_loss_streak",
        "mfu_probe_nonfinite_loss_streak",
        "Losses reported in a row, up to the last one, that are NaN or infinite.",
    ),
    (
        "skipped_step_streak",
        "mfu_probe_skipped_step_streak",
        "Steps in a row, up to the last one, whose update was skipped.",
    ),
)

_COUNTERS: tuple[tuple[str, str, str], ...] = (
    ("steps_total", "mfu_probe_steps", "Steps completed by this process."),
    ("nonfinite_losses_total", "mfu_probe_nonfinite_losses", "Losses reported that are NaN or infinite."),
    ("skipped_steps_total", "mfu_probe_skipped_steps", "Steps whose update was skipped."),
)

_MEMORY: tuple[tuple[str, str, str, str], ...] = (
    (
        "device_memory",
        "allocated",
        "mfu_probe_memory_allocated_bytes",
        "Device memory in torch tensors at the end of a step.",
    ),
    (
        "device_memory",
        "reserved",
        "mfu_probe_memory_reserved_bytes",
        "Device memory that torch's caching allocator holds at the end of a step.",
    ),
    (
        "device_memory",
        "limit",
        "mfu_probe_memory_limit_bytes",
        "Device memory that torch's caching allocator could hold.",
    ),
    (
        "host_memory",
        "used",
        "mfu_probe_host_memory_bytes",
        "Host memory of this container that cannot be taken back: anonymous and shared, without page cache.",
    ),
    (
        "host_memory",
        "limit",
        "mfu_probe_host_memory_limit_bytes",
        "Memory limit of this container, or the machine's memory.",
    ),
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
        for field, name, documentation in _COUNTERS:
            count = getattr(snapshot, field)
            if count is not None:
                yield CounterMetricFamily(name, documentation, value=count)
        for kind, field, name, documentation in _MEMORY:
            memory = getattr(snapshot, kind)
            if memory is not None:
                yield GaugeMetricFamily(name, documentation, value=getattr(memory, field))
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

"""The readings as Prometheus metrics. A reading that does not exist yet is absent, never zero and never −1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mfu_probe.memory import DeviceMemory, HostMemory
from mfu_probe.phases import PHASES, Phase


@dataclass(frozen=True)
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


def page_of(snapshot: Snapshot) -> str:
    """The snapshot in Prometheus' text format 0.0.4, which needs no client library in a training image."""
    lines: list[str] = []
    for field, name, documentation in _GAUGES:
        _add(lines, name, "gauge", documentation, {"": getattr(snapshot, field)})
    for field, name, documentation in _COUNTERS:
        _add(lines, f"{name}_total", "counter", documentation, {"": getattr(snapshot, field)})
    for kind, field, name, documentation in _MEMORY:
        memory = getattr(snapshot, kind)
        _add(lines, name, "gauge", documentation, {"": None if memory is None else getattr(memory, field)})
    phases = {f'{{phase="{phase}"}}': float(phase == snapshot.phase) for phase in PHASES}
    _add(lines, "mfu_probe_phase", "gauge", "1 for the phase the run is in, 0 for the others.", phases)
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in snapshot.info.items())
    _add(lines, "mfu_probe_info", "gauge", "What the run declares about itself.", {f"{{{labels}}}": 1.0})
    return "\n".join(lines) + "\n"


def _add(lines: list[str], name: str, kind: str, documentation: str, samples: Mapping[str, float | None]) -> None:
    known = [(labels, value) for labels, value in samples.items() if value is not None]
    if known:
        lines += [f"# HELP {name} {documentation}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{labels} {_number(value)}" for labels, value in known]


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

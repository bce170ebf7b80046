"""What goes wrong in training jobs, as one knob each, and the answer that a person who turned it expects."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.accuracy.events.loop import run
from tests.accuracy.events.programs import PROGRAMS, scaled
from tests.accuracy.events.setup import Setup

Knob = Callable[[Setup, float], Setup]


@dataclass(frozen=True, slots=True)
class Fault:
    """A knob, its range, and what is right to say of it."""

    name: str
    bottleneck: str | None
    cause: str | None
    turn: Knob
    most: float = 1.0
    work: float = 1.0
    """Times the model's compute: a small model leaves the device waiting for its host."""
    ranks: tuple[int, int, int] = (1, 2, 4)
    shared: Knob = field(default=lambda setup, _: setup)
    """What else is turned, in the healthy job too: how large what the knob touches is."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """How the healthy job differs from the usual one."""
    balanced: float = 0.0
    """Of a step: how long each worker takes for a batch times their number, in the healthy job."""


def _set(**knobs: Callable[[Setup, float], Any]) -> Knob:
    return lambda setup, x: replace(setup, **{name: of(setup, x) for name, of in knobs.items()})


def _late(**knobs: Callable[[Setup, float], Any]) -> Knob:
    return lambda setup, x: replace(setup, late=tuple((name, of(setup, x)) for name, of in knobs.items()))


COMMUNICATING = (4, 3, 4)
LONGER: Mapping[str, Any] = {"steps": 13}
"""Three turns of four workers."""

FAULTS: tuple[Fault, ...] = (
    Fault("again", None, None, lambda setup, _: setup),
    Fault("hidden loader", None, None, _set(read_ms=lambda s, _: s.read_ms * 1.3), balanced=0.5),
    Fault("hidden network", None, None, _set(gbps=lambda s, _: s.gbps * 0.93), ranks=COMMUNICATING, work=1.5),
    Fault("hidden host", None, None, _set(host=lambda _, __: 1.08), work=2.0),
    Fault(
        "no workers",
        "InputStarved",
        "DataLoaderWorkers",
        _set(workers=lambda _, __: 0, transform_ms=lambda _, x: x * 60, read_ms=lambda _, x: x * 20),
        most=2,
        before=LONGER,
    ),
    Fault("fewer workers", "InputStarved", "DataLoaderWorkers", _set(workers=lambda _, __: 3), before=LONGER),
    Fault(
        "slow store",
        "InputStarved",
        "SlowStorage",
        _set(read_ms=lambda s, x: s.read_ms + 400 * x),
        balanced=0.8,
        before=LONGER,
    ),
    Fault(
        "slow transform",
        "InputStarved",
        "CpuTransform",
        _set(transform_ms=lambda s, x: s.transform_ms + 400 * x),
        balanced=0.8,
        before=LONGER,
    ),
    Fault(
        "bursts",
        "InputStarved",
        "PrefetchBursts",
        _set(prefetch=lambda _, __: 1),
        shared=_set(heavy_ms=lambda _, x: 600 * x),
        balanced=0.5,
        before={**LONGER, "prefetch": 5, "heavy_every": 6},
    ),
    Fault(
        "workers restart",
        "InputStarved",
        "WorkerRestart",
        _set(restart_at=lambda s, _: s.before + 5, restart_ms=lambda _, x: 900 * x),
        before=LONGER,
    ),
    Fault("lost overlap", "CommsBound", "LostOverlap", _set(serial=lambda _, x: x), ranks=COMMUNICATING),
    Fault(
        "small messages",
        "CommsBound",
        "SmallMessages",
        _set(bucket_mb=lambda s, x: 25 * (1 - x) + 0.05),
        ranks=COMMUNICATING,
    ),
    Fault("slow link", "CommsBound", "SlowLink", _set(gbps=lambda s, x: s.gbps * (1 - x) + 0.5), ranks=COMMUNICATING),
    Fault(
        "more collectives",
        "CommsBound",
        "ExposedCollectives",
        _set(extra_collectives=lambda _, x: 12 * x),
        ranks=COMMUNICATING,
    ),
    Fault("precision", "KernelBound", "PrecisionLost", _set(wide=lambda _, x: x)),
    Fault("attention", "KernelBound", "AttentionFallback", _set(unflashed=lambda _, x: x)),
    Fault("recomputation", "KernelBound", "Recompute", _set(again=lambda _, x: x)),
    Fault("larger batch", "KernelBound", "ShapeChanged", _set(larger=lambda _, x: 1 + x)),
    Fault("many small kernels", "KernelBound", "Unfused", _set(pieces=lambda _, x: x)),
    Fault("a new kernel", "KernelBound", "NewKernel", _set(added_us=lambda _, x: 2000 * x)),
    Fault("low clock", "HardwareDegraded", "Throttled", _set(clock=lambda _, x: 1 + x)),
    Fault("allocator", "HostBound", "Allocator", _set(allocations=lambda _, x: 60 * x)),
    Fault("reads", "HostBound", "Synchronisation", _set(extra_reads=lambda _, x: 40 * x), work=0.5),
    Fault(
        "graphs lost",
        "HostBound",
        "LaunchOverhead",
        _set(single_launches=lambda _, x: x),
        work=0.15,
        before={"graphs": True},
    ),
    Fault("hooks", "HostBound", "PythonOverhead", _set(python_us=lambda _, x: 4000 * x), work=0.3),
    Fault("slow host", "HostBound", "ThreadOversubscription", _set(host=lambda _, x: 1 + x), work=0.3),
    Fault("recompilation", "HostBound", "Recompilation", _set(compile_ms=lambda _, x: 400 * x), before={"steps": 13}),
    Fault("anomaly detection", "HostBound", "DebugInstrumentation", _set(checks=lambda _, x: x)),
    Fault(
        "pageable",
        "CopyBound",
        "PageableCopies",
        _set(pinned=lambda _, __: False),
        shared=_set(batch_factor=lambda _, x: 60 * x),
    ),
    Fault(
        "slow PCIe",
        "HardwareDegraded",
        "LinkDegraded",
        _set(pcie_gbps=lambda s, x: s.pcie_gbps * (1 - x) + 0.2),
        before={"batch_factor": 1.6},
    ),
    Fault("copies in the device", "CopyBound", "ExtraCopies", _set(copies_us=lambda _, x: 2000 * x)),
    Fault("copies between devices", "CopyBound", "ExtraCopies", _set(peer_mb=lambda _, x: 60 * x), ranks=(2, 2, 4)),
    Fault("offload", "CopyBound", "Offload", _set(offload_mb=lambda _, x: 200 * x)),
    Fault("a rank's clock", "Straggler", "SlowCompute", _late(clock=lambda _, x: 1 + x), ranks=COMMUNICATING),
    Fault("a rank's host", "Straggler", "SlowHost", _late(host=lambda _, x: 1 + 3 * x), ranks=COMMUNICATING, work=0.5),
    Fault(
        "a rank's store",
        "Straggler",
        "SlowInput",
        _late(read_ms=lambda s, x: s.read_ms + 400 * x),
        ranks=COMMUNICATING,
        balanced=0.8,
        before=LONGER,
    ),
    Fault(
        "a rank's PCIe",
        "Straggler",
        "SlowCopies",
        _late(pcie_gbps=lambda s, x: s.pcie_gbps * (1 - x) + 0.2),
        ranks=COMMUNICATING,
        before={"batch_factor": 1.6},
    ),
)
BY_NAME = {one.name: one for one in FAULTS}


@dataclass(frozen=True, slots=True)
class Pair:
    """The job before and after, and by how much its step grew."""

    baseline: Setup
    now: Setup
    growth: float


def pair(fault: Fault, growth: float, seed: int) -> Pair | None:
    """The fault turned until the step is so much longer; None where this job cannot be made so slow by it."""
    program = scaled(PROGRAMS[seed % 3](), fault.work)
    gbps = 350.0 if program.sharded else 90.0
    healthy = Setup(program, **{"ranks": fault.ranks[seed % 3], "seed": seed, "gbps": gbps, **fault.before})
    if fault.name == "fewer workers":
        healthy = _loading(healthy, 3 * (1 + growth) * _step(healthy))
    elif fault.balanced:
        healthy = _loading(healthy, fault.balanced * healthy.workers * _step(healthy))
    if fault.bottleneck is None or fault.name == "fewer workers":
        return _grown(fault, healthy, 1.0)
    low, high = 0.0, fault.most
    for _ in range(9):
        middle = (low + high) / 2
        if _grown(fault, healthy, middle).growth >= growth:
            high = middle
        else:
            low = middle
    made = _grown(fault, healthy, high)
    return made if 0.7 * growth <= made.growth <= 2 * growth + 0.05 else None


@functools.lru_cache(maxsize=64)
def _step(setup: Setup) -> float:
    return run(setup, recorded=False)[1]


def _grown(fault: Fault, healthy: Setup, x: float) -> Pair:
    before = fault.shared(healthy, x)
    now = replace(fault.turn(before, x), seed=healthy.seed + 100)
    return Pair(before, now, _step(now) / _step(before) - 1)


def _loading(setup: Setup, batch_ns: float) -> Setup:
    """A loader whose workers take so long for a batch, most of it for the transform."""
    return replace(setup, read_ms=batch_ns * 0.3e-6, transform_ms=batch_ns * 0.7e-6)

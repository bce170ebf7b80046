"""Faults to switch on in a modelled loop: each turns a loop into one that is slower by a chosen part of its step."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.support.synthetic.loop import ADD, FLASH, GEMM, POINTWISE, SGEMM, SOFTMAX, Kernel, Loop

Fault = Callable[[Loop, float], Loop]
"""From a loop and the microseconds to lose per step."""


def _scaled(
    kernels: tuple[Kernel, ...], name: str, loop: Loop, lost: float, renamed: str | None = None
) -> tuple[Kernel, ...]:
    """`kernels` of a layer with those named `name` slower, so that forward and backward lose `lost` together."""
    mine = sum(kernel.us for kernel in kernels if kernel.name == name)
    factor = 1 + lost / (mine * loop.layers * (1 + loop.backward_factor))
    return tuple(
        replace(kernel, us=kernel.us * factor, name=renamed or kernel.name) if kernel.name == name else kernel
        for kernel in kernels
    )


def _attention(loop: Loop, lost: float) -> Loop:
    flash = next(kernel for kernel in loop.forward if kernel.name == FLASH)
    more = lost / (loop.layers * (1 + loop.backward_factor))
    whole = flash.us + more
    parts = (Kernel(GEMM, 0.3 * whole), Kernel(SOFTMAX, 0.4 * whole), Kernel(GEMM, 0.3 * whole))
    rest = tuple(kernel for kernel in loop.forward if kernel.name != FLASH)
    return replace(loop, forward=(*parts, *rest))


def _recompute(loop: Loop, lost: float) -> Loop:
    layer = sum(kernel.us for kernel in loop.forward)
    return replace(loop, recomputed_layers=max(1, min(loop.layers, round(lost / layer))))


def _shapes(loop: Loop, lost: float) -> Loop:
    whole = sum(kernel.us for kernel in loop.forward) * loop.layers * (1 + loop.backward_factor)
    factor = 1 + lost / whole
    larger = tuple(replace(one, us=one.us * factor, grid=round(one.grid * factor)) for one in loop.forward)
    return replace(loop, forward=larger)


def _small_messages(loop: Loop, lost: float) -> Loop:
    """Each bucket in so many collectives that each of them is shorter, though all of them take longer."""
    split = max(4, round(4 * (lost + loop.bucket_us) / loop.bucket_us))
    return replace(loop, split=split, bucket_us=loop.bucket_us + lost)


def _lost_overlap(loop: Loop, lost: float) -> Loop:
    """So many buckets serial as lose that much; the baseline has the same buckets overlapped."""
    return replace(loop, serial_buckets=max(1, round(lost / loop.bucket_us)))


FAULTS: Mapping[str, tuple[str, Fault]] = {
    "DataLoaderWorkers": (
        "InputStarved",
        lambda loop, lost: replace(loop, input_us=loop.input_us + lost, loader="inline"),
    ),
    "SlowStorage": ("InputStarved", lambda loop, lost: replace(loop, input_us=loop.input_us + lost)),
    "CpuTransform": ("InputStarved", lambda loop, lost: replace(loop, transform_us=loop.transform_us + lost)),
    "WorkerRestart": (
        "InputStarved",
        lambda loop, lost: replace(loop, input_by_step=_peaks(loop, lost, (4,)), restarts=(4,)),
    ),
    "PrefetchBursts": (
        "InputStarved",
        lambda loop, lost: replace(loop, input_by_step=_peaks(loop, lost, tuple(range(1, loop.steps, 3)))),
    ),
    "ExposedCollectives": (
        "CommsBound",
        lambda loop, lost: replace(loop, extra_collectives=(max(lost / 2, 1.0),) * 2),
    ),
    "SmallMessages": ("CommsBound", _small_messages),
    "SlowLink": ("CommsBound", lambda loop, lost: replace(loop, bucket_us=loop.bucket_us + lost)),
    "LostOverlap": ("CommsBound", _lost_overlap),
    "HostCollectives": ("CommsBound", lambda loop, lost: replace(loop, host_collective_us=lost)),
    "PrecisionLost": (
        "KernelBound",
        lambda loop, lost: replace(loop, forward=_scaled(loop.forward, GEMM, loop, lost, SGEMM)),
    ),
    "ShapeChanged": ("KernelBound", _shapes),
    "AttentionFallback": ("KernelBound", _attention),
    "Recompute": ("KernelBound", _recompute),
    "Unfused": (
        "KernelBound",
        lambda loop, lost: replace(
            loop,
            extra_kernels=tuple(Kernel(ADD if n % 2 else POINTWISE, 12.0) for n in range(max(4, round(lost / 12)))),
        ),
    ),
    "NewKernel": ("KernelBound", lambda loop, lost: replace(loop, extra_kernels=(Kernel("my_custom_scan_v2", lost),))),
    "Throttled": ("HardwareDegraded", lambda loop, lost: replace(loop, device_scale=1 + lost / _device_us(loop))),
    "Recompilation": ("HostBound", lambda loop, lost: replace(loop, compile_us=lost)),
    "DebugInstrumentation": ("HostBound", lambda loop, lost: replace(loop, checks=12, check_us=lost)),
    "Allocator": ("HostBound", lambda loop, lost: replace(loop, allocations=6, allocation_us=lost)),
    "Synchronisation": ("HostBound", lambda loop, lost: replace(loop, syncs=4, after_sync_us=lost)),
    "LaunchOverhead": (
        "HostBound",
        lambda loop, lost: replace(
            loop, extra_kernels=(Kernel(ADD, 1.5, 1),) * max(4, round(lost / (loop.launch_us + loop.op_us)))
        ),
    ),
    "PythonOverhead": ("HostBound", lambda loop, lost: replace(loop, python_us=lost)),
    "ThreadOversubscription": (
        "HostBound",
        lambda loop, lost: replace(loop, host_scale=1 + lost / _host_us(loop)),
    ),
    "PageableCopies": ("CopyBound", lambda loop, lost: replace(loop, h2d_us=loop.h2d_us + lost, pageable=True)),
    "ExtraCopies": ("CopyBound", lambda loop, lost: replace(loop, extra_copies=((8, lost, 64 << 20),))),
    "Offload": (
        "CopyBound",
        lambda loop, lost: replace(loop, extra_copies=((1, lost / 2, 256 << 20), (2, lost / 2, 256 << 20))),
    ),
    "LinkDegraded": ("HardwareDegraded", lambda loop, lost: replace(loop, h2d_us=loop.h2d_us + lost)),
}
"""Cause → (its bottleneck, how to switch it on)."""

RANK_FAULTS: Mapping[str, tuple[str, Fault]] = {
    "SlowCompute": ("Straggler", lambda loop, lost: replace(loop, device_scale=1 + lost / _device_us(loop))),
    "SlowInput": ("Straggler", lambda loop, lost: replace(loop, input_us=loop.input_us + lost)),
    "SlowCopies": ("Straggler", lambda loop, lost: replace(loop, h2d_us=loop.h2d_us + lost)),
    "SlowHost": ("Straggler", lambda loop, lost: replace(loop, python_us=loop.python_us + lost)),
}
"""The same for what one rank of several is slow in."""


def _device_us(loop: Loop) -> float:
    layers = sum(kernel.us for kernel in loop.forward) * loop.layers * (1 + loop.backward_factor)
    return layers + sum(kernel.us for kernel in loop.optimizer)


def _host_us(loop: Loop) -> float:
    """What the host needs for a step of a loop that waits for the host."""
    kernels = len(loop.forward) * loop.layers * 2 + len(loop.optimizer)
    return kernels * (loop.op_us + loop.launch_us)


def _peaks(loop: Loop, lost: float, where: tuple[int, ...]) -> tuple[float, ...]:
    inner = [index for index in where if 0 < index < loop.steps - 1]
    each = lost * (loop.steps - 2) / max(1, len(inner))
    return tuple(loop.input_us + (each if index in where else 0.0) for index in range(loop.steps))

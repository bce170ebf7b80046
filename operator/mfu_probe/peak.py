"""Peak FLOP/s of a device, declared or measured, and the FLOPs a model needs: the two halves of MFU beside time."""

import time
from collections.abc import Callable, Mapping

GPU_PEAKS: Mapping[str, Mapping[str, float]] = {
    "V100-PCIE": {"fp16": 112e12},
    "V100": {"fp16": 125e12},
    "A100": {"fp16": 312e12, "bf16": 312e12, "tf32": 156e12},
    "L40S": {"fp16": 362e12, "bf16": 362e12, "tf32": 183e12, "fp8": 733e12},
    "L40": {"fp16": 181e12, "bf16": 181e12, "tf32": 90.5e12, "fp8": 362e12},
    "L4": {"fp16": 121e12, "bf16": 121e12, "tf32": 60e12, "fp8": 242e12},
    "H100 NVL": {"fp16": 835e12, "bf16": 835e12, "tf32": 417e12, "fp8": 1671e12},
    "H100 PCIe": {"fp16": 756e12, "bf16": 756e12, "tf32": 378e12, "fp8": 1513e12},
    "H100": {"fp16": 989e12, "bf16": 989e12, "tf32": 494e12, "fp8": 1979e12},
    "H200 NVL": {"fp16": 835e12, "bf16": 835e12, "tf32": 417e12, "fp8": 1671e12},
    "H200": {"fp16": 989e12, "bf16": 989e12, "tf32": 494e12, "fp8": 1979e12},
    "GB200": {"fp16": 2500e12, "bf16": 2500e12, "tf32": 1250e12, "fp8": 5000e12},
    "B200": {"fp16": 2250e12, "bf16": 2250e12, "tf32": 1125e12, "fp8": 4500e12},
    "MI300X": {"fp16": 1307.4e12, "bf16": 1307.4e12, "tf32": 653.7e12, "fp8": 2614.9e12},
}
"""Dense (not sparse) peak FLOP/s by part of the device's name and precision.

From the vendors' data sheets, sparse figures halved: NVIDIA V100, A100, L4, L40, L40S, H100 and H200 Tensor Core GPU,
NVIDIA DGX B200 (by its eight GPUs), NVIDIA GB200 NVL72 (by its 72 GPUs), AMD Instinct MI300X. Order matters: the first
name found in the device's wins.
"""


class UnknownGpuError(LookupError):
    """The table has no peak for this device and precision: declare `peak_flops` yourself."""


def peak_of(gpu: str, precision: str = "bf16") -> float:
    """Dense peak in FLOP/s of the device named `gpu` (as the driver names it) at `precision`.

    Raises UnknownGpuError when the table does not hold it.
    """
    wanted = gpu.casefold()
    for name, peaks in GPU_PEAKS.items():
        if name.casefold() in wanted and precision in peaks:
            return peaks[precision]
    raise UnknownGpuError(
        f"no peak known for {gpu!r} at {precision}: pass peak_flops (FLOP/s, dense) from the device's data sheet"
    )


def measure_peak(
    operation: Callable[[], object],
    flops: float,
    *,
    seconds: float = 1.0,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Best rate in FLOP/s at which `operation`, which needs `flops` floating point operations, ran for `seconds`.

    For a CPU: `measure_peak(lambda: a @ b, 2 * m * n * k)` with matrices that fill the cache. The fastest single call
    counts, because a peak is what the device can do when nothing disturbs it.
    """
    if flops <= 0:
        raise ValueError(f"flops must be positive, not {flops}")
    operation()
    deadline = clock() + seconds
    best_seconds = float("inf")
    now = clock()
    while now < deadline:
        operation()
        after = clock()
        best_seconds = min(best_seconds, after - now)
        now = after
    return flops / best_seconds


def training_flops(parameters: int, tokens: int, *, layers: int = 0, width: int = 0, sequence_length: int = 0) -> float:
    """Model FLOPs of one training step over `tokens` tokens: `(6·N + 12·L·d·s)·T`.

    6·N·T is forward and backward through N parameters, the second term is attention over a sequence of `s` tokens in L
    layers of width d (heads times head size); recomputation does not count. Source: Chowdhery et al. 2022, PaLM,
    appendix B. Leave the last three at 0 for a model without attention.
    """
    return (6.0 * parameters + 12.0 * layers * width * sequence_length) * tokens

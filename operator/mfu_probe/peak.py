"""Peak FLOP/s of a device, declared or measured, and the FLOPs a model needs: the two halves of MFU beside time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from importlib import resources

_TERA = 1e12


def _read_peaks() -> Mapping[str, Mapping[str, float]]:
    peaks: dict[str, dict[str, float]] = {}
    text = resources.files("mfu_probe").joinpath("gpu_peaks.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, precision, dense, _, _ = line.split("\t")
            peaks.setdefault(name, {})[precision] = float(dense) * _TERA
    return peaks


GPU_PEAKS: Mapping[str, Mapping[str, float]] = _read_peaks()
"""Dense (not sparse) peak FLOP/s by words of the device's name and by precision; gpu_peaks.tsv has the sources.

Order matters: the first name whose words all stand in the device's wins.
"""


class UnknownGpuError(LookupError):
    """The table has no peak for this device and precision: declare `peak_flops` yourself."""


def peak_of(gpu: str, precision: str = "bf16") -> float:
    """Dense peak in FLOP/s of the device named `gpu` (as the driver names it) at `precision`.

    Raises UnknownGpuError when the table does not hold it, and for a slice of a card (MIG): it has whole cards.
    """
    words = _words(gpu)
    for name, peaks in GPU_PEAKS.items():
        if _words(name) <= words and "mig" not in words:
            if precision in peaks:
                return peaks[precision]
            break
    raise UnknownGpuError(
        f"no peak known for {gpu!r} at {precision}: pass peak_flops (FLOP/s, dense) from the device's data sheet"
    )


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", name.casefold()))


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

"""MFU where the job exports none: model FLOP/s achieved by the GPU's dense peak.

    MFU = throughput [tokens/s per GPU] · model FLOPs per token / dense peak [FLOP/s per GPU]

Source: Chowdhery et al. 2022, PaLM, appendix B. Recomputation is not a model FLOP, and sparsity no peak.
"""

from collections.abc import Mapping
from dataclasses import replace

from mfu_operator.detect.formatting import bare
from mfu_operator.detect.peaks import dense_peak
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import BaselineSpec, Signal
from mfu_operator.model.series import Reading

_TERA = 1e12


def with_mfu(reading: Reading, spec: BaselineSpec) -> Reading:
    """The reading with MFU computed from its throughput, where the spec says how and the job does not say itself.

    Unchanged where the peak is not known or is surpassed: `mfu_problem` tells why.
    """
    try:
        mfu = _mfu(spec, reading)
    except Stall:
        return reading
    return reading if mfu is None else replace(reading, values={**reading.values, Signal.MFU: mfu})


def peak_flops(spec: BaselineSpec, info: Mapping[str, str]) -> float:
    """FLOP/s that one GPU of the job can do at most: as declared, else the table's for its GPU and precision.

    Args:
        spec: what it declares; its `comparable` speaks where the job does not.
        info: what the job exports about itself.

    Raises:
        Stall: UnknownPeak, naming what to declare.
    """
    if spec.metrics.peak_flops_per_gpu is not None:
        return spec.metrics.peak_flops_per_gpu
    gpu = info.get("gpu") or spec.comparable.gpu
    precision = info.get("precision") or spec.comparable.precision
    if not gpu or not precision:
        missing = "comparable.gpu" if not gpu else "comparable.precision"
        raise Stall("UnknownPeak", f"MFU cannot be computed: declare {missing}, or metrics.peakFlopsPerGpu")
    return dense_peak(gpu, precision)


def mfu_problem(spec: BaselineSpec, reading: Reading) -> Stall | None:
    """Why MFU is not computed although the spec asks for it; None where there is nothing to say."""
    try:
        _mfu(spec, reading)
    except Stall as problem:
        return problem
    return None


def _mfu(spec: BaselineSpec, reading: Reading) -> float | None:
    """None where there is nothing to compute it from, or no need."""
    throughput, flops = reading.values.get(Signal.THROUGHPUT), spec.metrics.model_flops_per_token
    if flops is None or throughput is None or Signal.MFU in reading.values:
        return None
    peak = peak_flops(spec, reading.info)
    mfu = throughput * flops / peak
    if mfu > 1:
        raise Stall(
            "MfuImpossible",
            f"MFU computed from a throughput of {bare(Signal.THROUGHPUT, throughput)} at a peak of "
            f"{peak / _TERA:.5g} TFLOP/s per GPU is {mfu:.3g}, and no GPU does more than its peak: let the metric be "
            "that of one rank (or export the label gpus), correct metrics.modelFlopsPerToken, or declare "
            "metrics.peakFlopsPerGpu",
        )
    return mfu

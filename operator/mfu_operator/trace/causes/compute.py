"""Why kernels take longer."""

from mfu_operator.model.account import KernelTotal, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.case import Case, milliseconds
from mfu_operator.trace.causes.entry import Cause, Evidence

FALL = 0.15
"""Of the tensor-core share of eligible time: a fall by this much is a change of precision, not noise."""

MOST = 0.5
"""Of the compute's growth: what explains more than this explains it."""

REPEATED = (1.02, 2.2)
"""Times the calls of the same forward kernels under recomputation: from some layers once more to all of them."""

EACH_AGAIN = (0.2, 1.3)
"""Times the mean call: what a repeated call costs. Forward calls are shorter than backward ones of the same name."""

SHOWN = 80


def _precision(case: Case) -> Evidence:
    now, before = _tensor_share(case.now), _tensor_share(case.baseline)
    if now is None or before is None or before - now < FALL:
        return ()
    return (f"tensor cores take part in {now:.0%} of matrix kernels' time, baseline {before:.0%}",)


def _tensor_share(account: StepAccount | None) -> float | None:
    if account is None or not account.tensor_core_ns.get("eligible"):
        return None
    if account.tensor_core_ns.get("unknown", 0.0) > MOST * account.tensor_core_ns["eligible"]:
        return None
    return account.tensor_core_ns.get("used", 0.0) / account.tensor_core_ns["eligible"]


def _attention(case: Case) -> Evidence:
    now, before = case.fact("attentionCalls") or 0.0, case.before("attentionCalls")
    if not before or now > 0.5 * before:
        return ()
    return (
        case.change("fused attention kernels per step", "attentionCalls")
        if now
        else f"no fused attention kernel runs; the baseline's {before:.4g} per step are gone",
    )


def _recompute(case: Case) -> Evidence:
    if case.baseline is None:
        return ()
    before = {one.name: one for one in case.baseline.kernels}
    repeated = [one for one in case.now.kernels if one.name in before and _again(one, before[one.name])]
    extra = sum(one.total_ns - before[one.name].total_ns for one in repeated)
    if extra < MOST * case.growth("compute") or not any(
        one.category in ("gemm", "attention", "convolution") for one in repeated
    ):
        return ()
    return (f"{len(repeated)} kernels run more often at the same cost each: +{milliseconds(extra)} per step",)


def _again(now: KernelTotal, before: KernelTotal) -> bool:
    ratio = now.calls / before.calls if before.calls else 0.0
    if not REPEATED[0] <= ratio <= REPEATED[1]:
        return False
    each = (now.total_ns - before.total_ns) / (now.calls - before.calls)
    each_before = before.total_ns / before.calls
    return EACH_AGAIN[0] * each_before <= each <= EACH_AGAIN[1] * each_before


def _unfused(case: Case) -> Evidence:
    if not case.grew("elementwiseCalls", 1.3) or not case.grew("elementwiseNs"):
        return ()
    extra = (case.fact("elementwiseNs") or 0.0) - (case.before("elementwiseNs") or 0.0)
    if extra < MOST * case.growth("compute"):
        return ()
    return (case.change("elementwise kernels per step", "elementwiseCalls"), case.change("their time", "elementwiseNs"))


def _shape(case: Case) -> Evidence:
    """The same kernels as often, on larger grids."""
    if not case.same("kernelCalls", 0.05) or case.same("gridBlocks", 0.02):
        return ()
    if not case.fact("gridBlocks") or not case.before("gridBlocks"):
        return ()
    return (
        case.change("blocks launched per step", "gridBlocks"),
        case.change("by as many kernels as before", "kernelCalls"),
    )


def _new_kernel(case: Case) -> Evidence:
    if case.baseline is None:
        return ()
    known = {one.name for one in case.baseline.kernels}
    new = sorted((one for one in case.now.kernels if one.name not in known), key=lambda one: -one.total_ns)
    least = min((one.total_ns for one in case.baseline.kernels), default=0.0) if case.before("kernelsCut") else 0.0
    if not new or new[0].total_ns < max(MOST * case.growth("compute"), least):
        return ()
    most = new[0]
    return (f"a kernel new since the baseline takes {milliseconds(most.total_ns)} per step: {most.name[:SHOWN]}",)


def _slower_device(case: Case) -> Evidence:
    """The same kernels, as often, on the same grids: all of them slower alike."""
    if case.baseline is None or not case.same("kernelCalls", 0.02) or not case.same("gridBlocks", 0.01):
        return ()
    before = {one.name: one.total_ns for one in case.baseline.kernels}
    ratios = sorted(one.total_ns / before[one.name] for one in _largest(case.now) if before.get(one.name))
    if len(ratios) < 3 or ratios[0] < 1.02 or ratios[-1] > 1.25 * ratios[0]:
        return ()
    return (
        f"every kernel is slower alike, by {ratios[0] - 1:.0%} to {ratios[-1] - 1:.0%}, in number and size as before",
    )


def _largest(account: StepAccount) -> tuple[KernelTotal, ...]:
    """The kernels that compute, the ten most expensive: a collective's length is not its device's."""
    return tuple(one for one in account.kernels if one.category != "communication")[:10]


CAUSES = (
    Cause(
        "PrecisionLost",
        Bottleneck.KERNEL_BOUND,
        needs="tensor cores take part in a smaller share of the matrix kernels' time",
        contradicted_by="their share is unchanged, or unknown for most kernels",
        evidence=_precision,
        advice=("restore the precision (autocast, bf16, allow_tf32) of the baseline",),
    ),
    Cause(
        "AttentionFallback",
        Bottleneck.KERNEL_BOUND,
        needs="fused attention kernels ran in the baseline and (mostly) do not now",
        contradicted_by="fused attention still runs as often",
        evidence=_attention,
        advice=("find out why the fused attention was refused (mask, dtype, head size) and restore it",),
    ),
    Cause(
        "Recompute",
        Bottleneck.KERNEL_BOUND,
        needs="the same kernels run more often at the same cost each, and explain most of the growth",
        contradicted_by="other kernels, or the same number of them",
        evidence=_recompute,
        advice=("turn activation checkpointing off, or checkpoint fewer layers",),
    ),
    Cause(
        "Unfused",
        Bottleneck.KERNEL_BOUND,
        needs="many more elementwise kernels, which explain most of the growth",
        contradicted_by="as many elementwise kernels as before",
        evidence=_unfused,
        advice=("restore the compiler or the fused layers (torch.compile, fused optimizer)",),
    ),
    Cause(
        "NewKernel",
        Bottleneck.KERNEL_BOUND,
        needs="a kernel that the baseline does not have explains most of the growth",
        contradicted_by="only known kernels",
        evidence=_new_kernel,
        advice=("find the layer that launches it, and whether it is meant to",),
    ),
    Cause(
        "Throttled",
        Bottleneck.HARDWARE_DEGRADED,
        needs="every kernel is slower alike, in number and size as before",
        contradicted_by="other shapes, other kernels, or some kernels as fast as before",
        evidence=_slower_device,
        advice=("check clocks, power and temperature of the GPU before looking at commits",),
    ),
    Cause(
        "ShapeChanged",
        Bottleneck.KERNEL_BOUND,
        needs="as many kernels as before on larger grids",
        contradicted_by="the grids are the same",
        evidence=_shape,
        advice=("check batch size, sequence length and padding against the baseline's",),
    ),
)

"""Why kernels take longer."""

import re
from collections.abc import Mapping, Sequence

from mfu_operator.model import facts
from mfu_operator.model.account import KernelTotal, StepAccount
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.fact import Number
from mfu_operator.model.facts import FORMATS
from mfu_operator.trace.diagnosis.case import Case
from mfu_operator.trace.diagnosis.causes.entry import Cause, Evidence
from mfu_operator.trace.diagnosis.difference import SAME_CALLS, as_often, pairs
from mfu_operator.trace.formatting import milliseconds
from mfu_operator.trace.names.kernels import ELIGIBLE_CATEGORIES

FALL = 0.15
"""Of the tensor-core share of eligible time: a fall by this much is a change of precision, not noise."""

MOST = 0.5
"""Of the compute's growth: what explains more than this explains it."""

NOTICEABLE = 0.3
"""Of the compute's growth: what takes less than this of it stayed as it was."""

NEARLY_ALL = 0.9
"""Of what elementwise kernels take longer: a new one that takes this much was not made of parts."""

LONGER = 2.0
"""Times the mean elementwise kernel: parts of a fused kernel are not longer each than others of their kind."""

REPEATED = (1.02, 2.2)
"""Times the calls of the same forward kernels under recomputation: from some layers once more to all of them."""

EACH_AGAIN = (0.2, 1.3)
"""Times the mean call: what a repeated call costs. Forward calls are shorter than backward ones of the same name."""

SLOWER = 1.02
"""Times its time in the baseline: a kernel that is so much slower is slower."""

ALIKE = 1.25
"""Kernels whose slowdowns differ by no more than this factor are slower alike."""

BACKWARD = re.compile(r"(?i)bwd|backward|bprop|dgrad|wgrad|_grad")

SHOWN = 80
"""Characters of a kernel's name in a sentence."""


def _precision(case: Case) -> Evidence:
    """Matrix kernels that read narrow numbers run less often, those that read wider ones more and longer."""
    if case.baseline is None:
        return ()
    if not _formats_known(case.now) or not _formats_known(case.baseline):
        return _less_tensor_core(case)
    for place in range(1, len(FORMATS)):
        narrow, wide = FORMATS[:place], FORMATS[place:]
        gone = -_more(case, facts.MATRIX_CALLS, narrow)
        grown = _more(case, facts.MATRIX_NS, FORMATS)
        replaced = gone >= 0.5 and _more(case, facts.MATRIX_CALLS, wide) >= MOST * gone
        if replaced and grown >= NOTICEABLE * case.growth("compute"):
            more = milliseconds(_more(case, facts.MATRIX_NS, wide))
            return (
                f"{gone:.4g} matrix kernels per step that read {' or '.join(narrow)} precision are gone",
                f"those of {' or '.join(wide)} precision take {more} more",
            )
    return ()


def _more(case: Case, by_format: Mapping[str, Number], formats: Sequence[str]) -> float:
    return sum(case.more(by_format[one]) for one in formats)


def _formats_known(account: StepAccount) -> bool:
    known = sum(account.facts.number(facts.MATRIX_NS[one]) or 0.0 for one in FORMATS)
    whole = sum(account.facts.number(facts.CATEGORY_NS[one]) or 0.0 for one in ("gemm", "convolution"))
    return whole > 0 and known >= MOST * whole


def _less_tensor_core(case: Case) -> Evidence:
    now, before = _tensor_share(case.now), _tensor_share(case.baseline)
    if now is None or before is None or before - now < FALL or case.more(facts.ATTENTION_CALLS) < 0:
        return ()
    return (f"tensor cores take part in {now:.0%} of matrix kernels' time, baseline {before:.0%}",)


def _tensor_share(account: StepAccount | None) -> float | None:
    if account is None or not account.tensor_core_ns.get("eligible"):
        return None
    if account.tensor_core_ns.get("unknown", 0.0) > MOST * account.tensor_core_ns["eligible"]:
        return None
    return account.tensor_core_ns.get("used", 0.0) / account.tensor_core_ns["eligible"]


def _attention(case: Case) -> Evidence:
    now, before = case.fact(facts.ATTENTION_CALLS) or 0.0, case.before(facts.ATTENTION_CALLS)
    if not before or before - now < max(0.5, 0.05 * before):
        return ()
    return (
        case.change("fused attention kernels per step", facts.ATTENTION_CALLS)
        if now
        else f"no fused attention kernel runs; the baseline's {before:.4g} per step are gone",
    )


def _recompute(case: Case) -> Evidence:
    if case.baseline is None:
        return ()
    repeated = [(one, old) for one, old in _known(case) if _again(one, old)]
    extra = sum(one.total_ns - old.total_ns for one, old in repeated)
    if extra < MOST * case.growth("compute") or any(BACKWARD.search(one.name) for one, _ in repeated):
        return ()
    if not any(one.category in ELIGIBLE_CATEGORIES for one, _ in repeated):
        return ()
    said = f"{len(repeated)} kernels run more often at the same cost each: +{milliseconds(extra)} per step"
    return (said, *_hardware_utilisation(case.baseline, repeated))


def _hardware_utilisation(before: StepAccount, repeated: Sequence[tuple[KernelTotal, KernelTotal]]) -> Evidence:
    """HFU counts the matrix work that is done again, MFU does not (Chowdhery et al. 2022, PaLM, appendix B).

    The same kernels at the same cost each do work in proportion to their time.
    """
    model = sum(one.total_ns for one in before.kernels if one.category in ELIGIBLE_CATEGORIES)
    again = sum(one.total_ns - old.total_ns for one, old in repeated if one.category in ELIGIBLE_CATEGORIES)
    return (f"HFU is {1 + again / model:.2f} times MFU: {milliseconds(again)} of matrix work per step is done again",)


def _known(case: Case) -> list[tuple[KernelTotal, KernelTotal]]:
    """The kernels that compute now, each with the baseline's of the same name."""
    before = {} if case.baseline is None else {one.name: one for one in case.baseline.kernels}
    return [(one, before[one.name]) for one in _computing(case.now) if one.name in before]


def _computing(account: StepAccount) -> tuple[KernelTotal, ...]:
    """A collective's length is not its device's."""
    return tuple(one for one in account.kernels if one.category != "communication")


def _again(now: KernelTotal, before: KernelTotal) -> bool:
    if not before.calls or not REPEATED[0] <= now.calls / before.calls <= REPEATED[1]:
        return False
    each = (now.total_ns - before.total_ns) / (now.calls - before.calls)
    each_before = before.total_ns / before.calls
    return EACH_AGAIN[0] * each_before <= each <= EACH_AGAIN[1] * each_before


def _unfused(case: Case) -> Evidence:
    more = case.more(facts.ELEMENTWISE_CALLS)
    if more < max(3.0, 0.05 * (case.before(facts.ELEMENTWISE_CALLS) or 0.0)) or case.baseline is None:
        return ()
    if case.more(facts.ELEMENTWISE_NS) < MOST * case.growth("compute") or _one_alone(case):
        return ()
    return (
        case.change("elementwise kernels per step", facts.ELEMENTWISE_CALLS),
        case.change("their time", facts.ELEMENTWISE_NS),
    )


def _one_alone(case: Case) -> bool:
    """Whether one kernel that the baseline does not have, longer than its elementwise ones, is nearly all that grew."""
    calls, spent = case.before(facts.ELEMENTWISE_CALLS) or 0.0, case.before(facts.ELEMENTWISE_NS) or 0.0
    known = {one.name for one, _ in _known(case)}
    added = [one for one in case.now.kernels if one.category == "elementwise" and one.name not in known]
    longest = max(added, key=lambda one: one.total_ns, default=None)
    if longest is None or longest.total_ns < NEARLY_ALL * case.more(facts.ELEMENTWISE_NS):
        return False
    return longest.total_ns * calls > LONGER * spent * longest.calls


def _shape(case: Case) -> Evidence:
    return _larger_grids(case) or _more_often(case)


def _larger_grids(case: Case) -> Evidence:
    """The same kernels, or others in their place, as often, on larger grids."""
    now, before = case.fact(facts.GRID_BLOCKS), case.before(facts.GRID_BLOCKS)
    if not now or not before or now < SLOWER * before or not case.same(facts.KERNEL_CALLS, 0.05):
        return ()
    slower = [
        (one, old)
        for one, old in _pairs(case)
        if one.total_ns > SLOWER * old.total_ns and as_often(one.calls, old.calls)
    ]
    if len(slower) < 2 or sum(one.total_ns - old.total_ns for one, old in slower) < MOST * case.growth("compute"):
        return ()
    return (
        case.change("blocks launched per step", facts.GRID_BLOCKS),
        case.change("by as many kernels as before", facts.KERNEL_CALLS),
    )


def _more_often(case: Case) -> Evidence:
    """Forward and backward kernels alike run more often: more batches, or more layers."""
    repeated = [(one, old) for one, old in _known(case) if _again(one, old)]
    extra = sum(one.total_ns - old.total_ns for one, old in repeated)
    if not any(BACKWARD.search(one.name) for one, _ in repeated) or extra < MOST * case.growth("compute"):
        return ()
    return (f"{len(repeated)} kernels, forward and backward, run more often: +{milliseconds(extra)} per step",)


def _pairs(case: Case) -> list[tuple[KernelTotal, KernelTotal]]:
    """The kernels that compute now, each with the baseline's that it is or replaces."""
    if case.baseline is None:
        return []
    matched = pairs(_computing(case.now), _computing(case.baseline))
    return [(one, old) for one, old in matched if old is not None]


def _new_kernel(case: Case) -> Evidence:
    if case.baseline is None:
        return ()
    matched = pairs(_computing(case.now), _computing(case.baseline))
    least = min((one.total_ns for one in case.baseline.kernels), default=0.0) if case.before(facts.KERNELS_CUT) else 0.0
    others = [(one, old) for one, old in matched if old is None or old.name != one.name]
    if not others:
        return ()
    most, old = max(others, key=lambda pair: pair[0].total_ns - (pair[1].total_ns if pair[1] else 0.0))
    grown = most.total_ns - (old.total_ns if old else 0.0)
    if grown < MOST * case.growth("compute") or most.total_ns < least:
        return ()
    word = "in place of another" if old else "new since the baseline"
    return (f"a kernel {word} takes {milliseconds(grown)} more per step: {most.name[:SHOWN]}",)


def _slower_device(case: Case) -> Evidence:
    """The same kernels, as often, on the same grids, and all that compute rather than copy slower alike.

    A lower core clock prolongs matrix kernels; what waits for memory may keep its speed.
    """
    if (
        not case.fact(facts.GRID_BLOCKS)
        or not case.same(facts.KERNEL_CALLS, SAME_CALLS)
        or not case.same(facts.GRID_BLOCKS, 0.01)
    ):
        return ()
    ratios = [(one.category, one.total_ns / old.total_ns) for one, old in _known(case)[:10] if old.total_ns]
    matrices = [ratio for category, ratio in ratios if category in ELIGIBLE_CATEGORIES] or [one for _, one in ratios]
    slower = sorted(ratio for _, ratio in ratios if ratio >= SLOWER)
    if len(slower) < 3 or min(matrices) < SLOWER or max(matrices) > ALIKE * min(matrices):
        return ()
    if slower[-1] > ALIKE * max(matrices) or min(ratio for _, ratio in ratios) < 2 - SLOWER:
        return ()
    return (f"kernels are slower alike, by {slower[0] - 1:.0%} to {slower[-1] - 1:.0%}, in number and size as before",)


CAUSES = (
    Cause(
        "PrecisionLost",
        Bottleneck.KERNEL_BOUND,
        needs="matrix kernels that read narrow numbers are replaced by longer ones that read wider numbers",
        contradicted_by="those that ran in the baseline still run as often",
        evidence=_precision,
        advice=("restore the precision (autocast, bf16, allow_tf32) of the baseline",),
    ),
    Cause(
        "AttentionFallback",
        Bottleneck.KERNEL_BOUND,
        needs="fused attention kernels ran in the baseline and do not now, or fewer of them",
        contradicted_by="fused attention still runs as often",
        evidence=_attention,
        advice=("find out why the fused attention was refused (mask, dtype, head size) and restore it",),
    ),
    Cause(
        "Recompute",
        Bottleneck.KERNEL_BOUND,
        needs="the same kernels run more often at the same cost each, and explain most of the growth",
        contradicted_by="other kernels, the same number of them, or backward kernels among those that run more often",
        evidence=_recompute,
        advice=("turn activation checkpointing off, or checkpoint fewer layers",),
    ),
    Cause(
        "ShapeChanged",
        Bottleneck.KERNEL_BOUND,
        needs="as many kernels as before on larger grids, or forward and backward kernels alike more often",
        contradicted_by="the grids are the same, or a single kernel explains the growth",
        evidence=_shape,
        advice=("check batch size, sequence length and padding against the baseline's",),
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
        needs="a kernel that the baseline does not have explains most of the growth, less what it replaces",
        contradicted_by="only known kernels",
        evidence=_new_kernel,
        advice=("find the layer that launches it, and whether it is meant to",),
    ),
    Cause(
        "Throttled",
        Bottleneck.HARDWARE_DEGRADED,
        needs="matrix kernels, and two others at least, are slower alike, in number and size as before",
        contradicted_by="other shapes, other kernels, one kernel alone, or a matrix kernel as fast as before",
        evidence=_slower_device,
        advice=("check clocks, power and temperature of the GPU before looking at commits",),
        behind=(Bottleneck.KERNEL_BOUND,),
    ),
)

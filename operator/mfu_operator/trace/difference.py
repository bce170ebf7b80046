"""Now minus baseline, by part and by kernel."""

from collections.abc import Sequence

from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.trace import comparable
from mfu_operator.trace.answer import Difference, KernelDelta

MOST_KERNELS = 40


def difference(now: StepAccount, baseline: StepAccount) -> Difference:
    """The growth of the mean step, by part and by kernel; kernels are matched by name."""
    problems = comparable.differences(now, baseline)
    return Difference(
        comparable=not problems,
        not_comparable_because=problems,
        step_ns=now.mean_ns - baseline.mean_ns,
        account_ns={part: now.parts_ns.get(part, 0.0) - baseline.parts_ns.get(part, 0.0) for part in PARTS},
        kernels=kernel_deltas(now.kernels, baseline.kernels),
    )


def kernel_deltas(now: Sequence[KernelTotal], baseline: Sequence[KernelTotal]) -> tuple[KernelDelta, ...]:
    """What each kernel costs more or less, the largest changes first."""
    before = {one.name: one for one in baseline}
    after = {one.name: one for one in now}
    deltas = [_delta(name, after.get(name), before.get(name)) for name in dict.fromkeys((*after, *before))]
    return tuple(sorted(deltas, key=lambda one: -abs(one.delta_ns))[:MOST_KERNELS])


def _delta(name: str, now: KernelTotal | None, baseline: KernelTotal | None) -> KernelDelta:
    known = now or baseline
    assert known is not None
    return KernelDelta(
        name=name,
        category=known.category,
        delta_ns=(now.total_ns if now else 0.0) - (baseline.total_ns if baseline else 0.0),
        calls_baseline=baseline.calls if baseline else 0.0,
        calls_now=now.calls if now else 0.0,
    )

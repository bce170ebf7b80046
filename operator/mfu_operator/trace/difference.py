"""Now minus baseline, by part and by kernel."""

from collections.abc import Sequence

from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.trace import comparable
from mfu_operator.trace.answer import Difference, KernelDelta

MOST_KERNELS = 40
SAME_CALLS = 0.02
"""Of the calls per step: a renamed kernel runs as often as before."""


def difference(now: StepAccount, baseline: StepAccount) -> Difference:
    """The growth of the mean step, by part and by kernel."""
    problems = comparable.differences(now, baseline)
    return Difference(
        comparable=not problems,
        not_comparable_because=problems,
        step_ns=now.mean_ns - baseline.mean_ns,
        account_ns={part: now.parts_ns.get(part, 0.0) - baseline.parts_ns.get(part, 0.0) for part in PARTS},
        kernels=kernel_deltas(now.kernels, baseline.kernels),
    )


def kernel_deltas(now: Sequence[KernelTotal], baseline: Sequence[KernelTotal]) -> tuple[KernelDelta, ...]:
    """What each kernel costs more or less, the largest changes first.

    A kernel that is gone and a new one of its category that runs as often are taken for one that was renamed.
    """
    before = {one.name: one for one in baseline}
    after = {one.name: one for one in now}
    renamed = _renamed(
        [one for one in now if one.name not in before], [one for one in baseline if one.name not in after]
    )
    pairs = [(one, before.get(one.name) or renamed.get(one.name)) for one in now]
    matched = {old.name for _, old in pairs if old is not None}
    deltas = [_delta(one, old) for one, old in pairs]
    deltas += [_delta(None, old) for old in baseline if old.name not in matched]
    return tuple(sorted(deltas, key=lambda one: -abs(one.delta_ns))[:MOST_KERNELS])


def _renamed(new: Sequence[KernelTotal], gone: Sequence[KernelTotal]) -> dict[str, KernelTotal]:
    """For new kernels the gone one that each replaces, the most expensive first, each gone one once."""
    left = sorted(gone, key=lambda one: -one.total_ns)
    found: dict[str, KernelTotal] = {}
    for one in sorted(new, key=lambda one: -one.total_ns):
        old = next((old for old in left if old.category == one.category and _as_often(one, old)), None)
        if old is not None:
            left.remove(old)
            found[one.name] = old
    return found


def _as_often(one: KernelTotal, old: KernelTotal) -> bool:
    return abs(one.calls - old.calls) <= SAME_CALLS * max(one.calls, old.calls)


def _delta(now: KernelTotal | None, baseline: KernelTotal | None) -> KernelDelta:
    known = now or baseline
    assert known is not None
    renamed = now is not None and baseline is not None and now.name != baseline.name
    return KernelDelta(
        name=f"{known.name} (was {baseline.name})" if renamed and baseline else known.name,
        category=known.category,
        delta_ns=(now.total_ns if now else 0.0) - (baseline.total_ns if baseline else 0.0),
        calls_baseline=baseline.calls if baseline else 0.0,
        calls_now=now.calls if now else 0.0,
    )

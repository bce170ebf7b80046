"""Now minus baseline, by part and by kernel."""

from collections.abc import Sequence

import msgspec

from mfu_operator.model.account import PARTS, KernelTotal, ShapeTotal, StepAccount
from mfu_operator.trace.answer import Difference, KernelDelta
from mfu_operator.trace.diagnosis import comparable

MOST_KERNELS = 40
SAME_CALLS = 0.02
"""Of the calls per step: a renamed kernel runs as often as before."""


def difference(now: StepAccount, baseline: StepAccount) -> Difference:
    """The growth of the mean step, by part and by kernel."""
    problems = comparable.differences(now, baseline)
    parts = {part: now.parts_ns.get(part, 0.0) - baseline.parts_ns.get(part, 0.0) for part in PARTS}
    return Difference(
        comparable=not problems,
        not_comparable_because=problems,
        step_ns=sum(parts.values()),
        account_ns=parts,
        kernels=kernel_deltas(now.kernels, baseline.kernels),
    )


def kernel_deltas(now: Sequence[KernelTotal], baseline: Sequence[KernelTotal]) -> tuple[KernelDelta, ...]:
    """What each kernel costs more or less, the largest changes first.

    A kernel that is gone and a new one of its category that runs as often are taken for one that was renamed. A kernel
    whose grids changed has a row for each grid, so that a larger shape does not look like a slower kernel.
    """
    matched = pairs(now, baseline)
    found = {old.name for _, old in matched if old is not None}
    deltas = [delta for one, old in matched for delta in _by_shape(one, old)]
    deltas += [_delta(None, old) for old in baseline if old.name not in found]
    return tuple(sorted(deltas, key=lambda one: -abs(one.delta_ns))[:MOST_KERNELS])


def pairs(
    now: Sequence[KernelTotal], baseline: Sequence[KernelTotal]
) -> tuple[tuple[KernelTotal, KernelTotal | None], ...]:
    """Each kernel of `now` with the baseline's of the same name, or with the one that it replaces, or with None."""
    before = {one.name: one for one in baseline}
    after = {one.name: one for one in now}
    renamed = _renamed(
        [one for one in now if one.name not in before], [one for one in baseline if one.name not in after]
    )
    return tuple((one, before.get(one.name) or renamed.get(one.name)) for one in now)


def _renamed(new: Sequence[KernelTotal], gone: Sequence[KernelTotal]) -> dict[str, KernelTotal]:
    """For new kernels the gone one that each replaces, the most expensive first, each gone one once."""
    left = sorted(gone, key=lambda one: -one.total_ns)
    found: dict[str, KernelTotal] = {}
    for one in sorted(new, key=lambda one: -one.total_ns):
        old = next((old for old in left if old.category == one.category and as_often(one.calls, old.calls)), None)
        if old is not None:
            left.remove(old)
            found[one.name] = old
    return found


def as_often(calls: float, before: float) -> bool:
    """Whether so many calls per step are as many as before."""
    return abs(calls - before) <= SAME_CALLS * max(calls, before)


def _by_shape(now: KernelTotal, baseline: KernelTotal | None) -> list[KernelDelta]:
    """One row for a kernel whose grids are unchanged or unknown; else one for those that are and one for each other."""
    if baseline is None or not now.shapes or not baseline.shapes or now.name != baseline.name:
        return [_delta(now, baseline)]
    before = {one.blocks: one for one in baseline.shapes}
    after = {one.blocks: one for one in now.shapes}
    same = [blocks for blocks in after if blocks in before]
    replaced = _same_calls(
        [one for one in now.shapes if one.blocks not in before],
        [one for one in baseline.shapes if one.blocks not in after],
    )
    if not replaced:
        return [_delta(now, baseline)]
    kept = (_kept(now, [after[one] for one in same]), _kept(baseline, [before[one] for one in same]))
    return [*([_delta(*kept)] if same else []), *(_shape_delta(now, *pair) for pair in replaced)]


def _same_calls(
    new: Sequence[ShapeTotal], gone: Sequence[ShapeTotal]
) -> list[tuple[ShapeTotal | None, ShapeTotal | None]]:
    """Each new grid with the gone one that it replaces: the next in size that is launched as often."""
    left = sorted(gone, key=lambda one: one.blocks)
    pairs: list[tuple[ShapeTotal | None, ShapeTotal | None]] = []
    for one in sorted(new, key=lambda one: one.blocks):
        old = next((old for old in left if as_often(one.calls, old.calls)), None)
        if old is not None:
            left.remove(old)
        pairs.append((one, old))
    return [*pairs, *((None, old) for old in left)]


def _kept(kernel: KernelTotal, shapes: Sequence[ShapeTotal]) -> KernelTotal:
    return KernelTotal(
        kernel.name, kernel.category, sum(one.calls for one in shapes), sum(one.total_ns for one in shapes)
    )


def _shape_delta(kernel: KernelTotal, now: ShapeTotal | None, baseline: ShapeTotal | None) -> KernelDelta:
    return KernelDelta(
        name=kernel.name,
        category=kernel.category,
        delta_ns=(now.total_ns if now else 0.0) - (baseline.total_ns if baseline else 0.0),
        calls_baseline=baseline.calls if baseline else 0.0,
        calls_now=now.calls if now else 0.0,
        blocks_baseline=baseline.blocks if baseline else msgspec.UNSET,
        blocks_now=now.blocks if now else msgspec.UNSET,
    )


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

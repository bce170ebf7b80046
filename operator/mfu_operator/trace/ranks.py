"""Several ranks: who waits for whom.

A collective ends on all ranks at about the same time. On the rank that arrives last it lasts as long as the transfer;
what it lasts longer on another rank, that rank has waited. This needs no common clock. The clocks' offsets are
estimated from the ends of the shared collectives, and the answer says how well they agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mfu_operator.model.account import StepAccount
from mfu_operator.model.trace import DeviceOps, Ints
from mfu_operator.trace.accounting import COMMUNICATION
from mfu_operator.trace.answer import Ranks
from mfu_operator.trace.case import milliseconds
from mfu_operator.trace.device_facts import in_counted
from mfu_operator.trace.steps import Steps

AGREE_NS = 50_000
"""Clocks agree where the ends of collectives, once shifted, scatter by less: one short collective's length."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "compute": ("compute",),
    "input": ("idleInput",),
    "copies": ("h2d", "d2h", "d2d", "memset"),
    "host": ("idleSync", "idleAlloc", "idleHost", "idleLaunch"),
}
"""In what a rank may be slow. Communication is not among them: it is where the others wait."""


@dataclass(frozen=True, slots=True)
class Collectives:
    """The collectives of one rank's counted steps in order of time, equally long columns."""

    start: Ints
    end: Ints


def collectives(ops: DeviceOps, steps: Steps) -> Collectives:
    """The communication kernels that start in the counted steps."""
    mine = (ops.part == COMMUNICATION) & in_counted(ops.start, steps, steps.counted)
    return Collectives(ops.start[mine], ops.end[mine])


def compare(accounts: Sequence[StepAccount], shared: Sequence[Collectives], names: Sequence[int]) -> Ranks | None:
    """Who is slowest and how long the others wait; None where the ranks share no collectives.

    Args:
        accounts: by rank.
        shared: the ranks' collectives, in the same order.
        names: the ranks' numbers, in the same order.
    """
    counts = {len(one.start) for one in shared}
    if len(accounts) < 2 or counts == {0}:
        return None
    if len(counts) > 1:
        return _unmatched(names, shared)
    length = np.stack([one.end - one.start for one in shared])
    waits = (length - length.min(axis=0)).sum(axis=1) / np.array([one.count for one in accounts])
    slowest = int(np.argmin(waits))
    skew = float(waits.max() - waits.min())
    where, extra = slow_in(accounts, slowest)
    return Ranks(
        slowest=names[slowest],
        skew_ns=skew,
        wait_ns={str(name): float(wait) for name, wait in zip(names, waits, strict=True)},
        clock="aligned" if aligned(shared) else "unaligned",
        evidence=(
            f"rank {names[slowest]} arrives last at {length.shape[1]} shared collectives: the others wait up to "
            f"{milliseconds(float(waits.max()))} per step for it; it is slower in {where} by {milliseconds(extra)}"
        ),
        slow_in=where,
    )


def slow_in(accounts: Sequence[StepAccount], slowest: int) -> tuple[str, float]:
    """In what the slowest rank exceeds the median of the others most, and by how many nanoseconds per step."""
    others = [one for index, one in enumerate(accounts) if index != slowest]
    extra = {
        word: _sum(accounts[slowest], parts) - float(np.median([_sum(one, parts) for one in others]))
        for word, parts in GROUPS.items()
    }
    word = max(extra, key=lambda one: extra[one])
    return word, extra[word]


def aligned(shared: Sequence[Collectives]) -> bool:
    """Whether one offset per rank makes the collectives end together."""
    ends = np.stack([one.end for one in shared])
    shifted = ends - ends[0]
    residual = shifted - np.median(shifted, axis=1, keepdims=True)
    return bool(np.median(np.abs(residual)) <= AGREE_NS)


def _unmatched(names: Sequence[int], shared: Sequence[Collectives]) -> Ranks:
    counted = ", ".join(f"rank {name}: {len(one.start)}" for name, one in zip(names, shared, strict=True))
    return Ranks(
        slowest=None,
        skew_ns=0.0,
        wait_ns={},
        clock="unaligned",
        evidence=f"the ranks' collectives cannot be matched ({counted}); record the same steps on every rank",
    )


def _sum(account: StepAccount, parts: Sequence[str]) -> float:
    return sum(account.parts_ns.get(part, 0.0) for part in parts)

"""Several ranks: who waits for whom.

A collective ends on all ranks at about the same time. On the rank that arrives last it lasts as long as the transfer;
what it lasts longer on another rank, that rank has waited. This needs no common clock, only that the same collectives
are compared: those that the steps of the same name issued, in the order in which they were issued. That they are the
same is confirmed by their ends, which one offset and one drift per clock must bring together; the answer says where
that fails.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mfu_operator.model.account import StepAccount
from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Trace
from mfu_operator.trace.accounting import COMMUNICATION
from mfu_operator.trace.answer import Ranks
from mfu_operator.trace.case import milliseconds
from mfu_operator.trace.device_facts import in_counted
from mfu_operator.trace.distinct import distinct
from mfu_operator.trace.steps import Steps

AGREE_NS = 50_000
"""Clocks agree where the ends of collectives, once shifted, scatter by less: one short collective's length."""

MOST = 0.5
"""Of the longest wait: where no collective is of all ranks, the slowest must itself be slower by this much. A group
whose transfers take longer is late without a rank that is."""

ENOUGH_FOR_DRIFT = 4
"""Collectives, from which on a clock's drift is estimated beside its offset."""

POINT_TO_POINT = re.compile(r"(?i)send|recv|put|get|dispatch|combine")
"""Transfers between two ranks: the others do not take part, and so wait for nobody."""

KIND = re.compile(r"(?i)all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|reduce")

GROUPS: Mapping[str | None, tuple[str, ...]] = {
    "compute": ("compute",),
    "input": ("idleInput",),
    "copies": ("h2d", "d2h", "d2d", "memset"),
    "host": ("idleSync", "idleAlloc", "idleHost", "idleLaunch"),
    None: ("idleUnknown",),
}
"""In what a rank may be slow; None: not known. Communication is not among them: it is where the others wait."""


@dataclass(frozen=True, slots=True)
class Collectives:
    """The collectives of one rank's counted steps in the order of issue, equally long.

    `step` is the index into `step_names` of the step that issued each, `kind` what it does.
    """

    start: Ints
    end: Ints
    step: Ints
    kind: tuple[str, ...]
    step_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start)

    def where(self, keep: Flags) -> "Collectives":
        """The rows that `keep` (shape (rows,)) selects."""
        kind = tuple(one for one, kept in zip(self.kind, keep, strict=True) if kept)
        return Collectives(self.start[keep], self.end[keep], self.step[keep], kind, self.step_names)

    @property
    def counted_names(self) -> tuple[str, ...]:
        """The names of the steps that issued any."""
        return tuple(self.step_names[index] for index in distinct(self.step))


def collectives(trace: Trace, ops: DeviceOps, steps: Steps) -> Collectives:
    """The communication kernels of all ranks that the counted steps issued; a step's device work may run on after it.

    Where the launch call is missing, the kernel's own start tells the step.
    """
    mine = np.flatnonzero(ops.part == COMMUNICATION)
    mine = mine[np.array([_is_collective(trace.names[name]) for name in ops.name[mine]], dtype=np.bool_)]
    launch = ops.launch[mine]
    issued = ops.start[mine]
    issued[launch != NONE] = trace.calls.start[launch[launch != NONE]]
    order = np.argsort(issued, kind="stable")
    order = order[in_counted(issued[order], steps, steps.counted)]
    mine, issued = mine[order], issued[order]
    kinds = tuple(_kind(trace.names[name]) for name in ops.name[mine])
    step = np.searchsorted(steps.start, issued, side="right") - 1
    return Collectives(ops.start[mine], ops.end[mine], step, kinds, steps.names)


@cache
def _is_collective(name: str) -> bool:
    return not POINT_TO_POINT.search(_shown(name))


def _shown(name: str) -> str:
    """A kernel's name without its arguments."""
    return name.split("(", 1)[0]


@cache
def _kind(name: str) -> str:
    found = KIND.search(_shown(name))
    return found.group().lower().replace("_", "") if found else _shown(name)


def compare(accounts: Sequence[StepAccount], recorded: Sequence[Collectives], names: Sequence[int]) -> Ranks | None:
    """Who is slowest and how long the others wait; None where the ranks have no collectives.

    Args:
        accounts: by rank.
        recorded: the ranks' collectives, in the same order.
        names: the ranks' numbers, in the same order.
    """
    if len(accounts) < 2 or not any(len(one) for one in recorded):
        return None
    shared = matched(recorded)
    if shared is None:
        return _unmatched(names, recorded)
    length = np.stack([one.end - one.start for one in shared])
    count = len(shared[0].counted_names) if _numbered(shared) else min(one.count for one in accounts)
    waits = (length - length.min(axis=0)).sum(axis=1) / count
    slowest = int(np.argmin(waits))
    skew = float(waits.max() - waits.min())
    where, extra = slow_in(accounts, slowest)
    scatter = disagreement_ns(shared)
    groups = 1 if scatter <= AGREE_NS or extra < MOST * waits.max() else _groups(shared)
    said = (
        f"rank {names[slowest]} arrives last at {length.shape[1]} shared collectives: the others wait up to "
        f"{milliseconds(float(waits.max()))} per step for it; "
        + (f"it is slower in {where} by {milliseconds(extra)}" if where else "in what it is slower cannot be told")
    )
    if scatter > AGREE_NS and groups > 1:
        said += f"; the ranks meet in {groups} groups, in each of which the clocks are aligned"
    elif scatter > AGREE_NS:
        said += f"; the clocks cannot be aligned: the ends of shared collectives differ by {milliseconds(scatter)}"
    return Ranks(
        slowest=names[slowest],
        skew_ns=skew,
        wait_ns={str(name): float(wait) for name, wait in zip(names, waits, strict=True)},
        clock="aligned" if scatter <= AGREE_NS or groups > 1 else "unaligned",
        evidence=said,
        slow_in=where,
    )


def _groups(shared: Sequence[Collectives]) -> int:
    """How many groups of ranks there are, in each of which most ends agree; 1 where some rank agrees with no other.

    Tensor-parallel ranks meet in every layer, and with those of other groups once a step. Where no collective is of
    all ranks, the ends of no more than a group's agree.
    """
    groups: list[list[Collectives]] = []
    for one in shared:
        own = next((group for group in groups if disagreement_ns((group[0], one)) <= AGREE_NS), None)
        if own is None:
            groups.append([one])
        else:
            own.append(one)
    return 1 if min(map(len, groups)) < 2 else len(groups)


def matched(recorded: Sequence[Collectives]) -> tuple[Collectives, ...] | None:
    """The collectives that all ranks issued, row by row the same one; None where that cannot be told.

    Steps that carry numbers are matched by name, so that ranks may have recorded different ones; others by order.
    """
    shared = tuple(recorded)
    if _numbered(recorded):
        common = set.intersection(*(set(one.counted_names) for one in recorded))
        shared = tuple(
            one.where(np.array([one.step_names[index] in common for index in one.step], dtype=np.bool_))
            for one in recorded
        )
    if not len(shared[0]) or any(one.kind != shared[0].kind for one in shared[1:]):
        return None
    return shared


def _numbered(recorded: Sequence[Collectives]) -> bool:
    """Whether each rank's steps have names of their own."""
    return all(
        len(set(one.step_names)) == len(one.step_names) > 1 and all(re.search(r"\d", name) for name in one.step_names)
        for one in recorded
    )


def slow_in(accounts: Sequence[StepAccount], slowest: int) -> tuple[str | None, float]:
    """In what the slowest rank exceeds the median of the others most, and by how many nanoseconds per step.

    None where nothing that is known exceeds theirs, or what is unknown does by more.
    """
    others = [one for index, one in enumerate(accounts) if index != slowest]
    extra = {
        word: _sum(accounts[slowest], parts) - float(np.median([_sum(one, parts) for one in others]))
        for word, parts in GROUPS.items()
    }
    word = max(extra, key=lambda one: extra[one])
    return (word, extra[word]) if extra[word] > 0 else (None, 0.0)


def disagreement_ns(shared: Sequence[Collectives]) -> float:
    """By how much the ends of the same collectives differ, in the median, once each clock is shifted to the first's.

    A clock's offset is estimated, and from ENOUGH_FOR_DRIFT collectives on its drift.
    """
    ends = np.stack([one.end for one in shared])
    time = (ends[0] - ends[0, 0]).astype(np.float64)
    residuals = []
    for one in ends[1:]:
        apart = one - ends[0]
        shifted = (apart - apart[0]).astype(np.float64)
        if len(time) >= ENOUGH_FOR_DRIFT and time[-1] > 0:
            shifted -= _slope(time, shifted) * time
        residuals.append(np.abs(shifted - np.median(shifted)))
    return float(np.median(np.concatenate(residuals)))


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Between the medians of the first and the last half: an outlier does not bend it."""
    half = len(x) // 2
    run = float(np.median(x[half:]) - np.median(x[:half]))
    return float(np.median(y[half:]) - np.median(y[:half])) / run if run > 0 else 0.0


def _unmatched(names: Sequence[int], shared: Sequence[Collectives]) -> Ranks:
    counted = ", ".join(f"rank {name}: {len(one)}" for name, one in zip(names, shared, strict=True))
    return Ranks(
        slowest=None,
        skew_ns=0.0,
        wait_ns={},
        clock="unaligned",
        evidence=f"the ranks' collectives cannot be matched ({counted}); record the same steps on every rank",
    )


def _sum(account: StepAccount, parts: Sequence[str]) -> float:
    return sum(account.parts_ns.get(part, 0.0) for part in parts)

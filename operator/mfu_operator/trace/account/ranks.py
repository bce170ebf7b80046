"""Several ranks: who waits for whom.

A collective ends on all ranks at about the same time. On the rank that arrives last it lasts as long as the transfer;
what it lasts longer on another rank, that rank has waited. This needs no common clock, only that the same collectives
are compared (`matching`). That they are the same is confirmed by their ends, which one offset and one drift per clock
must bring together; the answer says where that fails. Where no collectives can be matched, the ranks' own accounts
tell: the one that is late spends more on its own parts, by what the others spend more on communication.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.account import matching
from mfu_operator.trace.account.collectives import Collectives
from mfu_operator.trace.answer import Ranks
from mfu_operator.trace.columns import intervals
from mfu_operator.trace.columns.distinct import distinct
from mfu_operator.trace.formatting import milliseconds
from mfu_operator.trace.names.collectives import SEND_RECEIVE

AGREE_NS = 50_000
"""Clocks agree where the ends of collectives, once shifted, scatter by less: one short collective's length."""

AGREE_SHARE = 0.1
"""Of a mean wait in collectives of the host, whose ends scatter with its scheduler: less does not change who waits."""

MOST = 0.5
"""Of the longest wait: where no collective is of all ranks, the slowest must itself be slower by this much. A group
whose transfers take longer is late without a rank that is."""

EXPLAINS = 0.25
"""Of the longest wait in one collective of a step: what a rank is slower in by less does not explain it. A rank that is
late stays so, and is waited for in all collectives that follow."""

FOR_ONE = 0.5
"""Of all waiting: where less of it is for the slowest rank, and that rank's own parts do not exceed the others' by as
much of what it is waited for, the ranks are late in turns."""

ALSO_WAITS = 0.25
"""Of what the slowest rank waits for its input beyond the fastest: another that waits for as much starves as well, and
it is no accident of the one."""

ALSO_VARIES = 0.15
"""Of what the slowest rank waits for its input beyond the others: a standard deviation of another rank's own wait that
is as large. One in four of the slowest's batches that comes late there too has several times that; where a loader keeps
up, the wait for a batch that is ready varies by hundredths."""

SAME_LOADING = 0.1
"""Of what its loader's threads load: one that loads no longer than the others' is as fast as they are."""

LEAST_OWN = 0.05
"""Of the step: by how much a rank's own parts exceed the others', where nothing but the accounts can be compared."""

SAME_STEP = 0.05
"""Of the step: ranks of one job step together. Accounts of other lengths are of other steps."""

GROUPS: Mapping[str | None, tuple[str, ...]] = {
    "compute": ("compute",),
    "input": ("idleInput",),
    "copies": ("h2d", "d2h", "d2d", "memset"),
    "host": ("idleSync", "idleAlloc", "idleHost", "idleLaunch"),
    None: ("idleUnknown",),
}
"""In what a rank may be slow; None: not known. Communication is not among them: it is where the others wait."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """The collectives of counted steps that several ranks shared.

    `recorded`: of each rank; `rows`: each rank's row in them, shape (ranks, collectives), NONE where it is not of the
    group; `waits`: nanoseconds that each rank waits per step, shape (ranks,); `caused`: those that others wait for it;
    `lag_ns`: the longest wait in one collective of a step.
    """

    recorded: Sequence[Collectives]
    rows: Ints
    waits: NDArray[np.float64]
    caused: NDArray[np.float64]
    scatter_ns: float
    lag_ns: float


def compare(accounts: Sequence[StepAccount], recorded: Sequence[Collectives], names: Sequence[int]) -> Ranks | None:
    """Who is slowest and how long the others wait; None where the ranks have no collectives.

    Args:
        accounts: by rank.
        recorded: the ranks' collectives, in the same order.
        names: the ranks' numbers, in the same order.
    """
    if len(accounts) < 2:
        return None
    shared = _shared(recorded)
    if shared is None:
        return _by_accounts(accounts, recorded, names) if any(_meets(one) for one in recorded) else None
    slowest = int(np.argmax(shared.caused - shared.waits))
    most = float(shared.waits.max())
    where, extra = slow_in(_own_parts(accounts, recorded, shared.waits), slowest)
    where = where if extra >= EXPLAINS * shared.lag_ns and _of_one_kind(accounts, slowest) else None
    aligned = shared.scatter_ns <= _agreeable(shared)
    groups = 1 if aligned or extra < MOST * most else _groups(shared)
    count = shared.rows.shape[1]
    in_turns = _in_turns(shared, slowest, extra) or (where is not None and _as_slow(accounts, slowest, where, extra))
    said = (
        f"rank {names[slowest]} arrives last at {count} shared collectives: the others wait up to "
        f"{milliseconds(most)} per step for it; "
        + (f"it is slower in {where} by {milliseconds(extra)}" if where else "what it is slower in is unknown")
    )
    if in_turns:
        said += "; the ranks take turns in being late"
    if groups > 1:
        said += f"; the ranks meet in {groups} groups, in each of which the clocks are aligned"
    elif not aligned:
        said += (
            "; the clocks cannot be aligned: the ends of shared collectives differ by "
            f"{milliseconds(shared.scatter_ns)}"
        )
    return Ranks(
        slowest=names[slowest],
        skew_ns=most - float(shared.waits[slowest]),
        wait_ns={str(name): float(wait) for name, wait in zip(names, shared.waits, strict=True)},
        clock="aligned" if aligned or groups > 1 else "unaligned",
        evidence=said,
        slow_in=where,
        in_turns=in_turns,
    )


def _in_turns(shared: _Shared, slowest: int, extra_ns: float) -> bool:
    """Whether no rank is late throughout: what comes at random on each rank makes the others wait in turns."""
    for_one = float(shared.caused[slowest] - shared.waits[slowest])
    return for_one < FOR_ONE * float(shared.caused.sum()) and extra_ns < FOR_ONE * float(shared.waits.max())


def _as_slow(accounts: Sequence[StepAccount], slowest: int, where: str, extra_ns: float) -> bool:
    """Whether the others are as slow as the one that is waited for, and it shows on that one alone.

    A loop waits for the last of its ranks only, be it by an accident of the first step: what keeps every host busy, or
    every loader, longer than a step, leaves the device idle on that rank, and has the others wait in a collective.
    """
    if where == "host":
        busy = [_busy_ns(one) for one in accounts]
        return _exceeds(busy, slowest) < EXPLAINS * extra_ns
    if where == "input":
        loading = [_loading_ns(one) for one in accounts]
        if None not in loading:
            return _exceeds(loading, slowest) < SAME_LOADING * (loading[slowest] or 0.0)
        dry = _others_starve(accounts, slowest) or _others_run_dry(accounts, slowest, extra_ns)
        return dry or _loaders_alike(accounts, slowest)
    return False


def _others_starve(accounts: Sequence[StepAccount], slowest: int) -> bool:
    """Whether a second rank waits for its input, beyond what all of them do."""
    waits = [one.parts_ns.get("idleInput", 0.0) for one in accounts]
    second = max(wait for rank, wait in enumerate(waits) if rank != slowest)
    return second > min(waits) and second - min(waits) >= ALSO_WAITS * (waits[slowest] - min(waits))


def _others_run_dry(accounts: Sequence[StepAccount], slowest: int, extra_ns: float) -> bool:
    """Whether another rank had to wait for a batch of its workers now and then.

    The loop runs at the pace of the slowest loader, so that one which is faster has its buffer full: its rank never
    waits. One that makes its rank wait even once is no faster, or hardly so, and late by accident the less.
    """
    by_workers = [one.facts.word(facts.LOADER) != "inline" for one in accounts]
    varies = [one.facts.number(facts.INPUT_STD_NS) or 0.0 for one in accounts]
    others = max(one for rank, one in enumerate(varies) if rank != slowest)
    return all(by_workers) and extra_ns > 0 and others >= ALSO_VARIES * extra_ns


def _loaders_alike(accounts: Sequence[StepAccount], slowest: int) -> bool:
    """Whether, in what was recorded of the loaders, the slowest rank's has as many workers and as fast a store."""
    workers = [one.facts.number(facts.LOADER_THREADS) or 0.0 for one in accounts]
    stores = [
        sum(one.facts.number(wait) or 0.0 for wait in (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS)) for one in accounts
    ]
    if not all(workers) or not all(stores) or workers[slowest] < max(workers):
        return False
    return _exceeds(stores, slowest) < SAME_LOADING * stores[slowest]


def _exceeds(values: Sequence[float | None], one: int) -> float:
    """By how much one exceeds the median of the others; infinite where one is not known."""
    known = [value for index, value in enumerate(values) if index != one and value is not None]
    own = values[one]
    return np.inf if own is None or len(known) < len(values) - 1 else own - float(np.median(known))


def _busy_ns(account: StepAccount) -> float | None:
    """How long the host is not blocked by its device, per step; None where its calls were not recorded."""
    if not account.facts.number(facts.LAUNCH_CALLS) or account.account_from == "nvtx":
        return None
    blocked = sum(account.facts.number(one) or 0.0 for one in (facts.SYNC_CALL_NS, facts.LAUNCH_CALL_NS))
    return account.mean_ns - blocked


def _loading_ns(account: StepAccount) -> float | None:
    """How long the loader's threads load, per step; None where that, or what they compute of it, was not recorded."""
    if not account.facts.number(facts.LOADER_THREADS) or facts.LOAD_OWN_NS not in account.facts:
        return None
    return sum(
        account.facts.number(one) or 0.0 for one in (facts.LOAD_NETWORK_NS, facts.LOAD_FILE_NS, facts.LOAD_OWN_NS)
    )


def _of_one_kind(accounts: Sequence[StepAccount], slowest: int) -> bool:
    """Whether the slowest rank's account is of steps where another's is: a recorded span holds more than steps do."""
    spans = [one.facts.number(facts.WHOLE_STEPS) == 0 for one in accounts]
    return not spans[slowest] or all(spans)


def _meets(one: Collectives) -> bool:
    """Whether it has any collective for sure, beside what may be a transfer between two neighbours."""
    return any(kind != SEND_RECEIVE for kind in one.kind)


def _shared(recorded: Sequence[Collectives]) -> _Shared | None:
    """What the ranks shared; None where nothing matches.

    Kernels that may be an all-to-all as well as a transfer between two neighbours are taken for the former where more
    than two ranks leave them together.
    """
    plain = [one.where(np.array([kind != SEND_RECEIVE for kind in one.kind], dtype=np.bool_)) for one in recorded]
    if any(len(one) < len(every) for one, every in zip(plain, recorded, strict=True)):
        found = _matched(recorded)
        if found is not None and found.scatter_ns <= AGREE_NS and _left_together(found):
            return found
    return _matched(plain)


def _left_together(shared: _Shared) -> bool:
    """Whether more than two ranks leave each of what may be a transfer."""
    part = shared.rows != NONE
    doubtful = np.zeros(shared.rows.shape, dtype=np.bool_)
    for one, mine, its in zip(shared.recorded, shared.rows, doubtful, strict=True):
        its |= _at(column([kind == SEND_RECEIVE for kind in one.kind]), mine) == 1
    return bool((part.sum(axis=0)[(doubtful & part).any(axis=0)] > 2).all())


def _matched(recorded: Sequence[Collectives]) -> _Shared | None:
    rows = matching.meetings(recorded)
    counted = np.ones(rows.shape[1], dtype=np.bool_)
    for one, mine in zip(recorded, rows, strict=True):
        counted &= (mine == NONE) | (_at(one.in_counted().astype(np.int64), mine) == 1)
    rows = rows[:, counted]
    if not rows.shape[1]:
        return None
    count = max(len(_steps_of(one, mine)) for one, mine in zip(recorded, rows, strict=True))
    wait, waits, caused = _waits(recorded, rows)
    scatter = disagreement_ns(recorded, rows)
    return _Shared(recorded, rows, waits / count, caused / count, scatter, _lag(recorded, rows, wait.max(axis=0)))


def _lag(recorded: Sequence[Collectives], rows: Ints, longest: Ints) -> float:
    """The mean over the steps of the longest wait in each; shape of `longest`: (collectives,)."""
    steps = [_at(one.step, mine) for one, mine in zip(recorded, rows, strict=True)]
    step = np.where(rows != NONE, np.stack(steps), NONE).max(axis=0)
    return float(np.mean([longest[step == one].max() for one in distinct(step)]))


def _steps_of(one: Collectives, rows: Ints) -> Ints:
    return distinct(one.step[rows[rows != NONE]])


def _at(values: Ints, rows: Ints) -> Ints:
    """values[rows], and 0 where there is no row."""
    return values[np.maximum(rows, 0)] if len(values) else np.zeros(len(rows), dtype=np.int64)


def _waits(recorded: Sequence[Collectives], rows: Ints) -> tuple[Ints, NDArray[np.float64], NDArray[np.float64]]:
    """(what each rank waits in each collective, in all, and what others wait for it), ns.

    Waits in collectives that run at the same time are counted once. Those that arrive last within AGREE_NS share what
    the others wait.
    """
    part = rows != NONE
    length = np.stack([_at(one.end - one.start, mine) for one, mine in zip(recorded, rows, strict=True)])
    start = np.stack([_at(one.start, mine) for one, mine in zip(recorded, rows, strict=True)])
    longest = np.iinfo(np.int64).max
    wait = np.where(part, length - np.where(part, length, longest).min(axis=0), 0)
    waits = np.array([intervals.union(begin, begin + one).length for begin, one in zip(start, wait, strict=True)])
    last = part & (wait <= AGREE_NS)
    caused = (last * wait.sum(axis=0) / last.sum(axis=0)).sum(axis=1)
    return wait, waits.astype(np.float64), caused


def _agreeable(shared: _Shared) -> float:
    if not all(one.on_host for one in shared.recorded):
        return AGREE_NS
    longest = float(_waits(shared.recorded, shared.rows)[1].max())
    return max(float(AGREE_NS), AGREE_SHARE * longest / int(shared.rows.shape[1]))


def disagreement_ns(recorded: Sequence[Collectives], rows: Ints) -> float:
    """By how much the ends of the same collectives differ, in the median, once each clock is shifted to another's."""
    found = []
    for rank in range(1, len(recorded)):
        both, first = max(
            (((rows[rank] != NONE) & (rows[one] != NONE), one) for one in range(rank)), key=lambda pair: pair[0].sum()
        )
        if both.any():
            found.append(
                matching.residuals(recorded[first].end[rows[first, both]], recorded[rank].end[rows[rank, both]])
            )
    return float(np.median(np.concatenate(found))) if found else 0.0


def _groups(shared: _Shared) -> int:
    """How many groups of ranks there are, in each of which most ends agree; 1 where some rank agrees with no other.

    Tensor-parallel ranks meet in every layer, and with those of other groups once a step. Where no collective is of
    all ranks, the ends of no more than a group's agree.
    """
    groups: list[list[int]] = []
    for rank in range(len(shared.recorded)):
        own = next((group for group in groups if _agree(shared, group[0], rank)), None)
        if own is None:
            groups.append([rank])
        else:
            own.append(rank)
    return 1 if min(map(len, groups)) < 2 else len(groups)


def _agree(shared: _Shared, one: int, other: int) -> bool:
    recorded, rows = shared.recorded, shared.rows
    both = (rows[one] != NONE) & (rows[other] != NONE)
    if not both.any():
        return False
    ends = recorded[one].end[rows[one, both]], recorded[other].end[rows[other, both]]
    return matching.disagreement_ns(*ends) <= AGREE_NS


def _own_parts(
    accounts: Sequence[StepAccount], recorded: Sequence[Collectives], waits: NDArray[np.float64]
) -> Sequence[Mapping[str, float]]:
    """The ranks' parts of one step: a rank whose steps are not known has an account of several.

    Less what of them is waiting in collectives of the host, which runs in the ranges around.
    """
    step = min(one.mean_ns for one in accounts)
    parts = [{part: ns / round(one.mean_ns / step) for part, ns in one.parts_ns.items()} for one in accounts]
    if not any(one.on_host for one in recorded):
        return parts
    found = []
    for account, its, wait in zip(accounts, parts, waits.tolist(), strict=True):
        words = GROUPS["compute"] if account.account_from == "nvtx" else GROUPS["host"]
        whole = _sum(its, words)
        left = max(0.0, 1 - wait / whole) if whole else 0.0
        found.append({part: ns * left if part in words else ns for part, ns in its.items()})
    return found


def slow_in(parts: Sequence[Mapping[str, float]], slowest: int) -> tuple[str | None, float]:
    """In what the slowest rank exceeds the median of the others most, and by how many nanoseconds per step.

    None where nothing that is known exceeds theirs, or what is unknown does by more.
    """
    others = [one for index, one in enumerate(parts) if index != slowest]
    extra = {
        word: _sum(parts[slowest], of) - float(np.median([_sum(one, of) for one in others]))
        for word, of in GROUPS.items()
    }
    word = max(extra, key=lambda one: extra[one])
    return (word, extra[word]) if extra[word] > 0 else (None, 0.0)


def _sum(parts: Mapping[str, float], of: Sequence[str]) -> float:
    return sum(parts.get(part, 0.0) for part in of)


def _by_accounts(accounts: Sequence[StepAccount], recorded: Sequence[Collectives], names: Sequence[int]) -> Ranks:
    """The rank whose own parts exceed the others' by what their communication exceeds its own."""
    counted = ", ".join(
        f"rank {name}: {int(one.in_counted().sum())}" for name, one in zip(names, recorded, strict=True)
    )
    unmatched = f"the ranks' collectives cannot be matched ({counted})"
    nobody = Ranks(
        slowest=None,
        skew_ns=0.0,
        wait_ns={},
        clock="unaligned",
        evidence=f"{unmatched}; record the same steps on every rank",
    )
    step = float(np.median([one.mean_ns for one in accounts]))
    apart = any(abs(one.mean_ns - step) > SAME_STEP * step for one in accounts)
    if apart or not all(_meets(one) for one in recorded):
        return nobody
    waiting = np.array([one.parts_ns.get("communication", 0.0) for one in accounts])
    own = np.array([sum(one.parts_ns.values()) for one in accounts]) - waiting
    slowest = int(np.argmax(own))
    others = [rank for rank in range(len(accounts)) if rank != slowest]
    more = float(own[slowest] - np.median(own[others]))
    less = float(np.median(waiting[others]) - waiting[slowest])
    if more < LEAST_OWN * step or less < MOST * more:
        return nobody
    where, extra = slow_in([one.parts_ns for one in accounts], slowest)
    waits = np.maximum(waiting - waiting[slowest], 0.0)
    return Ranks(
        slowest=names[slowest],
        skew_ns=float(waits.max()),
        wait_ns={str(name): float(wait) for name, wait in zip(names, waits, strict=True)},
        clock="unaligned",
        evidence=f"{unmatched}, so the ranks' accounts are compared: rank {names[slowest]} spends "
        f"{milliseconds(more)} per step more on its own work, and {milliseconds(less)} less on communication; "
        + (f"it is slower in {where} by {milliseconds(extra)}" if where else "what it is slower in is unknown"),
        slow_in=where,
        compared="accounts",
    )

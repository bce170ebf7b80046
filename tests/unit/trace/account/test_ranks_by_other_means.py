"""Ranks that meet in groups, whose collectives may be transfers, run on the host, or cannot be matched at all."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mfu_operator.model.account import StepAccount
from mfu_operator.model.trace import NONE, column
from mfu_operator.trace.account import ranks
from mfu_operator.trace.account.collectives import Collectives
from mfu_operator.trace.answer import Ranks
from mfu_operator.trace.names.collectives import SEND_RECEIVE
from tests.support.cases import account_of
from tests.support.recording import collectives_of

MS = 1_000_000
ENDS = (10, 20, 30, 40, 50, 60)


def ending(*ends_ms: float, lasting_ms: float = 1, **more: Any) -> Collectives:
    return collectives_of(*((round((end - lasting_ms) * MS), round(end * MS)) for end in ends_ms), **more)


EXACT = ending(*ENDS)
SCATTERED = ending(10, 21, 29, 41, 49, 61)
LIKE_IT = ending(11, 22, 30, 42, 50, 62)
ALL = list(range(6))


def shared_of(
    recorded: Sequence[Collectives], rows: Sequence[Sequence[int]], lag_ns: float = 0.0, scatter_ns: float = 0.0
) -> ranks._Shared:
    zero = np.zeros(len(recorded))
    return ranks._Shared(recorded, column(rows), zero, zero, scatter_ns, lag_ns)


NEVER = [NONE] * 6


@pytest.mark.parametrize(
    ("recorded", "rows", "groups"),
    [
        ([EXACT, EXACT], [ALL] * 2, 1),
        ([EXACT, EXACT, SCATTERED, LIKE_IT], [ALL] * 4, 2),
        ([EXACT, SCATTERED, EXACT, LIKE_IT], [ALL] * 4, 2),
        ([EXACT, EXACT, SCATTERED], [ALL] * 3, 1),
        ([EXACT, SCATTERED], [ALL] * 2, 1),
        # Those that share no collective are of two groups.
        ([EXACT] * 4, [[0, 1, 2, *[NONE] * 3]] * 2 + [[*[NONE] * 3, 3, 4, 5]] * 2, 2),
        ([EXACT] * 3, [ALL, ALL, NEVER], 1),
    ],
)
def test_ranks_whose_ends_agree_are_a_group_and_one_that_agrees_with_none_leaves_all_in_one(
    recorded: Sequence[Collectives], rows: Sequence[Sequence[int]], groups: int
) -> None:
    assert ranks._groups(shared_of(recorded, rows)) == groups


@pytest.mark.parametrize(("off_ns", "agree"), [(0, True), (50_000, True), (50_001, False)])
def test_two_ranks_agree_where_their_ends_do_but_for_a_short_collectives_length(off_ns: int, agree: bool) -> None:
    other = collectives_of((0, 10 * MS), (0, 20 * MS + off_ns), (0, 30 * MS + 2 * off_ns))
    rows = [[0, 1, 2], [0, 1, 2]]
    assert ranks._agree(shared_of([EXACT, other], rows), 0, 1) is agree


def test_ranks_without_a_common_collective_do_not_agree() -> None:
    assert not ranks._agree(shared_of([EXACT, EXACT], [[0, NONE], [NONE, 1]]), 0, 1)
    assert ranks._agree(shared_of([EXACT, EXACT, SCATTERED], [[0, 1], [0, 1], [0, 1]]), 0, 1)


@pytest.mark.parametrize(
    ("wait_ms", "on_host", "agreeable"),
    [(4, True, 400_000), (0.5, True, 50_000), (0.6, True, 60_000), (4, False, 50_000)],
)
def test_ends_of_collectives_of_the_host_may_scatter_by_a_tenth_of_a_mean_wait(
    wait_ms: float, on_host: bool, agreeable: float
) -> None:
    short = ending(*ENDS, on_host=True)
    long = ending(*ENDS, lasting_ms=1 + wait_ms, on_host=on_host)
    assert ranks._agreeable(shared_of([short, long], [ALL] * 2)) == pytest.approx(agreeable)
    assert ranks._agreeable(shared_of([long, short], [ALL] * 2)) == pytest.approx(agreeable)
    assert ranks._agreeable(shared_of([long, long, short], [ALL] * 3)) == pytest.approx(agreeable)


def grid(extra_ms: float) -> Ranks:
    """Four ranks whose clocks agree two by two; the first waits 24 ms a step for the second."""
    jumps = (0, 1, 0, 1, 0, 1)
    names: dict[str, Any] = {"step": [0] * 6, "step_names": ("step 0", "step 1"), "groups": ["all"] * 6}
    early, late = ending(*ENDS, lasting_ms=5, **names), ending(*ENDS, **names)
    moved = [end + jump for end, jump in zip(ENDS, jumps, strict=True)]
    other = ending(*moved, **names)
    compute = (100.0, 100.0 + extra_ms, 100.0, 100.0)
    accounts = [account_of(compute=one * MS, communication=10e6) for one in compute]
    found = ranks.compare(accounts, [early, late, other, other], [0, 1, 2, 3])
    assert found is not None
    return found


@pytest.mark.parametrize(("extra_ms", "aligned"), [(12.0, True), (11.9, False)])
def test_groups_count_where_the_slowest_is_itself_slower_by_half_of_the_longest_wait(
    extra_ms: float, aligned: bool
) -> None:
    found = grid(extra_ms)
    assert max(found.wait_ns.values()) == 24 * MS
    assert found.clock == ("aligned" if aligned else "unaligned")
    said = "the ranks meet in 2 groups, in each of which the clocks are aligned"
    assert (said in found.evidence) is aligned
    assert ("the clocks cannot be aligned" in found.evidence) is not aligned


def test_groups_that_share_nothing_are_not_said_where_all_clocks_are_aligned() -> None:
    left: dict[str, Any] = {"groups": ["left"] * 6}
    right: dict[str, Any] = {"groups": ["right"] * 6}
    early, late = ending(*ENDS, lasting_ms=5, **left), ending(*ENDS, **left)
    accounts = [account_of(compute=one * MS, communication=10e6) for one in (100.0, 130.0, 100.0, 100.0)]
    found = ranks.compare(accounts, [early, late, ending(*ENDS, **right), ending(*ENDS, **right)], [0, 1, 2, 3])
    assert found is not None
    assert (found.clock, found.slowest, "groups" in found.evidence) == ("aligned", 1, False)


def maybe(*ends_ms: float, transfers: int, lasting_ms: float = 1) -> Collectives:
    """Collectives of which the first so many may be transfers."""
    kinds = [SEND_RECEIVE] * transfers + ["all_reduce"] * (len(ends_ms) - transfers)
    return ending(*ends_ms, lasting_ms=lasting_ms, kinds=kinds)


def shared_rows(*recorded: Collectives) -> int | None:
    found = ranks._shared(recorded)
    return None if found is None else found.rows.shape[1]


def test_what_may_be_a_transfer_counts_where_more_than_two_ranks_leave_it_together() -> None:
    sure, doubtful = maybe(*ENDS, transfers=0), maybe(*ENDS, transfers=2)
    assert shared_rows(sure, sure, sure) == 6
    assert shared_rows(doubtful, doubtful, doubtful) == 6
    assert shared_rows(doubtful, doubtful) == 4
    apart = [maybe(*(end + place * shift for place, end in enumerate(ENDS)), transfers=6) for shift in (0, 0, 0)]
    assert shared_rows(*apart) == 6


def test_what_may_be_a_transfer_of_two_ranks_is_one_however_many_others_meet_beside_it() -> None:
    """Two stages of a pipeline have a group of their own: who receives late waits, and none is a straggler."""
    kinds = [SEND_RECEIVE] * 2 + ["all_reduce"] * 4
    stage = ending(*ENDS, kinds=kinds, groups=["stages"] * 2 + ["all"] * 4)
    beside = ending(*ENDS[2:], groups=["all"] * 4)
    assert shared_rows(stage, stage, beside) == 4
    assert shared_rows(beside, stage, stage, stage) == 6


def test_what_may_be_a_transfer_and_is_not_left_together_is_left_out() -> None:
    jumps = [maybe(*(end + shift * (place % 2) for place, end in enumerate(ENDS)), transfers=4) for shift in (0, 1, 2)]
    assert shared_rows(*jumps) == 2
    assert shared_rows(*[maybe(*ENDS, transfers=6)] * 2) is None


@pytest.mark.parametrize(("apart_ns", "shared"), [(50_000, 3), (50_001, 0)])
def test_it_is_left_together_where_ends_scatter_by_no_more_than_a_short_collective(apart_ns: int, shared: int) -> None:
    named: dict[str, Any] = {"kinds": SEND_RECEIVE, "step": [0, 0, 1], "step_names": ("step 0", "step 1")}
    late = ending(10, 20 + apart_ns / MS, 30 + 2 * apart_ns / MS, **named)
    assert (shared_rows(ending(*ENDS[:3], **named), late, late) or 0) == shared


def test_only_collectives_that_count_on_every_rank_that_shares_them_count() -> None:
    named: dict[str, Any] = {"step": [0, 0, 1, 1, 2, 2], "step_names": ("step 0", "step 1", "step 2")}
    one, other = ending(*ENDS, counted=(0, 1), **named), ending(*ENDS, counted=(1, 2), **named)
    assert shared_rows(one, other) == 2
    assert shared_rows(one, one) == 4
    assert shared_rows(ending(*ENDS, counted=(0,), **named), ending(*ENDS, counted=(1,), **named)) is None


def of_groups(*groups: str) -> Collectives:
    return ending(*ENDS[: len(groups)], groups=groups)


def test_who_is_not_of_a_group_is_not_asked_whether_it_counts() -> None:
    assert shared_rows(of_groups("x", "y"), of_groups("x", "z"), of_groups("y", "z")) == 3
    assert shared_rows(of_groups("x"), of_groups("x"), ending()) == 1


def by_accounts(*accounts: StepAccount, recorded: Sequence[Collectives] | None = None) -> Ranks:
    """Accounts of ranks whose collectives are of other kinds, and so cannot be matched."""
    kinds = ("all_reduce", "all_gather", "broadcast", "reduce_scatter")
    unlike = [ending(*ENDS, kinds=kinds[place], counted=(0,)) for place in range(len(accounts))]
    found = ranks.compare(accounts, recorded or unlike, [10 * place for place in range(len(accounts))])
    assert found is not None
    return found


def spending(compute: float, communication: float, **more: float) -> StepAccount:
    named: dict[str, Any] = {part: value * MS for part, value in more.items()}
    return account_of(compute=compute * MS, communication=communication * MS, **named)


def test_where_collectives_cannot_be_matched_the_accounts_tell_who_is_late() -> None:
    found = by_accounts(spending(60, 40), spending(70, 30), spending(62, 38))
    assert found == Ranks(
        slowest=10,
        skew_ns=10.0 * MS,
        wait_ns={"0": 10.0 * MS, "10": 0.0, "20": 8.0 * MS},
        clock="unaligned",
        evidence="the ranks' collectives cannot be matched (rank 0: 6, rank 10: 6, rank 20: 6), so the ranks' accounts "
        "are compared: rank 10 spends 9 ms per step more on its own work, and 9 ms less on communication; it is slower "
        "in compute by 9 ms",
        slow_in="compute",
        compared="accounts",
    )


@pytest.mark.parametrize(
    ("accounts", "slowest"),
    [
        ((spending(60, 40), spending(70, 30)), 10),
        # Steps of other lengths: those of the median by a twentieth.
        ((spending(60, 40), spending(60, 40), spending(75, 30)), 20),
        ((spending(60, 40), spending(60, 40), spending(75.1, 30)), None),
        ((spending(60, 40), spending(60, 40), spending(65, 30)), 20),
        ((spending(60, 40), spending(60, 40), spending(64.9, 30)), None),
        # Its own parts exceed the others' by a twentieth of the step.
        ((spending(60, 40), spending(65, 35)), 10),
        ((spending(60, 40), spending(60, 40), spending(64.9, 35.1)), None),
        # The others communicate longer by half of that.
        ((spending(60, 40), spending(60, 40), spending(65, 37.5)), 20),
        ((spending(60, 40), spending(60, 40), spending(65, 37.6)), None),
    ],
)
def test_a_rank_is_late_where_its_own_parts_exceed_and_its_communication_falls_short(
    accounts: Sequence[StepAccount], slowest: int | None
) -> None:
    found = by_accounts(*accounts)
    assert found.slowest == slowest
    if slowest is None:
        assert (found.skew_ns, found.wait_ns, found.clock, found.compared) == (0.0, {}, "unaligned", "collectives")
        assert found.evidence.endswith("record the same steps on every rank")


def test_in_what_it_is_slower_is_not_said_where_its_idle_time_is_unknown() -> None:
    unknown = account_of(compute=60 * MS, communication=30 * MS, idleUnknown=10 * MS)
    found = by_accounts(spending(60, 40), unknown)
    assert (found.slowest, found.slow_in) == (10, None)
    assert found.evidence.endswith("what it is slower in is unknown")


def test_a_rank_without_a_sure_collective_is_not_compared_by_accounts() -> None:
    transfers = ending(*ENDS, kinds=SEND_RECEIVE)
    found = by_accounts(spending(60, 40), spending(70, 30), recorded=[EXACT, transfers])
    assert found.slowest is None
    assert "rank 0: 6, rank 10: 6" in found.evidence


def test_a_part_that_an_account_lacks_is_none_of_its_own() -> None:
    bare = StepAccount(3, 100.0 * MS, 0.0, {"compute": 100.0 * MS})
    found = by_accounts(spending(60, 40), bare)
    assert (found.slowest, found.skew_ns) == (10, 40.0 * MS)

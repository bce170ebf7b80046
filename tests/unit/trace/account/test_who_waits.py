"""Who waits for whom in shared collectives, and in what the one that is waited for is slower. Times in nanoseconds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mfu_operator.model.account import StepAccount
from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.account import ranks
from mfu_operator.trace.account.collectives import Collectives
from mfu_operator.trace.answer import Ranks
from mfu_operator.trace.names.collectives import SEND_RECEIVE
from tests.support.cases import account_of
from tests.support.recording import collectives_of

MS = 1_000_000
Named = Mapping[str, Any]


def rank(*arrivals_ms: float, leaves_ms: Sequence[float] = (), clock_ms: float = 0, **more: Any) -> Collectives:
    """A rank that arrives at its collectives at these times; each leaves at its own (20 ms apart by default)."""
    leaves = leaves_ms or [20.0 * (place + 1) for place in range(len(arrivals_ms))]
    rows = [
        (round((begin + clock_ms) * MS), round((end + clock_ms) * MS))
        for begin, end in zip(arrivals_ms, leaves, strict=True)
    ]
    return collectives_of(*rows, **more)


def step_of(**parts_ms: float) -> StepAccount:
    named: Named = {part: value * MS for part, value in parts_ms.items()}
    return account_of(**named)


def compared(accounts: Sequence[StepAccount], recorded: Sequence[Collectives]) -> Ranks:
    found = ranks.compare(accounts, recorded, [10 * (place + 1) for place in range(len(accounts))])
    assert found is not None
    return found


EVEN = step_of(compute=10, communication=10)
SLOWER = step_of(compute=14, communication=6)
EARLY = rank(10, 30, 50, 70)
LATE = rank(14, 34, 54, 74, clock_ms=700)


def test_the_rank_that_arrives_last_is_named_with_what_the_others_wait_for_it() -> None:
    found = compared([EVEN, SLOWER, EVEN], [EARLY, LATE, EARLY])
    assert found == Ranks(
        slowest=20,
        skew_ns=16.0 * MS,
        wait_ns={"10": 16.0 * MS, "20": 0.0, "30": 16.0 * MS},
        clock="aligned",
        evidence="rank 20 arrives last at 4 shared collectives: the others wait up to 16.0 ms per step for it; it is "
        "slower in compute by 4 ms",
        slow_in="compute",
    )


def test_waits_are_per_counted_step() -> None:
    shared: Named = {"step": [0, 1, 2, 3], "step_names": ("step 0", "step 1", "step 2", "step 3"), "counted": (1, 2)}
    found = compared([EVEN, SLOWER], [rank(10, 30, 50, 70, **shared), rank(10, 34, 54, 74, **shared)])
    assert found.wait_ns == {"10": 4.0 * MS, "20": 0.0}
    assert "arrives last at 2 shared collectives" in found.evidence


def test_steps_are_counted_on_the_rank_that_has_most_of_them() -> None:
    shared: Named = {"step_names": ("first", "second")}
    found = ranks._matched([rank(10, 30, step=[0, 0], **shared), rank(14, 34, step=[0, 1], **shared)])
    assert found is not None
    assert (found.waits.tolist(), found.caused.tolist()) == ([4.0 * MS, 0.0], [0.0, 4.0 * MS])
    assert ranks._steps_of(rank(14, 34, step=[0, 1], **shared), column([NONE, 1])).tolist() == [1]


def test_a_rank_alone_or_ranks_without_collectives_are_not_compared() -> None:
    assert ranks.compare([EVEN], [EARLY], [0]) is None
    assert ranks.compare([EVEN, EVEN], [rank(), rank()], [0, 1]) is None
    assert ranks.compare([EVEN, EVEN], [rank(kinds=()), rank(10, kinds=SEND_RECEIVE)], [0, 1]) is None
    assert ranks.compare([EVEN, EVEN], [rank(), rank(10)], [0, 1]) is not None


@pytest.mark.parametrize(
    ("slower", "where"),
    [
        # A quarter of the longest wait in one collective, or less.
        (step_of(compute=11, communication=9), "compute"),
        (step_of(compute=10.9, communication=9.1), None),
        (replace(SLOWER, facts=account_of(wholeSteps=0.0).facts), None),
    ],
)
def test_what_explains_no_quarter_of_a_wait_or_is_of_no_step_is_not_what_a_rank_is_slow_in(
    slower: StepAccount, where: str | None
) -> None:
    found = compared([EVEN, slower], [EARLY, LATE])
    assert (found.slowest, found.slow_in) == (20, where)
    assert ("what it is slower in is unknown" in found.evidence) is (where is None)


@pytest.mark.parametrize(
    ("whole", "told"), [((None, None), True), ((None, 0.0), False), ((0.0, 0.0), True), ((0.0, None), True)]
)
def test_the_slowest_ranks_span_is_compared_with_spans_only(
    whole: tuple[float | None, float | None], told: bool
) -> None:
    facts_of: list[Named] = [{} if one is None else {"wholeSteps": one} for one in whole]
    accounts = [account_of(**one) for one in facts_of]
    assert ranks._of_one_kind(accounts, 1) is told


NUMBERED: Named = {"step": [0, 0, 1, 1], "step_names": ("step 0", "step 1")}
SCATTERED = rank(14, 34, 54, 74, leaves_ms=[20, 40.4, 59.6, 80.4], clock_ms=700, **NUMBERED)


def test_clocks_that_cannot_be_aligned_are_said_to_be_so() -> None:
    found = compared([EVEN, SLOWER], [rank(10, 30, 50, 70, **NUMBERED), SCATTERED])
    assert (found.clock, found.slowest) == ("unaligned", 20)
    assert found.evidence.endswith(
        "; the clocks cannot be aligned: the ends of shared collectives differ by 0.35 ms"
    ), found.evidence


@pytest.mark.parametrize(("apart_ns", "clock"), [(50_000, "aligned"), (50_001, "unaligned")])
def test_clocks_are_aligned_where_ends_scatter_by_no_more_than_a_short_collective(apart_ns: int, clock: str) -> None:
    named: Named = {"step": [0, 0, 1], "step_names": ("step 0", "step 1")}
    leaves = [20, 40 + apart_ns / MS, 60 + 2 * apart_ns / MS]
    found = compared([EVEN, SLOWER], [rank(10, 30, 50, **named), rank(14, 34, 54, leaves_ms=leaves, **named)])
    assert found.clock == clock


def shared_of(
    recorded: Sequence[Collectives],
    waits_ms: Sequence[float] = (),
    caused_ms: Sequence[float] = (),
    scatter_ns: float = 0,
) -> ranks._Shared:
    rows = column([range(len(one)) for one in recorded])
    return ranks._Shared(
        recorded, rows, np.array(waits_ms, dtype=float) * MS, np.array(caused_ms, dtype=float) * MS, scatter_ns, 0.0
    )


@pytest.mark.parametrize(
    ("waits", "caused", "extra_ms", "in_turns"),
    [
        ((4, 0), (0, 4), 0, False),
        ((4, 4), (4, 4), 0, True),
        ((0, 0), (0, 0), 0, False),
        # Half of all waiting is for the one, net of its own, or less.
        ((4, 1), (3, 5), 0, False),
        ((4, 1.1), (3, 5), 0, True),
        # Its own parts exceed the others' by half of the longest wait, or by less.
        ((4, 4), (4, 4), 2, False),
        ((4, 4), (4, 4), 1.9, True),
    ],
)
def test_ranks_are_late_in_turns_where_neither_the_waiting_nor_its_own_parts_single_one_out(
    waits: Sequence[float], caused: Sequence[float], extra_ms: float, in_turns: bool
) -> None:
    shared = shared_of([EARLY, LATE], waits, caused)
    assert ranks._in_turns(shared, 1, extra_ms * MS) is in_turns


def test_ranks_that_take_turns_are_said_to() -> None:
    found = compared([EVEN, EVEN], [rank(10, 34, 50, 74), rank(14, 30, 54, 70)])
    assert (found.in_turns, found.skew_ns, found.wait_ns) == (True, 0.0, {"10": 8.0 * MS, "20": 8.0 * MS})
    assert found.evidence.endswith("; the ranks take turns in being late")


def host(busy_ms: float | None, **named: Any) -> StepAccount:
    """A rank whose host is busy for so long of a step of 20 ms."""
    calls = (
        {} if busy_ms is None else {"launchCalls": 10.0, "syncCallNs": (19 - busy_ms) * MS, "launchCallNs": 1.0 * MS}
    )
    return account_of(**({"compute": 20.0 * MS} | calls | named))


def test_a_host_is_busy_while_it_is_not_blocked_by_its_device() -> None:
    assert ranks._busy_ns(host(8)) == 8 * MS
    assert ranks._busy_ns(host(None)) is None
    assert ranks._busy_ns(host(8, launchCalls=0.0)) is None
    assert ranks._busy_ns(account_of(compute=20.0, launchCalls=3.0)) == 20.0
    assert ranks._busy_ns(replace(host(8), account_from="nvtx")) is None


def loader(own: float | None, **named: Any) -> StepAccount:
    return account_of(**({} if own is None else {"loaderThreads": 4.0, "loadOwnNs": own}) | named)


def test_a_loader_loads_while_it_waits_for_the_store_and_computes() -> None:
    assert ranks._loading_ns(loader(5.0, loadNetworkNs=2.0, loadFileNs=1.0)) == 8.0
    assert ranks._loading_ns(loader(5.0)) == 5.0
    assert ranks._loading_ns(loader(5.0, loaderThreads=0.0)) is None
    assert ranks._loading_ns(loader(None, loaderThreads=4.0, loadNetworkNs=2.0)) is None
    assert ranks._loading_ns(loader(None, loadOwnNs=4.0)) is None


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ([1.0, 2.0, 7.0], 5.5),
        ([1.0, None, 7.0], np.inf),
        ([1.0, 2.0, None], np.inf),
        ([3.0, 3.0, 1.0], -2.0),
        ([2.0, 7.0], None),
    ],
)
def test_one_exceeds_the_median_of_the_others_where_all_are_known(
    values: Sequence[float | None], more: float | None
) -> None:
    assert ranks._exceeds(values, 2 if more is not None else 1) == (5.0 if more is None else more)


def starved(input_ms: float, **named: Any) -> StepAccount:
    """A rank that waits so long for its input, of whose loader little is known."""
    return replace(loader(None, **named), parts_ns={"idleInput": input_ms * MS})


def varying(std_ms: float, **named: Any) -> StepAccount:
    """One whose wait varies over the steps."""
    return starved(1, inputStdNs=std_ms * MS, **named)


def reading(ms: float, threads: float = 4.0, **named: Any) -> StepAccount:
    """One whose workers read for so long, of which nothing more is known."""
    return starved(1, loaderThreads=threads, loadFileNs=ms * MS, **named)


@pytest.mark.parametrize(
    ("where", "accounts", "as_slow"),
    [
        ("host", [host(8), host(8.9)], True),
        ("host", [host(8), host(9)], False),
        ("host", [host(8), host(None)], False),
        ("input", [loader(100.0), loader(111.0)], True),
        ("input", [loader(90.0), loader(100.0)], False),
        ("input", [loader(100.0), loader(None)], False),
        ("input", [starved(1), starved(9), starved(3)], True),
        ("input", [starved(1), starved(9), starved(2.9)], False),
        ("input", [starved(3), starved(9)], False),
        ("input", [starved(0), starved(0), starved(0)], False),
        ("input", [varying(0.6), varying(9)], True),
        ("input", [varying(0.5), varying(9)], False),
        ("input", [varying(0), varying(9), varying(0.6)], True),
        ("input", [varying(0.6, loader="inline"), varying(9, loader="inline")], False),
        ("input", [reading(9), reading(9.9)], True),
        ("input", [reading(9), reading(10.1)], False),
        ("input", [reading(9), reading(9, threads=3)], False),
        ("input", [reading(9, threads=3), reading(9)], True),
        ("input", [reading(9, threads=0), reading(9, threads=0)], False),
        ("input", [reading(0), reading(0)], False),
        ("compute", [host(8), host(8)], False),
        ("compute", [loader(100.0), loader(100.0)], False),
    ],
)
def test_others_are_as_slow_where_their_hosts_or_loaders_are_as_busy(
    where: str, accounts: Sequence[StepAccount], as_slow: bool
) -> None:
    assert ranks._as_slow(accounts, 1, where, 4 * MS) is as_slow


def test_what_is_slow_on_every_rank_and_shows_on_one_is_late_in_turns() -> None:
    early = host(15, compute=10.0 * MS, communication=10.0 * MS)
    late = host(15, compute=10.0 * MS, communication=6.0 * MS, idleHost=4.0 * MS)
    found = compared([replace(early, mean_ns=20e6), replace(late, mean_ns=20e6)], [EARLY, LATE])
    assert (found.slow_in, found.in_turns) == ("host", True)


@pytest.mark.parametrize(
    ("slower", "where", "extra"),
    [
        ({"compute": 14.0}, "compute", 4.0),
        ({"compute": 10.5}, "compute", 0.5),
        ({"compute": 10.0}, None, 0.0),
        ({"compute": 9.0}, None, 0.0),
        ({"compute": 11.0, "idleInput": 2.0}, "input", 2.0),
        ({"compute": 10.0, "h2d": 1.0, "d2h": 1.0, "d2d": 1.0, "memset": 1.0}, "copies", 4.0),
        ({"compute": 10.0, "idleSync": 1.0, "idleAlloc": 1.0, "idleHost": 1.0, "idleLaunch": 1.0}, "host", 4.0),
        ({"compute": 12.0, "idleUnknown": 3.0}, None, 3.0),
        ({"compute": 10.0, "communication": 5.0}, None, 0.0),
    ],
)
def test_a_rank_is_slow_in_what_exceeds_the_median_of_the_others_most(
    slower: Named, where: str | None, extra: float
) -> None:
    others = [{"compute": 8.0}, {"compute": 10.0}, {"compute": 12.0}]
    assert ranks.slow_in([*others[:2], slower, others[2]], 2) == (where, extra)


def test_a_recorded_span_is_taken_for_as_many_steps_as_it_is_long() -> None:
    accounts = [account_of(compute=10.0), account_of(compute=24.0, idleHost=6.0)]
    parts = ranks._own_parts(accounts, [EARLY, LATE], np.array([4.0, 4.0]))
    assert [(one["compute"], one["idleHost"]) for one in parts] == [(10.0, 0.0), (8.0, 2.0)]


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("gpu", {"compute": 10.0, "idleSync": 1.0, "idleHost": 3.0}),
        ("nvtx", {"compute": 4.0, "idleSync": 2.0, "idleHost": 6.0}),
    ],
)
def test_waiting_in_collectives_of_the_host_is_no_part_of_what_a_rank_does(source: str, parts: Named) -> None:
    whole = replace(account_of(compute=10.0, idleSync=2.0, idleHost=6.0), account_from=source)
    wait = 4.0 if source == "gpu" else 6.0
    none = account_of(idleInput=18.0)
    found = ranks._own_parts(
        [whole, none, whole], [rank(1, on_host=True), rank(1), rank(1)], np.array([wait, 4.0, 99.0])
    )
    assert {part: found[0][part] for part in parts} == parts
    assert found[1] == none.parts_ns
    left = {"gpu": (10.0, 0.0, 0.0), "nvtx": (0.0, 2.0, 6.0)}[source]
    assert (found[2]["compute"], found[2]["idleSync"], found[2]["idleHost"]) == left


def waits(recorded: Sequence[Collectives], rows: Ints) -> tuple[list[list[float]], list[float], list[float]]:
    wait, each, caused = ranks._waits(recorded, rows)
    return (wait / MS).tolist(), (each / MS).tolist(), (caused / MS).tolist()


def test_a_rank_waits_while_its_collective_lasts_longer_than_the_shortest() -> None:
    recorded = [rank(10, 30), rank(14, 31), rank(16)]
    rows = column([[0, 1], [0, 1], [0, NONE]])
    assert waits(recorded, rows) == ([[6, 1], [2, 0], [0, 0]], [7, 2, 0], [0, 1, 8])
    assert waits([rank(10), rank(14), rank()], column([[0], [0], [NONE]])) == ([[4], [0], [0]], [4, 0, 0], [0, 4, 0])


def test_waits_at_the_same_time_are_counted_once() -> None:
    both = [rank(10, 12, leaves_ms=[20, 20]), rank(18, 18, leaves_ms=[20, 20])]
    assert waits(both, column([[0, 1], [0, 1]]))[1] == [8, 0]


def test_ranks_that_arrive_last_at_about_the_same_time_share_what_the_others_wait() -> None:
    near, far = ranks.AGREE_NS / MS, (ranks.AGREE_NS + 1) / MS
    rows = column([[0]] * 3)
    assert waits([rank(10), rank(16), rank(16 - near)], rows)[2] == pytest.approx([0, 3 + near / 2, 3 + near / 2])
    assert waits([rank(10), rank(16), rank(16 - far)], rows)[2] == pytest.approx([0, 6 + far, 0])


def test_the_lag_is_the_mean_of_the_longest_wait_of_each_step() -> None:
    one = collectives_of((0, 1), (2, 3), (4, 5), step=[0, 0, 1], step_names=("step 0", "step 1"))
    other = collectives_of((0, 1), step=[1], step_names=("step 0", "step 1"))
    rows = column([[0, 1, NONE], [NONE, NONE, 0]])
    assert ranks._lag([one, other], rows, column([4, 6, 2])) == 4.0
    assert ranks._lag([one, rank()], column([[0, 1, 2], [NONE] * 3]), column([6, 4, 2])) == 4.0


def test_ends_are_compared_with_those_of_the_earlier_rank_that_shares_most() -> None:
    exact = collectives_of((0, 1_000), (0, 2_000), (0, 3_000))
    off = collectives_of((0, 1_000), (0, 2_300), (0, 3_000))
    rows = column([[0, 1, 2], [0, NONE, NONE], [0, 1, 2]])
    assert ranks.disagreement_ns([exact, off, exact], rows) == 0.0
    drifting = collectives_of((0, 1_000), (0, 2_300), (0, 3_600))
    assert ranks.disagreement_ns([exact, off, drifting], rows) == 150.0
    assert ranks.disagreement_ns([exact, exact, off], column([[NONE] * 3, [0, 1, 2], [0, 1, 2]])) == 0.0
    assert ranks.disagreement_ns([exact, off], column([[1], [1]])) == 0.0
    assert ranks.disagreement_ns([exact, off], column([[0, NONE], [NONE, 0]])) == 0.0
    assert ranks.disagreement_ns([exact, off], column([[1, 1, 2], [0, 1, 2]])) == pytest.approx(300.0)

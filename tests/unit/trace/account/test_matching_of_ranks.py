"""Which rows of several ranks' collectives are the same collective, and how far their clocks are apart."""

from collections.abc import Sequence

import numpy as np
import pytest

from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.account import matching
from mfu_operator.trace.account.collectives import Collectives
from tests.support.recording import collectives_of

Pairs = list[tuple[int, int]]


def in_order(kinds: str, ends: Sequence[int] | None = None) -> Collectives:
    """Collectives of these kinds, one a letter, whose ends are these (every 100 ns by default), of a recorded span."""
    times = ends or [100 * place for place in range(len(kinds))]
    return collectives_of(*((end - 10, end) for end in times), kinds=tuple(kinds))


def in_steps(*steps: tuple[str, str]) -> Collectives:
    """Collectives of steps by (name, kinds)."""
    kinds = "".join(each for _, each in steps)
    step = [place for place, (_, each) in enumerate(steps) for _ in each]
    return collectives_of(
        *((100 * place, 100 * place + 10) for place in range(len(kinds))),
        kinds=tuple(kinds),
        step=step,
        step_names=tuple(name for name, _ in steps),
    )


def paired(one: Collectives, other: Collectives, *, numbered: bool = False) -> Pairs:
    left, right = matching.pairs(one, other, numbered=numbered)
    return list(zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize(
    ("one", "other", "last", "pairs"),
    [
        ("", "", True, []),
        ("a", "", True, []),
        ("", "a", False, []),
        ("a", "a", True, [(0, 0)]),
        ("a", "b", True, []),
        ("abc", "abc", True, [(0, 0), (1, 1), (2, 2)]),
        ("aa", "a", False, [(0, 0)]),
        ("aa", "a", True, [(1, 0)]),
        ("a", "aa", False, [(0, 0)]),
        ("a", "aa", True, [(0, 1)]),
        ("xaby", "uabv", False, [(1, 1), (2, 2)]),
        ("aba", "bac", False, [(1, 0), (2, 1)]),
        ("abb", "bba", False, [(1, 0), (2, 1)]),
        ("xb", "ubv", False, [(1, 1)]),
        ("bx", "ubvw", False, [(0, 1)]),
        ("xabcdy", "uabcdv", False, [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("xadbecy", "uabcv", False, [(1, 1), (3, 2), (5, 3)]),
        ("xabcy", "uadbecv", False, [(1, 1), (2, 3), (3, 5)]),
        ("hxaybt", "huavbt", True, [(0, 0), (2, 2), (4, 4), (5, 5)]),
        ("hxaybt", "hab", False, [(0, 0), (2, 1), (4, 2)]),
        ("ab", "cab", False, [(0, 1), (1, 2)]),
        ("cab", "ab", False, [(1, 0), (2, 1)]),
        ("xyzab", "abuvw", False, [(3, 0), (4, 1)]),
        ("abuvw", "xyzab", False, [(0, 3), (1, 4)]),
        ("bcad", "abcd", False, [(0, 1), (1, 2), (3, 3)]),
    ],
)
def test_a_longest_common_sequence_reaches_the_beginning_or_the_end(
    one: str, other: str, last: bool, pairs: Pairs
) -> None:
    left, right = matching.common(one, other, from_the_end=last)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == pairs


def test_of_longer_sequences_only_what_is_equal_at_the_edges_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_COMPARED", 4)
    assert [len(each) for each in matching.common("hxaybt", "huavbt", from_the_end=False)] == [4, 4]
    assert matching.common("hxaycbt", "huavbt", from_the_end=False)[0].tolist() == [0, 2, 5, 6]
    assert matching.common("hxaycdbt", "huavbt", from_the_end=False)[1].tolist() == [0, 4, 5]
    assert matching.common("huavbt", "hxaycdbt", from_the_end=False)[1].tolist() == [0, 6, 7]


@pytest.mark.parametrize(("rows", "found"), [(1_000, 998), (1_001, 0)])
def test_a_thousand_rows_are_compared_and_no_more(rows: int, found: int) -> None:
    between = "a" * (rows - 2)
    assert len(matching.common(f"x{between}y", f"u{between}v", from_the_end=False)[0]) == found
    assert len(matching.common(f"x{between}y", "uav", from_the_end=False)[0]) == min(found, 1)


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        # The first recorded step may lack its beginning, any other its end.
        ((("step 1", "aa"), ("step 2", "aa")), (("step 1", "a"), ("step 2", "a")), [(1, 0), (2, 1)]),
        ((("step 1", "aa"), ("step 2", "b")), (("step 0", "b"), ("step 1", "a")), [(1, 1)]),
        ((("step 0", "b"), ("step 1", "a")), (("step 1", "aa"), ("step 2", "b")), [(1, 1)]),
        ((("step 0", "b"), ("step 1", "aa")), (("step 0", "b"), ("step 1", "a")), [(0, 0), (1, 1)]),
        ((("step 1", "a"), ("step 2", "b")), (("step 3", "a"), ("step 4", "b")), []),
        ((("step 1", "a"), ("step 2", "bc")), (("step 2", "bc"), ("step 3", "a")), [(1, 0), (2, 1)]),
    ],
)
def test_numbered_steps_are_matched_by_name(
    one: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]], pairs: Pairs
) -> None:
    assert paired(in_steps(*one), in_steps(*other), numbered=True) == pairs


def test_a_row_that_one_rank_counts_to_the_next_step_moves_no_other() -> None:
    """A collective whose launch was not recorded counts to the step in which it runs."""
    ends = [0, 70, 300, 330, 390, 600]
    names = ("step 1", "step 2", "step 3")
    one = collectives_of(
        *((end - 10, end) for end in ends), kinds=tuple("aaaaaa"), step=[0, 0, 1, 1, 1, 2], step_names=names
    )
    late = collectives_of(
        *((end + 990, end + 1_000) for end in ends), kinds=tuple("aaaaaa"), step=[0, 1, 1, 1, 1, 2], step_names=names
    )
    assert paired(one, late, numbered=True) == [(0, 0), (2, 2), (3, 3), (4, 4), (5, 5)]
    assert paired(late, one, numbered=True) == [(0, 0), (2, 2), (3, 3), (4, 4), (5, 5)]


@pytest.mark.parametrize(
    ("steps", "numbered"),
    [
        ([("step 1", "step 2")], True),
        ([("step 1",)], False),
        ([("step 1", "step 1")], False),
        ([("step 1", "last")], False),
        ([("first", "last")], False),
        ([("step 1", "step 2"), ("step 2", "step 3")], True),
        ([("step 1", "step 2"), ("span",)], False),
        ([("span",), ("step 1", "step 2")], False),
    ],
)
def test_steps_are_numbered_where_every_ranks_have_names_of_their_own(
    steps: Sequence[tuple[str, ...]], numbered: bool
) -> None:
    assert matching.are_numbered([collectives_of(step_names=names) for names in steps]) is numbered


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        ("abab", "abab", [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ("xabc", "abc", [(1, 0), (2, 1), (3, 2)]),
        ("abc", "xabc", [(0, 1), (1, 2), (2, 3)]),
        ("abcx", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "abcx", [(0, 0), (1, 1), (2, 2)]),
        ("ab", "cd", []),
        # Half of the shorter is too little, at a shift and as a common sequence.
        ("abcd", "cdef", []),
        ("abcde", "defghi", []),
        ("abc", "abcdefghi", [(0, 0), (1, 1), (2, 2)]),
        ("abcdefghi", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abcde", "cdeghi", [(2, 0), (3, 1), (4, 2)]),
        ("axbyc", "aubvc", [(0, 0), (2, 2), (4, 4)]),
        ("axby", "aubv", []),
    ],
)
def test_unnumbered_collectives_are_matched_by_their_order(one: str, other: str, pairs: Pairs) -> None:
    assert paired(in_order(one), in_order(other)) == pairs


def test_of_shifts_that_agree_in_kind_the_one_is_taken_at_which_the_ends_agree_best() -> None:
    ends = [100, 250, 300, 700, 800, 1_300, 1_350, 1_900]
    whole = in_order("a" * 8, ends)
    assert paired(whole, in_order("a" * 7, [5_000 + end for end in ends[1:]])) == [(row + 1, row) for row in range(7)]
    assert paired(in_order("a" * 7, ends[1:]), whole) == [(row, row + 1) for row in range(7)]
    even = in_order("a" * 8)
    assert paired(even, even) == [(row, row) for row in range(8)]


def test_ranks_are_shifted_by_no_more_than_the_farthest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "FARTHEST", 2)
    monkeypatch.setattr(matching, "MOST_COMPARED", 0)
    assert paired(in_order("xyabcdef"), in_order("abcdefgh")) == [(row + 2, row) for row in range(6)]
    assert paired(in_order("abcdefgh"), in_order("xyabcdef")) == [(row, row + 2) for row in range(6)]
    assert paired(in_order("xyzabcdef"), in_order("abcdefghi")) == []
    assert paired(in_order("abcdefghi"), in_order("xyzabcdef")) == []


@pytest.mark.parametrize(("more", "found"), [(64, 20), (65, 0)])
def test_one_rank_may_have_begun_64_collectives_earlier(more: int, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_COMPARED", 0)
    assert len(paired(in_order("x" * more + "a" * 20), in_order("a" * 20 + "y"))) == found
    assert len(paired(in_order("a" * 20 + "y"), in_order("x" * more + "a" * 20))) == found


def meetings(*recorded: Collectives) -> list[list[int]]:
    found: list[list[int]] = matching.meetings(recorded).tolist()
    return found


def test_ranks_of_one_group_share_what_all_of_them_have_recorded() -> None:
    assert meetings(in_order("abc"), in_order("bc"), in_order("abc")) == [[1, 2], [0, 1], [1, 2]]
    assert meetings(in_order("bc"), in_order("abc"), in_order("abc")) == [[0, 1], [1, 2], [1, 2]]


def test_ranks_are_matched_through_the_one_that_recorded_most() -> None:
    whole = in_order("abab", [10, 100, 350, 400])
    assert meetings(in_order("ab", [10, 100]), whole, in_order("ab", [10, 60])) == [[], [], []]


def test_a_rank_alone_shares_nothing() -> None:
    assert meetings(in_order("abc")) == [[]]
    assert meetings(in_order("abc"), in_order("")) == [[], []]
    assert meetings() == []


def of_groups(*groups: str | None) -> Collectives:
    return collectives_of(*((100 * place, 100 * place + 10) for place in range(len(groups))), groups=groups)


def test_each_group_meets_by_itself_and_who_is_not_of_it_has_no_row() -> None:
    found = matching.meetings([of_groups("x", "x", "all"), of_groups("all", "x", "x"), of_groups("all")])
    assert found.tolist() == [[0, 1, 2], [1, 2, 0], [NONE, NONE, 0]]


def test_where_groups_are_named_differently_on_each_rank_all_their_collectives_are_compared() -> None:
    assert meetings(of_groups("x", "x"), of_groups("y", "y")) == [[0, 1], [0, 1]]
    assert meetings(of_groups("x"), of_groups("y"), of_groups()) == [[0], [0], [NONE]]
    assert meetings(of_groups(), of_groups("y", "z")) == [[], []]


def test_nothing_is_shared_where_the_only_group_does_not_match() -> None:
    assert meetings(in_order("ab"), in_order("cd")) == [[], []]


ENDS = column([0, 1_000, 2_500, 4_000, 4_500, 9_000])


@pytest.mark.parametrize(
    ("other", "apart"),
    [
        (ENDS, [0, 0, 0, 0, 0, 0]),
        (ENDS + 700_000, [0, 0, 0, 0, 0, 0]),
        (ENDS * 2 + 5, [0, 0, 0, 0, 0, 0]),
        (ENDS + column([0, 0, 0, 0, 0, 60]), [0, 0, 0, 0, 0, 60]),
        # Of both halves' medians the drift is made: 40 ns between 1,000 and 4,500.
        (ENDS + column([0, 0, 0, 40, 40, 40]), None),
    ],
)
def test_one_offset_and_one_drift_are_taken_out_of_two_clocks_ends(other: Ints, apart: list[int] | None) -> None:
    found = matching.residuals(ENDS, other)
    if apart is None:
        shifted = np.array([0, 0, 0, 40, 40, 40]) - 40 / 3_500 * ENDS
        assert found == pytest.approx(np.abs(shifted - np.median(shifted)))
        return
    assert found == pytest.approx(apart, abs=1e-6)


def test_a_drift_is_estimated_from_four_collectives_on() -> None:
    three, four = column([0, 1_000, 2_000]), column([0, 1_000, 2_000, 3_000])
    assert matching.residuals(three, three * 2).tolist() == [1_000, 0, 1_000]
    assert matching.residuals(four, four * 2) == pytest.approx([0, 0, 0, 0])


def test_ends_in_any_order_are_compared_by_time() -> None:
    order = column([3, 0, 5, 1, 4, 2])
    assert matching.residuals(ENDS[order], ENDS[order] * 2).max() == pytest.approx(0, abs=1e-6)
    swapped = ENDS + column([0, 0, 0, 0, 0, 60])
    assert sorted(matching.residuals(ENDS[order], swapped[order])) == pytest.approx([0, 0, 0, 0, 0, 60])


def test_clocks_that_count_from_1970_lose_nothing() -> None:
    since_1970 = 1_700_000_000_000_000_000
    other = 2 * ENDS + column([0, 0, 0, 0, 0, 60])
    for offset in (0, since_1970):
        found = matching.residuals(ENDS + offset, other + (since_1970 - offset))
        assert found == pytest.approx([0, 0, 0, 0, 0, 60], abs=1e-6)


def test_ends_that_are_all_at_once_have_no_drift() -> None:
    once = column([5, 5, 5, 5])
    assert matching.residuals(once, column([9, 9, 9, 10])) == pytest.approx([0, 0, 0, 1])
    assert matching.residuals(column([0, 0, 1, 1]), column([0, 0, 3, 3])).tolist() == [0] * 4
    late = column([5, 5, 5, 5, 8])
    assert matching.residuals(late, late + 2) == pytest.approx([0] * 5)


def test_the_disagreement_is_the_median() -> None:
    assert matching.disagreement_ns(column([0, 10, 20]), column([0, 13, 27])) == 3.0

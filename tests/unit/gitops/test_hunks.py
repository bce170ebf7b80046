"""Pieces of a commit are taken out of the text as it is now, and nothing that was written since."""

from itertools import product

import pytest

from mfu_operator.gitops.blame.hunks import MAX_HUNKS, MAX_LINES, MAX_WORDS, Hunk, hunks, undone

BEFORE = "workers: 8\nbatch: 4\nseed: 1\n"
AFTER = "workers: 0\nbatch: 4\nseed: 1\n"


def taken_back(before: str, after: str, head: str) -> str | None:
    return undone(after, head, hunks(before, after))


def test_a_word_is_put_back_and_what_others_wrote_since_stays() -> None:
    assert taken_back(BEFORE, AFTER, "workers: 0\nbatch: 2\nseed: 1\nname: run\n") == (
        "workers: 8\nbatch: 2\nseed: 1\nname: run\n"
    )


def test_a_word_that_somebody_changed_since_is_not_overwritten() -> None:
    assert taken_back(BEFORE, AFTER, "workers: 4\nbatch: 4\nseed: 1\n") is None


def test_another_word_of_the_line_that_somebody_changed_since_stays() -> None:
    before, after = "args: --workers 8 --seed 1\n", "args: --workers 0 --seed 1\n"
    assert taken_back(before, after, "args: --workers 0 --seed 2\n") == "args: --workers 8 --seed 2\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("args: --workers 8 --seed 1\n", "args: --workers 8 --debug --seed 1\n"),
        ("args: --workers 8 --pin --seed 1\n", "args: --workers 8 --seed 1\n"),
        ("args: --workers 8 --seed 1\n", "args: --workers 0 --debug 1 --seed 1\n"),
    ],
)
def test_words_that_came_or_went_are_taken_back_beside_one_that_somebody_changed_since(before: str, after: str) -> None:
    head = after.replace("seed 1", "seed 2")
    assert taken_back(before, after, head) == before.replace("seed 1", "seed 2")


ADDED = "workers: 8\nprefetch: 1\npin: false\nbatch: 4\nseed: 1\n"


def test_lines_that_the_commit_added_go_where_they_stand_unchanged() -> None:
    assert taken_back(BEFORE, ADDED, f"# run\n{ADDED}") == f"# run\n{BEFORE}"


@pytest.mark.parametrize(
    "head",
    [
        ADDED.replace("prefetch: 1", "prefetch: 4"),
        ADDED.replace("pin: false", "pin: true"),
        ADDED.replace("pin: false\n", "depth: 2\npin: false\n"),
        ADDED.replace("pin: false\n", ""),
    ],
)
def test_lines_that_the_commit_added_stay_where_somebody_changed_them_since(head: str) -> None:
    assert taken_back(BEFORE, ADDED, head) is None


REMOVED = "workers: 8\nseed: 1\n"


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (REMOVED, BEFORE),
        ("workers: 8\nname: run\nseed: 1\n", "workers: 8\nbatch: 4\nname: run\nseed: 1\n"),
        ("workers: 6\nseed: 1\n", "workers: 6\nbatch: 4\nseed: 1\n"),
        ("workers: 6\nseed: 2\n", None),
    ],
)
def test_lines_that_the_commit_took_out_come_back_beside_a_neighbour_that_is_unchanged(
    head: str, wanted: str | None
) -> None:
    assert taken_back(BEFORE, REMOVED, head) == wanted


PIECES = ("", "a: 1\n", "- a: 1\n", "b, c\n", "b-d\n", "\n", "a", " a")


@pytest.mark.parametrize("before", ["".join(each) for each in product(PIECES, PIECES)])
def test_all_pieces_of_a_commit_together_are_the_whole_of_it(before: str) -> None:
    for afterwards in product(PIECES, PIECES):
        after = "".join(afterwards)
        assert taken_back(before, after, after) == before


def test_lines_of_equal_number_are_compared_one_by_one_and_others_as_a_block() -> None:
    assert hunks("x\na: 1\nb: 1\ny\n", "x\na: 2\nb: 3\ny\n") == (
        Hunk(1, 2, ("a: 1\n",), ((3, "1"),)),
        Hunk(2, 3, ("b: 1\n",), ((3, "1"),)),
    )
    assert hunks("x\na: 1\ny\n", "x\na: 2\nb: 3\ny\n") == (Hunk(1, 3, ("a: 1\n",)),)
    assert hunks("x\na: 1\nb: 1\ny\n", "x\na: 2\ny\n") == (Hunk(1, 2, ("a: 1\n", "b: 1\n")),)
    assert hunks("x\n", "x\na\n") == (Hunk(1, 2, ()),)
    assert hunks("x\na\n", "x\n") == (Hunk(1, 1, ("a\n",)),)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("p: bf16-mixed", "p: fp32-true", [((3, "bf16"), (5, "mixed"))]),
        ("a, b", "c, d", [((0, "a"),), ((3, "b"),)]),
        ("a - b", "c - d", [((0, "a"),), ((4, "b"),)]),
        ("a.b.c", "d.b.e", [((0, "a"),), ((4, "c"),)]),
        ("a..b", "c..d", [((0, "a"), (3, "b"))]),
        ("gpt:v1", "gpt:v2 # new", [((2, "v1"), (3, ""), (4, ""), (5, ""), (6, ""))]),
        ("f 1 g 2", "f g 3", [((0, "f 1"),), ((4, "2"),)]),
    ],
)
def test_a_line_falls_into_the_values_that_changed(
    before: str, after: str, words: list[tuple[tuple[int, str], ...]]
) -> None:
    assert [each.words for each in hunks(f"{before}\n", f"{after}\n")] == words


@pytest.mark.parametrize(("before", "after"), [("- a: 1\n", "a: 1\n"), ("- a: 1\n", "a: 2\n"), ("x a y b\n", "a b\n")])
def test_a_line_that_lost_its_first_words_is_one_piece(before: str, after: str) -> None:
    assert hunks(f"s\n{before}", f"s\n{after}") == (Hunk(1, 2, (before,)),)


def numbered(count: int, value: int) -> str:
    return "".join(f"k{number}: {value}\n" for number in range(count))


def test_a_text_of_too_many_lines_is_not_compared() -> None:
    most = "".join(f"{number}\n" for number in range(MAX_LINES))
    assert hunks(most, most.replace("\n7777\n", "\nx\n")) == (Hunk(7777, 7778, ("7777\n",), ((0, "7777"),)),)
    assert hunks(f"{most}x\n", "x\n") == hunks("x\n", f"{most}x\n") == ()


def test_a_file_has_so_many_pieces_at_most() -> None:
    assert len(hunks(numbered(MAX_HUNKS, 1), numbered(MAX_HUNKS, 2))) == MAX_HUNKS
    assert len(hunks(numbered(MAX_HUNKS + 5, 1), numbered(MAX_HUNKS + 5, 2))) == MAX_HUNKS


@pytest.mark.parametrize(("count", "apart"), [(MAX_WORDS, True), (MAX_WORDS + 1, False)])
def test_a_line_in_which_too_many_words_changed_is_one_piece(count: int, apart: bool) -> None:
    before, after = "a," * count, "b," * count
    assert (len(hunks(before, after)) > 1) is apart
    assert (hunks(before, after) == (Hunk(0, 1, (before,)),)) is not apart


def test_a_long_line_that_shrank_is_put_back_as_a_whole() -> None:
    before, after = "a" + ",b" * MAX_WORDS, "a,b,b"
    whole = ((0, before), *((number, "") for number in range(1, 5)))
    assert hunks(before, after) == (Hunk(0, 1, (before,), whole),)


def test_lines_and_words_that_come_often_are_compared_as_well() -> None:
    often = "- a\n" * 300
    assert hunks(often, f"b\n{often}") == (Hunk(0, 1, ()),)
    before, after = f"a: [{'0,' * 150}]\n", f"a: [1,{'0,' * 150}2]\n"
    assert [each.words for each in hunks(before, after)] == [((4, ""), (5, "")), ((306, ""),)]
    head = "b\n" + often + "c\nx: 1\n"
    assert undone(f"{often}x: 1\n", head, (Hunk(0, 1, ("y\n",)),)) == head.replace("b\n- a", "b\ny", 1)


def test_pieces_of_several_lines_are_undone_together() -> None:
    before, after = "a: 1\nx\ny\nb: 1\nc: 1\nz\n", "a: 2\ny\nb: 2\nc: 1\nw\nv\n"
    assert taken_back(before, after, f"# new\n{after}") == f"# new\n{before}"


@pytest.mark.parametrize(
    "head", ["batch: 4\nseed: 1\n", "workers:\nbatch: 4\nseed: 1\n", "jobs: x\nworkers: 4\nbatch: 4\nseed: 1\n"]
)
def test_a_word_whose_line_or_place_is_gone_is_not_put_back(head: str) -> None:
    assert taken_back(BEFORE, AFTER, head) is None


@pytest.mark.parametrize("head", ["fp32-mixed\n", "bf16-true\n"])
def test_a_value_of_several_words_is_put_back_where_all_of_them_are_as_the_commit_left_them(head: str) -> None:
    assert taken_back("bf16-mixed\n", "fp32-true\n", head) is None


@pytest.mark.parametrize("head", ["seed: 1\n", "", "name: run\nworkers: 8\nseed: 1\n"])
def test_the_first_lines_come_back_at_the_head_whatever_follows(head: str) -> None:
    assert taken_back("# ours\nworkers: 8\nseed: 1\n", "workers: 8\nseed: 1\n", head) == f"# ours\n{head}"


@pytest.mark.parametrize(
    ("after", "head", "wanted"),
    [
        ("a\nb\n", "b\n", "x\nb\n"),
        ("a\nb\n", "c\n", None),
        ("a\nb\n", "", None),
        ("a\n", "a\nc\n", "a\nx\nc\n"),
        ("a\n", "c\n", None),
    ],
)
def test_lines_come_back_beside_the_neighbour_that_is_left(after: str, head: str, wanted: str | None) -> None:
    before = after.replace("a\n", "a\nx\n")
    assert taken_back(before, after, head) == wanted


@pytest.mark.parametrize("head", ["b\nc\nd\n", "a\nb\nd\n", "a\nd\n", "", "c\nb\na\nd\n"])
def test_a_block_of_which_a_line_is_gone_is_not_taken_out(head: str) -> None:
    assert taken_back("d\n", "a\nb\nc\nd\n", head) is None

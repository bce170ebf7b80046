"""Pieces of a commit are taken out of the text as it is now, and nothing that was written since."""

import pytest

from mfu_operator.gitops.blame.hunks import hunks, undone

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

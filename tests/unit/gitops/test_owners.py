"""CODEOWNERS: the last pattern of a section that meets a file holds."""

import time

import pytest

from mfu_operator.gitops.telling.owners import MOST, owners

GITHUB = """
*                 @org/platform
/apps/gpt/        @ann @org/ml   # training
docs/             @writer
*.md              docs@example.org
apps/*/train.yaml @tuner
/secret/**/x.env  @keeper
/free/
"""
GITLAB = """
[Platform] @ops
*
[Training][2] @ml/owners
apps/
apps/bert/ @bert
^[Optional]
README.md @writer
"""


@pytest.mark.parametrize(("path", "expected"), [
    ("chart/values.yaml", ("org/platform",)),
    ("apps/gpt/job.yaml", ("ann", "org/ml")),
    ("apps/gpt/train.yaml", ("tuner",)),
    ("apps/gpt/more/train.yaml", ("ann", "org/ml")),
    ("x/docs/a.txt", ("writer",)),
    ("README.md", ()),
    ("secret/x.env", ("keeper",)),
    ("secret/a/b/x.env", ("keeper",)),
    ("free/a", ()),
])  # fmt: skip
def test_the_last_pattern_holds(path: str, expected: tuple[str, ...]) -> None:
    assert owners(GITHUB, (path,)) == expected


def test_sections_of_gitlab_each_have_their_owners() -> None:
    assert owners(GITLAB, ("apps/gpt/job.yaml",)) == ("ops", "ml/owners")
    assert owners(GITLAB, ("apps/bert/job.yaml",)) == ("ops", "bert")
    assert owners(GITLAB, ("README.md",)) == ("ops", "writer")


def test_owners_of_several_files_are_told_once_and_are_few() -> None:
    text = "\n".join(f"/f{number} @o{number} @all" for number in range(40))
    found = owners(text, tuple(f"f{number}" for number in range(40)))
    assert len(found) == MOST and found[:2] == ("o0", "all")
    assert owners("", ("a",)) == ()


@pytest.mark.parametrize(
    ("pattern", "met", "not_met"),
    [
        ("/build/", ["build/a", "build/b/c"], ["build", "x/build/a"]),
        ("/build", ["build", "build/a"], ["x/build", "builds"]),
        ("build/", ["build/a", "x/build/a"], ["build", "x/build"]),
        ("build", ["build", "build/a", "x/build", "x/build/a"], ["builds", "a.build"]),
        ("a/b", ["a/b", "a/b/c"], ["x/a/b"]),
        ("a/*", ["a/b"], ["a/b/c", "x/a/b"]),
        ("*", ["a", "a/b"], []),
        ("/*", ["a"], ["a/b"]),
        ("a?c", ["abc", "x/abc"], ["a/c", "ac"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a/c"]),
        ("**/b", ["b", "a/b", "a/c/b"], ["ab"]),
        ("a.c", ["a.c"], ["abc"]),
        ("/", [], ["a", "a/b"]),
        ("a*b?d", ["axxbcd", "x/axxbcd/y"], ["a/bcd", "axxbd"]),
        ("/a/**/b", ["a/b", "a/x/y/b/z"], ["a/x/c", "a"]),
        ("a**b", ["axb"], ["a/b"]),
        ("x[a]b", ["x[a]b"], ["xab"]),
        ("A", ["A"], ["a"]),
        ("!a", [], ["a", "!a"]),
        ("#a", [], ["a", "#a"]),
    ],
)
def test_a_pattern_meets_files_as_gits_own_do(pattern: str, met: list[str], not_met: list[str]) -> None:
    assert [path for path in [*met, *not_met] if owners(f"{pattern} @ann", (path,))] == met


def test_what_is_out_of_bounds_owns_nothing() -> None:
    long = "a" * 200
    assert owners(f"{long} @ann", (long,)) == ("ann",)
    assert owners(f"{long}a @ann", (f"{long}a",)) == ()
    assert owners("*a*b*c* @ann", ("abc",)) == owners("*a*b*c**** @ann", ("abc",)) == ("ann",)
    lines = "# nothing\n" * 4999
    assert owners(f"{lines}a @ann", ("a",)) == ("ann",)
    assert owners(f"{lines}\na @ann", ("a",)) == ()


def test_a_section_without_a_name_in_it_owns_under_any_spelling() -> None:
    assert owners("[Docs] @ann\na\n[DOCS] @bob\na", ("a",)) == ("bob",)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a*a*a*a*a*b", "a" * 4000),
        ("*a" * 99 + "b", "a" * 250),
        ("**/" * 60 + "b", "a/" * 2000 + "a"),
        ("**/a/" * 39 + "b", "a/" * 2000 + "a"),
        ("**a**a**b", "a" * 4000),
    ],
)
def test_no_pattern_goes_back(pattern: str, path: str) -> None:
    began = time.monotonic()
    assert owners(f"{pattern} @x\n" * 5000, (path,) * 3) == ()
    assert time.monotonic() - began < 10.0

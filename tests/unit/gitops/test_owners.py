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


def test_a_pattern_that_backtracks_is_left_out_at_once() -> None:
    began = time.monotonic()
    assert owners("*a*a*a*a*a*a*a*a*b @x\n" + "**/" * 60 + "x @y\n", ("a" * 200,)) == ()
    assert time.monotonic() - began < 1.0

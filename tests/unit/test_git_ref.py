"""Names of branches are judged as git itself judges them."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.model.git_ref import is_branch, is_commit

NAMES = [
    "main", "release/1.2", "a+b", "a#b", "größe", "mfu-operator/revert-1", "a@b", "x.lockfile",
    "", "HEAD", "-b", "--upload-pack=touch x", "a b", "a..b", "a@{1}", "a~1", "a^", "a:b", "a?", "a*", "a[",
    "a\\b", "/a", "a/", "a//b", "a/.b", ".a", "a.", "a.lock", "a.lock/b", "a\tb", "a\x7fb",
]  # fmt: skip


def taken_by_git(name: str) -> bool:
    done = subprocess.run(
        ["git", "check-ref-format", "--branch", name], capture_output=True, check=False, env={"PATH": "/usr/bin:/bin"}
    )
    return done.returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_branch_where_git_says_so(name: str) -> None:
    assert is_branch(name) is taken_by_git(name)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab./-@{~^: \\lock[", min_size=1, max_size=12))
def test_nothing_that_git_refuses_is_taken(name: str) -> None:
    assert taken_by_git(name) or not is_branch(name)


@pytest.mark.parametrize("revision", ["--output=x", "HEAD", "main~1", "1a2b3c", "", "refs/../x", "1A2B3C4D5E6F7"])
def test_a_revision_that_git_would_evaluate_is_no_commit(revision: str) -> None:
    assert not is_commit(revision)
    assert is_commit("1a2b3c4") and is_commit("0" * 64)

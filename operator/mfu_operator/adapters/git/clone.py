"""A repository, cloned bare and without blobs: the server sends what is looked at, and no file is checked out."""

from pathlib import Path

import git

from mfu_operator.adapters.git.protocol import Request
from mfu_operator.errors import AskPerson, Stall

MAX_TEXT = 512 * 1024
"""Bytes above which a file is no configuration that a person wrote."""

_NEEDED_GIT = (2, 38, 0)
"""`git merge-tree --write-tree`, which makes the revert, is since 2.38."""


class Clone:
    """A repository of one branch, bare and without blobs, in a folder of the caller's."""

    def __init__(self, request: Request) -> None:
        self.source = request.source
        self.identity = request.identity
        _check_git()
        name = request.source.branch
        branch = [] if name in ("", "HEAD") else [f"--branch={name}"]
        self.repo = git.Repo.clone_from(
            request.url,
            Path(request.folder) / "clone.git",
            multi_options=["--bare", "--single-branch", "--filter=blob:none", *branch],
        )
        self.head = self.repo.head.commit

    def commit(self, revision: str) -> git.Commit:
        """A commit of the branch by its sha. AskPerson(HistoryRewritten) where the branch does not hold it."""
        try:
            found = self.repo.commit(revision)
        except (ValueError, git.BadName, git.GitCommandError) as error:
            raise self._rewritten(revision) from error
        if not self.repo.is_ancestor(found, self.head):
            raise self._rewritten(revision)
        return found

    def fetch(self, branch: str) -> git.Commit | None:
        """The head of another branch; None where there is none."""
        ref = f"refs/heads/{branch}"
        if not self.repo.git.ls_remote("origin", ref):
            return None
        self.repo.git.fetch("origin", f"+{ref}:refs/fetched/{branch}", no_tags=True)
        return self.repo.commit(f"refs/fetched/{branch}")

    def text(self, commit: git.Commit, path: str) -> str | None:
        """A file's text at a commit; None where it is none."""
        try:
            return text_of(commit.tree / path)
        except KeyError:
            return None

    def _rewritten(self, revision: str) -> AskPerson:
        return AskPerson(
            "HistoryRewritten",
            f"revision {revision[:12]} is not on branch {self.source.branch} any more: its history was rewritten, or "
            "the branch is another one than was deployed. Find the commit by hand.",
        )


def text_of(blob: object) -> str | None:
    """A blob's text; None where it is no text, or too large."""
    if not isinstance(blob, git.Blob) or blob.size > MAX_TEXT:
        return None
    data = blob.data_stream.read()
    try:
        return None if b"\0" in data else str(data.decode())
    except UnicodeDecodeError:
        return None


def _check_git() -> None:
    version = git.Git().version_info
    if tuple(version) < _NEEDED_GIT:
        raise Stall("GitTooOld", f"git {'.'.join(map(str, version))} is installed; 2.38 or newer is needed.")

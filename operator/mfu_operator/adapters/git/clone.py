"""A repository, cloned bare and without blobs: the server sends what is looked at, and no file is checked out."""

from pathlib import Path

import git

from mfu_operator.adapters.git.failures import redirected
from mfu_operator.adapters.git.protocol import Request
from mfu_operator.errors import AskPerson, Stall
from mfu_operator.model.git_ref import is_branch, is_commit

MAX_TEXT = 512 * 1024
"""Bytes above which a file is not configuration that a person wrote."""

_NEEDED_GIT = (2, 38, 0)
"""`git merge-tree --write-tree`, which makes the revert, is since 2.38."""


class Clone:
    """A repository of one branch, bare and without blobs, in a folder of the caller's."""

    def __init__(self, request: Request) -> None:
        self.source = request.source
        self.identity = request.identity
        self.signing_key = request.signing_key
        _check_git()
        self.repo = git.Repo(_cloned(request))
        self.head = self.repo.head.commit

    def commit(self, revision: str) -> git.Commit:
        """A commit of the branch by its sha. AskPerson(HistoryRewritten) where the branch does not hold it."""
        if not is_commit(revision):
            raise self._rewritten(revision)
        try:
            found = self.repo.commit(revision)
        except (ValueError, git.BadName, git.GitCommandError) as error:
            raise self._rewritten(revision) from error
        if not self.repo.is_ancestor(found, self.head):
            raise self._rewritten(revision)
        return found

    def fetch(self, branch: str) -> git.Commit | None:
        """The head of another branch; None where there is none."""
        ref = f"refs/heads/{_checked(branch)}"
        if not self.run("ls-remote", "--end-of-options", "origin", ref):
            return None
        self.run("fetch", "--quiet", "--no-tags", "--end-of-options", "origin", f"+{ref}:refs/fetched/{branch}")
        return self.repo.commit(f"refs/fetched/{branch}")

    def run(self, *arguments: str) -> str:
        """What git says to exactly these arguments. Raises git.GitCommandError where it fails."""
        return _git(Path(self.repo.git_dir), *arguments)

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


def _cloned(request: Request) -> Path:
    """The clone's folder. GitLab sends an address without .git to the one with it, and no redirect is followed."""
    name = request.source.branch
    branch = [] if name in ("", "HEAD") else [f"--branch={_checked(name)}"]
    options = ["--quiet", "--bare", "--single-branch", "--filter=blob:none", *branch]
    folder = Path(request.folder)
    try:
        _git(folder, "clone", *options, "--end-of-options", request.url, "clone.git")
    except git.GitCommandError as error:
        if not redirected(str(error.stderr)) or request.url.endswith(".git"):
            raise
        _git(folder, "clone", *options, "--end-of-options", f"{request.url.rstrip('/')}.git", "clone.git")
    return folder / "clone.git"


def _git(folder: Path, *arguments: str) -> str:
    return str(git.Git(folder).execute(["git", *arguments]))


def _checked(branch: str) -> str:
    """The branch's name, which an application or a baseline may hold: never an option, never an expression."""
    if not is_branch(branch):
        raise Stall(
            "InvalidBranch",
            f"{branch[:60]!r} cannot be the name of a branch: correct spec.remediation.branch, or the application's "
            "targetRevision.",
        )
    return branch


def text_of(blob: object) -> str | None:
    """A blob's text; None where it is not text, or too large."""
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

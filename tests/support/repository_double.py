"""A repository in memory with one branch, held to the same contract as real ones."""

import difflib
import hashlib
from collections.abc import Mapping

from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.model.commit import Commit, FileChange, Source
from mfu_operator.model.proposal import Proposal
from mfu_operator.ports import Credentials


class RepositoryDouble:
    """`commit` adds to the branch; `branches` holds what was pushed; `fails` is raised instead while it is set.

    A revert conflicts where a later commit changed the same file at all.
    """

    def __init__(self) -> None:
        self.line: list[Commit] = []
        self.files: dict[str, str] = {}
        self.branches: dict[str, str] = {}
        self.touched: set[str] = set()
        self.fails: MfuError | None = None

    def commit(self, files: Mapping[str, str | None], subject: str) -> str:
        """A person's commit; None deletes a file."""
        changes = tuple(FileChange(path, self.files.get(path), text) for path, text in files.items())
        parents = (self.line[-1].sha,) if self.line else ()
        sha = hashlib.sha1(f"{parents}{subject}{files}".encode()).hexdigest()
        self.line.append(Commit(sha, parents, "person", 1_700_000_000.0 + len(self.line), subject, changes))
        self._apply({change.path: change.after for change in changes})
        return sha

    def commits(self, source: Source, good: str, bad: str, credentials: Credentials | None) -> tuple[Commit, ...]:
        self._fail()
        first, last = self._index(good), self._index(bad)
        if first > last:
            raise AskPerson("HistoryRewritten", f"{good[:12]} is no ancestor of {bad[:12]}")
        return tuple(reversed(self.line[first + 1 : last + 1]))

    def preview(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        self._fail()
        return "".join(self._diff(path, text) for path, text in self._undone(proposal).items())

    def ensure_branch(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        self._fail()
        if proposal.branch in self.touched:
            raise AskPerson("BranchTouched", f"{proposal.branch} holds a person's commit")
        if proposal.branch not in self.branches:
            undone = self._undone(proposal)
            self.branches[proposal.branch] = hashlib.sha1(f"{self.line[-1].sha}{undone}".encode()).hexdigest()
        return self.branches[proposal.branch]

    def _undone(self, proposal: Proposal) -> dict[str, str | None]:
        commit = self.line[self._index(proposal.revert_sha or "")]
        if all(self.files.get(change.path) == change.before for change in commit.changes):
            raise AskPerson("NothingToRevert", f"{commit.sha[:12]} is undone already")
        if any(self.files.get(change.path) != change.after for change in commit.changes):
            raise AskPerson("RevertConflict", f"{commit.sha[:12]} cannot be reverted cleanly")
        return {change.path: change.before for change in commit.changes}

    def _diff(self, path: str, text: str | None) -> str:
        before, after = (self.files.get(path) or "").splitlines(True), (text or "").splitlines(True)
        return "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))

    def _apply(self, files: Mapping[str, str | None]) -> None:
        kept = {**self.files, **files}
        self.files = {path: text for path, text in kept.items() if text is not None}

    def _index(self, sha: str) -> int:
        for index, commit in enumerate(self.line):
            if commit.sha == sha:
                return index
        raise AskPerson("HistoryRewritten", f"{sha[:12]} is not on the branch")

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

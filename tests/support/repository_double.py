"""A repository in memory with one branch, held to the same contract as real ones."""

import difflib
import hashlib
from collections.abc import Mapping
from typing import Any

from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.gitops.blame.model import Blame, Step, Window
from mfu_operator.gitops.blame.verdicts import judge
from mfu_operator.gitops.propose import is_rollback
from mfu_operator.gitops.rendered.difference import differences
from mfu_operator.gitops.rendered.objects import Thing, things
from mfu_operator.gitops.rendered.workload import Delivered, Wanted, delivered, find
from mfu_operator.model.commit import Commit, FileChange, Ranking, Source, Suspect
from mfu_operator.model.investigation import Findings, Question, Undoing
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials

Files = Mapping[str, str]


def investigated(line: list[Commit], question: Question) -> Findings:
    """What is found of a line of commits, oldest first, of which the first is the good one's.

    Manifests under the path are what is deployed; every other YAML file there is one of a ConfigMap that the workload
    mounts. A revert conflicts where a later commit changed the same file at all.
    """
    states: list[Files] = [{}]
    for commit in line:
        kept = {**states[-1], **{change.path: change.after for change in commit.changes}}
        states.append({path: text for path, text in kept.items() if text is not None})
    gets = [_delivered(state, question) for state in states[1:]]
    steps = tuple(
        Step(commit, question.source.repository, differences(before, after))
        for commit, before, after in zip(line[1:], gets, gets[1:], strict=False)
    )[::-1]
    whole = differences(gets[0], gets[-1])
    steps = tuple(each for each in steps if each.commit.sha not in question.exonerated)
    blame = judge(Window(steps, gets[0], gets[-1], whole), f"Job/{question.workload.name}", question.cause)
    return _findings(blame, line)


def _delivered(files: Files, question: Question) -> Delivered:
    near = {path: text for path, text in files.items() if path.startswith(question.source.path)}
    manifests = [thing for path, text in near.items() if path.endswith(".yaml") and "kind:" in text
                 for thing in things(text, path)]  # fmt: skip
    data = {path.rpartition("/")[2]: text for path, text in near.items()
            if path.endswith(".yaml") and "kind:" not in text}  # fmt: skip
    manifests.append(Thing("ConfigMap", "", "files", {"kind": "ConfigMap", "data": data}))
    workload = question.workload
    ours = find(manifests, Wanted(workload.kind, workload.name))
    if ours is None:
        ours = Thing(workload.kind, "", workload.name, _job())
        manifests.append(ours)
    return delivered(ours, manifests, b"")


def _job() -> dict[str, Any]:
    volumes = [{"name": "files", "configMap": {"name": "files"}}]
    return {"spec": {"template": {"spec": {"containers": [{"name": "train"}], "volumes": volumes}}}}


def _findings(blame: Blame, line: list[Commit]) -> Findings:
    suspects = {
        each.step.commit.sha: Suspect(
            each.step.commit, each.score, tuple(map(str, each.step.changed or ())), each.because
        )
        for each in blame.suspects
    }
    ordered = tuple(sorted(suspects.values(), key=lambda suspect: -suspect.score))
    if blame.chosen is None:
        return Findings(Ranking(ordered, None, blame.because))
    chosen = suspects[blame.chosen.step.commit.sha]
    ranking = Ranking(ordered, chosen, blame.because)
    if is_rollback(chosen.commit):
        return Findings(ranking, None, ("RollbackOfRollback", f"{chosen.commit.sha[:12]} is itself a rollback"))
    return Findings(ranking, Undoing(ProposalKind.REVERT, line[-1].sha))


class RepositoryDouble:
    """`commit` adds to the branch; `branches` holds what was pushed; `fails` is raised instead while it is set."""

    def __init__(self) -> None:
        self.line: list[Commit] = []
        self.files: dict[str, str] = {}
        self.branches: dict[str, str] = {}
        self._made: dict[str, tuple[object, ...]] = {}
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

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        self._fail()
        first, last = self._index(question.good), self._index(question.bad)
        if first > last:
            raise AskPerson("HistoryRewritten", f"{question.good[:12]} is not an ancestor of {question.bad[:12]}")
        before = Commit(question.good, (), "person", 0.0, "All before", self._state(first))
        found = investigated([before, *self.line[first + 1 : last + 1]], question)
        chosen = found.ranking.chosen
        if chosen is None or found.undoing is None:
            return found
        try:
            self._undone(chosen.commit.sha)
        except AskPerson as error:
            return Findings(found.ranking, None, (error.reason, error.message))
        return Findings(found.ranking, Undoing(ProposalKind.REVERT, self.line[-1].sha))

    def preview(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        self._fail()
        return "".join(self._diff(path, text) for path, text in self._changed(proposal).items())

    def ensure_branch(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        self._fail()
        if proposal.branch not in self.branches:
            undone = self._changed(proposal)
            self.branches[proposal.branch] = hashlib.sha1(f"{self.line[-1].sha}{undone}".encode()).hexdigest()
            self._made[proposal.branch] = (proposal.revert_sha, proposal.edits, proposal.commit_message)
        made = (proposal.revert_sha, proposal.edits, proposal.commit_message)
        if proposal.branch in self.touched or self._made.get(proposal.branch) != made:
            raise AskPerson("BranchTouched", f"{proposal.branch} holds another commit than this proposal's")
        return self.branches[proposal.branch]

    def remove_branch(self, source: Source, branch: str, head: str, credentials: Credentials | None) -> None:
        self._fail()
        if branch not in self.touched and self.branches.get(branch) == head:
            del self.branches[branch]
            del self._made[branch]

    def _state(self, index: int) -> tuple[FileChange, ...]:
        found: dict[str, str | None] = {}
        for commit in self.line[: index + 1]:
            found |= {change.path: change.after for change in commit.changes}
        return tuple(FileChange(path, None, text) for path, text in found.items())

    def _changed(self, proposal: Proposal) -> dict[str, str | None]:
        if proposal.revert_sha is None:
            return {edit.path: edit.after for edit in proposal.edits}
        return self._undone(proposal.revert_sha)

    def _undone(self, sha: str) -> dict[str, str | None]:
        commit = self.line[self._index(sha)]
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

"""What every repository does: the double, a real one on disk, one over HTTP behind a password, and one in Gitea."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import pytest

from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.errors import AskPerson
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials, Repository
from tests.cluster.gitea import OWNER, Gitea
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream
from tests.support.repository_double import RepositoryDouble
from tests.support.suspect_story import config_map, job

PATH = "apps/gpt"
CONFIG = f"{PATH}/train.yaml"
PASSWORD = "s3cret-t0ken"


class Arena(Protocol):
    """A repository and the person who works in it."""

    @property
    def repository(self) -> Repository: ...
    @property
    def source(self) -> Source: ...
    @property
    def credentials(self) -> Credentials | None: ...
    def commit(self, files: Mapping[str, str | None], subject: str) -> str: ...
    def touch(self, branch: str) -> None: ...
    def amend(self, branch: str) -> None: ...
    def begin_anew(self, branch: str) -> None: ...


class DoubleArena:
    source = Source("https://git.example.org/team/models.git", "main", PATH, (), None)
    credentials = None

    def __init__(self) -> None:
        self.repository = RepositoryDouble()
        self.commit = self.repository.commit

    def touch(self, branch: str) -> None:
        self.repository.touched.add(branch)

    amend = begin_anew = touch


class GitArena:
    def __init__(self, upstream: GitUpstream, url: str, credentials: Credentials | None) -> None:
        self.upstream = upstream
        self.commit = upstream.commit
        self.repository = GitRepository(transports=("file", "http"), deadline_s=60)
        self.source = Source(url, "main", PATH, (), None)
        self.credentials = credentials

    def touch(self, branch: str) -> None:
        self.upstream.git("fetch", "--quiet", "origin", branch)
        self.upstream.git("checkout", "--quiet", "-b", branch, "FETCH_HEAD")
        self.upstream.commit({"note.txt": "mine now\n"}, "A person's change")
        self.upstream.git("checkout", "--quiet", "main")

    def amend(self, branch: str) -> None:
        """Another file in the operator's own commit, with its author, committer and message left as they were."""
        self.upstream.git("fetch", "--quiet", "origin", branch)
        self.upstream.git("checkout", "--quiet", "-b", branch, "FETCH_HEAD")
        (self.upstream.work / "note.txt").write_text("mine now\n")
        self.upstream.git("add", "--all")
        message = self.upstream.git("log", "-1", "--format=%B")
        tree, parent = self.upstream.git("write-tree"), self.upstream.git("rev-parse", "HEAD^")
        sha = self.upstream.git_as_operator("commit-tree", tree, "-p", parent, "-m", message)
        self.upstream.git("push", "--quiet", "--force", "origin", f"{sha}:refs/heads/{branch}")
        self.upstream.git("checkout", "--quiet", "main")

    def begin_anew(self, branch: str) -> None:
        """The branch with one commit that has no parent."""
        sha = self.upstream.git("commit-tree", self.upstream.git("write-tree"), "-m", "Mine")
        self.upstream.git("push", "--quiet", "--force", "origin", f"{sha}:refs/heads/{branch}")


@contextmanager
def _arena(kind: str, folder: Path) -> Iterator[Arena]:
    if kind == "double":
        yield DoubleArena()
    elif kind == "disk":
        upstream = GitUpstream(folder)
        yield GitArena(upstream, upstream.bare.as_uri(), None)
    else:
        upstream = GitUpstream(folder)
        with served(folder, PASSWORD) as base:
            yield GitArena(upstream, f"{base}/models.git", Credentials(password=f"{PASSWORD}\n"))


class GiteaArena:
    """A private repository; the operator is the bot with its token, the person its owner."""

    def __init__(self, gitea: Gitea, name: str) -> None:
        self._gitea, self._name = gitea, name
        self.repository = GitRepository(transports=("http",), deadline_s=60)
        self.source = Source(gitea.ensure_repository(name), "main", PATH, (), None)
        self.credentials = Credentials(password=gitea.bot_token)

    def commit(self, files: Mapping[str, str | None], subject: str) -> str:
        return self._gitea.commit(self._name, subject, files)

    def touch(self, branch: str) -> None:
        change = {"branch": branch, "message": "A person's change", "content": "bWluZQo="}
        self._gitea.api("POST", f"repos/{OWNER}/{self._name}/contents/note.txt", change)

    amend = begin_anew = touch


@pytest.fixture(params=["double", "disk", "http", pytest.param("gitea", marks=pytest.mark.cluster)])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Arena]:
    if request.param == "gitea":
        yield GiteaArena(request.getfixturevalue("gitea"), f"models-{uuid4().hex[:12]}")
        return
    with _arena(request.param, tmp_path) as made:
        yield made


def config(workers: int, note: str = "") -> str:
    return f"loader:\n  workers: {workers}\n{note}"


def revert(sha: str) -> Proposal:
    message = "Revert\n\nMfu-Operator-Suspect: 1a2b3c4\n"
    return Proposal(ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "Revert", "Because.", message, revert_sha=sha)


def question(arena: Arena, good: str, bad: str) -> Question:
    workload = WorkloadRef("batch/v1", "Job", "training", "gpt")
    return Question(arena.source, good, bad, workload, "DataLoaderWorkers")


def manifests(workers: int) -> dict[str, str | None]:
    text = config_map(f"loader:\n  num_workers: {workers}\n")
    return {f"{PATH}/job.yaml": job(), f"{PATH}/config.yaml": text}


def test_of_a_window_the_commit_that_slowed_the_workload_is_chosen_and_undone(arena: Arena) -> None:
    good = arena.commit(manifests(4), "Start")
    slow = arena.commit(manifests(0), "Fewer workers")
    last = arena.commit({"README.md": "hello\n"}, "Say hello")
    found = arena.repository.investigate(question(arena, good, last), arena.credentials)
    assert found.not_rendered == "" and found.declined is None
    assert {suspect.commit.sha: suspect.score for suspect in found.ranking.suspects} == {slow: 1.0, last: 0.0}
    assert found.ranking.chosen is not None and found.ranking.chosen.commit.sha == slow
    assert any("num_workers: 4 → 0" in text for text in found.ranking.chosen.changed)
    assert found.undoing is not None
    assert (found.undoing.kind, found.undoing.base, found.undoing.edits) == (ProposalKind.REVERT, last, ())


def test_a_window_that_gives_the_workload_the_same_blames_nobody(arena: Arena) -> None:
    good = arena.commit(manifests(4), "Start")
    bad = arena.commit({f"{PATH}/config.yaml": "# why\n" + str(manifests(4)[f"{PATH}/config.yaml"])}, "Explain")
    found = arena.repository.investigate(question(arena, good, bad), arena.credentials)
    assert found.ranking.chosen is None and found.undoing is None
    assert [suspect.score for suspect in found.ranking.suspects] == [0.0]


def test_a_revision_that_the_branch_does_not_hold_needs_a_person(arena: Arena) -> None:
    head = arena.commit(manifests(4), "Start")
    with pytest.raises(AskPerson) as raised:
        arena.repository.investigate(question(arena, "d" * 40, head), arena.credentials)
    assert raised.value.reason == "HistoryRewritten"


def test_an_older_revision_deployed_again_needs_a_person(arena: Arena) -> None:
    older = arena.commit(manifests(4), "Start")
    newer = arena.commit(manifests(8), "More")
    with pytest.raises(AskPerson) as raised:
        arena.repository.investigate(question(arena, newer, older), arena.credentials)
    assert raised.value.reason == "HistoryRewritten"


def test_a_preview_shows_the_change_taken_back_and_pushes_nothing(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.commit({"README.md": "hello\n"}, "Say hello")
    diff = arena.repository.preview(arena.source, revert(slow), arena.credentials)
    assert "-  workers: 0" in diff and "+  workers: 4" in diff
    assert "README" not in diff


def test_making_the_branch_twice_is_one_branch(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    once = arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    arena.commit({"README.md": "hello\n"}, "The branch moves on meanwhile")
    assert arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials) == once


def test_a_branch_that_a_person_pushed_to_is_theirs(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    arena.touch(revert(slow).branch)
    with pytest.raises(AskPerson) as raised:
        arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    assert raised.value.reason == "BranchTouched"


def test_a_branch_that_a_person_amended_is_theirs_though_the_author_is_still_the_operator(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    arena.amend(revert(slow).branch)
    with pytest.raises(AskPerson) as raised:
        arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    assert raised.value.reason == "BranchTouched"


def test_a_branch_of_our_name_with_a_history_of_its_own_is_theirs(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    arena.begin_anew(revert(slow).branch)
    with pytest.raises(AskPerson) as raised:
        arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    assert raised.value.reason == "BranchTouched"


def test_a_branch_that_is_still_the_operators_is_removed_once_and_for_all(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    sha = arena.commit({CONFIG: config(0)}, "Fewer workers")
    head = arena.repository.ensure_branch(arena.source, revert(sha), arena.credentials)
    for _ in range(2):
        arena.repository.remove_branch(arena.source, revert(sha).branch, head, arena.credentials)
    again = arena.repository.ensure_branch(arena.source, revert(sha), arena.credentials)
    assert again == head


def test_a_branch_that_a_person_pushed_to_is_not_removed(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    sha = arena.commit({CONFIG: config(0)}, "Fewer workers")
    head = arena.repository.ensure_branch(arena.source, revert(sha), arena.credentials)
    arena.touch(revert(sha).branch)
    arena.repository.remove_branch(arena.source, revert(sha).branch, head, arena.credentials)
    with pytest.raises(AskPerson) as raised:
        arena.repository.ensure_branch(arena.source, revert(sha), arena.credentials)
    assert raised.value.reason == "BranchTouched"


def test_a_branch_of_one_revert_is_not_taken_for_that_of_another(arena: Arena) -> None:
    arena.commit({CONFIG: config(4), "other.yaml": "a: 1\n"}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    other = arena.commit({"other.yaml": "a: 2\n"}, "Another")
    arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    for of_another in (revert(other), replace(revert(slow), commit_message="Another message\n")):
        with pytest.raises(AskPerson) as raised:
            arena.repository.ensure_branch(arena.source, of_another, arena.credentials)
        assert raised.value.reason == "BranchTouched"


def test_a_change_built_upon_is_a_conflict(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.commit({CONFIG: config(1)}, "One worker")
    with pytest.raises(AskPerson) as raised:
        arena.repository.preview(arena.source, revert(slow), arena.credentials)
    assert raised.value.reason == "RevertConflict"


def test_a_change_that_is_undone_already_leaves_nothing_to_revert(arena: Arena) -> None:
    arena.commit({CONFIG: config(4)}, "Start")
    slow = arena.commit({CONFIG: config(0)}, "Fewer workers")
    arena.commit({CONFIG: config(4)}, "Workers again")
    with pytest.raises(AskPerson) as raised:
        arena.repository.ensure_branch(arena.source, revert(slow), arena.credentials)
    assert raised.value.reason == "NothingToRevert"

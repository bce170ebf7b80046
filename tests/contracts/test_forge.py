"""What every forge does: the double, the five adapters on replayed answers, and a real Gitea."""

from dataclasses import dataclass, replace
from typing import Protocol
from uuid import uuid4

import pytest

from mfu_operator.adapters.forges import Web, forge
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.proposal import Closing, Proposal, ProposalKind, PullRequestState
from mfu_operator.ports import Credentials, Forge
from tests.cluster.gitea import OWNER, Gitea
from tests.support.forge_double import ForgeDouble
from tests.support.forge_servers import (
    REPOSITORY,
    TOKEN,
    AzureServer,
    BitbucketServer,
    GiteaServer,
    GitHubServer,
    GitLabServer,
    Server,
)

PROPOSAL = Proposal(
    ProposalKind.REVERT,
    "mfu-operator/gpt-1",
    "main",
    "Revert 1a2b3c4",
    "Because `x | y`.\n",
    "Revert\n",
    revert_sha="1" * 40,
)
OTHER = replace(PROPOSAL, branch="mfu-operator/gpt-2")


class Arena(Protocol):
    """A forge and what people do at it."""

    @property
    def forge(self) -> Forge: ...
    @property
    def stranger(self) -> Forge: ...
    def push(self, proposal: Proposal) -> None: ...
    def close(self, number: int) -> None: ...
    def merge(self, number: int) -> str: ...
    def notes(self, number: int) -> list[str]: ...


class DoubleArena:
    def __init__(self) -> None:
        self.forge = ForgeDouble()
        self.stranger = ForgeDouble()
        self.stranger.fails = Retry(
            "ForgeAccessDenied", "refused: check the Secret in spec.remediation.forge.secretRef"
        )

    def push(self, proposal: Proposal) -> None:
        pass

    def close(self, number: int) -> None:
        self.forge.close(number)

    def merge(self, number: int) -> str:
        return self.forge.merge(number)

    def notes(self, number: int) -> list[str]:
        return [self.forge.notes[number]] if number in self.forge.notes else []


class ReplayArena:
    def __init__(self, kind: ForgeKind, server: Server, host: str) -> None:
        self.server = server
        azure = f"https://{host}/{REPOSITORY.replace('/', '/_git/')}"
        url = azure if kind is ForgeKind.AZURE_DEVOPS else f"https://{host}/{REPOSITORY}.git"
        self.forge = forge(kind, url, None, Credentials(password=TOKEN), Web(transport=server.transport()))
        self.stranger = forge(kind, url, None, Credentials(password="wrong"), Web(transport=server.transport()))

    def push(self, proposal: Proposal) -> None:
        pass

    def close(self, number: int) -> None:
        self.server.pulls[number - 1].state = "closed"

    def merge(self, number: int) -> str:
        pull = self.server.pulls[number - 1]
        pull.state = "merged"
        return pull.merge_sha or ""

    def notes(self, number: int) -> list[str]:
        return [said.text for said in self.server.pulls[number - 1].comments]


@dataclass
class GiteaArena:
    gitea: Gitea
    repository: str

    @property
    def forge(self) -> Forge:
        return self._as(self.gitea.bot_token)

    @property
    def stranger(self) -> Forge:
        return self._as("0" * 40)

    def push(self, proposal: Proposal) -> None:
        change = {
            "branch": "main",
            "new_branch": proposal.branch,
            "message": "Revert",
            "content": "cmV2ZXJ0ZWQK",
        }
        path = f"repos/{OWNER}/{self.repository}/contents/{proposal.branch.rpartition('/')[2]}.txt"
        self.gitea.api("POST", path, change)

    def close(self, number: int) -> None:
        self.gitea.api("PATCH", f"repos/{OWNER}/{self.repository}/pulls/{number}", {"state": "closed"})

    def merge(self, number: int) -> str:
        sha = self.gitea.merge(self.repository, number)
        branch = self.gitea.api("GET", f"repos/{OWNER}/{self.repository}/pulls/{number}")["head"]["label"]
        self.gitea.api("DELETE", f"repos/{OWNER}/{self.repository}/branches/{branch}")
        return sha

    def notes(self, number: int) -> list[str]:
        return self.gitea.comments(self.repository, number)

    def _as(self, token: str) -> Forge:
        return forge(ForgeKind.GITEA, self.gitea.clone_url(self.repository), None, Credentials(password=token))


REPLAYED = {
    "gitea-replayed": (ForgeKind.GITEA, GiteaServer, "git.example.org"),
    "github-replayed": (ForgeKind.GITHUB, GitHubServer, "github.com"),
    "gitlab-replayed": (ForgeKind.GITLAB, GitLabServer, "gitlab.com"),
    "bitbucket-replayed": (ForgeKind.BITBUCKET, BitbucketServer, "bitbucket.org"),
    "azure-replayed": (ForgeKind.AZURE_DEVOPS, AzureServer, "dev.azure.com"),
}


@pytest.fixture(params=["double", *REPLAYED, pytest.param("gitea", marks=pytest.mark.cluster)])
def arena(request: pytest.FixtureRequest) -> Arena:
    if request.param == "double":
        return DoubleArena()
    if request.param in REPLAYED:
        kind, server, host = REPLAYED[request.param]
        return ReplayArena(kind, server(), host)
    gitea: Gitea = request.getfixturevalue("gitea")
    repository = f"models-{uuid4().hex[:12]}"
    gitea.ensure_repository(repository)
    return GiteaArena(gitea, repository)


def test_a_branch_without_a_pull_request_has_none(arena: Arena) -> None:
    assert arena.forge.find(PROPOSAL.branch) is None


def test_a_proposal_becomes_one_open_pull_request(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    assert (opened.branch, opened.state) == (PROPOSAL.branch, PullRequestState.OPEN)
    assert opened.url.startswith("http")
    assert arena.forge.find(PROPOSAL.branch) == opened
    assert arena.forge.get(opened.number) == opened


def test_asking_twice_opens_one(arena: Arena) -> None:
    arena.push(PROPOSAL)
    assert arena.forge.ensure(PROPOSAL) == arena.forge.ensure(PROPOSAL)


def test_each_branch_has_its_own(arena: Arena) -> None:
    arena.push(PROPOSAL)
    arena.push(OTHER)
    first, second = arena.forge.ensure(PROPOSAL), arena.forge.ensure(OTHER)
    assert first.number != second.number
    assert arena.forge.find(PROPOSAL.branch) == first


def test_a_closed_one_is_a_no_and_is_not_opened_again(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    arena.close(opened.number)
    closed = arena.forge.ensure(PROPOSAL)
    assert (closed.number, closed.state) == (opened.number, PullRequestState.CLOSED)
    assert closed.merge_sha is None and closed.merged_at is None


def test_one_that_the_operator_withdraws_is_closed_and_nobodys_no(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    assert not opened.withdrawn
    withdrawn = arena.forge.withdraw(opened.number, "training recovered", Closing.NOT_NEEDED)
    assert (withdrawn.number, withdrawn.state, withdrawn.withdrawn) == (opened.number, PullRequestState.CLOSED, True)
    assert arena.forge.get(opened.number) == arena.forge.find(PROPOSAL.branch) == withdrawn
    assert arena.forge.withdraw(opened.number, "training recovered", Closing.NOT_NEEDED) == withdrawn


def test_one_that_a_person_rejects_by_command_is_closed_and_stays_a_no(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    closed = arena.forge.withdraw(opened.number, "rejected", Closing.REJECTED)
    assert (closed.state, closed.withdrawn) == (PullRequestState.CLOSED, False)
    assert arena.forge.ensure(PROPOSAL) == closed


def test_one_that_a_person_closed_or_merged_is_not_withdrawn_any_more(arena: Arena) -> None:
    for proposal, answer in ((PROPOSAL, arena.close), (OTHER, arena.merge)):
        arena.push(proposal)
        opened = arena.forge.ensure(proposal)
        answer(opened.number)
        answered = arena.forge.get(opened.number)
        assert arena.forge.withdraw(opened.number, "training recovered", Closing.NOT_NEEDED) == answered
        assert not answered.withdrawn


def test_the_operators_comment_is_one_and_is_edited(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    for text in ("About one job.", "About two jobs.", "About two jobs."):
        arena.forge.note(opened.number, text)
        (said,) = arena.notes(opened.number)
        assert said.startswith(text)
    arena.merge(opened.number)
    arena.forge.note(opened.number, "Recovered.")
    assert [said.startswith("Recovered.") for said in arena.notes(opened.number)] == [True]


def test_a_merged_one_tells_its_commit_and_time_even_when_the_branch_is_gone(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    sha = arena.merge(opened.number)
    for merged in (arena.forge.get(opened.number), arena.forge.find(PROPOSAL.branch)):
        assert merged is not None
        assert (merged.number, merged.state) == (opened.number, PullRequestState.MERGED)
        assert merged.merge_sha and sha.startswith(merged.merge_sha)
        assert merged.merged_at is not None and merged.merged_at > 1_500_000_000


def test_its_title_and_the_message_of_its_commit_are_told_even_when_the_branch_is_gone(arena: Arena) -> None:
    arena.push(PROPOSAL)
    opened = arena.forge.ensure(PROPOSAL)
    arena.merge(opened.number)
    merged = arena.forge.find(PROPOSAL.branch)
    assert merged is not None and merged.title == PROPOSAL.title
    assert merged.head is not None
    message = arena.forge.commit_message(merged.head)
    assert message is not None and message.startswith("Revert")
    assert arena.forge.commit_message("d" * 40) is None


def test_a_number_that_is_not_there_is_said_to_be_missing(arena: Arena) -> None:
    with pytest.raises(Retry) as raised:
        arena.forge.get(999)
    assert raised.value.reason == "ForgeAccessDenied"


def test_a_wrong_token_is_refused_with_a_remedy_and_without_the_token(arena: Arena) -> None:
    with pytest.raises(Retry) as raised:
        arena.stranger.ensure(PROPOSAL)
    assert raised.value.reason == "ForgeAccessDenied"
    assert "secretRef" in raised.value.message
    assert "wrong" not in raised.value.message and "0" * 40 not in raised.value.message

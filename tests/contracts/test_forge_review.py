"""Whom a pull request asks and what stands on it, on the replayed answers of every forge that has such things."""

from dataclasses import replace

import httpx
import pytest

from mfu_operator.model.proposal import PullRequestState, Review
from tests.contracts.test_forge import PROPOSAL, REPLAYED, ReplayArena
from tests.support.forge_servers import GitHubServer

UUID, ID = "{1f2e}", "11111111-2222-3333-4444-555555555555"
ASKED = Review(reviewers=("rev", "team/ml"), assignees=("pat",), labels=("slow",), draft=True)
TAKEN = {
    "gitea-replayed": (("rev", "team/ml"), ("pat",), ("mfu-operator", "slow")),
    "github-replayed": (("rev", "team/ml"), ("pat",), ("mfu-operator", "slow")),
    "gitlab-replayed": (("rev",), ("pat",), ("mfu-operator", "slow")),
    "bitbucket-replayed": ((UUID,), (), ()),
    "azure-replayed": ((ID,), (), ("mfu-operator", "slow")),
}


def arena(name: str) -> ReplayArena:
    kind, server, host = REPLAYED[name]
    return ReplayArena(kind, server(), host)


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_asked_for_stands_on_the_pull_request_where_the_forge_has_it(name: str) -> None:
    place = arena(name)
    reviewers, assignees, labels = TAKEN[name]
    asked = replace(ASKED, reviewers=reviewers)
    opened = place.forge.ensure(replace(PROPOSAL, review=asked))
    pull = place.server.pulls[0]
    assert opened.state is PullRequestState.OPEN and pull.draft
    assert (tuple(pull.reviewers), tuple(pull.assignees), tuple(pull.labels)) == (reviewers, assignees, labels)
    assert bool(opened.unmet) is (name in ("bitbucket-replayed", "azure-replayed")), opened.unmet
    again = place.forge.ensure(replace(PROPOSAL, review=asked))
    assert (again.number, len(place.server.pulls)) == (opened.number, 1)


@pytest.mark.parametrize("name", TAKEN)
def test_a_pull_request_stands_without_a_reviewer_whom_the_forge_does_not_take(name: str) -> None:
    place = arena(name)
    taken = TAKEN[name][0][0]
    opened = place.forge.ensure(replace(PROPOSAL, review=Review(reviewers=("stranger", taken))))
    assert opened.state is PullRequestState.OPEN and len(place.server.pulls) == 1
    assert place.server.pulls[0].reviewers == [taken]
    assert len(opened.unmet) == 1 and "reviewer stranger: " in opened.unmet[0]


@pytest.mark.parametrize("name", TAKEN)
def test_nothing_is_asked_for_unless_it_is_wanted(name: str) -> None:
    place = arena(name)
    opened = place.forge.ensure(PROPOSAL)
    pull = place.server.pulls[0]
    assert (pull.draft, pull.reviewers, pull.assignees, opened.unmet) == (False, [], [], ())


def test_where_drafts_are_not_had_the_pull_request_is_opened_without() -> None:
    class NoDrafts(GitHubServer):
        def handle(self, request: httpx.Request) -> httpx.Response:
            if request.method == "POST" and b'"draft"' in request.content:
                return httpx.Response(422, json={"message": "No draft pull requests in this repository."})
            return super().handle(request)

    kind, _, host = REPLAYED["github-replayed"]
    place = ReplayArena(kind, NoDrafts(), host)
    opened = place.forge.ensure(replace(PROPOSAL, review=Review(draft=True)))
    assert opened.state is PullRequestState.OPEN and not place.server.pulls[0].draft
    assert opened.unmet == ("draft: No draft pull requests in this repository.",)

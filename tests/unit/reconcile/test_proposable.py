"""One commit that stands out is proposed to be reverted; what stands in the way is said."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.commit import Commit, FileChange, Ranking
from mfu_operator.model.investigation import Findings
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.conclude import conclude
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsurePullRequest, Investigate, Investigated, PreviewProposal, Record
from tests.support import worlds
from tests.support.worlds import ailing, explained, source, spec
from tests.unit.reconcile.stories import PROPOSED, stands_in_the_way, story_world


def test_without_a_known_good_revision_nothing_is_proposed() -> None:
    said = decide(story_world(ailing(explained(), known_good=None), {}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "KnownGoodUnknown"


def test_what_nobody_deploys_from_git_is_for_a_person() -> None:
    error = stands_in_the_way({"source": None})
    assert isinstance(error, AskPerson)
    assert error.reason == "NotManagedByGitOps"


def test_nothing_deployed_since_the_last_good_reading_blames_no_commit() -> None:
    error = stands_in_the_way({"source": source(deployed=source().deployed[:1])})
    assert isinstance(error, AskPerson)
    assert error.reason == "NoRevisionChanged"


def test_a_proposal_waits_out_the_cool_down_of_the_last_one() -> None:
    last = replace(PROPOSED, recovery=worlds.RECOVERY)
    recent = replace(ailing(explained()), history=(last,))
    error = stands_in_the_way({}, recent)
    assert isinstance(error, Wait)
    assert error.reason == "CoolDown"
    long_ago = {"now_s": worlds.RECOVERY.recovered_at + spec().remediation.cool_down_s}
    assert isinstance(decide(story_world(recent, long_ago)), Investigate)


def test_an_incident_that_was_only_rehearsed_needs_no_cool_down() -> None:
    rehearsed = replace(PROPOSED, proposal=replace(worlds.PROPOSED, dry_run=True), recovery=worlds.RECOVERY)
    assert isinstance(decide(story_world(replace(ailing(explained()), history=(rehearsed,)), {})), Investigate)


def test_a_dry_run_is_rehearsed_once_and_followed_by_a_request_where_one_is_asked_for() -> None:
    rehearsed = ailing(replace(PROPOSED, proposal=replace(worlds.PROPOSED, dry_run=True)))
    assert decide(story_world(rehearsed, {"spec": spec(RemediationMode.DRY_RUN)})) is None
    assert isinstance(decide(story_world(rehearsed, {"spec": spec(RemediationMode.PULL_REQUEST)})), Investigate)


def test_a_closed_request_is_final() -> None:
    closed = replace(worlds.PULL, state=PullRequestState.CLOSED)
    said = decide(story_world(ailing(PROPOSED), {"pull_request": closed}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "PullRequestClosed"
    assert decide(story_world(said.status, {"pull_request": closed})) is None


def concluded(commits: tuple[Commit, ...], mode: RemediationMode = RemediationMode.PULL_REQUEST) -> Any:
    before = story_world(ailing(explained()), {"spec": spec(mode)})
    effect = Investigate(worlds.QUESTION)
    return conclude(before, effect, Investigated(worlds.found(commits)))


def test_the_one_commit_that_stands_out_is_the_suspect_and_its_revert_follows() -> None:
    found = concluded(worlds.COMMITS)
    assert found.status.incident.suspect.sha == worlds.SLOW
    assert found.status.incident.suspect.candidates == 2
    assert isinstance(found.then, EnsurePullRequest)
    assert found.then.proposal.revert_sha == worlds.SLOW


def test_a_dry_run_is_tried_and_not_pushed() -> None:
    assert isinstance(concluded(worlds.COMMITS, RemediationMode.DRY_RUN).then, PreviewProposal)


TWO = (replace(worlds.COMMITS[1], sha="4" * 40, parents=(worlds.SLOW,)), worlds.COMMITS[1])
UNDONE = (replace(worlds.COMMITS[1], subject='Revert "Be fast"'),)


@pytest.mark.parametrize(
    ("commits", "reason"),
    [((), "NoSuspect"), (worlds.COMMITS[:1], "NoSuspect"), (UNDONE, "RollbackOfRollback")],
)
def test_no_commit_that_stands_out_means_no_proposal(commits: tuple[Commit, ...], reason: str) -> None:
    found = concluded(commits)
    assert found.then is None
    assert found.status.incident.blocked[0] == reason


def test_two_that_could_have_done_it_mean_no_proposal() -> None:
    other = FileChange("apps/gpt/other.yaml", "num_workers: 4\n", "num_workers: 1\n")
    found = concluded((replace(TWO[0], changes=(other,)), TWO[1]))
    assert found.then is None
    assert found.status.incident.blocked[0] == "NoSingleSuspect"


def test_what_cannot_be_rendered_blames_nobody_and_says_so() -> None:
    findings = Findings(Ranking((), None, "Nothing is blamed: kustomize is not installed"), not_rendered="kustomize")
    found = conclude(story_world(ailing(explained()), {}), Investigate(worlds.QUESTION), Investigated(findings))
    assert (found.then, found.status.incident and found.status.incident.blocked) == (
        None,
        ("CannotRender", "Nothing is blamed: kustomize is not installed"),
    )

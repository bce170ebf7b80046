"""What is found in the world is adopted only where it is this proposal's: two baselines, lost statuses, people."""

from dataclasses import replace

from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.world import Defaults
from tests.support import worlds
from tests.support.adapters_double import Stage


def beside(first: Stage) -> Stage:
    """Another baseline of the same configuration repository and forge, in the same operator."""
    other = Stage()
    other.identity = replace(other.identity, name="gpt-other", uid="9d8c7b6a-1111-2222-3333-444455556666")
    other.repository, other.forge = first.repository, first.forge
    other.adapters = replace(first.adapters, cluster=other.cluster, forge=other.open_forge)
    return other


def lose_the_status(stage: Stage) -> None:
    """All that was stored is gone; the world is as it was, but for the Jobs, which do not stay for long."""
    stage.stored = {}
    stage.cluster.jobs.clear()
    stage.restart()


def test_two_baselines_that_one_commit_made_slow_share_one_branch_and_one_pull_request(stage: Stage) -> None:
    stage.regress()
    other = beside(stage)
    other.stored, other.sweep.says = stage.stored, stage.sweep.says
    other.now_s = stage.now_s
    stage.tick()
    other.tick()
    assert len(stage.forge.pulls) == len(stage.repository.branches) == 1
    shared, adopted = stage.incident.proposal, other.incident.proposal
    assert shared is not None and adopted is not None
    assert (adopted.number, adopted.branch, adopted.title) == (shared.number, shared.branch, shared.title)


def test_another_cluster_has_a_branch_of_its_own(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.stored = before
    stage.defaults = Defaults("another-cluster", worlds.DEFAULTS.profiler_image)
    stage.tick()
    assert len(stage.forge.pulls) == len(stage.repository.branches) == 2


def test_the_title_that_is_recorded_is_the_pull_requests_own(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.edit(1, title="Bring the workers back")
    stage.stored = before
    stage.tick()
    assert stage.incident.proposal is not None
    assert stage.incident.proposal.title == "Bring the workers back"


def test_a_pull_request_that_was_merged_before_the_loss_is_neither_adopted_nor_an_answer_to_it(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.merge(1, at_s=stage.incident.onset_at - 30 * 86400)
    stage.stored = before
    stage.ticks(3)
    assert stage.incident.proposal is None
    assert stage.incident.blocked is not None
    reason, message = stage.incident.blocked
    assert reason == "AlreadyReverted"
    assert "the loss has another cause" in message
    assert (stage.condition("RecoveryFailed"), len(stage.forge.pulls)) == (None, 1)


def test_one_whose_time_of_merging_is_not_known_is_no_answer_either(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.edit(1, state=PullRequestState.MERGED)
    stage.stored = before
    stage.ticks(2)
    assert stage.incident.proposal is None
    assert stage.incident.blocked is not None
    assert "at an unknown time" in stage.incident.blocked[1]


def test_one_that_was_merged_during_the_loss_is_adopted_after_the_status_was_lost(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.merge(1, at_s=stage.now_s)
    stage.stored = before
    stage.tick()
    assert stage.incident.proposal is not None
    assert stage.incident.proposal.state is PullRequestState.MERGED


def test_a_later_loss_has_a_branch_and_a_pull_request_of_its_own_after_a_lost_status(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.merge()
    lose_the_status(stage)
    stage.settle()
    stage.tick(30 * 86400)
    culprit = stage.slow_down()
    stage.explain()
    stage.confirm()
    stage.ticks(2)
    assert [pull.number for pull in stage.forge.pulls] == [1, 2]
    assert stage.incident.proposal is not None
    assert stage.incident.proposal.number == 2
    assert stage.forge.proposals[2].revert_sha == culprit


def test_a_closed_or_merged_pull_request_whose_commit_is_a_persons_is_not_ours(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    for state in (PullRequestState.CLOSED, PullRequestState.MERGED):
        stage.stored = before
        stage.forge.pulls.clear()
        stage.tick()
        stage.forge.edit(1, state=state, merged_at=stage.now_s)
        stage.forge.messages = dict.fromkeys(stage.forge.messages, "Something else\n")
        stage.stored = before
        stage.tick()
        assert stage.incident.blocked is not None
        assert stage.incident.blocked[0] == "BranchTouched"


def test_an_open_pull_request_over_a_branch_that_a_person_changed_is_not_adopted(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.repository.touched |= set(stage.repository.branches)
    stage.stored = before
    stage.tick()
    assert stage.incident.proposal is None
    assert stage.incident.blocked is not None
    assert stage.incident.blocked[0] == "BranchTouched"

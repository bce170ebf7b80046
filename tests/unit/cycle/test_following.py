"""What becomes of a pull request: recovered while open, Observe, a person's push, several baselines, not recovered."""

from dataclasses import replace

import pytest

from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState
from tests.support import worlds
from tests.support.adapters_double import Stage

HEALTHY = worlds.judgement(value=0.458, recovered=True)


@pytest.fixture
def proposed(stage: Stage) -> Stage:
    """An open pull request of a slow job."""
    stage.regress()
    stage.tick()
    assert [pull.state for pull in stage.forge.pulls] == [PullRequestState.OPEN]
    return stage


def recover(stage: Stage) -> None:
    """The readings hold the baseline again, whoever did it."""
    stage.sweep.says = HEALTHY
    stage.ticks(2)


def other(stage: Stage, name: str) -> Stage:
    """Another baseline of the same application, in the same operator, that the same commit made slow."""
    second = Stage(stage.spec)
    second.identity = replace(stage.identity, name=name, uid=f"9{stage.identity.uid[1:]}")
    second.repository, second.forge, second.now_s = stage.repository, stage.forge, stage.now_s
    second.delivery.sources = dict(stage.delivery.sources)
    second.cluster.workloads = dict(stage.cluster.workloads)
    second.adapters = replace(
        second.adapters,
        repository=stage.repository,
        breaker=stage.adapters.breaker,
        sharers=stage.adapters.sharers,
        branches=stage.adapters.branches,
    )
    second.stored = {
        **{key: value for key, value in stage.stored.items() if key not in ("incident", "history")},
        "judgement": stage.stored["judgement"],
    }
    second.sweep.says = stage.sweep.says
    second.explain()
    second.confirm()
    second.ticks(2)
    return second


def merge_without_effect(stage: Stage) -> None:
    """A person merges, the tool syncs it, the pods restart and stay as slow."""
    merged = stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Revert Save memory")
    stage.forge.merge(len(stage.forge.pulls), merged, at_s=stage.now_s)
    stage.ticks(5)
    stage.now_s += 600
    stage.deploy()


def test_a_recovery_closes_the_open_request_with_the_reason_and_removes_its_branch(proposed: Stage) -> None:
    recover(proposed)
    (pull,) = proposed.forge.pulls
    assert (pull.state, pull.withdrawn) == (PullRequestState.CLOSED, True)
    assert "training recovered at" in proposed.forge.remarks[1]
    assert proposed.repository.branches == {}
    (past,) = proposed.status.history
    assert past.proposal is not None and past.proposal.state is PullRequestState.CLOSED
    assert past.proposal.withdrawn is not None and "0.458 now" in past.proposal.withdrawn
    assert proposed.status.incident is None


def test_what_the_operator_withdrew_is_nobodys_no_and_is_proposed_again(proposed: Stage) -> None:
    recover(proposed)
    proposed.now_s += proposed.spec.remediation.cool_down_s
    proposed.sweep.says = worlds.regressed(onset_s=proposed.now_s + 20)
    proposed.stored["knownGood"]["revision"] = proposed.repository.line[0].sha
    proposed.explain()
    proposed.confirm()
    proposed.ticks(2)
    first, second = proposed.forge.pulls
    assert second.state is PullRequestState.OPEN
    assert second.branch == f"{first.branch}-2"


def test_a_persons_no_is_remembered_for_the_commit_though_a_request_before_was_withdrawn(proposed: Stage) -> None:
    recover(proposed)
    proposed.forge.edit(1, withdrawn=False)
    proposed.now_s += proposed.spec.remediation.cool_down_s
    proposed.sweep.says = worlds.regressed(onset_s=proposed.now_s + 20)
    proposed.stored["knownGood"]["revision"] = proposed.repository.line[0].sha
    proposed.explain()
    proposed.confirm()
    proposed.ticks(3)
    assert len(proposed.forge.pulls) == 1
    assert proposed.holding("ProposalFailed").reason == "PullRequestClosed"


@pytest.mark.parametrize("mode", [RemediationMode.OBSERVE, RemediationMode.DRY_RUN])
def test_another_mode_withdraws_what_is_open_and_the_mode_of_before_proposes_again(
    proposed: Stage, mode: RemediationMode
) -> None:
    before = proposed.spec
    proposed.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, mode=mode)))
    proposed.ticks(3)
    assert [pull.withdrawn for pull in proposed.forge.pulls] == [True]
    assert f"spec.remediation.mode is {mode} now" in proposed.forge.remarks[1]
    assert proposed.holding("Regressed").status == "True"
    proposed.edit(lambda spec: before)
    proposed.ticks(3)
    assert [pull.state for pull in proposed.forge.pulls] == [PullRequestState.CLOSED, PullRequestState.OPEN]


def test_a_persons_push_makes_the_request_theirs_and_it_is_never_closed(proposed: Stage) -> None:
    proposed.forge.edit(1, head="9" * 40)
    proposed.ticks(5)
    assert proposed.reasons().count("TakenOver") == 1
    recover(proposed)
    assert [pull.state for pull in proposed.forge.pulls] == [PullRequestState.OPEN]
    assert len(proposed.repository.branches) == 1


def test_a_push_that_comes_just_before_the_recovery_is_seen_in_time(proposed: Stage) -> None:
    proposed.forge.edit(1, head="9" * 40)
    proposed.sweep.says = HEALTHY
    proposed.ticks(3)
    assert [pull.state for pull in proposed.forge.pulls] == [PullRequestState.OPEN]
    assert proposed.status.history[0].proposal is not None
    assert proposed.status.history[0].proposal.theirs


def test_a_merge_that_comes_just_before_the_recovery_is_written_down(proposed: Stage) -> None:
    proposed.forge.merge(1, at_s=proposed.now_s)
    proposed.sweep.says = HEALTHY
    proposed.ticks(3)
    (past,) = proposed.status.history
    assert past.proposal is not None
    assert (past.proposal.state, past.proposal.withdrawn) == (PullRequestState.MERGED, None)


def test_a_forge_that_is_away_keeps_no_recovery_open_and_is_asked_again(proposed: Stage) -> None:
    proposed.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    recover(proposed)
    assert proposed.status.incident is None
    assert proposed.holding("ProposalFailed").reason == "ForgeUnreachable"
    proposed.forge.fails = None
    proposed.tick(600)
    assert proposed.forge.pulls[0].withdrawn
    assert proposed.condition("ProposalFailed") is None


def test_what_cannot_be_withdrawn_within_a_day_is_left_for_a_person(proposed: Stage) -> None:
    proposed.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    recover(proposed)
    proposed.tick(25 * 3600)
    assert "LeftOpen" in proposed.reasons()
    assert proposed.condition("ProposalFailed") is None


def test_a_withdrawal_whose_answer_was_lost_is_not_taken_for_a_persons_no(proposed: Stage) -> None:
    proposed.forge.withdraw(1, "recovered", Closing.NOT_NEEDED)
    proposed.ticks(5)
    assert proposed.incident.blocked is None
    assert proposed.forge.pulls[-1].state is PullRequestState.OPEN


def test_one_commit_has_one_request_and_the_others_join_it_in_one_comment(proposed: Stage) -> None:
    second = other(proposed, "gpt-large")
    assert len(proposed.forge.pulls) == len(proposed.repository.branches) == 1
    assert second.incident.proposal is not None and second.incident.proposal.number == 1
    proposed.ticks(5)
    assert list(proposed.forge.notes) == [1]
    assert "2 training jobs" in proposed.forge.notes[1]
    assert "`team-a/gpt-large`" in proposed.forge.notes[1] and "`team-a/gpt-small`" in proposed.forge.notes[1]


def test_baselines_whose_ticks_come_to_open_the_same_request_at_once_open_it_once(stage: Stage) -> None:
    stage.regress()
    opens, seconds = stage.forge.ensure, list[Stage]()

    def ensure(proposal: Proposal) -> PullRequest:
        assert seconds == [], "the second tick comes while the first one opens the request, and leaves it alone"
        seconds.append(other(stage, "gpt-tiny"))
        return opens(proposal)

    stage.forge.ensure = ensure  # type: ignore[method-assign]
    stage.tick()
    [second] = seconds
    assert second.incident.proposal is None
    assert "waiting: PullRequestShared: " in second.holding("Reconciling").message
    second.ticks(2)
    assert second.incident.proposal is not None and stage.incident.proposal is not None
    assert second.incident.proposal.url == stage.incident.proposal.url
    assert len(stage.forge.pulls) == 1


def test_a_request_stays_open_while_another_baseline_waits_for_it_and_the_last_one_withdraws_it(
    proposed: Stage,
) -> None:
    second = other(proposed, "gpt-large")
    recover(proposed)
    assert proposed.forge.pulls[0].state is PullRequestState.OPEN
    second.ticks(5)
    assert "**recovered** at" in proposed.forge.notes[1]
    recover(second)
    assert proposed.forge.pulls[0].withdrawn


def test_nothing_is_withdrawn_before_a_process_that_took_over_knows_who_else_waits(proposed: Stage) -> None:
    proposed.adapters.sharers.begin(proposed.now_s)
    recover(proposed)
    assert proposed.forge.pulls[0].state is PullRequestState.OPEN
    proposed.tick(120)
    assert proposed.forge.pulls[0].withdrawn


def test_the_request_says_that_training_recovered_after_the_merge(proposed: Stage) -> None:
    proposed.merge()
    proposed.ticks(2)
    assert "**recovered** at" in proposed.forge.notes[1]
    assert proposed.status.history[0].proposal is not None and proposed.status.history[0].proposal.noted is not None


@pytest.mark.parametrize("mode", [RemediationMode.OBSERVE, RemediationMode.DRY_RUN])
def test_in_another_mode_nothing_is_said_on_a_request(proposed: Stage, mode: RemediationMode) -> None:
    proposed.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, mode=mode)))
    proposed.merge()
    proposed.ticks(5)
    assert proposed.status.history[0].recovery is not None
    assert proposed.forge.notes == {}


def test_a_merge_that_did_not_help_exonerates_the_commit_on_the_request_and_asks_for_the_next(
    proposed: Stage,
) -> None:
    merge_without_effect(proposed)
    proposed.tick(2400)
    proposed.ticks(2)
    (exonerated,) = proposed.incident.exonerated
    assert exonerated.suspect is not None and exonerated.suspect.subject == "Save memory"
    assert "did not cause that" in proposed.forge.notes[1]
    assert f"git revert -m 1 {proposed.forge.pulls[0].merge_sha}" in proposed.forge.notes[1]
    assert proposed.holding("RecoveryFailed").reason == "NotRecovered"
    assert proposed.holding("ProposalFailed").reason == "NoSuspect"
    assert "did not do it" in proposed.holding("ProposalFailed").message
    assert len(proposed.forge.pulls) == 1


@pytest.mark.parametrize("at_once", [False, True], ids=["after the sync", "before the sync"])
def test_a_merge_that_an_updater_takes_back_exonerates_nobody_and_names_the_commit(
    proposed: Stage, at_once: bool
) -> None:
    if at_once:
        merged = proposed.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Revert Save memory")
        proposed.forge.merge(1, merged, at_s=proposed.now_s)
        proposed.ticks(5)
    else:
        merge_without_effect(proposed)
    proposed.now_s += 600
    again = proposed.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, "Save memory")
    proposed.deploy()
    proposed.tick(2400)
    proposed.ticks(5)
    assert proposed.incident.exonerated == () and proposed.incident.proposal is not None
    failed = proposed.holding("RecoveryFailed")
    assert failed.reason == "Undone" and again[:12] in failed.message and "num_workers: 4 → 0" in failed.message
    assert proposed.condition("ProposalFailed") is None and "Undone" in proposed.reasons()
    assert "a later commit took the merge back" in proposed.forge.notes[1]
    assert len(proposed.forge.pulls) == 1


def test_a_harmless_commit_after_a_merge_that_did_not_help_clears_nobody_of_it(proposed: Stage) -> None:
    merge_without_effect(proposed)
    proposed.repository.commit({"apps/gpt/notes.md": "None.\n"}, "Take notes again")
    proposed.deploy()
    proposed.tick(2400)
    proposed.ticks(2)
    assert len(proposed.incident.exonerated) == 1


def test_whether_a_merge_is_in_force_is_not_known_while_the_repository_is_away(proposed: Stage) -> None:
    merge_without_effect(proposed)
    proposed.repository.commit({"apps/gpt/notes.md": "None.\n"}, "Take notes again")
    proposed.deploy()
    proposed.repository.fails = Retry("RepositoryUnreachable", "away")
    proposed.tick(2400)
    assert proposed.incident.exonerated == ()
    assert proposed.holding("ProposalFailed").reason == "RepositoryUnreachable"
    proposed.repository.fails = None
    proposed.tick(2400)
    proposed.ticks(2)
    assert len(proposed.incident.exonerated) == 1


def test_a_merge_that_was_not_rolled_out_exonerates_nobody(proposed: Stage) -> None:
    proposed.forge.merge(1, at_s=proposed.now_s)
    proposed.ticks(5)
    proposed.tick(7200)
    proposed.tick()
    assert proposed.incident.exonerated == ()
    assert proposed.holding("RecoveryFailed").reason == "NotRolledOut"


def test_a_comment_that_the_forge_does_not_take_is_told_once(proposed: Stage) -> None:
    def refuse(number: int, text: str) -> None:
        raise Stall("ForgeRefused", "the conversation is locked")

    proposed.forge.note = refuse  # type: ignore[method-assign]
    proposed.merge()
    proposed.ticks(5)
    assert proposed.reasons().count("NoteRefused") == 1
    assert proposed.condition("Stalled") is None

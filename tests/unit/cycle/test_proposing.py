"""What stands in the way of a proposal has its reason and remedy, is tried again, and forgotten once cured."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, MfuError, Retry, Stall
from mfu_operator.model.baseline import ApplicationRef, Remediation, RemediationMode, SecretRef
from mfu_operator.model.verdict import Verdict
from tests.support import worlds
from tests.support.adapters_double import APPLICATION, Stage


@pytest.mark.parametrize(
    ("port", "error"),
    [
        ("repository", Retry("RepositoryUnreachable", "the host does not answer; check spec.remediation.repository")),
        ("repository", Stall("RepositoryAccessDenied", "the token was refused; renew the Secret")),
        ("forge", Stall("ForgeAccessDenied", "the token was refused; it needs write:repository")),
        ("forge", Retry("ForgeUnreachable", "the forge does not answer")),
    ],
    ids=lambda value: getattr(value, "reason", value),
)
def test_a_repository_or_forge_that_fails_is_told_and_tried_again(stage: Stage, port: str, error: MfuError) -> None:
    stage.regress()
    double: Any = getattr(stage, port)
    double.fails = error
    stage.tick()
    found = stage.holding("ProposalFailed")
    assert found.reason == error.reason
    assert found.message.startswith(f"{error.message} (")
    assert (stage.condition("Stalled") is not None) is isinstance(error, Stall)
    double.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None
    assert stage.condition("Stalled") is None
    assert len(stage.forge.pulls) == 1


def incomparable(stage: Stage) -> None:
    """The batch is changed while the incident is open."""
    assert stage.sweep.says is not None
    stage.sweep.says = replace(
        stage.sweep.says,
        verdict=Verdict.NOT_COMPARABLE,
        reason="ConfigurationDiffers",
        message="not the baseline's job: global batch 512 instead of 256",
    )


def test_a_loss_is_not_confirmed_while_the_run_is_not_the_baselines(stage: Stage) -> None:
    stage.regress()
    slow = stage.sweep.says
    incomparable(stage)
    stage.ticks(10)
    assert (stage.forge.pulls, stage.repository.branches, stage.incident.confirmed_at) == ([], {}, None)
    stage.sweep.says = slow
    stage.ticks(2)
    assert len(stage.forge.pulls) == 1


def test_a_loss_that_was_confirmed_before_waits_until_the_run_is_comparable_again(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    assert stage.incident.confirmed_at is not None
    slow, stage.repository.fails = stage.sweep.says, None
    incomparable(stage)
    stage.ticks(10)
    assert stage.forge.pulls == []
    assert "waiting: ConfigurationDiffers: not the baseline's job" in stage.holding("Reconciling").message
    stage.sweep.says = slow
    stage.ticks(2)
    assert len(stage.forge.pulls) == 1


def test_forge_credentials_that_are_missing_are_read_again_once_they_are_there(stage: Stage) -> None:
    stage.regress()
    kept = stage.cluster.secrets.pop(("team-a", "forge"))
    stage.tick()
    assert stage.holding("ProposalFailed").reason == "CredentialsMissing"
    stage.cluster.secrets["team-a", "forge"] = kept
    stage.tick()
    assert len(stage.forge.pulls) == 1


@pytest.mark.parametrize("data", [{}, {"username": "bot"}, {"token": ""}])
def test_a_secret_without_the_keys_says_which_it_needs(stage: Stage, data: dict[str, str]) -> None:
    stage.regress()
    stage.cluster.secrets["team-a", "forge"] = data
    stage.tick()
    found = stage.holding("ProposalFailed")
    assert found.reason == "CredentialsMissing"
    assert "key token" in found.message


def test_a_source_that_cannot_be_read_is_told_and_forgotten_once_it_can(stage: Stage) -> None:
    stage.regress()
    stage.delivery.fails = Retry("ClusterUnreachable", "reading the application: the API server answered 503")
    stage.tick()
    assert stage.holding("ProposalFailed").reason == "ClusterUnreachable"
    stage.delivery.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None


def test_an_answer_that_could_not_be_had_is_forgotten_once_it_can(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    stage.tick()
    assert stage.holding("ProposalFailed").reason == "ForgeUnreachable"
    stage.forge.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None


def test_a_recovery_leaves_no_failure_behind(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.ticks(2)
    assert stage.condition("ProposalFailed") is None


def test_a_persons_decision_takes_the_place_of_an_older_failure(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    stage.repository.fails = AskPerson("RevertConflict", "the revert does not apply cleanly")
    stage.tick()
    assert stage.holding("ProposalFailed").reason == "RevertConflict"


def test_a_workload_that_no_tool_deploys_needs_the_application_named_and_takes_it(stage: Stage) -> None:
    stage.spec = worlds.spec()
    stage.regress()
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = worlds.workload(stage.now_s - 600)
    stage.tick()
    found = stage.holding("ProposalFailed")
    assert found.reason == "NotManagedByGitOps"
    assert "spec.remediation.application" in found.message
    named = ApplicationRef("Application", APPLICATION.namespace, APPLICATION.name)
    stage.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, application=named)))
    stage.ticks(2)
    assert len(stage.forge.pulls) == 1


def test_a_persons_no_outlives_an_edit_of_the_spec(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.close(1)
    stage.tick()
    stage.edit(lambda spec: replace(spec, detection=replace(spec.detection, warmup_s=60)))
    stage.ticks(3)
    assert stage.holding("ProposalFailed").reason == "PullRequestClosed"
    assert len(stage.forge.pulls) == 1


def test_a_conflict_is_for_a_person_and_is_not_tried_over_and_over(stage: Stage) -> None:
    stage.regress()
    stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\nseed: 1\n"}, "Set a seed")
    stage.ticks(5)
    assert stage.holding("ProposalFailed").reason == "RevertConflict"
    assert stage.reasons().count("RevertConflict") == 1
    assert stage.forge.pulls == []


def test_the_cool_down_is_waited_for_without_an_alarm(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.merge()
    stage.tick(600)
    stage.slow_down()
    stage.explain()
    stage.confirm()
    stage.ticks(3)
    assert len(stage.forge.pulls) == 1
    assert stage.condition("ProposalFailed") is None
    assert "waiting: CoolDown: " in stage.holding("Reconciling").message
    stage.tick(stage.spec.remediation.cool_down_s)
    assert len(stage.forge.pulls) == 2


def test_remediation_off_asks_for_no_credentials(stage: Stage) -> None:
    stage.spec = replace(stage.spec, remediation=Remediation(RemediationMode.OBSERVE, secret=SecretRef("gone")))
    stage.regress()
    stage.ticks(3)
    assert stage.condition("ProposalFailed") is None
    assert stage.condition("Stalled") is None

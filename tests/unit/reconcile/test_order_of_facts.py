"""No step is taken before the facts that it stands on, whatever else is known already."""

from dataclasses import replace

import pytest

from mfu_operator.errors import AskPerson
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.model.workload import JobPhase
from mfu_operator.reconcile.conclude import FAILED_CONDITION, failed
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsurePullRequest, Investigate, PreviewProposal
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident, regressed, source, spec
from tests.unit.reconcile.stories import FINISHED, LAUNCHED, story_world

PROPOSAL = Proposal(
    ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "Title", "Body", "Revert", revert_sha=worlds.SLOW
)
RUNNING = replace(FINISHED, phase=JobPhase.RUNNING, result=None)


def test_a_confirmed_loss_whose_profile_still_runs_reads_no_commits() -> None:
    status = ailing(incident(profile=LAUNCHED, confirmed_at=worlds.NOW_S - 60))
    assert decide(story_world(status, {"job": RUNNING, "judgement": regressed(True)})) is None


def test_an_explained_loss_that_is_not_confirmed_reads_no_commits() -> None:
    assert decide(story_world(ailing(explained(confirmed_at=None)), {"judgement": regressed()})) is None


def test_an_explained_and_confirmed_loss_reads_the_commits() -> None:
    assert isinstance(decide(story_world(ailing(explained()), {"judgement": regressed(True)})), Investigate)


@pytest.mark.parametrize("mode", [RemediationMode.DRY_RUN, RemediationMode.PULL_REQUEST])
def test_a_conflict_is_a_persons_to_resolve_in_a_dry_run_as_well(mode: RemediationMode) -> None:
    """Retried for ever it would clone the repository every five minutes and tell nobody."""
    world = story_world(ailing(explained()), {"spec": spec(mode)})
    effect = (PreviewProposal if mode is RemediationMode.DRY_RUN else EnsurePullRequest)(source(), PROPOSAL)
    status, failure, events = failed(
        world, FAILED_CONDITION[type(effect)], AskPerson("RevertConflict", "does not apply")
    )
    assert status.incident is not None
    assert status.incident.blocked == ("RevertConflict", "does not apply")
    assert failure is None
    assert [each.reason for each in events] == ["RevertConflict"]
    assert decide(replace(world, status=status)) is None

"""What nobody looked at is not taken for what is not there."""

from dataclasses import replace

import pytest

from mfu_operator.errors import AskPerson
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.known_good import known_good
from mfu_operator.reconcile.world import UNSEEN
from tests.support import worlds

LAUNCHED = replace(worlds.PROFILED, account=None, created_at=worlds.NOW_S - 3600)


def test_a_source_that_nobody_looked_for_is_no_reason_to_give_up_on_a_proposal() -> None:
    slow = worlds.world(worlds.ailing(worlds.explained()), judgement=worlds.regressed(confirmed=True))
    assert decide(replace(slow, source=UNSEEN)) is None
    with pytest.raises(AskPerson) as raised:
        decide(replace(slow, source=None))
    assert raised.value.reason == "NotManagedByGitOps"


def test_a_job_that_nobody_looked_for_is_not_gone() -> None:
    slow = worlds.world(worlds.ailing(worlds.incident(profile=LAUNCHED)), judgement=worlds.regressed())
    assert decide(replace(slow, job=UNSEEN)) is None
    step = decide(replace(slow, job=None))
    assert "JobGone" in repr(step)


def test_a_healthy_run_whose_source_nobody_looked_for_is_no_known_good_revision() -> None:
    assert known_good(worlds.world(source=UNSEEN)) is None
    assert known_good(worlds.world()) is not None


def test_a_pull_request_that_nobody_asked_for_changes_nothing() -> None:
    asked = worlds.ailing(worlds.explained(proposal=worlds.PROPOSED))
    assert decide(worlds.world(asked, judgement=worlds.regressed(), pull_request=UNSEEN)) is None


def test_a_new_world_has_seen_nothing_yet() -> None:
    made = worlds.world()
    assert (made.job, made.pull_request) == (UNSEEN, UNSEEN)

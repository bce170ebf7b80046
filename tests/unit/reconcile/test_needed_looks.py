"""Which looks cost a request, and when one is made."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.incident import Exoneration, Incident, ProfileFact, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.proposable import not_proposable
from mfu_operator.reconcile.world import Need
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, incident, judgement, regressed, spec

JOB, SOURCE, PULL_REQUEST = Need.JOB, Need.SOURCE, Need.PULL_REQUEST
LAUNCHED = ProfileFact("job", 1, NOW_S)
FAILED = replace(LAUNCHED, failure=("JobFailed", ""))
UNDONE = Exoneration(worlds.SUSPECT, worlds.MERGED, NOW_S)
OPEN, MERGED = worlds.PROPOSED, worlds.MERGED
OURS = replace(OPEN, head="e" * 40)
CLOSED = replace(OPEN, state=PullRequestState.CLOSED)
NO = ("PullRequestClosed", "no")

HEALTHY: list[tuple[str, dict[str, Any], Judgement | None, set[Need]]] = [
    ("well", {}, judgement(), {SOURCE}),
    ("well, in a checkpoint", {}, judgement(gates=(Gate.CHECKPOINT,)), set()),
    ("not judged", {}, None, set()),
    ("silent", {}, judgement(Verdict.NO_DATA), set()),
    ("slow", {}, regressed(), set()),
    ("profiled, silent", {"healthy_profile": LAUNCHED}, judgement(Verdict.NO_DATA), {JOB}),
    ("profiled, well", {"healthy_profile": LAUNCHED}, judgement(), {JOB, SOURCE}),
    ("the profile failed", {"healthy_profile": FAILED}, None, set()),
    ("something to withdraw", {"history": (explained(proposal=OURS, recovery=worlds.RECOVERY),)}, None, {SOURCE}),
    ("something to tell", {"history": (explained(proposal=MERGED, recovery=worlds.RECOVERY),)}, None, {SOURCE}),
]


@pytest.mark.parametrize(("facts", "judged", "looks"), [row[1:] for row in HEALTHY], ids=[row[0] for row in HEALTHY])
def test_while_nothing_is_wrong_the_job_is_looked_for_and_what_a_good_reading_speaks_for(
    facts: dict[str, Any], judged: Judgement | None, looks: set[Need]
) -> None:
    status: Status = replace(SETTLED, **facts)
    assert needs(spec(), status, judged) == looks


SLOW: list[tuple[str, Incident, Judgement | None, set[Need]]] = [
    ("blocked", explained(blocked=NO), regressed(), set()),
    ("blocked and under way", incident(profile=LAUNCHED, blocked=NO), regressed(), {JOB}),
    ("blocked and failed", incident(profile=FAILED, blocked=NO), None, set()),
    ("blocked and well again", explained(blocked=NO), judgement(), {SOURCE}),
    ("blocked and silent", explained(blocked=NO), judgement(Verdict.NO_DATA), set()),
    ("no proposal", explained(), regressed(), {SOURCE}),
    ("no proposal, not judged", explained(), None, {SOURCE}),
    ("asked", explained(proposal=OPEN), regressed(), {PULL_REQUEST}),
    ("asked, well again", explained(proposal=OPEN), judgement(), {PULL_REQUEST, SOURCE}),
    ("merged", explained(proposal=MERGED), regressed(), {SOURCE}),
    ("closed", explained(proposal=CLOSED, blocked=NO), regressed(), set()),
    ("undone in vain", explained(blocked=NO, exonerated=(UNDONE,)), regressed(), {SOURCE}),
]


@pytest.mark.parametrize(("of", "judged", "looks"), [row[1:] for row in SLOW], ids=[row[0] for row in SLOW])
def test_in_an_incident_what_the_next_fact_rests_on_is_looked_for(
    of: Incident, judged: Judgement | None, looks: set[Need]
) -> None:
    assert needs(spec(), ailing(of), judged) == looks


def test_where_no_proposal_is_wanted_no_source_is_looked_for() -> None:
    assert needs(spec(RemediationMode.OBSERVE), ailing(explained()), regressed()) == frozenset()


def test_what_is_not_diagnosed_may_yet_carry_a_proposal() -> None:
    assert not_proposable(None) is None
    assert not_proposable(worlds.STARVED) is None

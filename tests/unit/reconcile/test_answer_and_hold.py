"""A person's answer to a pull request, and what a pull request waits for."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.condition import Event
from mfu_operator.model.freeze import FreezeDates
from mfu_operator.model.incident import Approval, Incident, Refusal, Snooze, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.effects import Record
from mfu_operator.reconcile.proposed.answer import hear_answer
from mfu_operator.reconcile.proposed.hold import hold, refusal, with_refusal
from mfu_operator.reconcile.world import UNSEEN, World
from tests.support import worlds
from tests.support.worlds import NOW_S, PULL, SETTLED, ailing, explained, spec, world

OURS = replace(worlds.PROPOSED, head="e" * 40)
ASKED = explained(suspect=worlds.SUSPECT, proposal=OURS)
CLOSED = replace(PULL, state=PullRequestState.CLOSED)
MERGED = replace(PULL, state=PullRequestState.MERGED, merged_at=NOW_S - 5, merge_sha="f" * 40)
NO = ("PullRequestClosed", f"{PULL.url} was closed without merging, which is taken as a no")


def heard(of: Incident, answer: Any) -> tuple[Status, Event]:
    step = hear_answer(world(ailing(of), pull_request=answer))
    assert isinstance(step, Record)
    (event,) = step.events
    return step.status, event


def test_a_merge_is_noted_with_its_time_and_its_commit() -> None:
    status, event = heard(ASKED, MERGED)
    fact = replace(OURS, state=PullRequestState.MERGED, merged_at=NOW_S - 5, merge_sha="f" * 40)
    assert status == ailing(replace(ASKED, proposal=fact))
    assert event == Event("Normal", "Merged", f"{PULL.url} was merged; watching for the recovery")


def test_a_request_that_is_closed_is_a_no_to_undoing_its_commit() -> None:
    status, event = heard(ASKED, CLOSED)
    fact = replace(OURS, state=PullRequestState.CLOSED)
    refused = Refusal(worlds.SLOW, "Save memory", f"{PULL.url} was closed without merging", NOW_S)
    assert status == ailing(replace(ASKED, proposal=fact, blocked=NO), refused=(refused,))
    assert event == Event("Warning", *NO)
    status, _ = heard(replace(ASKED, suspect=None), CLOSED)
    assert (status.refused, status.incident and status.incident.blocked) == ((), NO)


def test_a_request_that_the_operator_closed_is_nobody_s_no() -> None:
    status, event = heard(ASKED, replace(CLOSED, withdrawn=True))
    assert status.incident is not None and status.incident.proposal is not None
    assert status.incident.blocked is None
    assert status.refused == ()
    assert status.incident.proposal.state is PullRequestState.CLOSED
    assert status.incident.proposal.withdrawn == "the operator withdrew it in a tick that it did not live to write down"
    assert event == Event("Normal", "Withdrawn", PULL.url)


def test_a_commit_that_a_person_pushed_makes_the_request_theirs() -> None:
    status, event = heard(ASKED, replace(PULL, head="9" * 40))
    assert status == ailing(replace(ASKED, proposal=replace(OURS, theirs=True)))
    told = f"{PULL.url} holds 999999999999, which a person pushed: it is theirs, and the operator only watches"
    assert event == Event("Normal", "TakenOver", told)


NOTHING: list[tuple[str, Status, Any]] = [
    ("still open", ailing(ASKED), PULL),
    ("still at our commit", ailing(ASKED), replace(PULL, head="e" * 12)),
    ("theirs before", ailing(replace(ASKED, proposal=replace(OURS, theirs=True))), replace(PULL, head="9" * 40)),
    ("pushed by an operator that noted no commit", ailing(replace(ASKED, proposal=worlds.PROPOSED)),
     replace(PULL, head="9" * 40)),
    ("no incident", SETTLED, MERGED),
    ("nothing proposed", ailing(explained()), MERGED),
    ("nobody looked", ailing(ASKED), UNSEEN),
    ("not found", ailing(ASKED), None),
]  # fmt: skip


@pytest.mark.parametrize(("status", "answer"), [row[1:] for row in NOTHING], ids=[row[0] for row in NOTHING])
def test_nothing_is_noted(status: Status, answer: Any) -> None:
    assert hear_answer(world(status, pull_request=answer)) is None


def test_a_forge_that_cannot_be_asked_is_no_answer() -> None:
    problem = Retry("ForgeUnreachable", "503")
    with pytest.raises(Retry) as caught:
        hear_answer(world(ailing(ASKED), pull_request=UNSEEN, answer_problem=problem))
    assert caught.value is problem


HOUR_S = 3600.0
FROZEN = FreezeDates(NOW_S - HOUR_S, NOW_S + HOUR_S, "quarter end")
LONGER = FreezeDates(NOW_S - HOUR_S, NOW_S + 2 * HOUR_S)
RECENT = explained(proposal=worlds.MERGED, recovery=worlds.RECOVERY)
READY_S = worlds.RECOVERY.recovered_at + spec().remediation.cool_down_s


def waits(status: Status = SETTLED, of: Incident | None = None, **changes: Any) -> Wait | None:
    """What holds a proposal up; None where nothing does."""
    freeze = changes.pop("freeze", ())
    mode = changes.pop("mode", RemediationMode.PULL_REQUEST)
    here: World = world(status, spec=spec(remediation=replace(spec(mode).remediation, freeze=freeze)), **changes)
    try:
        hold(here, of or ASKED)
    except Wait as wait:
        return wait
    return None


def test_nothing_holds_a_proposal_up_by_itself() -> None:
    assert waits() is None


def test_a_freeze_holds_it_up_until_the_last_of_them_ends() -> None:
    wait = waits(freeze=(FROZEN,))
    assert wait is not None
    assert (wait.reason, wait.until_s) == ("Frozen", NOW_S + HOUR_S)
    assert wait.message == (
        "spec.remediation.freeze is in force until 2026-09-21 15:14 UTC: quarter end; kubectl mfu approve opens the "
        "pull request all the same"
    )
    wait = waits(freeze=(LONGER, FROZEN))
    assert wait is not None and wait.until_s == NOW_S + 2 * HOUR_S
    assert "until 2026-09-21 16:14 UTC; kubectl" in wait.message
    assert waits(freeze=(FROZEN,), now_s=NOW_S + 2 * HOUR_S) is None


def test_a_snooze_holds_it_up_until_it_is_over() -> None:
    status = replace(SETTLED, snooze=Snooze(NOW_S + HOUR_S, "on holiday"))
    wait = waits(status)
    assert wait is not None
    assert (wait.reason, wait.until_s) == ("Snoozed", NOW_S + HOUR_S)
    assert wait.message == "a person snoozed it until 2026-09-21 15:14 UTC: on holiday"
    assert waits(status, now_s=NOW_S + HOUR_S) is None
    assert waits(status, now_s=NOW_S + HOUR_S - 1) is not None


def test_a_rehearsal_waits_for_the_cool_down_alone() -> None:
    snoozed = replace(SETTLED, snooze=Snooze(NOW_S + HOUR_S, "on holiday"))
    for mode in (RemediationMode.DRY_RUN, RemediationMode.OBSERVE):
        assert waits(snoozed, mode=mode, freeze=(FROZEN,)) is None
        cooling = waits(replace(SETTLED, history=(RECENT,)), mode=mode)
        assert cooling is not None and cooling.reason == "CoolDown"


def test_an_approval_ends_whatever_holds_it_up() -> None:
    approved = replace(ASKED, approved=Approval(NOW_S, "now"))
    status = replace(SETTLED, history=(RECENT,), snooze=Snooze(NOW_S + HOUR_S, ""))
    assert waits(status, approved, freeze=(FROZEN,)) is None
    assert waits(status, freeze=(FROZEN,)) is not None


DRY = replace(RECENT, proposal=replace(worlds.PROPOSED, dry_run=True))
UNPROPOSED = replace(RECENT, proposal=None)
ENDED = replace(RECENT, recovery=None, ended_at=NOW_S)


@pytest.mark.parametrize(
    ("history", "cools"),
    [((RECENT,), True), ((DRY, UNPROPOSED, RECENT), True), ((DRY,), False), ((UNPROPOSED,), False), ((), False),
     ((ENDED, RECENT), False), ((RECENT, ENDED), True)],
)  # fmt: skip
def test_a_proposal_cools_down_after_the_last_that_was_proposed_and_recovered(
    history: tuple[Incident, ...], cools: bool
) -> None:
    status = replace(SETTLED, history=history)
    wait = waits(status)
    assert (wait is not None) is cools
    if wait is not None:
        assert wait.reason == "CoolDown"
        assert wait.message.startswith("the last proposal's incident ended less than spec.remediation.coolDown ago")
        assert waits(status, now_s=READY_S - 1) is not None
        assert waits(status, now_s=READY_S) is None


def test_a_refusal_is_of_its_commit_and_says_when_and_why() -> None:
    status = with_refusal(SETTLED, worlds.SLOW, "Save memory", "we need it", NOW_S)
    told = "undoing commit 222222222222 was refused on 2026-09-21 14:14 UTC: we need it; it is not proposed again"
    assert refusal(status, worlds.SLOW) == ("Refused", told)
    assert refusal(status, worlds.GOOD) is None
    assert refusal(SETTLED, worlds.SLOW) is None


def test_a_refusal_is_kept_once_the_newest_first_and_twenty_of_them() -> None:
    status = SETTLED
    for number in range(25):
        status = with_refusal(status, f"{number:040d}", "", "", NOW_S)
    assert [each.sha for each in status.refused] == [f"{number:040d}" for number in range(24, 4, -1)]
    again = with_refusal(status, f"{10:040d}", "", "still", NOW_S)
    assert [each.reason for each in again.refused if each.sha == f"{10:040d}"] == ["still"]
    assert again.refused[0].reason == "still"
    assert len(again.refused) == 20

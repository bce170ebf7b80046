"""What a person asks for by command is done once, to the incident that was meant."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.group import (
    APPROVE_ANNOTATION,
    CLOSE_ANNOTATION,
    REJECT_ANNOTATION,
    RESET_ANNOTATION,
    SNOOZE_ANNOTATION,
)
from mfu_operator.api.requests import asked_value, digest, snooze_value
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Approval, Refusal, Snooze, Status
from mfu_operator.reconcile.requested import obeyed
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, explained, incident, spec

ID = worlds.INCIDENT.id
ASKED = explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)
LEFT = f"; its pull request {worlds.PROPOSED.url} is left for you to close"
WHOSE = [(asked_value(ID, "we know"), True), ("we know", True), (asked_value("gpt-small-0", "we know"), False)]
"""What is asked for this incident, for whichever is open, and for another one."""


def done(status: Status, *asked: tuple[str, str]) -> tuple[Status, tuple[Event, ...]]:
    """The status but for what was noted, and what was told."""
    after, events = obeyed(status, asked, spec(), NOW_S)
    assert after.noted == tuple(sorted(digest(*each) for each in asked))
    return replace(after, noted=()), events


@pytest.mark.parametrize(("value", "meant"), WHOSE)
def test_an_incident_is_closed_by_a_person_with_the_reason(value: str, meant: bool) -> None:
    status, events = done(ailing(ASKED), (CLOSE_ANNOTATION, value))
    if not meant:
        assert (status, events) == (ailing(ASKED), ())
        return
    assert status.incident is None
    (closed,) = status.history
    assert (closed.closed, closed.ended_at) == (("ClosedByPerson", "we know"), NOW_S)
    told = f"incident {ID} is closed by a person: we know{LEFT}"
    assert events == (Event("Normal", "ClosedByPerson", told),)


@pytest.mark.parametrize(("value", "meant"), WHOSE)
def test_a_pull_request_is_approved_for_its_incident(value: str, meant: bool) -> None:
    status, events = done(ailing(ASKED), (APPROVE_ANNOTATION, value))
    approved = replace(ASKED, approved=Approval(NOW_S, "we know"))
    assert status == ailing(approved if meant else ASKED)
    told = f"a person approved the pull request of incident {ID}: we know"
    assert events == ((Event("Normal", "Approved", told),) if meant else ())


@pytest.mark.parametrize(("value", "meant"), WHOSE)
def test_a_suspect_is_rejected_for_its_incident_and_for_every_other(value: str, meant: bool) -> None:
    status, events = done(ailing(ASKED), (REJECT_ANNOTATION, value))
    if not meant:
        assert (status, events) == (ailing(ASKED), ())
        return
    blocked = ("Rejected", "a person rejected undoing commit 222222222222: we know")
    refused = Refusal(worlds.SLOW, "Save memory", "we know", NOW_S)
    assert status == ailing(replace(ASKED, blocked=blocked), refused=(refused,))
    assert events == (Event("Normal", *blocked),)


@pytest.mark.parametrize("annotation", [CLOSE_ANNOTATION, APPROVE_ANNOTATION, REJECT_ANNOTATION])
def test_what_is_asked_of_an_incident_does_nothing_without_one(annotation: str) -> None:
    assert done(SETTLED, (annotation, "we know")) == (SETTLED, ())


def test_nobody_is_rejected_where_nobody_is_suspected() -> None:
    assert done(ailing(explained()), (REJECT_ANNOTATION, "we know")) == (ailing(explained()), ())


SNOOZED = replace(SETTLED, snooze=Snooze(NOW_S + 900, "lunch"))


@pytest.mark.parametrize("before", [SETTLED, SNOOZED])
def test_a_snooze_is_until_the_time_that_is_named(before: Status) -> None:
    status, events = done(before, (SNOOZE_ANNOTATION, snooze_value(NOW_S + 3600, "on holiday")))
    assert status == replace(SETTLED, snooze=Snooze(NOW_S + 3600, "on holiday"))
    told = "no pull request is opened before 2026-09-21 15:14 UTC: on holiday"
    assert events == (Event("Normal", "Snoozed", told),)


@pytest.mark.parametrize("until_s", [NOW_S, NOW_S - 60])
def test_a_snooze_until_now_ends_it(until_s: float) -> None:
    status, events = done(SNOOZED, (SNOOZE_ANNOTATION, snooze_value(until_s, "back")))
    assert (status, events) == (SETTLED, (Event("Normal", "SnoozeEnded", "back"),))


def test_a_snooze_that_names_no_time_is_told_and_nothing_changes() -> None:
    status, events = done(SNOOZED, (SNOOZE_ANNOTATION, "later"))
    assert status == SNOOZED
    assert [(each.kind, each.reason) for each in events] == [("Warning", "SnoozeUnreadable")]


def test_a_reset_keeps_what_happened_and_nothing_else() -> None:
    past = incident(id="past")
    before = ailing(ASKED, history=(past,), refused=(Refusal("a", "", "", NOW_S),), snooze=SNOOZED.snooze)
    status, events = done(before, (RESET_ANNOTATION, "again"))
    closed = status.history[0]
    assert status == Status(incidents=1, history=(closed, past))
    assert closed.closed == ("BaselineReset", f"the baseline was reset{LEFT}")
    assert closed.ended_at == NOW_S
    told = "a person reset the baseline: level, profile and known good are obtained again"
    assert events == (Event("Normal", "BaselineReset", told),)
    assert done(replace(SETTLED, incidents=3), (RESET_ANNOTATION, "again"))[0] == Status(incidents=3)


def test_what_was_noted_is_not_done_again_and_what_is_gone_is_forgotten() -> None:
    asked = (CLOSE_ANNOTATION, asked_value(ID, "we know"))
    noted = replace(ailing(ASKED), noted=(digest(*asked), "gone"))
    after, events = obeyed(noted, (asked,), spec(), NOW_S)
    assert (after, events) == (replace(noted, noted=(digest(*asked),)), ())


def test_a_request_after_one_that_was_noted_is_done() -> None:
    first, second = (APPROVE_ANNOTATION, "yes"), (SNOOZE_ANNOTATION, snooze_value(NOW_S + 60, "wait"))
    noted = replace(ailing(ASKED), noted=(digest(*first),))
    after, events = obeyed(noted, (first, second), spec(), NOW_S)
    assert [each.reason for each in events] == ["Snoozed"]
    assert after.noted == tuple(sorted((digest(*first), digest(*second))))


def test_several_requests_are_done_in_turn_and_each_is_told() -> None:
    asked: list[Any] = [
        (RESET_ANNOTATION, "again"), (SNOOZE_ANNOTATION, snooze_value(NOW_S + 60, "wait")), ("unknown", "x"),
    ]  # fmt: skip
    status, events = done(ailing(ASKED), *asked)
    assert [each.reason for each in events] == ["BaselineReset", "Snoozed"]
    assert (status.incident, status.snooze) == (None, Snooze(NOW_S + 60, "wait"))
    approved = done(ailing(ASKED), (APPROVE_ANNOTATION, "yes"), (REJECT_ANNOTATION, "no"))[1]
    assert [each.reason for each in approved] == ["Approved", "Rejected"]
    closed = done(ailing(ASKED), (SNOOZE_ANNOTATION, snooze_value(NOW_S + 60, "wait")), (CLOSE_ANNOTATION, "done"))[1]
    assert [each.reason for each in closed] == ["Snoozed", "ClosedByPerson"]
    reset = done(ailing(ASKED), (SNOOZE_ANNOTATION, snooze_value(NOW_S + 60, "wait")), (RESET_ANNOTATION, "again"))[1]
    assert [each.reason for each in reset] == ["Snoozed", "BaselineReset"]

"""A person's word on a proposal by command, and the times in which a team wants none."""

from dataclasses import replace

import pytest

from mfu_operator.api.freezing import freezes
from mfu_operator.api.group import APPROVE_ANNOTATION, REJECT_ANNOTATION, SNOOZE_ANNOTATION
from mfu_operator.api.requests import asked_value, snooze_of, snooze_value
from mfu_operator.api.section import Section
from mfu_operator.errors import Stall
from mfu_operator.model.freeze import Freeze, FreezeDates, FreezeWeekly
from mfu_operator.model.incident import Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.requested import obeyed
from tests.support import worlds
from tests.support.adapters_double import Stage

MONDAY_S = 1_790_000_000.0 - 1_790_000_000.0 % 86400
"""Midnight of 2026-09-21, a Monday, UTC."""

HOUR_S = 3600.0


def ask(stage: Stage, annotation: str, value: str) -> None:
    """A person asks by command, and the operator takes note."""
    stage.take_note(annotation, value)


def frozen(stage: Stage, freeze: Freeze) -> None:
    """The team wants nothing opened."""
    stage.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, freeze=(freeze,))))


def test_in_a_freeze_nothing_is_opened_and_afterwards_it_is(stage: Stage) -> None:
    frozen(stage, FreezeDates(stage.now_s, stage.now_s + 9000, "quarter end"))
    stage.regress()
    stage.ticks(3)
    assert stage.forge.pulls == []
    assert "waiting: Frozen: " in stage.holding("Reconciling").message
    assert "quarter end" in stage.holding("Reconciling").message
    assert stage.condition("ProposalFailed") is None
    stage.tick(9000)
    assert len(stage.forge.pulls) == 1


def test_an_approval_opens_it_in_a_freeze_all_the_same(stage: Stage) -> None:
    frozen(stage, FreezeDates(stage.now_s, stage.now_s + 90000))
    stage.regress()
    stage.ticks(2)
    ask(stage, APPROVE_ANNOTATION, asked_value(stage.incident.id, "training is on fire"))
    stage.tick(300)
    assert len(stage.forge.pulls) == 1
    assert stage.incident.approved is not None and stage.incident.approved.reason == "training is on fire"


def test_an_approval_of_another_incident_approves_nothing(stage: Stage) -> None:
    stage.regress()
    ask(stage, APPROVE_ANNOTATION, asked_value("gpt-small-3f2a91c0-0", "late"))
    assert stage.incident.approved is None


def test_a_snooze_holds_the_pull_request_until_it_is_over_or_ended(stage: Stage) -> None:
    stage.regress()
    ask(stage, SNOOZE_ANNOTATION, "2h")
    stage.ticks(2)
    assert stage.forge.pulls == []
    assert "waiting: Snoozed: " in stage.holding("Reconciling").message
    ask(stage, SNOOZE_ANNOTATION, snooze_value(stage.now_s - 1, "go on"))
    stage.tick(300)
    assert len(stage.forge.pulls) == 1


def test_a_rejection_closes_the_request_as_a_no_and_is_remembered_for_the_commit(stage: Stage) -> None:
    sha = stage.regress()
    stage.tick()
    ask(stage, REJECT_ANNOTATION, asked_value(stage.incident.id, "we need the memory"))
    stage.ticks(5)
    (pull,) = stage.forge.pulls
    assert (pull.state, pull.withdrawn) == (PullRequestState.CLOSED, False)
    assert "we need the memory" in stage.forge.remarks[1]
    assert stage.repository.branches == {}
    assert stage.holding("ProposalFailed").reason == "Rejected"
    assert [each.sha for each in stage.status.refused] == [sha]


def test_what_was_refused_once_is_not_proposed_in_a_later_incident(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.close(1)
    stage.ticks(5)
    stage.forge.pulls.clear()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.ticks(2)
    stage.stored["knownGood"]["revision"] = stage.repository.line[0].sha
    stage.now_s += 10 * HOUR_S
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s + 20)
    stage.explain()
    stage.confirm()
    stage.ticks(3)
    assert stage.forge.pulls == []
    assert stage.holding("ProposalFailed").reason == "Refused"


def test_a_rejection_before_anybody_is_suspected_rejects_nothing() -> None:
    status = worlds.ailing(worlds.incident())
    after, events = obeyed(status, ((REJECT_ANNOTATION, "no"),), worlds.spec(), worlds.NOW_S)
    assert (after.incident, after.refused, events) == (status.incident, (), ())


def test_a_snooze_that_names_no_time_is_told() -> None:
    after, events = obeyed(Status(), ((SNOOZE_ANNOTATION, "a while"),), worlds.spec(), worlds.NOW_S)
    assert after.snooze is None
    assert [event.reason for event in events] == ["SnoozeUnreadable"]


@pytest.mark.parametrize("value", ["", "{", "[]", '{"until": 7, "reason": "x"}', '{"until": "soon"}', "9" * 99])
def test_whatever_stands_in_the_annotation_is_a_snooze_or_none(value: str) -> None:
    assert snooze_of(value, worlds.NOW_S) is None


def test_nobody_snoozes_for_longer_than_a_quarter() -> None:
    found = snooze_of("99999h", worlds.NOW_S)
    assert found is not None and found.until_s == worlds.NOW_S + 90 * 86400


NIGHTS = FreezeWeekly(frozenset({0, 1, 2, 3, 4}), 18 * 60, 8 * 60)
WEEKEND = FreezeWeekly(frozenset({5, 6}))


@pytest.mark.parametrize(
    ("freeze", "at_h", "ends_h"),
    [
        (NIGHTS, 12, None),
        (NIGHTS, 18, 32),
        (NIGHTS, 26, 32),
        (NIGHTS, 32, None),
        (NIGHTS, 4 * 24 + 20, 5 * 24 + 8),
        (NIGHTS, 6 * 24 + 20, None),
        (WEEKEND, 5 * 24, 7 * 24),
        (WEEKEND, 4 * 24 + 23, None),
        (FreezeDates(MONDAY_S, MONDAY_S + HOUR_S), 0, 1),
        (FreezeDates(MONDAY_S, MONDAY_S + HOUR_S), 1, None),
    ],
)
def test_a_freeze_ends_when_it_says(freeze: Freeze, at_h: float, ends_h: float | None) -> None:
    ends_s = None if ends_h is None else MONDAY_S + ends_h * HOUR_S
    assert freeze.ends_s(MONDAY_S + at_h * HOUR_S) == ends_s


def test_a_freeze_of_every_day_ends_within_the_fortnight_that_is_looked_at() -> None:
    ends_s = FreezeWeekly(frozenset(range(7))).ends_s(MONDAY_S)
    assert ends_s is not None and ends_s >= MONDAY_S + 7 * 24 * HOUR_S


def decoded(*items: object) -> tuple[Freeze, ...]:
    return freezes(Section("spec.remediation", {"freeze": list(items)}))


def test_a_freeze_is_read_as_it_is_written() -> None:
    assert decoded(
        {"days": ["Fri", "Sat"], "from": "18:00", "until": "08:00", "reason": "weekend"},
        {"from": "2026-09-21T00:00:00Z", "until": "2026-09-21T02:00:00+01:00"},
    ) == (FreezeWeekly(frozenset({4, 5}), 1080, 480, "weekend"), FreezeDates(MONDAY_S, MONDAY_S + HOUR_S))


@pytest.mark.parametrize(
    "item",
    [
        "Fri",
        {"days": ["Friday"]},
        {"days": []},
        {"days": ["Fri"], "from": "25:00"},
        {"from": "2026-09-21T00:00:00Z"},
        {"from": "2026-09-21T00:00:00Z", "until": "2026-09-20T00:00:00Z"},
        {"from": "today", "until": "tomorrow"},
    ],
)
def test_what_is_no_freeze_is_refused_by_its_field(item: object) -> None:
    with pytest.raises(Stall) as raised:
        decoded(item)
    assert raised.value.reason == "InvalidSpec"
    assert "spec.remediation.freeze[0]" in raised.value.message

"""What a status says where no tick was made of it, and for how long."""

from dataclasses import replace

import pytest

from mfu_operator.api.salvage import Salvaged
from mfu_operator.errors import Stall
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.linking import linked
from mfu_operator.reconcile.unticked import Unticked, broken, hopeless, salvaged, still_set_aside
from tests.support import worlds
from tests.support.worlds import SETTLED

NOW_S = 1000.0
BOOKS = "https://runbooks.example/"
ERROR = Stall("SpecInvalid", "spec.detection.sustain is not a duration")
HERE = worlds.IDENTITY.generation
OLD_ASIDE = Condition("StatusUnreadable", "True", "StatusUnreadable", "older", HERE, 10.0)
READY = Condition("Ready", "True", "Measuring", "fine", HERE, 10.0)
STALLED = Condition("Stalled", "True", "SpecInvalid", "told", HERE, 10.0)


def test_a_condition_says_where_its_reason_is_explained_unless_it_is_that_all_is_well() -> None:
    unready, slow = replace(READY, status="False"), replace(READY, type="Regressed")
    assert linked(READY, BOOKS) == READY
    for condition in (unready, slow):
        assert linked(condition, None).message == "fine (kubectl mfu runbook Measuring)"
        assert linked(condition, "").message == "fine (kubectl mfu runbook Measuring)"
        for books in (BOOKS, BOOKS.rstrip("/")):
            told = "fine (https://runbooks.example/reasons.md#measuring)"
            assert linked(condition, books) == replace(condition, message=told)


def test_a_status_that_could_be_read_is_as_it_was() -> None:
    assert salvaged(worlds.IDENTITY, Salvaged(SETTLED, {}), NOW_S) == Unticked(SETTLED)


def test_what_could_not_be_read_is_told_in_place_of_what_was_before() -> None:
    before = replace(SETTLED, conditions=(OLD_ASIDE, READY))
    found = salvaged(worlds.IDENTITY, Salvaged(before, {}, ("incident", "history")), NOW_S, BOOKS)
    message = "set aside, to be obtained again: incident; history"
    now = Condition(
        "StatusUnreadable", "True", "StatusUnreadable",
        f"{message} (https://runbooks.example/reasons.md#statusunreadable)", HERE, NOW_S,
    )  # fmt: skip
    assert found.status == replace(SETTLED, conditions=(READY, now))
    assert found.events == (Event("Warning", "StatusUnreadable", message),)


@pytest.mark.parametrize(("after_s", "told"), [(-1.0, False), (0.0, True), (86399.0, True), (86400.0, False)])
def test_what_was_set_aside_is_told_for_a_day(after_s: float, told: bool) -> None:
    status = Status(conditions=(READY, OLD_ASIDE))
    assert still_set_aside(status, 10.0 + after_s) == (OLD_ASIDE if told else None)
    assert still_set_aside(Status(conditions=(READY,)), 10.0 + after_s) is None


def test_a_spec_that_cannot_work_is_told_by_two_conditions_and_an_event() -> None:
    found = hopeless(worlds.IDENTITY, replace(SETTLED, conditions=(READY, OLD_ASIDE)), ERROR, NOW_S, BOOKS)
    told = f"{ERROR.message} (https://runbooks.example/reasons.md#specinvalid)"
    assert found.status == replace(
        SETTLED,
        observed_generation=HERE,
        conditions=(
            Condition("Ready", "False", "SpecInvalid", told, HERE, NOW_S),
            Condition("Stalled", "True", "SpecInvalid", told, HERE, NOW_S),
        ),
    )
    assert found.events == (Event("Warning", "SpecInvalid", ERROR.message),)


@pytest.mark.parametrize(
    ("conditions", "generation", "again"),
    [((READY, STALLED), HERE, False), ((STALLED,), HERE + 1, True), ((READY,), HERE, True), ((), HERE, True)],
)
def test_a_spec_that_cannot_work_is_told_once_for_its_generation(
    conditions: tuple[Condition, ...], generation: int, again: bool
) -> None:
    before = replace(SETTLED, conditions=conditions)
    found = hopeless(replace(worlds.IDENTITY, generation=generation), before, ERROR, NOW_S)
    assert (found.events != ()) is again
    assert (found.status != before) is again
    assert found.status.observed_generation == generation


FAULT = (
    "a fault of the operator (KeyError) ended the tick; it is tried again with a growing pause; its log has the "
    "traceback, please report it"
)


def test_a_fault_is_told_by_its_type_and_by_nothing_that_it_says() -> None:
    before = replace(SETTLED, conditions=(STALLED, READY, OLD_ASIDE))
    found = broken(worlds.IDENTITY, before, KeyError("a secret"), NOW_S)
    told = f"{FAULT} (kubectl mfu runbook TickFailed)"
    ready = Condition("Ready", "False", "TickFailed", told, HERE, NOW_S)
    assert found.status == replace(SETTLED, conditions=(ready, STALLED, OLD_ASIDE))
    assert found.events == (Event("Warning", "TickFailed", FAULT),)


@pytest.mark.parametrize(
    ("ready", "since_s", "told"),
    [
        ((), NOW_S, True),
        ((READY,), NOW_S, True),
        ((replace(READY, status="Unknown"),), NOW_S, True),
        ((replace(READY, status="False", reason="Stale"),), 10.0, True),
        ((replace(READY, status="False", reason="TickFailed"),), 10.0, False),
    ],
    ids=["nothing said before", "it was ready", "it was not known", "it was not ready", "it failed before"],
)
def test_a_fault_is_told_once_and_is_as_old_as_that_it_is_not_ready(
    ready: tuple[Condition, ...], since_s: float, told: bool
) -> None:
    found = broken(worlds.IDENTITY, replace(SETTLED, conditions=ready), ValueError(), NOW_S, BOOKS)
    (now,) = found.status.conditions
    assert now.last_transition_time == since_s
    assert now.message.endswith("(https://runbooks.example/reasons.md#tickfailed)")
    assert (found.events != ()) is told

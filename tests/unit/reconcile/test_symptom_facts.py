"""What is wrong apart from the speed: written while it tells more, and told when it comes and goes."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.vitals import Ailment, Symptom
from mfu_operator.reconcile.symptoms import conditions, refreshed

NOW_S = 1000.0
LEAK = Symptom(Ailment.MEMORY_LEAK, "full soon", 900.0, 0.8, "gpt-x", NOW_S + 4000)
HUNG = Symptom(Ailment.HUNG, "stands still", 900.0, 700.0, "gpt-x")


def test_what_comes_is_told_and_what_goes() -> None:
    assert refreshed((), (LEAK, HUNG), NOW_S) == (
        (LEAK, HUNG), (Event("Warning", "MemoryLeak", "full soon"), Event("Warning", "Hung", "stands still")),
    )  # fmt: skip
    gone = Event("Normal", "SymptomGone", "MemoryLeak: it is not seen any more")
    assert refreshed((LEAK, HUNG), (HUNG,), NOW_S) == ((HUNG,), (gone,))
    assert refreshed((LEAK,), (HUNG,), NOW_S)[1] == (Event("Warning", "Hung", "stands still"), gone)
    assert refreshed((), (), NOW_S) == ((), ())


MOVES: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"message": "full very soon"}, False),
    ({"measured": 0.815}, False),
    ({"measured": 0.825}, True),
    ({"measured": 0.775}, True),
    ({"full_at": NOW_S + 5000}, False),
    ({"full_at": NOW_S + 5001}, True),
    ({"full_at": NOW_S + 3000}, False),
    ({"full_at": NOW_S + 2999}, True),
    ({"full_at": None}, True),
]


@pytest.mark.parametrize(("changes", "written"), MOVES, ids=str)
def test_memory_is_written_anew_once_it_rose_or_the_time_left_is_another(
    changes: dict[str, Any], written: bool
) -> None:
    now = replace(LEAK, since_at=950.0, **changes)
    ((kept,), events) = refreshed((LEAK,), (now,), NOW_S)
    assert events == ()
    assert kept == (replace(now, since_at=LEAK.since_at) if written else LEAK)


def test_memory_that_is_full_within_a_minute_is_written_by_quarters_of_a_minute() -> None:
    full = replace(LEAK, full_at=NOW_S + 10)
    for later_s, written in ((14.0, False), (16.0, True)):
        now = replace(full, full_at=NOW_S + 10 + later_s)
        assert refreshed((full,), (now,), NOW_S)[0] == ((now if written else full),)


def test_what_has_no_time_left_is_written_once() -> None:
    longer = replace(HUNG, measured=9000.0, message="stands still for hours")
    assert refreshed((HUNG,), (longer,), NOW_S)[0] == (HUNG,)
    timed = replace(longer, full_at=NOW_S + 60)
    assert refreshed((HUNG,), (timed,), NOW_S)[0] == (timed,)


def test_symptoms_of_one_type_are_one_condition_of_the_most_urgent() -> None:
    host = replace(LEAK, reason=Ailment.HOST_MEMORY_LEAK, message="the host is full")
    nan, skips = replace(HUNG, reason=Ailment.LOSS_NOT_FINITE), replace(HUNG, reason=Ailment.STEPS_SKIPPED)
    assert conditions((LEAK, HUNG, host)) == (
        Condition("MemoryCreeping", "True", "MemoryLeak", "full soon; the host is full"),
        Condition("Hung", "True", "Hung", "stands still"),
    )
    assert [(each.type, each.reason) for each in conditions((nan, skips))] == [("NotLearning", "LossNotFinite")]
    fragments = replace(LEAK, reason=Ailment.MEMORY_FRAGMENTATION)
    assert [each.type for each in conditions((fragments,))] == ["MemoryCreeping"]
    assert conditions(()) == ()

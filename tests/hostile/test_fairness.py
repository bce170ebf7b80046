"""Baselines of a hostile namespace delay no other namespace by more than one sweep."""

from typing import Any

import pytest

from mfu_operator.errors import Stall
from mfu_operator.process import fleet as module
from mfu_operator.process.fleet import Fleet, Member, News
from mfu_operator.process.reconciler import TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE
from tests.support.stored_object import stored_object

HOSTILE = 2000


def put(fleet: Fleet, namespace: str, count: int, due_s: float) -> list[Member]:
    """So many baselines of a namespace, all due since then."""
    members = []
    for number in range(count):
        body: dict[str, Any] = stored_object()
        body["metadata"] |= {"namespace": namespace, "name": f"gpt-{number}", "uid": f"{namespace}/{number}"}
        member, _ = fleet.saw(body, due_s)
        members.append(member)
    return members


def namespaces(members: list[Member]) -> list[str]:
    return [each.identity.namespace for each in members]


def test_however_many_of_a_namespace_are_due_each_others_next_is_among_those_that_begin() -> None:
    fleet = Fleet()
    put(fleet, "hostile", HOSTILE, 0.0)
    for number in range(4):
        put(fleet, f"team-{number}", 3, 50.0)
    begun = namespaces(fleet.begin(60.0, TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE))
    assert [begun.count(f"team-{number}") for number in range(4)] == [3, 3, 3, 3]
    assert begun.count("hostile") == TICKS_AT_ONCE - 12


def test_ticks_that_never_end_leave_places_to_others() -> None:
    fleet = Fleet()
    put(fleet, "hostile", HOSTILE, 0.0)
    for _ in range(20):
        hanging = fleet.begin(60.0, TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE)
        assert set(namespaces(hanging)) <= {"hostile"}
    assert sum(each.ticking for each in fleet.members()) == TICKS_OF_A_NAMESPACE < TICKS_AT_ONCE
    put(fleet, "team-a", 2, 61.0)
    assert namespaces(fleet.begin(61.0, TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE)) == ["team-a", "team-a"]


def test_of_thirty_namespaces_whose_baselines_are_always_due_another_is_ticked_in_the_second_round() -> None:
    fleet = Fleet()
    for number in range(30):
        put(fleet, f"hostile-{number}", 20, 0.0)
    for now_s in (1.0, 2.0):
        for each in fleet.begin(now_s, TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE):
            fleet.end(each, now_s)
    put(fleet, "team-a", 1, 3.0)
    begun = list[str]()
    for now_s in (3.0, 3.25, 3.5):
        round_of = fleet.begin(now_s, TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE)
        begun.append("team-a" if "team-a" in namespaces(round_of) else "")
        for each in round_of:
            fleet.end(each, now_s)
    assert "team-a" in begun[:2]


def test_a_namespace_that_is_ticked_less_comes_first() -> None:
    fleet = Fleet()
    put(fleet, "hostile", 4, 0.0)
    fleet.begin(1.0, 2, TICKS_OF_A_NAMESPACE)
    put(fleet, "team-a", 2, 5.0)
    assert namespaces(fleet.begin(6.0, 2, TICKS_OF_A_NAMESPACE)) == ["team-a", "team-a"]


def test_within_a_namespace_the_longest_due_comes_first() -> None:
    fleet = Fleet()
    late = put(fleet, "team-a", 1, 9.0)
    early = put(fleet, "team-b", 1, 3.0)
    assert fleet.begin(10.0, 1, TICKS_OF_A_NAMESPACE) == early
    assert fleet.begin(10.0, 1, TICKS_OF_A_NAMESPACE) == late


def test_a_namespace_has_room_for_so_many_baselines_and_the_next_comes_when_one_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_OF_A_NAMESPACE", 3)
    fleet = Fleet()
    members = put(fleet, "hostile", 4, 0.0)
    assert [isinstance(each.spec, Stall) for each in members] == [False, False, False, True]
    assert isinstance(members[3].spec, Stall) and members[3].spec.reason == "TooManyBaselines"
    assert not any(isinstance(each.spec, Stall) for each in put(fleet, "team-a", 3, 0.0))
    fleet.begin(1.0, 100, 100)
    fleet.end(members[3], 600.0)
    fleet.gone(members[0].identity.uid)
    assert members[3].due_s < 1.0 and members[3].confirmed_s < 0.0
    body = stored_object()
    body["metadata"] |= {"namespace": "hostile", "name": "gpt-3", "uid": "hostile/3"}
    assert fleet.read(members[3], members[3].seen, body, 2.0) is News.SPEC
    assert not isinstance(members[3].spec, Stall)

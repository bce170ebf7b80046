"""What a host takes at once, of whom, and who is next."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

import pytest

from mfu_operator.cycle.bulkheads import MOST_AT_ONCE, OF_A_HOST, OF_A_KIND, WAITS_S, Dependency, HostSlots, TickSlots
from mfu_operator.errors import Wait

GIT, FORGE = Dependency.GIT, Dependency.FORGE


class Hosts:
    """Slots with a clock, and the requests that are under way."""

    all: ClassVar[list["Hosts"]] = []

    def __init__(self) -> None:
        self.all.append(self)
        self.now_s = 0.0
        self.slots = HostSlots(lambda: self.now_s)
        self.under_way: list[ExitStack] = []

    def begin(self, namespace: str, host: str = "git.example", dependency: Dependency = GIT) -> str:
        """Begin a request; "" where it may, or why not."""
        stack = ExitStack()
        try:
            stack.enter_context(self.slots.of(dependency, host, namespace))
        except Wait as wait:
            assert wait.reason == "HostBusy"
            return wait.message.partition("concurrent ")[2].partition(" is reached")[0]
        self.under_way.append(stack)
        return ""

    def count(self, *namespaces: str, host: str = "git.example", dependency: Dependency = GIT) -> int:
        """How many requests of these may begin, one after the other."""
        return sum(self.begin(each, host, dependency) == "" for each in namespaces)

    def end(self, number: int = 0) -> None:
        self.under_way.pop(number).close()


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Requests end before the garbage collector finds them: while it runs, Python 3.11 crashes where a context variable
    is set back in the middle of being set."""
    yield
    for hosts in Hosts.all:
        while hosts.under_way:
            hosts.end()
    Hosts.all.clear()


def test_a_namespace_has_four_requests_of_a_kind_to_git_and_says_whose_they_are() -> None:
    hosts = Hosts()
    assert hosts.count(*["a"] * 4) == 4
    assert hosts.begin("a") == "git requests of this namespace"
    assert hosts.begin("a", "other.example") == "git requests of this namespace"
    assert hosts.begin("a", dependency=FORGE) == ""
    hosts.end()
    assert hosts.begin("a") == ""


def test_a_host_takes_so_many_whoever_asks() -> None:
    hosts = Hosts()
    names = [f"team-{number}" for number in range(30)]
    assert hosts.count(*names, dependency=FORGE) == OF_A_HOST.of_all + (OF_A_HOST.of_firsts or 0)
    assert hosts.begin("another", dependency=FORGE) == "forge requests to git.example"
    assert hosts.begin("another", "other.example", FORGE) == ""


def test_all_hosts_together_take_so_many_of_a_kind() -> None:
    hosts = Hosts()
    most = OF_A_KIND[GIT].of_all + (OF_A_KIND[GIT].of_firsts or 0)
    assert sum(hosts.begin(f"team-{number}", f"host-{number}") == "" for number in range(30)) == most
    assert hosts.begin("another", "new.example") == "git requests"
    assert most + OF_A_KIND[FORGE].of_all + (OF_A_KIND[FORGE].of_firsts or 0) == MOST_AT_ONCE


def test_what_ended_leaves_its_place_whether_it_failed_or_not() -> None:
    hosts = Hosts()
    for _ in range(20):
        with pytest.raises(ValueError, match="broken"), hosts.slots.of(GIT, "git.example", "a"):
            raise ValueError("broken")
    assert hosts.count(*["a"] * 5) == 4
    while hosts.under_way:
        hosts.end()
    assert (hosts.slots._hosts, hosts.slots._kinds[GIT]) == ({}, {}), "nothing is kept of a host that rests"


def full() -> Hosts:
    """Slots of which none is left for anybody."""
    hosts = Hosts()
    for number in range(12):
        assert hosts.begin(f"team-{number}", f"host-{number}") == ""
    return hosts


def test_who_was_refused_is_served_before_who_was_served_since() -> None:
    hosts = full()
    assert hosts.begin("late", "late.example") != ""
    hosts.end()
    assert hosts.begin("team-0", "host-0") == "git requests", "the place is kept for the one that waits"
    assert hosts.begin("late", "late.example") == ""


def test_a_place_is_kept_for_a_minute() -> None:
    for waited_s, served in ((WAITS_S - 1, False), (WAITS_S, True)):
        hosts = full()
        hosts.begin("late", "late.example")
        hosts.end()
        hosts.now_s = waited_s
        assert (hosts.begin("team-0", "host-0") == "") is served


def test_nobody_waits_for_one_that_was_served_later_or_has_a_place() -> None:
    hosts = full()
    hosts.begin("late", "late.example")
    hosts.end()
    assert hosts.begin("never", "never.example") == "", "who was never served is not behind another"
    hosts = full()
    hosts.now_s = 1.0
    hosts.begin("team-3", "other.example")
    hosts.end()
    assert hosts.begin("team-0", "host-0") == "", "team-3 has a place"


def test_who_waits_for_its_own_requests_or_for_its_host_keeps_no_place() -> None:
    hosts = Hosts()
    hosts.count(*["a"] * 5)
    assert hosts.slots._queues[GIT]._refused_s == {}
    hosts = Hosts()
    names = [f"team-{number}" for number in range(13)]
    hosts.count(*names, dependency=FORGE)
    assert hosts.begin("late", dependency=FORGE) == "forge requests to git.example"
    assert hosts.slots._queues[FORGE]._refused_s == {}


def test_who_was_served_a_day_ago_is_as_one_that_was_never_served() -> None:
    for later_s, first in ((86_399.0, False), (86_400.0, True)):
        hosts = full()
        hosts.end()
        hosts.now_s = later_s
        assert hosts.begin("team-x", "host-x") == ""
        assert hosts.begin("late", "late.example") != ""
        hosts.end(0)
        assert (hosts.begin("team-0", "host-0") == "") is first


@contextmanager
def taken(slots: TickSlots, count: int) -> Iterator[None]:
    for _ in range(count):
        assert slots.take(0.0)
    yield
    for _ in range(count):
        slots.give_back()


def test_as_many_ticks_run_as_there_are_slots() -> None:
    slots = TickSlots(2)
    with taken(slots, 2):
        assert not slots.take(0.0)
    assert slots.take(0.0)


def test_a_slot_that_is_lent_serves_another_and_is_taken_again() -> None:
    slots = TickSlots(1)
    with taken(slots, 1):
        with slots.lent(), taken(slots, 1):
            assert not slots.take(0.0)
        assert not slots.take(0.0)
        with pytest.raises(ValueError, match="broken"), slots.lent():
            raise ValueError("broken")
        assert not slots.take(0.0)

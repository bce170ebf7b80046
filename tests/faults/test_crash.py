"""The operator may die at every effect, and lose the answer to it: nothing is done twice and nothing is left out."""

from functools import cache

import pytest

from tests.faults.effects import METHODS, READS, WRITES, Fault, Moment
from tests.faults.story import Story
from tests.faults.table import Row

RENEWALS = 9
"""Of a Lease that is renewed at every beat, every so many-th renewal is struck: some in each part of the story."""


@cache
def calm(replicas: int) -> tuple[dict[str, object], dict[str, int]]:
    """What a story without a fault leaves, and how often it does each effect."""
    fault = Fault()
    story = Story(replicas, fault).tell()
    story.tell_steps(Story.AGAIN)
    counts = dict(fault.counts)
    story.rest()
    return story.left(), counts


def occurrences(method: str, replicas: int) -> range:
    """Those that are struck, counted from 1."""
    count = calm(replicas)[1].get(method, 0)
    return range(1, count + 1, RENEWALS * replicas if method == "Lease.hold" else 1)


def ends(method: str, moment: Moment, replicas: int, struck: range) -> dict[int, dict[str, object]]:
    """What each story leaves, by the occurrence of the effect that the fault came to."""
    found = {}
    for occurrence in struck:
        fault = Fault(method, occurrence, moment)
        story = Story(replicas, fault).tell()
        story.tell_steps(Story.AGAIN)
        story.rest()
        found[occurrence] = story.left()
        assert fault.struck, f"{method} was never called a {occurrence}. time"
    return found


def broken(method: str, moment: Moment, replicas: int, struck: range) -> dict[int, dict[str, object]]:
    """The occurrences after whose fault the end is another one, with what is different."""
    expected, _ = calm(replicas)
    found = {
        occurrence: {fact: left[fact] for fact in expected if left[fact] != expected[fact]}
        for occurrence, left in ends(method, moment, replicas, struck).items()
    }
    return {occurrence: differing for occurrence, differing in found.items() if differing}


def test_every_method_of_every_port_is_known_as_a_read_or_as_an_effect() -> None:
    assert not WRITES & READS
    assert METHODS == WRITES | READS


def test_the_story_does_every_effect() -> None:
    assert calm(1)[1].keys() == WRITES


def test_a_second_replica_changes_nothing() -> None:
    assert calm(2)[0] == calm(1)[0]


MOMENTS = list(Moment)


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@pytest.mark.parametrize("method", sorted(WRITES))
def test_a_fault_at_an_effect_changes_nothing_of_the_end(method: str, moment: Moment, row: Row) -> None:
    """Of three occurrences of an effect each moment strikes another one."""
    every = occurrences(method, 1)
    struck = every[MOMENTS.index(moment) :: len(MOMENTS)] or every
    row.note(stories=len(struck))
    assert broken(method, moment, 1, struck) == {}


@pytest.mark.faults
@pytest.mark.parametrize("replicas", [1, 2], ids=["one replica", "two replicas"])
@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@pytest.mark.parametrize("method", sorted(WRITES))
def test_a_fault_at_any_effect_changes_nothing_of_the_end(method: str, moment: Moment, replicas: int, row: Row) -> None:
    struck = occurrences(method, replicas)
    found = broken(method, moment, replicas, struck)
    row.note(stories=len(struck), broken=len(found))
    assert found == {}

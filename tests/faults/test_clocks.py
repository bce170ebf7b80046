"""No clock is trusted: it is set, two replicas have different ones, or the process sleeps inside an effect."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.faults.effects import WRITES, Fault
from tests.faults.story import Story
from tests.faults.table import Row

HOUR_S = 3600.0
STOPPED_S = 60.0
"""Four times as long as the Lease."""

RENEWALS = 19
"""Of a Lease that two replicas renew at every beat, every so many-th renewal is struck: some in each part of the
story."""


OF_THE_SECOND_LOSS = {"Forge.withdraw", "Repository.remove_branch"}
"""Effects that the story of one loss does not do."""


@cache
def calm(replicas: int, more: tuple[str, ...] = ()) -> tuple[dict[str, object], dict[str, int]]:
    fault = Fault()
    story = Story(replicas, fault).tell()
    story.tell_steps(more)
    counts = dict(fault.counts)
    story.rest()
    return story.left(), counts


def differences(story: Story, replicas: int, more: tuple[str, ...] = ()) -> dict[str, object]:
    story.rest()
    expected, left = calm(replicas, more)[0], story.left()
    return {fact: left[fact] for fact in expected if left[fact] != expected[fact]}


@pytest.mark.parametrize("set_by_s", [-HOUR_S, HOUR_S], ids=["an hour back", "an hour on"])
@pytest.mark.parametrize("before", range(len(Story.STEPS)))
def test_a_clock_that_is_set_changes_nothing_of_the_end(before: int, set_by_s: float, row: Row) -> None:
    def between(story: Story, told: int) -> None:
        if told == before:
            story.set_clocks(set_by_s)

    story = Story(1).tell(between)
    story.catch_up(HOUR_S)
    found = differences(story, 1)
    row.note(stories=1, broken=len(found) > 0)
    assert found == {}


@pytest.mark.parametrize("skew_s", [-30.0, 30.0])
def test_replicas_whose_clocks_differ_never_both_act_and_take_nothing_from_a_live_leader(
    skew_s: float, row: Row
) -> None:
    story = Story(2)
    story.replicas[1].clocks.wall_s += skew_s
    leaders: list[str] = []
    both: list[str] = []

    def observe() -> None:
        acting = [each.name for each in story.replicas if each.leader.acting]
        both.extend(acting if len(acting) > 1 else [])
        if acting and acting != leaders[-1:]:
            leaders.extend(acting)

    story.observe = observe
    story.tell()
    found = differences(story, 2)
    row.note(stories=1, broken=len(found) > 0)
    assert both == []
    assert len(leaders) <= 1 + 2 * story.STEPS.count("roll")
    assert found == {}


@pytest.mark.parametrize("ahead_s", [-HOUR_S, HOUR_S])
def test_after_a_dead_leader_whose_clock_was_wrong_another_acts_within_a_minute(ahead_s: float) -> None:
    story = Story(2)
    story.replicas[0].clocks.wall_s += ahead_s
    story.run(60.0)
    assert story.replicas[0].leader.acting
    story.frozen = story.replicas[0]
    story.run(60.0)
    assert story.replicas[1].leader.acting


class Stop:
    """A hook that stops the process for a minute at one occurrence of one effect, before or after it is done."""

    def __init__(self, method: str, occurrence: int, *, after: bool) -> None:
        self._method, self._occurrence, self._after, self._seen = method, occurrence, after, 0
        self.story: Story | None = None
        self.struck = False

    def __call__(self, method: str, call: Callable[[], Any]) -> Any:
        if method != self._method:
            return call()
        self._seen += 1
        if self._seen != self._occurrence:
            return call()
        self.struck = True
        assert self.story is not None
        if self._after:
            answer = call()
            self.story.freeze(STOPPED_S)
            return answer
        self.story.freeze(STOPPED_S)
        return call()


@pytest.mark.parametrize(
    "after", [pytest.param(False, id="before it"), pytest.param(True, id="after it", marks=pytest.mark.faults)]
)
@pytest.mark.parametrize("method", sorted(WRITES))
def test_a_process_that_is_stopped_inside_an_effect_while_another_takes_over_changes_nothing_of_the_end(
    method: str, after: bool, row: Row
) -> None:
    broken = {}
    more = Story.AGAIN if method in OF_THE_SECOND_LOSS else ()
    occurrences = range(1, calm(2, more)[1][method] + 1, RENEWALS if method == "Lease.hold" else 1)
    for occurrence in occurrences:
        stop = Stop(method, occurrence, after=after)
        stop.story = Story(2, stop)
        stop.story.tell().tell_steps(more)
        found = differences(stop.story, 2, more)
        assert stop.struck
        if found:
            broken[occurrence] = found
    row.note(stories=len(occurrences), broken=len(broken))
    assert broken == {}

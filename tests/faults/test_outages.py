"""A dependency that fails for minutes, and a watch that is silent: the story goes on when it is back."""

from collections.abc import Callable
from functools import cache

import pytest

from mfu_operator.errors import MfuError, Retry
from tests.faults.story import Story
from tests.faults.table import Row
from tests.support.adapters_double import INTERVAL_S

OUTAGE_S = 120.0
SILENT_S = 600.0
HEARD_S = 60.0

Fails = Callable[[Story, MfuError | None], None]


def _cluster(story: Story, error: MfuError | None) -> None:
    story.stage.cluster.fails = error


def _repository(story: Story, error: MfuError | None) -> None:
    story.stage.repository.fails = error


def _forge(story: Story, error: MfuError | None) -> None:
    story.stage.forge.fails = error


def _delivery(story: Story, error: MfuError | None) -> None:
    story.stage.delivery.fails = error


def _metrics(story: Story, error: MfuError | None) -> None:
    story.stage.sweep.problem, story.stage.sweep.fills = error, error is None


DEPENDENCIES: dict[str, Fails] = {
    "API server": _cluster,
    "Git host": _repository,
    "forge": _forge,
    "GitOps tool": _delivery,
    "metrics": _metrics,
}
STEPS = [step for step in Story.STEPS if step not in ("roll", "rest")]


@cache
def calm() -> dict[str, object]:
    return Story(1).tell().left()


@pytest.mark.parametrize("dependency", DEPENDENCIES)
def test_two_minutes_without_a_dependency_change_nothing_of_the_end(dependency: str, row: Row) -> None:
    """Events of the failure itself are told besides."""
    broken = {}
    for step in STEPS:

        def between(story: Story, told: int, step: str = step) -> None:
            failing = Story.STEPS[told] == step
            story.outage = OUTAGE_S if failing else 0.0
            story.fails = DEPENDENCIES[dependency]

        left = Story(1).tell(between).left()
        found = {fact: left[fact] for fact in calm() if fact != "events" and left[fact] != calm()[fact]}
        if found:
            broken[step] = found
    row.note(stories=len(STEPS), broken=len(broken))
    assert broken == {}


def test_edits_made_while_the_watch_was_silent_for_ten_minutes_are_heard_within_a_minute_of_its_return(
    row: Row,
) -> None:
    story = Story(1)
    story.settle()
    story.deaf = True
    story.run(SILENT_S / 2)
    story.stage.cluster.edit(*story.place, spec={**story.stored["spec"], "suspend": True})
    story.run(SILENT_S / 2)
    story.deaf = False
    waited_s = 0.0
    while story.stored["status"]["observedGeneration"] != 2 and waited_s <= HEARD_S:
        story.beat()
        waited_s += INTERVAL_S
    row.note(stories=1, heard_s=waited_s)
    assert waited_s <= HEARD_S
    assert any(each.reason == "Suspended" for each in story.status.conditions)


def test_an_edit_while_the_watch_is_silent_is_heard_with_the_next_write() -> None:
    story = Story(1)
    story.settle()
    story.deaf = True
    story.stage.cluster.edit(*story.place, spec={**story.stored["spec"], "suspend": True})
    story.slow_down()
    assert story.stored["status"]["observedGeneration"] == 2
    assert story.status.incident is None


def test_a_failure_that_is_told_is_one_of_the_dependency() -> None:
    story = Story(1)
    story.settle()
    story.slow_down()
    story.explain()
    story.stage.forge.fails = Retry("ForgeUnreachable", "503")
    story.confirm()
    assert "ForgeUnreachable" in {event.reason for _, event in story.stage.cluster.events}

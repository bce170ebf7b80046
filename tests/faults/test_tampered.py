"""A status that others touch, at every stage of an incident: no wrong blame, no second Job, branch or pull request, and
no baseline that is dead for good."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from mfu_operator.errors import MfuError
from mfu_operator.model.incident import Incident
from tests.faults.story import CULPRIT, Story
from tests.faults.table import Row

Status = dict[str, Any]
Tamper = Callable[[Story, Status], Status]


def wiped(story: Story, status: Status) -> Status:
    return {}


def an_hour_old(story: Story, status: Status) -> Status:
    """As a backup brings it back: from two steps ago, the first one from before anything."""
    return deepcopy(story.kept[max(0, len(story.kept) - 3)])


def without(*path: str) -> Tamper:
    """One field is stripped."""

    def strip(story: Story, status: Status) -> Status:
        place: Any = status
        for key in path[:-1]:
            place = place.get(key) if isinstance(place, Mapping) else None
        if isinstance(place, dict):
            place.pop(path[-1], None)
        return status

    return strip


def by_hand(path: tuple[str, ...], value: Any) -> Tamper:
    """A person writes a value, where there is something to write it to."""

    def edit(story: Story, status: Status) -> Status:
        place: Any = status
        for key in path[:-1]:
            place = place.get(key) if isinstance(place, Mapping) else None
        if isinstance(place, dict) and path[-1] in place:
            place[path[-1]] = value
        return status

    return edit


TAMPERS: dict[str, Tamper] = {
    "wiped": wiped,
    "restored": an_hour_old,
    "without its incident": without("incident"),
    "without its history": without("history"),
    "without its conditions": without("conditions"),
    "without its judgement": without("judgement"),
    "without its baseline": without("baseline"),
    "without its healthy profile": without("healthyProfile"),
    "without the last good revision": without("knownGood"),
    "without the incident's id": without("incident", "id"),
    "without the incident's onset": without("incident", "onsetAt"),
    "without the incident's profile": without("incident", "profile"),
    "without the incident's diagnosis": without("incident", "diagnosis"),
    "without the incident's suspect": without("incident", "suspect"),
    "without the incident's proposal": without("incident", "proposal"),
    "with an unknown verdict": by_hand(("judgement", "verdict"), "Banana"),
    "with another id": by_hand(("incident", "id"), "gpt-small-by-hand"),
    "with another pull request": by_hand(("incident", "proposal", "number"), 99),
    "with another Job": by_hand(("incident", "profile", "job"), "mfu-by-hand-a1"),
    "with a text for a number": by_hand(("incident", "drop"), "much"),
}
STAGES = range(1, len(Story.STEPS))


def blamed(story: Story) -> set[str]:
    status = story.status
    incidents: list[Incident | None] = [status.incident, *status.history]
    return {each.suspect.sha for each in incidents if each is not None and each.suspect is not None}


def harm(story: Story) -> dict[str, object]:
    """What must never come of it. One healthy profile may be recorded anew: what the first one recorded is gone."""
    cluster, stage = story.stage.cluster, story.stage
    subjects = Counter(str(job.subject) for job in cluster.jobs.values())
    culprit = next(commit.sha for commit in stage.repository.line if commit.subject == CULPRIT)
    ready = next((each for each in story.status.conditions if each.type == "Ready"), None)
    judgement = story.status.judgement
    found: dict[str, object] = {
        "jobs": {subject for subject, count in subjects.items() if count > 1 + subject.endswith("-healthy")},
        "branches": sorted(stage.repository.branches) if len(stage.repository.branches) > 1 else (),
        "pulls": stage.forge.pulls if len(stage.forge.pulls) > 1 else (),
        "blamed": blamed(story) - {culprit},
        "open at the end": story.status.incident and story.status.incident.id,
        "dead": () if ready and ready.status == "True" and judgement else (ready and ready.reason, judgement),
    }
    return {name: what for name, what in found.items() if what}


PROFILED_NEXT, MERGED_NEXT = Story.STEPS.index("explain"), Story.STEPS.index("merge")


def cases() -> Iterator[ParameterSet]:
    """Every tamper before two of the steps, and in the long suite before each of the others."""
    for name, tamper in TAMPERS.items():
        yield pytest.param(tamper, (PROFILED_NEXT, MERGED_NEXT), id=name)
        others = tuple(stage for stage in STAGES if stage not in (PROFILED_NEXT, MERGED_NEXT))
        yield pytest.param(tamper, others, id=f"{name}, other steps", marks=pytest.mark.faults)


@pytest.mark.parametrize(("tamper", "stages"), list(cases()))
def test_a_status_that_somebody_touches_does_no_harm(tamper: Tamper, stages: tuple[int, ...], row: Row) -> None:
    broken: dict[str, object] = {}
    for stage in stages:

        def between(story: Story, told: int, stage: int = stage) -> None:
            story.keep()
            if told == stage:
                story.write_status(tamper(story, deepcopy(story.stored.get("status") or {})))

        story = Story(1)
        try:
            found = harm(story.tell(between))
        except MfuError as error:
            found = {"unreadable at the end": str(error)}
        if found:
            broken[f"before {Story.STEPS[stage]} ({stage})"] = found
    row.note(stories=len(stages), broken=len(broken))
    assert broken == {}

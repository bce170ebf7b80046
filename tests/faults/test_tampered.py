"""A status that others touch, at every stage of an incident: no wrong blame, no second Job, branch or pull request, and
no baseline that is dead for good."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
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


def of_wrong_kinds(story: Story, status: Status) -> Status:
    """Every section is something else."""
    return {key: {} if isinstance(value, list) else [] for key, value in status.items()}


def with_its_history_twice(story: Story, status: Status) -> Status:
    return {**status, "history": 2 * status.get("history", [])}


def with_its_last_incident_open(story: Story, status: Status) -> Status:
    """A person takes an incident out of the history and opens it again."""
    history: list[Any] = status.get("history", [])
    return status if not history or "incident" in status else {**status, "incident": history[-1]}


def an_hour_ahead(story: Story, status: Status) -> Status:
    """Every time in it, as a machine with another clock would have written it."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(each) for key, each in value.items()}
        if isinstance(value, list):
            return [moved(each) for each in value]
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value):
            return (datetime.fromisoformat(value) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return value

    return dict(moved(status))


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
    "with another Job": by_hand(("incident", "profile", "job"), "mfu-by-hand-a1"),
    "with a text for a number": by_hand(("incident", "drop"), "much"),
    "with other kinds of sections": of_wrong_kinds,
    "with its history twice": with_its_history_twice,
    "with its last incident open": with_its_last_incident_open,
    "an hour ahead": an_hour_ahead,
    "with another level": by_hand(("baseline", "level", "mfu"), 0.9),
    "with a generation that never was": by_hand(("observedGeneration",), 99),
    "without the Job's name": without("incident", "profile", "job"),
    "with another healthy Job": by_hand(("healthyProfile", "job"), "mfu-by-hand-a1"),
}
OF_PROPOSALS: dict[str, Tamper] = {
    "with another pull request": by_hand(("incident", "proposal", "number"), 99),
    "with a proposal that was rehearsed": by_hand(("incident", "proposal", "dryRun"), True),
    "with a proposal that was merged": by_hand(("incident", "proposal", "state"), "Merged"),
    "with the branch of others": by_hand(("incident", "proposal", "branch"), "main"),
    "without the pull request's number": without("incident", "proposal", "number"),
    "without the pull request's commit": without("incident", "proposal", "head"),
    "without the pull request's address": without("incident", "proposal", "url"),
}
"""What there is to touch once something is proposed."""

STAGES = range(1, len(Story.STEPS))


def blamed(story: Story) -> set[str]:
    status = story.status
    incidents: list[Incident | None] = [status.incident, *status.history]
    return {each.suspect.sha for each in incidents if each is not None and each.suspect is not None}


def harm(story: Story) -> dict[str, object]:
    """What must never come of it. A healthy profile may be recorded again, for what the first one recorded is gone, and
    be tried again where nothing ends its Job."""
    cluster, stage = story.stage.cluster, story.stage
    subjects = Counter(str(job.subject) for job in cluster.jobs.values())
    culprits = {commit.sha for commit in stage.repository.line if commit.subject == CULPRIT}
    pulls = Counter(pull.branch for pull in stage.forge.pulls)
    ready = next((each for each in story.status.conditions if each.type == "Ready"), None)
    judgement = story.status.judgement
    found: dict[str, object] = {
        "jobs": {subject for subject, count in subjects.items() if count > 1 + 2 * subject.endswith("-healthy")},
        "branches": set(stage.repository.branches) - pulls.keys(),
        "pulls": {branch for branch, count in pulls.items() if count > 1},
        "proposed": {each.revert_sha for each in stage.forge.proposals.values()} - culprits,
        "blamed": blamed(story) - culprits,
        "open at the end": story.status.incident and story.status.incident.id,
        "dead": () if ready and ready.status == "True" and judgement else (ready and ready.reason, judgement),
    }
    return {name: what for name, what in found.items() if what}


PROFILED_NEXT, MERGED_NEXT = Story.STEPS.index("explain"), Story.STEPS.index("merge")


def cases() -> Iterator[ParameterSet]:
    """Every tamper before one or two of the steps, and in the long suite before each of the others."""
    for tampers, quick in ((TAMPERS, (PROFILED_NEXT, MERGED_NEXT)), (OF_PROPOSALS, (MERGED_NEXT,))):
        for name, tamper in tampers.items():
            yield pytest.param(tamper, quick, id=name)
            others = tuple(stage for stage in STAGES if stage not in quick)
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

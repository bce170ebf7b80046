"""Steps of one incident, for the tests of what follows each."""

from typing import Any

import pytest

from mfu_operator.errors import MfuError
from mfu_operator.model.incident import ProfileFact, Status
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob, Record, Step
from mfu_operator.reconcile.world import World
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.worlds import ailing, explained, regressed, world

LAUNCHED = ProfileFact("mfu-gpt-small-3f2a91c0-1-a1", 1, worlds.NOW_S - 120)
FINISHED = ProfilingJob(
    LAUNCHED.job,
    JobPhase.SUCCEEDED,
    LAUNCHED.created_at,
    result=compact.encode(worlds.SLOW_STEP),
    owner=worlds.UID,
    subject=worlds.INCIDENT.id,
)
PROPOSED = explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)


def story_world(status: Status, changes: dict[str, Any]) -> World:
    """One tick's knowledge with this status: slow while an incident is open."""
    slow = {"judgement": regressed()} if status.incident else {}
    return world(status, **(slow | changes))


def name_of(step: Step | None) -> str | None:
    """What a step does, in a word or two: the first event of what is recorded, the Job, or the effect."""
    if isinstance(step, Record):
        return step.events[0].reason
    if isinstance(step, EnsureJob):
        return f"EnsureJob {step.subject}"
    return type(step).__name__ if step else None


def stands_in_the_way(changes: dict[str, Any], status: Status | None = None) -> MfuError:
    """The error with which the tick of an explained incident ends."""
    with pytest.raises(MfuError) as raised:
        decide(story_world(status or ailing(explained()), changes))
    return raised.value

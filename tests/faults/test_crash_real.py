"""SIGKILL at every effect, on a real API server and a real Gitea: no Job, branch, pull request, Event or fact is there
twice, and none is lost."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import preflight
from tests.cluster.gitea import Gitea
from tests.faults.control_plane import ONE_PROCESS, ControlPlane, control_plane
from tests.faults.effects import WRITES, Fault, Hook, Moment
from tests.faults.real_process import Process
from tests.faults.real_world import RealStage
from tests.faults.replica import Clocks
from tests.faults.story import Story
from tests.faults.table import Row
from tests.support.held_port import held_port

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600), ONE_PROCESS]

EVERY = {"Lease.hold": 90, "Cluster.post": 5, "Cluster.write_status": 4}
"""Of what is done often, every so many-th occurrence is struck, each moment others; the story in memory (`test_crash`)
strikes them all."""


LATE = ("Forge.withdraw", "Repository.remove_branch")
"""What the operator does after another loss only, which ends by itself: the other effects' stories end before it."""


class RealStory(Story):
    """A story whose replicas are processes."""

    stage: RealStage

    def _start(self, skew_s: float = 0.0) -> Any:
        self._born += 1
        return Process(f"operator-{self._born}", self.stage, self.hook, Clocks(self.now_s + skew_s))

    def end(self) -> None:
        """No process is left."""
        for replica in self.replicas:
            replica._end()  # type: ignore[attr-defined]


@dataclass
class World:
    """The servers, and what stories without a fault left there."""

    plane: ControlPlane
    gitea: Gitea
    calm: dict[tuple[int, bool], tuple[object, dict[str, int]]] = field(default_factory=dict)

    def tell(self, replicas: int, method: str, hook: Hook) -> object:
        """What a story that does `method` leaves, with what differs from story to story (uids, shas) named alike."""
        story = RealStory(replicas, hook, RealStage(self.plane, self.gitea))
        try:
            story.tell()
            story.tell_steps(Story.AGAIN if method in LATE else ["rest"])
            return alike(story)
        finally:
            story.end()

    def expected(self, replicas: int, method: str) -> tuple[Any, dict[str, int]]:
        """What a story without a fault leaves, and how often it does each effect."""
        kind = replicas, method in LATE
        if kind not in self.calm:
            fault = Fault()
            self.calm[kind] = (self.tell(replicas, method, fault), fault.counts)
        return self.calm[kind]


def occurrences(method: str, moment: Moment, replicas: int, count: int) -> range:
    """Those that are struck, counted from 1."""
    step = EVERY.get(method, 1)
    return range(1 + (list(Moment).index(moment) + replicas) % step, count + 1, step)


def alike(story: Story) -> Any:
    left = json.dumps(story.left(), default=repr, sort_keys=True)
    for commit in story.stage.repository.line:
        left = left.replace(commit.sha, commit.subject).replace(commit.sha[:12], commit.subject)
    left = left.replace(story.stored["metadata"]["uid"][:8], "UID")
    return json.loads(re.sub(r"(mfu-operator/revert-[\w ]+)-[0-9a-f]{12}", r"\1", left))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    state: Path = tmp_path_factory.mktemp("real")
    with control_plane(state) as plane, held_port() as port:
        gitea = Gitea(state, host_address="127.0.0.1", port=port)
        try:
            gitea.start()
            gitea.ready()
            yield World(plane, gitea)
        finally:
            gitea.stop()


REPLICAS = [pytest.param(1, id="one process"), pytest.param(2, id="two processes")]


@pytest.mark.parametrize("method", ["Forge.ensure", *LATE[:1]])
def test_a_second_process_changes_nothing(world: World, method: str) -> None:
    assert world.expected(2, method)[0] == world.expected(1, method)[0]


def test_the_stories_do_every_effect(world: World) -> None:
    assert world.expected(1, LATE[0])[1].keys() == WRITES


def test_the_story_ends_with_one_merged_revert_of_the_culprit_by_rendering(world: World) -> None:
    left = world.expected(1, "Forge.ensure")[0]
    assert [state for _, state, _ in left["pulls"]] == ["Merged"]
    assert [suspect["suspect"] is not None for suspect in left["history"]] == [True]


@pytest.mark.parametrize("replicas", REPLICAS)
@pytest.mark.parametrize("moment", list(Moment), ids=str)
@pytest.mark.parametrize("method", sorted(WRITES))
def test_a_process_killed_at_any_effect_leaves_nothing_twice_and_nothing_out(
    world: World, method: str, moment: Moment, replicas: int, row: Row
) -> None:
    expected, counts = world.expected(replicas, method)
    found = {}
    for occurrence in occurrences(method, moment, replicas, counts[method]):
        fault = Fault(method, occurrence, moment)
        left: Any = world.tell(replicas, method, fault)
        assert fault.struck, f"{method} was never called a {occurrence}. time"
        different = {fact: left[fact] for fact in expected if left[fact] != expected[fact]}
        row.note(stories=1, broken=bool(different))
        if different:
            found[occurrence] = different
    assert found == {}

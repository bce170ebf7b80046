"""What hangs costs its own baselines; the others are served, the end is orderly, and the process is seen to live."""

import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest

from mfu_operator.api import status as codec
from mfu_operator.cycle.bulkheads import OF_A_KIND, Dependency
from mfu_operator.measure.sweep import Sweep
from mfu_operator.measure.view import SweepView
from mfu_operator.model.commit import Ranking
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.ports import Credentials
from mfu_operator.process import telemetry
from mfu_operator.process.reconciler import TICKS_AT_ONCE, Reconciler
from tests.support import worlds
from tests.support.adapters_double import Stage, SweepDouble
from tests.support.awaited import awaited
from tests.support.stored_object import stored_object

MOST_AT_A_TIME = OF_A_KIND[Dependency.GIT].of_one
HANGING, SOUND = 32, 100
CONFIRMED = worlds.regressed(confirmed=True)
PROPOSING = replace(
    worlds.ailing(worlds.explained(profile=worlds.PROFILED)),
    judgement=CONFIRMED,
    observed_generation=0,
    configuration=None,
)
"""The next step reads the commits of the repository."""


class OneSlow(SweepDouble):
    """Says that the baselines whose commits are to be read are slow."""

    def view(self, key: str, now_s: float) -> SweepView:
        said = CONFIRMED if key.startswith("hangs") else worlds.judgement()
        return replace(SweepDouble.view(self, key, now_s), judgement=said)


class Fleet:
    """A loop over real threads. The commits of `hanging` baselines are read from a host that never answers."""

    def __init__(self, hanging: int, sound: int, interval_s: float = 0.2) -> None:
        self.stage, self.answers = Stage(), Event()
        self.asked: list[str] = []
        self.may_act = True
        self.stage.repository.investigate = self._investigate  # type: ignore[method-assign]
        self.stage.sweep = OneSlow()
        self.stage.adapters = replace(self.stage.adapters, sweep=cast(Sweep, self.stage.sweep))
        self.names = [f"hangs-{number}" for number in range(hanging)] + [f"sound-{number}" for number in range(sound)]
        for name in self.names:
            self.stage.cluster.baselines["team-a", name] = self._object(name)
        self.loop = Reconciler(self.stage.adapters, worlds.DEFAULTS, lambda: self.may_act, interval_s)
        for each in self.stage.cluster.baselines.values():
            self.loop.saw(each)

    def _object(self, name: str) -> dict[str, Any]:
        made = stored_object(profiling={"mode": "Never"}, remediation={"mode": "DryRun"})
        made["metadata"] |= {"name": name, "uid": name}
        if name.startswith("hangs"):
            made["status"] = codec.encode(PROPOSING)
        return made

    def _investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        self.asked.append(question.source.repository)
        assert self.answers.wait(120)
        return Findings(Ranking((), None, "nothing"))

    def served(self, kind: str) -> int:
        """How many were ticked to an end since they were put in."""
        stored = [each for (_, name), each in self.stage.cluster.baselines.items() if name.startswith(kind)]
        return sum(each.get("status", {}).get("observedGeneration") == 1 for each in stored)

    def end(self) -> None:
        self.answers.set()
        self.loop.stop(30.0)


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet(HANGING, SOUND)
    yield made
    made.end()


def test_the_double_really_hangs(fleet: Fleet) -> None:
    fleet.loop.start()
    awaited(lambda: len(fleet.asked), lambda asked: asked >= MOST_AT_A_TIME, 60.0)
    assert fleet.loop.stop(0.1) is False


def test_thirty_two_ticks_that_hang_leave_a_hundred_baselines_served_within_a_minute(fleet: Fleet) -> None:
    begun_s = time.monotonic()
    fleet.loop.start()
    served = awaited(lambda: fleet.served("sound"), lambda count: count == SOUND, 60.0)
    assert (served, time.monotonic() - begun_s < 60.0) == (SOUND, True)
    assert len(fleet.asked) == MOST_AT_A_TIME


def test_they_are_served_again_and_again(fleet: Fleet) -> None:
    fleet.loop.start()
    awaited(lambda: fleet.served("sound"), lambda count: count == SOUND, 60.0)
    before = fleet.stage.cluster.baselines["team-a", "sound-7"]["metadata"]["resourceVersion"]
    stored = fleet.stage.cluster.baselines["team-a", "sound-7"]
    stored["status"].pop("judgement")
    stored["metadata"]["resourceVersion"] = str(int(before) + 1000)
    fleet.loop.saw(stored)
    assert awaited(lambda: "judgement" in stored["status"], bool, 60.0)


def test_those_that_wait_for_the_host_say_so(fleet: Fleet) -> None:
    fleet.loop.start()

    def waiting() -> int:
        stored = [each for (_, name), each in fleet.stage.cluster.baselines.items() if name.startswith("hangs")]
        return sum("HostBusy" in str(each.get("status", {}).get("conditions")) for each in stored)

    expected = HANGING - MOST_AT_A_TIME
    assert awaited(waiting, lambda count: count == expected, 60.0) == expected


def test_a_process_in_which_nothing_moves_is_not_alive() -> None:
    fleet = Fleet(0, 3)
    begun_s, later_s = time.monotonic(), [1.0]
    fleet.loop.steady = lambda: begun_s + later_s[0]
    assert fleet.loop.takes_part()
    assert len(fleet.loop.fleet.begin(fleet.loop.steady(), TICKS_AT_ONCE, TICKS_AT_ONCE)) == 3
    later_s[0] = 602.0
    assert fleet.loop.stuck_s == pytest.approx(601.0)
    (first, *_) = fleet.loop.fleet.members()
    fleet.loop._slots.take(0.0)
    fleet.loop.ticked(first)
    assert fleet.loop.stuck_s == 0.0


def test_one_baseline_that_hangs_among_others_that_move_is_no_reason_to_restart(fleet: Fleet) -> None:
    fleet.loop.start()
    awaited(lambda: fleet.served("sound"), lambda count: count == SOUND, 60.0)
    assert awaited(lambda: fleet.loop.fleet.oldest_due_s(fleet.loop.steady()), lambda age: age > 2.0, 30.0) > 2.0
    assert fleet.loop.stuck_s < 2.0


def test_a_replica_that_does_not_act_is_never_stuck() -> None:
    fleet = Fleet(0, 3)
    fleet.may_act = False
    fleet.loop.beat()
    assert fleet.loop.stuck_s == 0.0


def test_how_far_behind_it_is_is_exported(fleet: Fleet) -> None:
    fleet.loop.beat()
    assert awaited(lambda: telemetry.TICKS_IN_FLIGHT._value.get(), lambda _: True, 1.0) == 0
    awaited(lambda: len(fleet.asked), lambda asked: asked >= 1, 30.0)
    fleet.loop._exported_s = 0.0
    fleet.loop.beat()
    assert telemetry.TICKS_IN_FLIGHT._value.get() >= 1
    assert telemetry.OLDEST_DUE._value.get() > 0


def test_at_the_end_ticks_under_way_may_finish_and_no_other_begins() -> None:
    fleet = Fleet(1, 0)
    fleet.loop.start()
    assert awaited(lambda: len(fleet.asked), bool, 30.0) == 1
    fleet.answers.set()
    assert fleet.loop.stop(30.0) is True
    assert fleet.served("hangs") == 1


def test_what_does_not_end_within_the_grace_is_given_up_and_writes_nothing_more() -> None:
    fleet = Fleet(1, 0)
    fleet.loop.start()
    assert awaited(lambda: len(fleet.asked), bool, 30.0) == 1
    assert fleet.loop.stop(0.1) is False
    written = len(fleet.stage.cluster.written)
    fleet.answers.set()
    assert awaited(lambda: len(fleet.loop._under_way), lambda left: left == 0, 30.0) == 0
    assert len(fleet.stage.cluster.written) == written
    assert fleet.stage.cluster.events == []


def test_a_tick_that_ends_after_the_lease_was_lost_writes_nothing() -> None:
    fleet = Fleet(1, 0)
    fleet.loop.start()
    assert awaited(lambda: len(fleet.asked), bool, 30.0) == 1
    fleet.may_act = False
    fleet.answers.set()
    assert awaited(lambda: len(fleet.loop._under_way), lambda left: left == 0, 30.0) == 0
    assert fleet.stage.cluster.written == []
    fleet.end()

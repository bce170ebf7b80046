"""One round of the loop: what it listens to, whom it has ticked by its threads, and when it begins nobody."""

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any

import pytest

from mfu_operator.measure.view import SweepView
from mfu_operator.process import telemetry
from mfu_operator.process.reconciler import TICKS_AT_ONCE, Reconciler
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage, SweepDouble
from tests.support.awaited import awaited
from tests.support.stored_object import stored_object


class Loop:
    """The loop with its real threads; time is moved by hand."""

    def __init__(self) -> None:
        self.stage, self.now_s, self.acts = Stage(), worlds.NOW_S, True
        telemetry.forget_all()
        self.reconciler = Reconciler(
            self.stage.adapters, worlds.DEFAULTS, lambda: self.acts, INTERVAL_S, lambda: self.now_s, lambda: self.now_s
        )

    def put(self, count: int) -> None:
        """The watch tells of so many baselines, of two namespaces."""
        for number in range(count):
            body = stored_object(profiling={"mode": "Never"})
            body["metadata"] |= {
                "namespace": ("team-a", "team-b")[number % 2],
                "name": f"gpt-{number}",
                "uid": f"uid-{number}",
            }
            self.reconciler.saw(self.stage.cluster.create(body))

    def beat(self, after_s: float = 0.0) -> int:
        """One beat, and the end of the ticks that it began."""
        self.now_s += after_s
        begun = self.reconciler.beat()
        wait(set(self.reconciler._under_way))
        return begun

    def note_written(self) -> None:
        """The watch tells of what the ticks wrote."""
        for body in self.stage.cluster.baselines.values():
            self.reconciler.saw(body)

    @property
    def ticked(self) -> int:
        """How many baselines have a status."""
        bodies: list[dict[str, Any]] = list(self.stage.cluster.baselines.values())
        return sum("observedGeneration" in body.get("status", {}) for body in bodies)


def exported() -> float:
    """How many baselines the metrics tell of."""
    (count, *_) = telemetry.BASELINES.collect()
    return count.samples[0].value


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.reconciler.stop(5.0)


def test_who_is_due_is_ticked(loop: Loop) -> None:
    loop.put(3)
    assert (loop.beat(), loop.ticked) == (3, 3)
    assert loop.beat() == 0


def test_more_than_are_taken_at_once_wait_for_the_next_beat(loop: Loop) -> None:
    loop.put(TICKS_AT_ONCE + 2)
    assert loop.beat() == TICKS_AT_ONCE
    assert (loop.beat(), loop.ticked) == (2, TICKS_AT_ONCE + 2)


def test_a_replica_that_does_not_act_begins_nothing_until_it_does(loop: Loop) -> None:
    loop.acts = False
    loop.put(2)
    assert (loop.beat(), loop.ticked) == (0, 0)
    loop.acts = True
    assert (loop.beat(), loop.ticked) == (2, 2)


def test_what_a_sweep_found_is_listened_to_at_once_and_once(loop: Loop) -> None:
    loop.put(1)
    loop.beat()
    loop.note_written()
    loop.beat(INTERVAL_S)
    loop.stage.sweep.says = worlds.regressed()
    assert loop.beat(1.0) == 0, "nothing was swept"
    loop.stage.sweep.finished_s = 1.0
    assert loop.beat(1.0) == 1
    loop.note_written()
    loop.beat(INTERVAL_S)
    loop.stage.sweep.says = worlds.judgement()
    assert loop.beat(1.0) == 0, "the same sweep tells nothing new"
    loop.stage.sweep.finished_s = 2.0
    assert loop.beat(1.0) == 1


def test_a_beat_that_finds_no_slot_ends_with_the_loop(loop: Loop) -> None:
    for _ in range(TICKS_AT_ONCE):
        assert loop.reconciler._slots.take(0.0)
    loop.put(1)
    begun: list[int] = []
    beating = threading.Thread(target=lambda: begun.append(loop.reconciler.beat()))
    beating.start()
    awaited(lambda: loop.reconciler.fleet.members()[0].ticking, bool, 30.0)
    assert beating.is_alive()
    loop.reconciler.stop(0.0)
    beating.join(30.0)
    assert (begun, loop.ticked) == ([0], 0)


def test_a_baseline_that_is_deleted_while_it_is_listened_to_is_let_go(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop.put(1)
    loop.beat()
    loop.note_written()
    assert exported() == 1
    view = SweepDouble.view

    def gone_meanwhile(sweep: SweepDouble, key: str, now_s: float) -> SweepView:
        loop.reconciler.gone(key)
        return view(sweep, key, now_s)

    monkeypatch.setattr(SweepDouble, "view", gone_meanwhile)
    loop.reconciler.listen()
    assert exported() == 0

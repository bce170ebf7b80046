"""Ticks for the whole fleet: who is due, and how many tick at once.

Two things bring a tick about: its time has come, or the sweep says something that the last tick did not know. While a
baseline is anything but at rest its time comes every interval.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.bulkheads import MOST_AT_ONCE, TickSlots
from mfu_operator.cycle.guarded import guarded
from mfu_operator.cycle.measuring import view_of
from mfu_operator.errors import Stall
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import REST_S, Fleet, Member
from mfu_operator.process.listening import calls_for_tick, sweep_mark
from mfu_operator.process.membership import Membership
from mfu_operator.process.ticking import Ticking
from mfu_operator.reconcile.world import Defaults

log = logging.getLogger(__name__)

TICKS_AT_ONCE = 16
"""Ticks mostly wait for the API server: sixteen serve thousands of baselines. One that waits for a Git host or a forge
lends its place to another (`cycle/bulkheads.py`)."""

TICKS_OF_A_NAMESPACE = 12
"""The rest is for the others, whatever one namespace's baselines wait for."""

PROGRESS_S = 5.0
"""How often the loop exports how far behind it is."""

BEAT_S = 0.25
"""How often the loop looks who is due, of all that there are: what a person changed is seen within a moment. Only where
it found as many as it takes at once it looks again without a pause: at rest, one of twice as many baselines is due
twice as often, and to look at all of them for each made twice as many cost four times as much."""


@dataclass(slots=True)
class Reconciler:
    """The loop over the fleet.

    Args:
        adapters: the adapters.
        defaults: what the settings say about every baseline.
        acting: whether this replica acts; asked immediately before everything that a tick does to the world.
        interval_s: seconds between two ticks of a baseline that is not at rest.
        clock: the time now, Unix seconds, for facts alone.
        steady: seconds on a clock that nobody sets: when what is due goes by it.
        rest_s: seconds between two ticks of one that is.
    """

    adapters: Adapters
    defaults: Defaults
    acting: Callable[[], bool]
    interval_s: float
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    rest_s: float = REST_S
    fleet: Fleet = field(default_factory=Fleet)
    members: Membership = field(init=False)
    _ticking: Ticking = field(init=False)
    _ticks: Executor = field(default_factory=lambda: ThreadPoolExecutor(TICKS_AT_ONCE + MOST_AT_ONCE, "tick"))
    _slots: TickSlots = field(default_factory=lambda: TickSlots(TICKS_AT_ONCE))
    _under_way: set[Future[None]] = field(default_factory=set)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _listened_s: float | None = None
    _given_up: bool = False
    _moved_s: float = -math.inf
    _exported_s: float = -math.inf

    def __post_init__(self) -> None:
        self.adapters = guarded(self.adapters, lambda: self.acting() and not self._given_up, self._slots)
        clock, steady = (lambda: self.clock()), (lambda: self.steady())
        self.members = Membership(self.adapters, self.fleet, clock, steady, self.interval_s, self.rest_s)
        self._ticking = Ticking(self.members, self.defaults)

    def saw(self, body: Mapping[str, Any]) -> None:
        """An object as the watch tells of it."""
        self.members.saw(body)

    def gone(self, uid: str) -> None:
        """An object was deleted."""
        self.members.gone(uid)

    def beat(self) -> int:
        """One round of the loop: hear what the sweep found, and tick who is due. How many were begun."""
        if not self.takes_part():
            return 0
        swept_s = self.adapters.sweep.finished_s
        if swept_s is not None and swept_s != self._listened_s:
            self._listened_s = swept_s
            self.listen()
        self._export_progress()
        due = self.fleet.begin(self.steady(), TICKS_AT_ONCE, TICKS_OF_A_NAMESPACE)
        for member in due:
            while not self._slots.take(BEAT_S):
                if self._stopping.is_set():
                    return 0
            under_way = self._ticks.submit(self.ticked, member)
            self._under_way.add(under_way)
            under_way.add_done_callback(self._under_way.discard)
        return len(due)

    def listen(self) -> None:
        """Compare what the sweep says of every baseline with what its last tick went by. A baseline whose ticks fail
        waits for its pause to end: nothing that the sweep says helps it."""
        now_s, steady_s = self.clock(), self.steady()
        for member in self.fleet.members():
            if member.ticking or isinstance(member.spec, Stall) or member.spec.suspend:
                continue
            view = view_of(self.adapters, member.identity.uid, member.spec, member.level, now_s)
            now = sweep_mark(self.adapters, member, view)
            telemetry.show(member.identity, now.judgement)
            if member.last is not None and member.last.run is None:
                member.last.run = now.run
            waits = member.due_s > steady_s and not member.broken
            if waits and calls_for_tick(member.last, now, now_s):
                self.fleet.call(member, steady_s)
            if member.identity.uid not in self.fleet:
                self.members.let_go(member.identity.uid)

    def ticked(self, member: Member) -> None:
        """One tick of a member that was begun, and an end of it whatever becomes of the tick."""
        try:
            self._ticking.ticked(member)
        finally:
            self._moved_s = self.steady()
            self._slots.give_back()

    def reconcile(self, member: Member) -> None:
        """One tick of one baseline, now; its errors are the caller's."""
        self._ticking.reconcile(member)

    def start(self) -> None:
        """Beat in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def stop(self, grace_s: float = 10.0) -> bool:
        """Begin no tick any more, and let those under way end within the grace. What has not ended by then is given up:
        it does nothing more to the world than what it is doing now. True where nothing is under way any more."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * BEAT_S)
        self._ticks.shutdown(wait=False, cancel_futures=True)
        under_way = wait(set(self._under_way), grace_s).not_done
        self._given_up = True
        if under_way:
            log.warning("%d ticks are given up: they did not end within %.0f s", len(under_way), grace_s)
        return not under_way

    @property
    def alive(self) -> bool:
        """Whether the loop runs, or was never started."""
        return self._thread is None or self._thread.is_alive()

    @property
    def stuck_s(self) -> float:
        """For how long a baseline has been due while no tick at all ended; 0 while this replica does not act."""
        if not self.members.acting:
            return 0.0
        steady_s = self.steady()
        return min(self.fleet.oldest_due_s(steady_s), steady_s - self._moved_s)

    def _export_progress(self) -> None:
        steady_s = self.steady()
        if steady_s >= self._exported_s + PROGRESS_S:
            self._exported_s = steady_s
            telemetry.OLDEST_DUE.set(self.fleet.oldest_due_s(steady_s))
            telemetry.TICKS_IN_FLIGHT.set(len(self._under_way))

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self.beat() < TICKS_AT_ONCE:
                self._stopping.wait(BEAT_S)

    def takes_part(self) -> bool:
        """Whether this replica acts; what it knows is measured from the moment it does, and shown while it does."""
        acting = self.acting()
        if acting and not self.members.acting:
            self._moved_s = self.steady()
            self.adapters.breaker.begin(self._moved_s)
            self.adapters.budgets.begin(self._moved_s)
            self.adapters.sharers.begin(self._moved_s)
            self.members.begin()
        elif not acting and self.members.acting:
            self.members.end()
        return acting

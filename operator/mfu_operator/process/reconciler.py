"""Ticks for the whole fleet: who is due, what a tick is given, and what becomes of what it leaves.

Two things bring a tick about: its time has come, or the sweep says something that the last tick did not know. While a
baseline is anything but at rest its time comes every interval.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from mfu_operator.api import naming
from mfu_operator.api import status as codec
from mfu_operator.api.group import GROUP_VERSION, KIND
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.backoff import Backoff
from mfu_operator.cycle.bulkheads import MOST_AT_ONCE, NAMESPACE, TickSlots
from mfu_operator.cycle.guarded import guarded
from mfu_operator.cycle.measuring import view_of
from mfu_operator.cycle.tick import Pace, Ticked, tick
from mfu_operator.errors import Abandoned, Conflict, MfuError, Stall
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Status
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import CONFIRM_S, REST_S, Fleet, Member, News, Seen, spread
from mfu_operator.process.listening import calls_for_tick, heard, take_up
from mfu_operator.reconcile.refresh import tells_more
from mfu_operator.reconcile.unticked import broken, hopeless, salvaged
from mfu_operator.reconcile.world import Defaults

log = logging.getLogger(__name__)

TICKS_AT_ONCE = 16
TICKS_OF_A_NAMESPACE = 12
"""The rest is for the others, whatever one namespace's baselines wait for."""
"""Ticks mostly wait for the API server: sixteen serve thousands of baselines. One that waits for a Git host or a forge
lends its place to another (`cycle/bulkheads.py`)."""

LONGEST_WAIT_S = 300.0
"""What stands in the way of a baseline is found gone within five minutes, and sooner where the readings show it."""

HISTORIES_S = 60.0
"""After a restart the histories of ten thousand baselines are read within this; ticks of what was in progress wait for
theirs, because they could conclude nothing before and would take the processor from them."""

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
    _backoffs: dict[str, Backoff] = field(default_factory=dict)
    _ticks: Executor = field(default_factory=lambda: ThreadPoolExecutor(TICKS_AT_ONCE + MOST_AT_ONCE, "tick"))
    _slots: TickSlots = field(default_factory=lambda: TickSlots(TICKS_AT_ONCE))
    _under_way: set[Future[None]] = field(default_factory=set)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _acted: bool = False
    _listened_s: float | None = None
    _given_up: bool = False
    _moved_s: float = -math.inf
    _exported_s: float = -math.inf

    def __post_init__(self) -> None:
        self.adapters = guarded(self.adapters, lambda: self.acting() and not self._given_up, self._slots)

    def saw(self, body: Mapping[str, Any]) -> None:
        """An object as the watch tells of it."""
        steady_s = self.steady()
        member, news = self.fleet.saw(body, steady_s)
        if news is not News.NOTHING:
            self.fleet.call(member, steady_s)
        self._heed(member, news)

    def gone(self, uid: str) -> None:
        """An object was deleted: it is measured no longer. Its Jobs go with it by their owner reference."""
        self.fleet.gone(uid)
        self._let_go(uid)

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
            now = heard(self.adapters, member, view)
            telemetry.show(member.identity, now.judgement)
            if member.last is not None and member.last.run is None:
                member.last.run = now.run
            waits = member.due_s > steady_s and not member.broken
            if waits and calls_for_tick(member.last, now, now_s):
                self.fleet.call(member, steady_s)
            if member.identity.uid not in self.fleet:
                self._let_go(member.identity.uid)

    def reconcile(self, member: Member) -> None:
        """One tick of one baseline, now. Where somebody else wrote meanwhile, what it decided is void: the object is
        read again and ticked anew, which finds what was done in the world by its name."""
        try:
            if self.steady() - member.confirmed_s > CONFIRM_S:
                self._read(member)
            if member.identity.uid in self.fleet:
                self._tick_once(member, member.seen)
        except Conflict:
            self._after_conflict(member)
        finally:
            if member.identity.uid not in self.fleet:
                self._let_go(member.identity.uid)

    def _tick_once(self, member: Member, seen: Seen) -> None:
        written, now_s = seen.status(), self.clock()
        read = salvaged(seen.identity, codec.salvage(written), now_s)
        with telemetry.TICKS.time():
            ticked = self._tick(member, seen, read.status, now_s)
        self._post(seen, (*read.events, *ticked.events))
        self._write(member, seen, codec.patch(written, ticked.status))
        for name, value in seen.asked:
            self.adapters.cluster.remove_annotation(seen.object_version, name, value)
        member.idle = member.idle + 1 if ticked.status == read.status and not read.events else 0
        member.conflicts = 0
        self.fleet.end(member, self.steady() + self._pause_s(member, ticked.pace))

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
        if not self._acted:
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
        if acting and not self._acted:
            self._acted, self._moved_s = True, self.steady()
            self.adapters.breaker.begin(self._moved_s)
            self.adapters.sharers.begin(self._moved_s)
            for member in self.fleet.members():
                self._take_up(member)
        elif not acting and self._acted:
            self._acted = False
            telemetry.forget_all()
        return acting

    def _take_up(self, member: Member) -> None:
        steady_s = self.steady()
        rest_s = spread(member.identity.uid, self.rest_s)
        now_s, until_s = self.clock(), (lambda rests: steady_s + (rest_s if rests else HISTORIES_S))
        take_up(self.adapters, member, now_s, steady_s, until_s)

    def _pause_s(self, member: Member, pace: Pace) -> float:
        """Until the next tick of its own accord: longer the longer nothing changed. At rest, each baseline has a moment
        of its own in every ten minutes, so that those that were made together are not looked at together."""
        if pace is Pace.RESTING and member.idle:
            return (spread(member.identity.uid, self.rest_s) - self.steady()) % self.rest_s or self.rest_s
        if pace is Pace.BUSY or not member.idle:
            return self.interval_s
        return growing_pause_s(self.interval_s, LONGEST_WAIT_S, member.idle)

    def ticked(self, member: Member) -> None:
        """One tick, whatever becomes of it: no error of one baseline's stops another's. What the API server refuses is
        tried again after the interval, what nobody foresaw later and later."""
        pause_s = self.interval_s
        NAMESPACE.set(member.identity.namespace)
        try:
            self.reconcile(member)
            member.broken = 0
        except Abandoned as error:
            log.info("the tick of %s/%s is given up: %s", member.identity.namespace, member.identity.name, error)
        except MfuError as error:
            log.warning("%s/%s: %s: %s", member.identity.namespace, member.identity.name, error.reason, error.message)
        except Exception as error:
            log.exception("a tick of %s/%s failed", member.identity.namespace, member.identity.name)
            member.broken += 1
            pause_s = growing_pause_s(self.interval_s, LONGEST_WAIT_S, member.broken)
            self._broken(member, error)
        finally:
            if member.ticking:
                self.fleet.end(member, self.steady() + pause_s)
            self._moved_s = self.steady()
            self._slots.give_back()

    def _broken(self, member: Member, error: Exception) -> None:
        """Say in the status that a tick failed. Where even that fails it is in the log and in the metrics."""
        telemetry.count_broken()
        seen = member.seen
        try:
            written = seen.status()
            now = broken(seen.identity, codec.salvage(written).status, error, self.clock())
            self._post(seen, now.events)
            self._write(member, seen, codec.patch(written, now.status))
        except Abandoned:
            return
        except Exception:
            log.exception("what failed in %s/%s was not written", seen.identity.namespace, seen.identity.name)

    def _tick(self, member: Member, seen: Seen, before: Status, now_s: float) -> Ticked:
        identity, spec = seen.identity, seen.spec
        if isinstance(spec, Stall):
            found = hopeless(identity, before, spec, now_s)
            return Ticked(found.status, found.events, (), Pace.BUSY if found.events else Pace.RESTING)
        backoff = self._backoff(identity.uid)
        ticked = tick(self.adapters, self.defaults, identity, spec, before, backoff, now_s, self.steady(), seen.asked)
        member.level, member.nodes = ticked.status.baseline, ticked.nodes
        now, told = heard(self.adapters, member, ticked.view), ticked.status.judgement
        untaken = now.judgement is not None and tells_more(told, now.judgement)
        symptoms = ticked.status.symptoms
        member.last = replace(now, judgement=now.judgement if untaken else told, symptoms=symptoms)
        for failure in ticked.counted:
            telemetry.count(failure)
        telemetry.ails(identity, symptoms)
        telemetry.show(identity, ticked.status.judgement, ticked.status.incident is not None)
        return ticked

    def _write(self, member: Member, seen: Seen, changes: Mapping[str, Any]) -> None:
        if not changes:
            return
        found = self.adapters.cluster.write_status(seen.object_version, changes)
        telemetry.STATUS_WRITES.inc()
        if found is None:
            self.gone(member.identity.uid)
            return
        steady_s = self.steady()
        news = self.fleet.answered(member, found, steady_s)
        if news is News.SPEC:
            self.fleet.call(member, steady_s)
        self._heed(member, news)

    def _after_conflict(self, member: Member) -> None:
        """Read what somebody else wrote and tick anew: at once, but for somebody who never stops writing."""
        telemetry.STATUS_CONFLICTS.inc()
        self._read(member)
        member.conflicts += 1
        steady_s = self.steady()
        self.fleet.end(member, steady_s if member.conflicts == 1 else steady_s + self.interval_s)

    def _read(self, member: Member) -> None:
        """Note the object as it is stored now, in place of what was known of it; let it go where it is gone."""
        before = member.seen
        found = self.adapters.cluster.baseline(before.identity.namespace, before.identity.name)
        if found is None or found["metadata"]["uid"] != before.identity.uid:
            self.gone(before.identity.uid)
        else:
            self._heed(member, self.fleet.read(member, before, found, self.steady()))

    def _heed(self, member: Member, news: News) -> None:
        """Measure what another spec asks for."""
        if news is News.SPEC and self._acted:
            self._take_up(member)

    def _let_go(self, uid: str) -> None:
        """Neither sweep nor export a baseline that is gone; its last tick may have begun to do both again."""
        self._backoffs.pop(uid, None)
        self.adapters.sweep.forget(uid)
        telemetry.forget(uid)

    def _post(self, seen: Seen, events: Sequence[Event]) -> None:
        """Tell what a tick found before its status is written. The names come from the status that the tick began
        with: a process that dies between the two leaves them to be told once, by whoever ticks next."""
        identity = seen.identity
        regarding = {
            "apiVersion": GROUP_VERSION,
            "kind": KIND,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
        }
        for index, event in enumerate(events):
            nth = sum(each.reason == event.reason for each in events[:index])
            name = naming.event_name(identity.name, identity.uid, seen.stored, f"{event.reason}/{nth}")
            try:
                self.adapters.cluster.post(regarding, event, name)
            except MfuError as error:
                log.warning("an Event was not posted: %s: %s", error.reason, error.message)

    def _backoff(self, uid: str) -> Backoff:
        return self._backoffs.setdefault(uid, Backoff(first_s=self.interval_s))

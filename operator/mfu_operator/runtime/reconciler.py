"""Ticks for the whole fleet: who is due, what a tick is given, and what becomes of what it leaves.

Two things bring a tick about: its time has come, or the sweep says something that the last tick did not know. While a
baseline is anything but at rest its time comes every interval.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from mfu_operator.api import status as codec
from mfu_operator.api.group import GROUP_VERSION, KIND
from mfu_operator.errors import MfuError, Stall, Unreadable
from mfu_operator.model.baseline import BaselineSpec
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.level import as_recorded, declared_baseline, held_against
from mfu_operator.reconcile.refresh import tells_more
from mfu_operator.reconcile.symptoms import refreshed
from mfu_operator.reconcile.world import Defaults, Identity
from mfu_operator.runtime import telemetry
from mfu_operator.runtime.backoff import Backoff
from mfu_operator.runtime.fleet import CONFIRM_S, REST_S, Fleet, Heard, Member, spread
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.observe import recording_since_s
from mfu_operator.runtime.tick import Pace, Ticked, tick

log = logging.getLogger(__name__)

TICKS_AT_ONCE = 16
"""Ticks mostly wait for the API server: sixteen serve thousands of baselines, and sixteen clones fit into memory."""

LONGEST_WAIT_S = 300.0
"""What stands in the way of a baseline is found gone within five minutes, and sooner where the readings show it."""

HISTORIES_S = 60.0
"""After a restart the histories of ten thousand baselines are read within this; ticks of what was in progress wait for
theirs, because they could conclude nothing before and would take the processor from them."""

BEAT_S = 0.25
"""How often the loop looks who is due, of all that there are: what a person changed is seen within a moment. Only where
it found as many as it takes at once it looks again without a pause: at rest, one of twice as many baselines is due
twice as often, and to look at all of them for each made twice as many cost four times as much."""


@dataclass(slots=True)
class Reconciler:
    """The loop over the fleet.

    Args:
        hands: the adapters.
        defaults: what the settings say about every baseline.
        acting: whether this replica acts.
        interval_s: seconds between two ticks of a baseline that is not at rest.
        clock: the time now, Unix seconds.
        rest_s: seconds between two ticks of one that is.
    """

    hands: Hands
    defaults: Defaults
    acting: Callable[[], bool]
    interval_s: float
    clock: Callable[[], float] = time.time
    rest_s: float = REST_S
    fleet: Fleet = field(default_factory=Fleet)
    _backoffs: dict[str, Backoff] = field(default_factory=dict)
    _ticks: Executor = field(default_factory=lambda: ThreadPoolExecutor(TICKS_AT_ONCE, "tick"))
    _slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(2 * TICKS_AT_ONCE))
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _acted: bool = False
    _listened_s: float | None = None

    def saw(self, body: Mapping[str, Any]) -> None:
        """An object as the API server has it now."""
        now_s = self.clock()
        member = self.fleet.saw(body, now_s)
        if member is not None and self._acted:
            self._measure(member, now_s)

    def gone(self, uid: str) -> None:
        """An object was deleted: it is measured no longer. Its Jobs go with it by their owner reference."""
        self.fleet.gone(uid)
        self._backoffs.pop(uid, None)
        self.hands.sweep.forget(uid)
        telemetry.forget(uid)

    def beat(self) -> int:
        """One round of the loop: hear what the sweep found, and tick who is due. How many were begun."""
        if not self.takes_part():
            return 0
        swept_s = self.hands.sweep.finished_s
        if swept_s is not None and swept_s != self._listened_s:
            self._listened_s = swept_s
            self.listen()
        due = self.fleet.begin(self.clock(), TICKS_AT_ONCE)
        for member in due:
            self._slots.acquire()
            self._ticks.submit(self.ticked, member).add_done_callback(_complain)
        return len(due)

    def listen(self) -> None:
        """Compare what the sweep says of every baseline with what its last tick went by."""
        now_s = self.clock()
        for member in self.fleet.members():
            if member.ticking or isinstance(member.spec, Stall) or member.spec.suspend:
                continue
            heard = self._heard(member, member.spec, now_s)
            telemetry.show(member.identity, heard.judgement)
            if member.last is not None and member.last.run is None:
                member.last.run = heard.run
            news = _news(member.last, heard, now_s) if member.last is not None else self._tells(member, heard)
            if member.due_s > now_s and news:
                self.fleet.call(member, now_s)

    def reconcile(self, member: Member) -> None:
        """One tick of one baseline, now."""
        now_s = self.clock()
        if isinstance(member.spec, BaselineSpec) and now_s - member.confirmed_s > CONFIRM_S:
            if not self.hands.cluster.exists(member.identity.namespace, member.identity.name, member.identity.uid):
                self.gone(member.identity.uid)
                return
            member.confirmed_s = now_s
        written = member.status()
        try:
            before = codec.decode(written)
        except Unreadable as error:
            self._unreadable(member.identity, error)
            self.fleet.end(member, now_s + self.interval_s)
            return
        with telemetry.TICKS.time():
            ticked = self._tick(member, before, now_s)
        self._write(member, written, ticked.status)
        for event in ticked.events:
            self._post(member.identity, event)
        member.idle = member.idle + 1 if ticked.status == before else 0
        self.fleet.end(member, self.clock() + self._pause_s(member, ticked.pace))

    def start(self) -> None:
        """Beat in a thread of its own until `stop`."""
        self._thread = threading.Thread(target=self._run, name="fleet", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the loop; ticks under way go on to their end."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
        self._ticks.shutdown(wait=False, cancel_futures=True)

    @property
    def alive(self) -> bool:
        """Whether the loop runs, or was never started."""
        return self._thread is None or self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self.beat() < TICKS_AT_ONCE:
                self._stopping.wait(BEAT_S)

    def takes_part(self) -> bool:
        """Whether this replica acts; what it knows is measured from the moment it does, and shown while it does."""
        acting = self.acting()
        if acting and not self._acted:
            self._acted = True
            now_s = self.clock()
            for member in self.fleet.members():
                self._measure(member, now_s)
        elif not acting and self._acted:
            self._acted = False
            telemetry.forget_all()
        return acting

    def _measure(self, member: Member, now_s: float) -> None:
        """Let the sweep read of a baseline before its first tick looks at the cluster. Ten thousand looks would take
        minutes after a restart: where the status says that nothing was in progress they wait for their turn."""
        spec = member.spec
        if isinstance(spec, Stall) or spec.suspend:
            return
        if any((spec.metrics.secret, spec.metrics.ca, spec.metrics.certificate)):
            return
        try:
            status = codec.decode(member.status())
        except Unreadable:
            return
        incident = status.incident
        member.level = declared_baseline(spec) or status.baseline
        self.hands.sweep.register(
            member.identity.uid,
            as_recorded(spec, member.level),
            member.level,
            incident_since_s=incident.onset_at if incident is not None else None,
            recording_since_s=recording_since_s(spec, status, now_s),
        )
        if status.observed_generation != member.identity.generation:
            return
        if _was_at_rest(status):
            member.last = Heard(status.judgement, None, None, (), status.symptoms)
            member.due_s = now_s + spread(member.identity.uid, self.rest_s)
        else:
            member.due_s = now_s + HISTORIES_S

    def _heard(self, member: Member, spec: BaselineSpec, now_s: float) -> Heard:
        uid, sweep = member.identity.uid, self.hands.sweep
        judgement = sweep.judgement(uid, now_s, member.unlike) if sweep.filled(uid) else None
        if judgement is not None:
            judgement = held_against(judgement, member.level, spec)
        problem = sweep.source_problem(uid)
        disturbed = self.hands.occupancy.spans(uid, member.nodes)
        reason = None if problem is None else problem.reason
        return Heard(judgement, reason, sweep.run(uid), disturbed, sweep.symptoms(uid, now_s))

    def _tells(self, member: Member, heard: Heard) -> bool:
        """Whether there is anything to go by for the first tick of a baseline."""
        return heard.problem is not None or self.hands.sweep.filled(member.identity.uid)

    def _pause_s(self, member: Member, pace: Pace) -> float:
        """Until the next tick of its own accord: longer the longer nothing changed. At rest, each baseline has a moment
        of its own in every ten minutes, so that those that were made together are not looked at together."""
        if pace is Pace.RESTING and member.idle:
            return (spread(member.identity.uid, self.rest_s) - self.clock()) % self.rest_s or self.rest_s
        if pace is Pace.BUSY or not member.idle:
            return self.interval_s
        return min(LONGEST_WAIT_S, self.interval_s * 2.0 ** min(member.idle - 1, 10))

    def ticked(self, member: Member) -> None:
        """One tick; what the API server refuses is tried again after the interval."""
        try:
            self.reconcile(member)
        except MfuError as error:
            log.warning("%s/%s: %s: %s", member.identity.namespace, member.identity.name, error.reason, error.message)
        finally:
            if member.ticking:
                self.fleet.end(member, self.clock() + self.interval_s)
            self._slots.release()

    def _tick(self, member: Member, before: Status, now_s: float) -> Ticked:
        identity, spec = (
            member.identity,
            member.spec,
        )  # in this order: an old spec is never taken for a new generation's
        if isinstance(spec, Stall):
            return _hopeless(identity, before, spec, now_s)
        ticked = tick(self.hands, self.defaults, identity, spec, before, self._backoff(identity.uid), now_s)
        member.level, member.unlike, member.nodes = ticked.status.baseline, ticked.unlike, ticked.nodes
        heard, told = self._heard(member, spec, now_s), ticked.status.judgement
        untaken = heard.judgement is not None and tells_more(told, heard.judgement)
        symptoms = ticked.status.symptoms
        member.last = replace(heard, judgement=heard.judgement if untaken else told, symptoms=symptoms)
        telemetry.ails(identity, symptoms)
        telemetry.show(identity, ticked.status.judgement, ticked.status.incident is not None)
        return ticked

    def _write(self, member: Member, written: dict[str, Any], after: Status) -> None:
        changes = codec.patch(written, after)
        if not changes:
            return
        identity = member.identity
        found = self.hands.cluster.write_status(identity.namespace, identity.name, changes)
        telemetry.STATUS_WRITES.inc()
        if found is None:
            self.gone(identity.uid)
        else:
            self.fleet.wrote(member, found["metadata"], found.get("status") or {}, self.clock())

    def _unreadable(self, identity: Identity, error: Unreadable) -> None:
        """A status that a newer operator wrote is left as it is; said now and then, as there is no place to note it."""
        backoff, now_s = self._backoff(identity.uid), self.clock()
        if backoff.due("Ready", now_s):
            failure = Failure("Ready", error.reason, error.message)
            backoff.fail(failure, now_s)
            telemetry.count(failure)
            self._post(identity, Event("Warning", error.reason, error.message))

    def _post(self, identity: Identity, event: Event) -> None:
        regarding = {
            "apiVersion": GROUP_VERSION,
            "kind": KIND,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
        }
        try:
            self.hands.cluster.post(regarding, event)
        except MfuError as error:
            log.warning("an Event was not posted: %s: %s", error.reason, error.message)

    def _backoff(self, uid: str) -> Backoff:
        return self._backoffs.setdefault(uid, Backoff(first_s=self.interval_s))


def _complain(done: Future[None]) -> None:
    """Say what a tick was not written to survive; the next one tries again."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        log.error("a tick failed", exc_info=error)


def _news(last: Heard, now: Heard, now_s: float) -> bool:
    """Whether the sweep says something that the last tick did not go by."""
    if (last.problem, last.disturbed) != (now.problem, now.disturbed):
        return True
    if last.run is not None and last.run != now.run:
        return True
    known = last.symptoms or ()
    if now.symptoms is not None and refreshed(known, now.symptoms, now_s)[0] != known:
        return True
    return now.judgement is not None and tells_more(last.judgement, now.judgement)


def _was_at_rest(status: Status) -> bool:
    judgement = status.judgement
    if judgement is None or judgement.verdict is not Verdict.HEALTHY or judgement.gates or judgement.evidence_s > 0:
        return False
    return status.incident is None and status.recording is None and status.baseline is not None


def _hopeless(identity: Identity, before: Status, error: Stall, now_s: float) -> Ticked:
    """A spec that cannot be decoded: said in the status, once, and left until its next generation."""
    told = before.observed_generation == identity.generation and any(
        each.type == "Stalled" for each in before.conditions
    )
    if told:
        return Ticked(before, (), (), Pace.RESTING)
    conditions = (
        Condition("Ready", "False", error.reason, error.message, identity.generation, now_s),
        Condition("Stalled", "True", error.reason, error.message, identity.generation, now_s),
    )
    status = replace(before, observed_generation=identity.generation, conditions=conditions)
    return Ticked(status, (Event("Warning", error.reason, error.message),), ())

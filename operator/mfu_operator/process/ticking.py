"""One tick of one baseline, whatever becomes of it: what it is given, what it leaves, and when the next one is due."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mfu_operator.api import naming
from mfu_operator.api import status as codec
from mfu_operator.api.group import GROUP_VERSION, KIND
from mfu_operator.cycle.bulkheads import NAMESPACE
from mfu_operator.cycle.tick import Pace, Ticked, tick
from mfu_operator.errors import Abandoned, Conflict, MfuError, Stall
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Status
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import CONFIRM_S, Member, Seen, spread
from mfu_operator.process.listening import sweep_mark
from mfu_operator.process.membership import Membership
from mfu_operator.reconcile.linking import explained
from mfu_operator.reconcile.recovery import devices_of
from mfu_operator.reconcile.refresh import tells_more
from mfu_operator.reconcile.unticked import broken, hopeless, salvaged
from mfu_operator.reconcile.world import Defaults

log = logging.getLogger(__name__)

LONGEST_WAIT_S = 300.0
"""What stands in the way of a baseline is found gone within five minutes, and sooner where the readings show it."""


@dataclass(frozen=True, slots=True)
class Ticking:
    """Ticks the members of a fleet.

    Args:
        members: who they are, and what reaches into the world.
        defaults: what the settings say about every baseline.
    """

    members: Membership
    defaults: Defaults

    def ticked(self, member: Member) -> None:
        """One tick, whatever becomes of it: no error of one baseline's stops another's. What the API server refuses is
        tried again after the interval, what nobody foresaw later and later."""
        pause_s = self.members.interval_s
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
            pause_s = growing_pause_s(self.members.interval_s, LONGEST_WAIT_S, member.broken)
            self._broken(member, error)
        finally:
            if member.ticking:
                self.members.fleet.end(member, self.members.steady() + pause_s)

    def reconcile(self, member: Member) -> None:
        """One tick of one baseline, now. Where somebody else wrote meanwhile, what it decided is void: the object is
        read again and ticked again, which finds what was done in the world by its name."""
        try:
            if self.members.steady() - member.confirmed_s > CONFIRM_S:
                self.members.read(member)
            if member.identity.uid in self.members.fleet:
                self._tick_once(member, member.seen)
        except Conflict:
            self._after_conflict(member)
        finally:
            if member.identity.uid not in self.members.fleet:
                self.members.let_go(member.identity.uid)

    def _tick_once(self, member: Member, seen: Seen) -> None:
        written, now_s = seen.status(), self.members.clock()
        read = salvaged(seen.identity, codec.salvage(written), now_s, self.defaults.runbook_base_url)
        with telemetry.TICKS.time():
            ticked = self._tick(member, seen, read.status, now_s)
        self._post(seen, (*read.events, *ticked.events), ticked.status)
        changes = {}
        if ticked.status != read.status or member.settled != seen.stored:
            changes = codec.patch(written, ticked.status)
            member.settled = None if changes or ticked.status != read.status else seen.stored
        self._write(member, seen, changes)
        for name, value in seen.asked:
            self.members.adapters.cluster.remove_annotation(seen.object_version, name, value)
        member.idle = member.idle + 1 if ticked.status == read.status and not read.events else 0
        member.conflicts = 0
        self.members.fleet.end(member, self.members.steady() + self._pause_s(member, ticked.pace))

    def _broken(self, member: Member, error: Exception) -> None:
        """Say in the status that a tick failed. Where even that fails it is in the log and in the metrics."""
        telemetry.count_broken()
        seen = member.seen
        try:
            written = seen.status()
            now = broken(
                seen.identity,
                codec.salvage(written).status,
                error,
                self.members.clock(),
                self.defaults.runbook_base_url,
            )
            self._post(seen, now.events, now.status)
            self._write(member, seen, codec.patch(written, now.status))
        except Abandoned:
            return
        except Exception:
            log.exception("what failed in %s/%s was not written", seen.identity.namespace, seen.identity.name)

    def _tick(self, member: Member, seen: Seen, before: Status, now_s: float) -> Ticked:
        identity, spec = seen.identity, seen.spec
        if isinstance(spec, Stall):
            found = hopeless(identity, before, spec, now_s, self.defaults.runbook_base_url)
            return Ticked(found.status, found.events, (), Pace.BUSY if found.events else Pace.RESTING)
        adapters, backoff, steady_s = self.members.adapters, self.members.backoff(identity.uid), self.members.steady()
        ticked = tick(adapters, self.defaults, identity, spec, before, backoff, now_s, steady_s, seen.asked)
        member.level, member.nodes = ticked.status.baseline, ticked.nodes
        now, told = sweep_mark(adapters, member, ticked.view), ticked.status.judgement
        untaken = now.judgement is not None and tells_more(told, now.judgement)
        symptoms = ticked.status.symptoms
        member.last = replace(now, judgement=now.judgement if untaken else told, symptoms=symptoms)
        for failure in ticked.counted:
            telemetry.count(failure)
        telemetry.ails(identity, symptoms)
        telemetry.show(identity, ticked.status.judgement)
        incident = ticked.status.incident
        loss = telemetry.Loss(incident, incident.devices or devices_of(spec, 1)) if incident is not None else None
        telemetry.loses(identity, loss)
        return ticked

    def _write(self, member: Member, seen: Seen, changes: Mapping[str, Any]) -> None:
        if not changes:
            return
        found = self.members.adapters.cluster.write_status(seen.object_version, changes)
        telemetry.STATUS_WRITES.inc()
        if found is None:
            self.members.gone(member.identity.uid)
            return
        self.members.answered(member, found)

    def _after_conflict(self, member: Member) -> None:
        """Read what somebody else wrote and tick again: at once, but for somebody who never stops writing."""
        telemetry.STATUS_CONFLICTS.inc()
        self.members.read(member)
        member.conflicts += 1
        steady_s = self.members.steady()
        self.members.fleet.end(member, steady_s if member.conflicts == 1 else steady_s + self.members.interval_s)

    def _pause_s(self, member: Member, pace: Pace) -> float:
        """Until the next tick of its own accord: longer the longer nothing changed. At rest, each baseline has a moment
        of its own in every ten minutes, so that those that were made together are not looked at together."""
        if pace is Pace.RESTING and member.idle:
            rest_s = self.members.rest_s
            return (spread(member.identity.uid, rest_s) - self.members.steady()) % rest_s or rest_s
        if pace is Pace.BUSY or not member.idle:
            return self.members.interval_s
        return growing_pause_s(self.members.interval_s, LONGEST_WAIT_S, member.idle)

    def _post(self, seen: Seen, events: Sequence[Event], status: Status) -> None:
        """Tell what a tick found before its status is written. The names come from the status that the tick began
        with, or from what happened in the world: a process that dies between the two leaves them to be told once, by
        whoever ticks next."""
        identity = seen.identity
        regarding = {
            "apiVersion": GROUP_VERSION,
            "kind": KIND,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
        }
        for index, event in enumerate(explained(events, status.conditions, self.defaults.runbook_base_url)):
            nth = sum(each.reason == event.reason for each in events[:index])
            from_ = seen.stored if event.once is None else event.once.encode()
            name = naming.event_name(identity.name, identity.uid, from_, f"{event.reason}/{nth}")
            try:
                self.members.adapters.cluster.post(regarding, event, name)
            except MfuError as error:
                log.warning("an Event was not posted: %s: %s", error.reason, error.message)

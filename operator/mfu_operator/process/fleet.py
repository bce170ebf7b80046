"""Every TrainingBaseline that there is, as small as it can be kept, and when each is looked at next.

A tick reads the workload and its pods from the API server. For thousands of baselines of which nothing new can be said
that is nearly all of what they would cost, so a baseline at rest is looked at every ten minutes, and as soon as the
readings tell something new of it (`Reconciler.listen`).
"""

import heapq
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from zlib import crc32

import msgspec

from mfu_operator.api import decode
from mfu_operator.api.requests import Annotations, requests_of
from mfu_operator.errors import Stall
from mfu_operator.measure.view import RunMark
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.series import TimeSpan
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.ports import ObjectVersion
from mfu_operator.reconcile.world import Identity

REST_S = 600.0
"""A baseline of which nothing new can be said is looked at this often: the readings tell of everything that matters to
a verdict sooner, and what they do not tell (a label edited on the running workload) may wait for so long."""

CONFIRM_S = 3600.0
"""After so long without a word from the API server about an object, it is asked whether it still exists: a watch that
had to begin again does not report what was deleted meanwhile."""


MOST_OF_A_NAMESPACE = 5000
"""Baselines that are followed: ten thousand take half a gigabyte of the operator's memory, which all share."""


@dataclass(slots=True)
class SweepMark:
    """What of a `SweepView` may call for a tick, and when profiling Jobs `disturbed` the run. `problem` is a reason."""

    filled: bool
    judgement: Judgement | None
    problem: str | None
    run: RunMark | None
    disturbed: tuple[TimeSpan, ...]
    symptoms: tuple[Symptom, ...] | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A TrainingBaseline as the API server had it. `stored` is its status, in JSON; `spec` is why it cannot be read
    where it cannot, `asked` what a person asks for by command."""

    identity: Identity
    spec: BaselineSpec | Stall
    stored: bytes
    version: int
    asked: Annotations = ()

    def status(self) -> dict[str, Any]:
        """The stored status."""
        found: dict[str, Any] = msgspec.json.decode(self.stored)
        return found

    @property
    def object_version(self) -> ObjectVersion:
        """What a write rests on that was decided by this."""
        identity = self.identity
        return ObjectVersion(identity.namespace, identity.name, identity.uid, str(self.version))


class News(StrEnum):
    """What an object says that was not known of it: nothing, another status, or also another spec."""

    NOTHING = "nothing"
    STATUS = "status"
    SPEC = "spec"


@dataclass(slots=True)
class Member:
    """One TrainingBaseline, as it was `seen` last. `idle` counts the ticks in a row that changed nothing, `broken`
    those that ended in an error that nobody foresaw, `conflicts` those that somebody else's write made void; `last` is
    what the last one went by, `level` the one in force then, `nodes` where its pods were. `settled` is the stored
    status that a tick found to be just what it would write. While it is `ticking`, `begun_s` is when it had been
    due."""

    seen: Seen
    due_s: float
    confirmed_s: float
    ticking: bool = False
    begun_s: float = math.inf
    idle: int = 0
    broken: int = 0
    conflicts: int = 0
    last: SweepMark | None = None
    level: Baseline | None = None
    nodes: frozenset[str] = frozenset()
    settled: bytes | None = None

    @property
    def identity(self) -> Identity:
        """The object itself."""
        return self.seen.identity

    @property
    def spec(self) -> BaselineSpec | Stall:
        """Its spec, or why it cannot be read."""
        return self.seen.spec

    def status(self) -> dict[str, Any]:
        """Its status, as it is stored."""
        return self.seen.status()


@dataclass(slots=True)
class Fleet:
    """The members by uid. `judged` says of an object whether its spec is followed. Any thread may call."""

    judged: Callable[[Mapping[str, Any], BaselineSpec], BaselineSpec | Stall] = lambda body, spec: spec
    _members: dict[str, Member] = field(default_factory=dict)
    _followed: dict[str, set[str]] = field(default_factory=dict)
    """The uids of those that are followed, by namespace."""
    _begun_s: dict[str, float] = field(default_factory=dict)
    """When the last tick of each namespace began."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def saw(self, body: Mapping[str, Any], now_s: float) -> tuple[Member, News]:
        """Note an object that the watch told of, and what is new in it.

        A version lower than the known one came late, or etcd was restored: the API server is asked with the next tick.
        """
        uid = body["metadata"]["uid"]
        with self._lock:
            known = self._members.get(uid)
            if known is None:
                known = self._members[uid] = Member(self._seen(body), now_s, now_s)
                return known, News.SPEC
            if _version(body["metadata"]) < known.seen.version:
                known.confirmed_s = -math.inf
                return known, News.STATUS
            return known, self._took(known, body, now_s)

    def answered(self, member: Member, body: Mapping[str, Any], now_s: float) -> News:
        """Note an object that the API server sent in answer to our own write. One that is deleted stays forgotten."""
        with self._lock:
            if self._members.get(member.identity.uid) is not member:
                return News.NOTHING
            return self._took(member, body, now_s)

    def read(self, member: Member, before: Seen, body: Mapping[str, Any], now_s: float) -> News:
        """Note an object that was read, in place of what was known `before` the reading, whichever version it is."""
        with self._lock:
            if member.seen is not before:
                return News.STATUS  # the watch was quicker: what it told may be the newer
            member.seen, member.confirmed_s = self._seen(body), now_s
            if _same_spec(member.seen, before):
                return News.NOTHING if member.seen.version == before.version else News.STATUS
            return News.SPEC

    def gone(self, uid: str) -> Member | None:
        """Forget an object that is deleted; the member that it was. One that had no place beside it is judged again."""
        with self._lock:
            gone = self._members.pop(uid, None)
            if gone is not None:
                self._leave_place(gone.identity)
            return gone

    def begin(self, now_s: float, most: int, most_of_namespace: int) -> list[Member]:
        """At most so many members that are due; each is ticking until `end`.

        The namespaces take turns, one that has fewer ticking first, then one whose last tick began earlier, and within
        one the longest due. However many of however many namespaces are due or hang, another's next is among those that
        begin once each of them had a turn.
        """
        with self._lock:
            self._begun_s = {each: at_s for each, at_s in self._begun_s.items() if now_s < at_s + REST_S}
            taken = Counter(each.identity.namespace for each in self._members.values() if each.ticking)
            waiting = [each for each in self._members.values() if each.due_s <= now_s and not each.ticking]
            turns = []
            for each in sorted(waiting, key=lambda each: each.due_s):
                namespace = each.identity.namespace
                if taken[namespace] < most_of_namespace:
                    begun_s = self._begun_s.get(namespace, -math.inf)
                    turns.append(((taken[namespace], begun_s, each.due_s, each.identity.uid), each))
                    taken[namespace] += 1
            due = [each for _, each in heapq.nsmallest(most, turns, key=lambda turn: turn[0])]
            for each in due:
                self._begun_s[each.identity.namespace] = now_s
                each.ticking, each.begun_s, each.due_s = True, each.due_s, math.inf
            return due

    def oldest_due_s(self, now_s: float) -> float:
        """For how long the member has been due that waits the longest, for its tick to begin or to end."""
        with self._lock:
            since_s = min(
                (each.begun_s if each.ticking else each.due_s for each in self._members.values()), default=now_s
            )
            return max(0.0, now_s - since_s)

    def end(self, member: Member, due_s: float) -> None:
        """A tick is over. What came up meanwhile made it due sooner."""
        with self._lock:
            member.ticking, member.due_s = False, min(member.due_s, due_s)

    def call(self, member: Member, now_s: float) -> None:
        """Let a tick follow at once."""
        with self._lock:
            member.due_s = min(member.due_s, now_s)

    def members(self) -> list[Member]:
        """All of them now."""
        with self._lock:
            return list(self._members.values())

    def read_again(self, now_s: float) -> None:
        """Let every object be read and judged again with a tick that is due now."""
        with self._lock:
            for member in self._members.values():
                member.confirmed_s, member.due_s = -math.inf, min(member.due_s, now_s)

    def _took(self, member: Member, body: Mapping[str, Any], now_s: float) -> News:
        """Note a version of an object where it is newer than the known one. Its spec is read where it is another one,
        and where it was not followed: an annotation may change that."""
        metadata, before = body["metadata"], member.seen
        member.confirmed_s = now_s
        if _version(metadata) <= before.version:
            return News.NOTHING
        if metadata["generation"] == before.identity.generation and not isinstance(before.spec, Stall):
            stored = msgspec.json.encode(body.get("status") or {})
            asked = requests_of(metadata)
            member.seen = replace(before, stored=stored, version=_version(metadata), asked=asked)
            return News.STATUS
        member.seen = self._seen(body)
        return News.STATUS if _same_spec(member.seen, before) else News.SPEC

    def _seen(self, body: Mapping[str, Any]) -> Seen:
        metadata = body["metadata"]
        identity = Identity(metadata["namespace"], metadata["name"], metadata["uid"], metadata["generation"])
        stored = msgspec.json.encode(body.get("status") or {})
        return Seen(identity, self._spec(body), stored, _version(metadata), requests_of(metadata))

    def _spec(self, body: Mapping[str, Any]) -> BaselineSpec | Stall:
        try:
            found = self.judged(body, decode.spec(body))
        except Stall as error:
            return error
        namespace, uid = body["metadata"]["namespace"], body["metadata"]["uid"]
        followed = self._followed.setdefault(namespace, set())
        if uid not in followed and len(followed) >= MOST_OF_A_NAMESPACE:
            return Stall(
                "TooManyBaselines",
                f"{MOST_OF_A_NAMESPACE} TrainingBaselines of namespace {namespace} are followed already, and no other "
                "one is: delete those that nobody needs",
            )
        followed.add(uid)
        return found

    def _leave_place(self, gone: Identity) -> None:
        followed = self._followed.get(gone.namespace, set())
        was_full = len(followed) >= MOST_OF_A_NAMESPACE
        followed.discard(gone.uid)
        if not followed:
            self._followed.pop(gone.namespace, None)
        for member in self._members.values() if was_full else ():
            if member.identity.namespace == gone.namespace and _lacks_place(member.spec):
                member.confirmed_s, member.due_s = -math.inf, -math.inf
                return

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, uid: str) -> bool:
        return uid in self._members


def _lacks_place(spec: BaselineSpec | Stall) -> bool:
    return isinstance(spec, Stall) and spec.reason == "TooManyBaselines"


def spread(uid: str, span_s: float) -> float:
    """A share of a span that is the same for the same uid, so that ten thousand looks do not come at once."""
    return crc32(uid.encode()) / 2**32 * span_s


def _same_spec(one: Seen, other: Seen) -> bool:
    return one.identity == other.identity and _compared(one.spec) == _compared(other.spec)


def _compared(spec: BaselineSpec | Stall) -> BaselineSpec | str:
    """Errors are compared by what they say."""
    return str(spec) if isinstance(spec, Stall) else spec


def _version(metadata: Mapping[str, Any]) -> int:
    """Resource versions of one kind can be compared as numbers (Kubernetes 1.35 promises it, etcd always did so)."""
    return int(metadata.get("resourceVersion") or 0)

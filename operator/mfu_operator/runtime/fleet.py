"""Every TrainingBaseline that there is, as small as it can be kept, and when each is looked at next.

A tick reads the workload and its pods from the API server. For thousands of baselines of which nothing new can be said
that is nearly all of what they would cost, so a baseline at rest is looked at every ten minutes, and as soon as the
readings tell something new of it (`Reconciler.listen`).
"""

import heapq
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from mfu_operator.api import decode
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.reconcile.world import Identity

REST_S = 600.0
"""A baseline of which nothing new can be said is looked at this often: the readings tell of everything that matters to
a verdict sooner, and what they do not tell (a label edited on the running workload) may wait for so long."""

CONFIRM_S = 3600.0
"""After so long without a word from the API server about an object, it is asked whether it still exists: a watch that
had to begin anew does not tell of what was deleted meanwhile."""


@dataclass(slots=True)
class Heard:
    """What the sweep says of a baseline now, as far as it may call for a tick."""

    judgement: Judgement | None
    problem: str | None
    run: object
    disturbed: object
    symptoms: tuple[Symptom, ...] | None


@dataclass(slots=True)
class Member:
    """One TrainingBaseline. `stored` is its status as the API server has it, in JSON; `spec` is why it cannot be read
    where it cannot. `idle` counts the ticks in a row that changed nothing; `last` is what the last one went by, `level`
    the one in force then, `unlike` in what the job differed, `nodes` where its pods were."""

    identity: Identity
    spec: BaselineSpec | Stall
    stored: bytes
    version: int
    due_s: float
    confirmed_s: float
    ticking: bool = False
    idle: int = 0
    last: Heard | None = None
    level: Baseline | None = None
    unlike: tuple[str, ...] = ()
    nodes: frozenset[str] = frozenset()

    def status(self) -> dict[str, Any]:
        """The stored status."""
        found: dict[str, Any] = msgspec.json.decode(self.stored)
        return found


@dataclass(slots=True)
class Fleet:
    """The members by uid. Any thread may call."""

    _members: dict[str, Member] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def saw(self, body: Mapping[str, Any], now_s: float) -> Member | None:
        """Note an object as the API server has it; the member where it is new here or its spec is another one.

        What is older than what is known already, or is our own write, calls for nothing. A status that somebody else
        wrote is looked at with the next tick, which is due at once.
        """
        metadata = body["metadata"]
        uid, version = metadata["uid"], _version(metadata)
        with self._lock:
            known = self._members.get(uid)
            if known is not None and version <= known.version:
                known.confirmed_s = now_s
                return None
            if known is not None and metadata["generation"] == known.identity.generation:
                known.stored, known.version = msgspec.json.encode(body.get("status") or {}), version
                known.due_s = known.confirmed_s = now_s
                return None
            identity = Identity(metadata["namespace"], metadata["name"], uid, metadata["generation"])
            stored = msgspec.json.encode(body.get("status") or {})
            if known is None:
                known = self._members[uid] = Member(identity, _spec(body), stored, version, now_s, now_s)
            else:
                known.spec = _spec(body)  # before the generation that says that it was seen: a tick reads them that way
                known.identity, known.stored, known.version = identity, stored, version
                known.due_s = known.confirmed_s = now_s
            return known

    def gone(self, uid: str) -> Member | None:
        """Forget an object that is deleted; the member that it was."""
        with self._lock:
            return self._members.pop(uid, None)

    def begin(self, now_s: float, most: int) -> list[Member]:
        """At most so many members that are due, the longest due first; each is ticking until `end`."""
        with self._lock:
            waiting = (each for each in self._members.values() if each.due_s <= now_s and not each.ticking)
            due = heapq.nsmallest(most, waiting, key=lambda each: each.due_s)
            for each in due:
                each.ticking, each.due_s = True, math.inf
            return due

    def end(self, member: Member, due_s: float) -> None:
        """A tick is over. What came up meanwhile made it due sooner."""
        with self._lock:
            member.ticking, member.due_s = False, min(member.due_s, due_s)

    def wrote(self, member: Member, metadata: Mapping[str, Any], status: Mapping[str, Any], now_s: float) -> None:
        """Note our own write, which the watch will tell of again."""
        with self._lock:
            version = _version(metadata)
            if version >= member.version:
                member.stored, member.version, member.confirmed_s = msgspec.json.encode(status), version, now_s

    def call(self, member: Member, now_s: float) -> None:
        """Let a tick follow at once."""
        with self._lock:
            member.due_s = min(member.due_s, now_s)

    def members(self) -> list[Member]:
        """All of them now."""
        with self._lock:
            return list(self._members.values())

    def __len__(self) -> int:
        return len(self._members)


def spread(uid: str, span_s: float) -> float:
    """A share of a span that is the same for the same uid, so that ten thousand looks do not come at once."""
    return crc32(uid.encode()) / 2**32 * span_s


def _version(metadata: Mapping[str, Any]) -> int:
    """Resource versions of one kind can be compared as numbers (Kubernetes 1.35 promises it, etcd always did so)."""
    return int(metadata.get("resourceVersion") or 0)


def _spec(body: Mapping[str, Any]) -> BaselineSpec | Stall:
    try:
        return decode.spec(body)
    except Stall as error:
        return error

"""How much of the operator one dependency that hangs may take: its share, and nothing of what serves other baselines.

A tick has a slot while it waits for the API server. While it waits for a Git host or a forge it gives the slot to
another tick and takes one of that host's instead; where the host has none left it waits for its next turn.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from enum import StrEnum
from threading import Lock, Semaphore

from mfu_operator.cycle.fair_share import Share
from mfu_operator.cycle.repository_reads import RepositoryReads
from mfu_operator.errors import Wait


class Dependency(StrEnum):
    """What a tick reaches for outside of its own cluster."""

    GIT = "git"
    FORGE = "forge"


OF_A_HOST = Share(of_one=4, of_all=6, of_firsts=6)
"""Requests of one kind to one host at once. More would serve nobody sooner: hosts count requests."""

OF_A_KIND = {Dependency.GIT: Share(of_one=4, of_all=8, of_firsts=4), Dependency.FORGE: Share(8, 16, 40)}
"""Requests of one kind at once. Each look at a repository is a process of its own, of which one at a time renders, and
a dozen of those that only fetch fit into the memory that the chart asks for; a request to a forge is a thread that
waits. What is kept for namespaces that have none under way leaves each of four others, or of forty, a place."""

MOST_AT_ONCE = sum(share.of_all + (share.of_firsts or 0) for share in OF_A_KIND.values())
"""Requests of all kinds."""

WAITS_S = 60.0
"""A namespace that was refused a place has the next one before any that was served since, if it asks again within this
time: its baselines are ticked every fifteen seconds while they wait. Reads of repositories give way to it
(`cycle/repository_reads.py`), so that it is its turn at its next tick, however many others ask."""

NAMESPACE: ContextVar[str] = ContextVar("namespace", default="")
"""The namespace of the baseline that this thread ticks."""

_FORGOTTEN_S = 86_400.0


class TickSlots:
    """The slots of ticks. Any thread may call; a slot may be given back by another thread than the one that took it."""

    def __init__(self, most: int) -> None:
        self._slots = Semaphore(most)

    def take(self, timeout_s: float) -> bool:
        """Take a slot; False where none was free within the time."""
        return self._slots.acquire(timeout=timeout_s)

    def give_back(self) -> None:
        """Let another tick begin."""
        self._slots.release()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the caller's slot to others, and take one again at the end."""
        self._slots.release()
        try:
            yield
        finally:
            self._slots.acquire()


class HostSlots:
    """What each host takes now. Any thread may call."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._lock = Lock()
        self._steady = steady
        self._hosts: dict[tuple[Dependency, str], Counter[str]] = {}
        """By namespace."""
        self._kinds = {dependency: Counter[str]() for dependency in Dependency}
        self._queues = {dependency: _Queue() for dependency in Dependency}
        self.reads = RepositoryReads(steady)

    @contextmanager
    def of(self, dependency: Dependency, host: str, namespace: str) -> Iterator[None]:
        """One request to a host, for a namespace.

        Raises:
            Wait: (HostBusy) as many as may be are under way.
        """
        with self._lock:
            there = self._hosts.get((dependency, host), Counter())
            all_there = self._kinds[dependency]
            share, queue, steady_s = OF_A_KIND[dependency], self._queues[dependency], self._steady()
            own = all_there[namespace] >= share.of_one
            full = not OF_A_HOST.left_for(namespace, there)
            places = share.places_for(namespace, all_there)
            none_left = places <= queue.ahead_of(namespace, all_there, steady_s)
            if full or none_left:
                if not own and none_left:
                    queue.refused(namespace, steady_s)
                    if dependency is Dependency.GIT and not all_there[namespace]:
                        self.reads.make_room(namespace, queue.waiting(all_there) - places)
                whose = "of this namespace " if own else f"to {host} " if full else ""
                raise Wait(
                    "HostBusy",
                    f"the limit of concurrent {dependency} requests {whose}is reached; this one follows at a later "
                    "tick",
                )
            queue.served(namespace, steady_s)
            self._hosts[dependency, host] = there
            there[namespace] += 1
            all_there[namespace] += 1
        try:
            with self.reads.one(namespace) if dependency is Dependency.GIT else nullcontext():
                yield
        finally:
            with self._lock:
                for each in (there, all_there):
                    each[namespace] -= 1
                    if not each[namespace]:
                        del each[namespace]
                if not there:
                    self._hosts.pop((dependency, host), None)


class _Queue:
    """The namespaces that were refused a place, and when each was served."""

    def __init__(self) -> None:
        self._refused_s: dict[str, float] = {}
        self._served_s: dict[str, float] = {}

    def ahead_of(self, namespace: str, taken: Mapping[str, int], steady_s: float) -> int:
        """How many others have nothing, wait, and were served earlier than this one."""
        self._refused_s = {each: at_s for each, at_s in self._refused_s.items() if steady_s < at_s + WAITS_S}
        own_s = self._served_s.get(namespace, -math.inf)
        return sum(not taken.get(each) and self._served_s.get(each, -math.inf) < own_s for each in self._refused_s)

    def waiting(self, taken: Mapping[str, int]) -> int:
        """How many have nothing and wait."""
        return sum(not taken.get(each) for each in self._refused_s)

    def refused(self, namespace: str, steady_s: float) -> None:
        """Note that it waits."""
        self._refused_s[namespace] = steady_s

    def served(self, namespace: str, steady_s: float) -> None:
        """Note that it has a place. What was served a day ago was served long ago."""
        self._refused_s.pop(namespace, None)
        self._served_s = {each: at_s for each, at_s in self._served_s.items() if steady_s < at_s + _FORGOTTEN_S}
        self._served_s[namespace] = steady_s

"""How much of the operator one dependency that hangs may take: its share, and nothing of what serves other baselines.

A tick has a slot while it waits for the API server. While it waits for a Git host or a forge it gives the slot to
another tick and takes one of that host's instead; where the host has none left it waits for its next turn.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from threading import Lock, Semaphore

from mfu_operator.cycle.fair_share import Share
from mfu_operator.errors import Wait


class Dependency(StrEnum):
    """What a tick reaches for outside of its own cluster."""

    GIT = "git"
    FORGE = "forge"


OF_A_HOST = Share(of_one=4, of_all=6, of_firsts=6)
"""Requests of one kind to one host at once. More would serve nobody sooner: hosts count requests."""

OF_A_KIND = {Dependency.GIT: Share(of_one=4, of_all=8, of_firsts=4), Dependency.FORGE: Share(8, 16, 8)}
"""Requests of one kind at once. Each look at a repository is a process of its own, of which one at a time renders, and
a dozen of those that only fetch fit into the memory that the chart asks for. A third is kept for namespaces that have
none under way: two that take all they can leave four others, or eight, a place each."""

MOST_AT_ONCE = sum(share.of_all + share.of_firsts for share in OF_A_KIND.values())
"""Requests of all kinds."""

NAMESPACE: ContextVar[str] = ContextVar("namespace", default="")
"""The namespace of the baseline that this thread ticks."""


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

    def __init__(self) -> None:
        self._lock = Lock()
        self._hosts: dict[tuple[Dependency, str], Counter[str]] = {}
        """By namespace."""
        self._kinds = {dependency: Counter[str]() for dependency in Dependency}

    @contextmanager
    def of(self, dependency: Dependency, host: str, namespace: str) -> Iterator[None]:
        """One request to a host, for a namespace.

        Raises:
            Wait: (HostBusy) as many as may be are under way.
        """
        with self._lock:
            there = self._hosts.get((dependency, host), Counter())
            all_there = self._kinds[dependency]
            share = OF_A_KIND[dependency]
            own = all_there[namespace] >= share.of_one
            full = not OF_A_HOST.left_for(namespace, there)
            if full or not share.left_for(namespace, all_there):
                whose = "of this namespace " if own else f"to {host} " if full else ""
                raise Wait(
                    "HostBusy",
                    f"as many {dependency} requests {whose}as may be at once are under way; this one is made at a "
                    "later tick",
                )
            self._hosts[dependency, host] = there
            there[namespace] += 1
            all_there[namespace] += 1
        try:
            yield
        finally:
            with self._lock:
                for each in (there, all_there):
                    each[namespace] -= 1
                    if not each[namespace]:
                        del each[namespace]
                if not there:
                    self._hosts.pop((dependency, host), None)

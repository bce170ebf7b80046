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

from mfu_operator.errors import Wait


class Dependency(StrEnum):
    """What a tick reaches for outside of its own cluster."""

    GIT = "git"
    FORGE = "forge"


MOST_OF_A_HOST = 6
"""Requests of one kind to one host at once. More would serve nobody sooner: hosts count requests."""

MOST_OF_A_KIND = {Dependency.GIT: 12, Dependency.FORGE: 24}
"""Requests of one kind at once: three hosts, or six, may hang before a fourth or a seventh waits for them. Each look at
a repository is a process of its own, of which one at a time renders, and a dozen of those that only fetch fit into the
memory that the chart asks for."""


MOST_OF_A_NAMESPACE = {Dependency.GIT: 4, Dependency.FORGE: 8}
"""Requests of one kind for one namespace's baselines at once: no namespace takes all of a host or of a kind."""

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
        self._hosts: Counter[tuple[Dependency, str]] = Counter()
        self._kinds: Counter[Dependency] = Counter()
        self._namespaces: Counter[tuple[Dependency, str]] = Counter()

    @contextmanager
    def of(self, dependency: Dependency, host: str, namespace: str) -> Iterator[None]:
        """One request to a host, for a namespace.

        Raises:
            Wait: (HostBusy) as many as may be are under way.
        """
        with self._lock:
            full = self._hosts[dependency, host] >= MOST_OF_A_HOST
            own = self._namespaces[dependency, namespace] >= MOST_OF_A_NAMESPACE[dependency]
            if full or own or self._kinds[dependency] >= MOST_OF_A_KIND[dependency]:
                whose = f"to {host} " if full else "of this namespace " if own else ""
                raise Wait(
                    "HostBusy",
                    f"as many {dependency} requests {whose}as may be at once are under way; this one is made at a "
                    "later tick",
                )
            self._hosts[dependency, host] += 1
            self._kinds[dependency] += 1
            self._namespaces[dependency, namespace] += 1
        try:
            yield
        finally:
            with self._lock:
                self._hosts[dependency, host] -= 1
                self._kinds[dependency] -= 1
                self._namespaces[dependency, namespace] -= 1
                self._hosts += Counter()
                self._namespaces += Counter()

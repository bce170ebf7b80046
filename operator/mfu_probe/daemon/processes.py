"""Who polls, and which of them are the ranks of this pod, in their order."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from pathlib import Path
from typing import Callable

from mfu_probe.daemon.protocol import POLL_SECONDS, Poll
from mfu_probe.daemon.session import DaemonSession
from mfu_probe.identity import RANK_VARIABLES, RankIdentity
from mfu_probe.live.session import Refused

PROCESSES = Path("/proc")
LONGEST_ENVIRONMENT = 1 << 20
MOST_PROCESSES = 512
GONE_SECONDS = 6 * POLL_SECONDS
"""A process that has not polled for so long has ended."""


class Process:
    """One process that polls."""

    def __init__(self, poll: Poll, session: DaemonSession, now_s: float, identity: RankIdentity | None) -> None:
        self.pid = poll.pid
        self.ancestors = frozenset(poll.ancestors)
        self.session = session
        self.identity = identity
        self.seen_s = now_s


class Processes:
    """Every process that polls. Called by the socket's thread and by those of HTTP."""

    def __init__(self, traces: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._traces = traces
        self._clock = clock
        self._lock = threading.Lock()
        self._found: dict[Hashable, Process] = {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._found)

    def polled(self, poll: Poll, address: Hashable, sender: int | None = None) -> str:
        """A process asks for work: the configuration that it is handed, or an empty text.

        `sender` is its process id as we see it; None where we do not.
        """
        with self._lock:
            found = self._found.get(address)
            if found is None or found.pid != poll.pid:
                if len(self._found) >= MOST_PROCESSES:
                    return ""
                session = DaemonSession(poll.pid, self._traces, self._clock)
                found = self._found[address] = Process(poll, session, self._clock(), identity_of(sender))
            found.seen_s = self._clock()
        return found.session.handed()

    def ranks(self) -> list[Process]:
        """The processes that train, by process id: launchers start their ranks in their order.

        A launcher (torchrun) polls too, and is the ancestor of its ranks; so do loader workers that are spawned and
        import torch, below a rank. The ranks are the uppermost processes where there are several, else what is right
        below the only one, if anything is.
        """
        with self._lock:
            every = list(self._found.values())
        pids = {each.pid for each in every}
        upper = [each for each in every if not each.ancestors & (pids - {each.pid})]
        if len(upper) == 1:
            first = upper[0].pid
            below = [each for each in every if each.ancestors & (pids - {each.pid}) == {first}]
            upper = below or upper
        return sorted(upper, key=lambda each: each.pid)

    def rank(self, local_rank: int) -> Process:
        """One of them. Raises Refused (404) where none polls."""
        ranks = self.ranks()
        if local_rank >= len(ranks):
            raise Refused(404, f"{len(ranks)} processes poll in this pod; is KINETO_USE_DAEMON=1 set where torch runs?")
        return ranks[local_rank]

    def look(self) -> None:
        """See what was written, and forget who has ended."""
        with self._lock:
            every = list(self._found.items())
        for address, process in every:
            polls = self._clock() <= process.seen_s + GONE_SECONDS
            process.session.look(polls)
            if not polls:
                process.session.close()
                with self._lock:
                    self._found.pop(address, None)

    def close(self) -> None:
        """Forget all of them."""
        for process in list(self._found.values()):
            process.session.close()


def identity_of(pid: int | None, processes: Path = PROCESSES) -> RankIdentity | None:
    """Which rank a process is, by its environment: seen where the pod shares its process namespace and the two
    containers their user; None elsewhere, and for what was not started as a rank."""
    if pid is None:
        return None
    try:
        with (processes / str(pid) / "environ").open("rb") as file:
            lines = file.read(LONGEST_ENVIRONMENT).decode(errors="replace").split("\0")
        environment = dict(line.split("=", 1) for line in lines if "=" in line)
        return RankIdentity.from_environment(environment) if set(RANK_VARIABLES) & set(environment) else None
    except (OSError, ValueError):
        return None

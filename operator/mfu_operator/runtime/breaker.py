"""No more pull requests within an hour than people can weigh: a cause that all jobs share must not open fifty.

A driver, a storage outage or a slow network makes every job slow at once, and each job's history may hold a commit that
looks guilty. The count is of the whole operator and in memory only: an operator that restarts, or another replica that
takes over, forgets what was opened before and may open three more.
"""

from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from mfu_operator.detect.words import clock, duration
from mfu_operator.errors import Wait

MOST = 3
"""Independent regressions of a fleet come hours apart; one change may well slow two jobs, seldom three. A fourth within
the hour says that something else than a commit is common to them."""

WINDOW_S = 3600.0
"""Long enough for a person to see three pull requests with the same story and stop the rest (remediation.mode)."""


class Breaker:
    """Counts what was opened. Ticks of several baselines ask at the same time."""

    def __init__(self, most: int = MOST, window_s: float = WINDOW_S) -> None:
        self._most = most
        self._window_s = window_s
        self._opened: dict[Hashable, float] = {}
        self._lock = Lock()

    @contextmanager
    def opening(self, what: Hashable, now_s: float) -> Iterator[None]:
        """Count `what` while it is being opened, and from then on unless opening it fails.

        Raises:
            Wait: (FleetBreaker) until when there is room again. What is counted already is never refused.
        """
        with self._lock:
            self._forget_old(now_s)
            known = what in self._opened
            if not known:
                self._require_room()
                self._opened[what] = now_s
        with ExitStack() as on_failure:
            if not known:
                on_failure.callback(self._give_back, what)
            yield
            on_failure.pop_all()

    def found(self, what: Hashable, now_s: float) -> None:
        """Count what turned out to be open already: it was opened, and the answer was lost."""
        with self._lock:
            self._opened.setdefault(what, now_s)

    def _give_back(self, what: Hashable) -> None:
        with self._lock:
            self._opened.pop(what, None)

    def _forget_old(self, now_s: float) -> None:
        self._opened = {what: at_s for what, at_s in self._opened.items() if now_s < at_s + self._window_s}

    def _require_room(self) -> None:
        if len(self._opened) < self._most:
            return
        until_s = sorted(self._opened.values())[-self._most] + self._window_s
        raise Wait(
            "FleetBreaker",
            f"the operator opened {self._most} pull requests within {duration(self._window_s)} and opens the next at "
            f"{clock(until_s)}: see first whether the jobs share a cause that no commit has (driver, storage, network)",
            until_s,
        )

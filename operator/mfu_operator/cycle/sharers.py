"""Which baselines a pull request is about, as their last ticks knew it. One commit can slow many jobs down, and its
pull request is withdrawn only when none of them waits for it."""

import math
from threading import Lock

from mfu_operator.model.incident import Status
from mfu_operator.model.sharer import Sharer
from mfu_operator.reconcile.proposed.facts import shares

FRESH_S = 1200.0
"""A baseline with an open incident is ticked every five minutes at the latest; one that was not heard of for four times
that long is gone, and the pull request does not wait for it."""

RECALL_S = 90.0
"""After a start, until every status of the fleet was read."""


class Sharers:
    """Kept for the whole operator. Times are seconds on a clock that nobody sets."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Sharer, ...], float]] = {}
        self._complete_s = -math.inf
        self._lock = Lock()

    def begin(self, steady_s: float) -> None:
        """Note that the process begins to act: nobody is known until the statuses were read."""
        self._complete_s = steady_s + RECALL_S

    def note(self, baseline: str, status: Status, steady_s: float) -> None:
        """Note what a baseline's status says; `baseline` is its namespace and name."""
        found = shares(status, baseline)
        with self._lock:
            if found:
                self._known[baseline] = (found, steady_s)
            else:
                self._known.pop(baseline, None)
                self._known = {each: known for each, known in self._known.items() if steady_s < known[1] + FRESH_S}

    def others(self, baseline: str, steady_s: float) -> tuple[Sharer, ...] | None:
        """The parts of every other baseline; None while they are not known."""
        if steady_s < self._complete_s:
            return None
        with self._lock:
            return tuple(
                each
                for name, (found, at_s) in self._known.items()
                if name != baseline and steady_s < at_s + FRESH_S
                for each in found
            )

"""Other installations that serve the same baselines: each would open pull requests of its own for the same loss."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence

from mfu_operator.adapters.cluster.neighbours import Installation
from mfu_operator.errors import MfuError
from mfu_operator.process.telemetry import NEIGHBOURS

log = logging.getLogger(__name__)

EVERY_S = 60.0
"""Several renewals of a Lease come between two looks, so one that lives has changed."""

ALIVE_S = 3 * EVERY_S
"""One whose Lease did not change for three looks has ended."""


class Neighbours:
    """Looks every minute who else is there; `of` answers from memory. Any thread may ask.

    Args:
        installations: lists those that have a Lease.
        own: our own, by its Lease's namespace and name.
        watches: the namespaces that we serve; none: all.
        steady: seconds on a clock that nobody sets.
    """

    def __init__(
        self,
        installations: Callable[[], Sequence[Installation]],
        own: str,
        watches: Collection[str],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._installations = installations
        self._own = Installation(own, frozenset(watches), ())
        self._steady = steady
        self._seen: dict[str, tuple[tuple[object, ...], float | None]] = {}
        """What stood in each Lease, and when we saw it change; None: not yet."""
        self._alive: tuple[Installation, ...] = ()

    def of(self, namespace: str) -> tuple[str, ...]:
        """All installations that serve the baselines of a namespace, ours included, where there are others; every one
        of them says the same words."""
        others = [each.name for each in self._alive if each.serves(namespace)]
        return tuple(sorted((*others, self._own.name))) if others else ()

    def look(self) -> None:
        """Look once; where the API server cannot be asked, what was seen last stands."""
        try:
            found = [each for each in self._installations() if each.name != self._own.name and self._overlaps(each)]
        except MfuError as error:
            log.warning("neighbours: %s: %s", error.reason, error.message)
            return
        steady_s = self._steady()
        seen = {}
        for each in found:
            record, changed_s = self._seen.get(each.name, (each.record, None))
            seen[each.name] = (each.record, steady_s if record != each.record else changed_s)
        self._seen = seen
        alive = tuple(each for each in found if _lives(seen[each.name][1], steady_s))
        for each in alive:
            if each.name not in {known.name for known in self._alive}:
                log.warning("installation %s serves the same baselines as this one (%s)", each.name, self._own.name)
        self._alive = alive
        NEIGHBOURS.set(len(alive))

    def start(self) -> None:
        """Look every minute in a thread of its own, for the life of the process."""
        threading.Thread(target=self._run, name="neighbours", daemon=True).start()

    def _overlaps(self, other: Installation) -> bool:
        return not self._own.watches or any(other.serves(namespace) for namespace in self._own.watches)

    def _run(self) -> None:
        never = threading.Event()
        while not never.wait(EVERY_S):
            self.look()


def _lives(changed_s: float | None, steady_s: float) -> bool:
    return changed_s is not None and steady_s < changed_s + ALIVE_S

"""Whose sources are asked first: those that answered quickly, then of each namespace one in its turn.

Baselines name the addresses of sources, so that one namespace may have hundreds that never answer.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.ports import Metrics

_QUICK_S = 1.0
_QUICK_OF_A_BASELINE_S = 0.05
"""Ten thousand baselines are read within seconds; a source that takes this long for each of a few is slow."""

_FORGOTTEN_S = 3600.0
"""A namespace none of whose sources was asked for so long has waited longer than any other."""


class Measured(Protocol):
    """What is measured by a source."""

    @property
    def workload(self) -> WorkloadRef:
        """The training job."""


@dataclass(frozen=True, slots=True)
class Order:
    """Sources in the order in which they are asked: those that answer quickly, then the `firsts`, each the only one of
    its namespaces that is asked, then the others."""

    quick: Sequence[Metrics]
    firsts: Sequence[Metrics]
    others: Sequence[Metrics]


class Turns:
    """Remembers of each source how long it took, and of each namespace when one of its was asked: a namespace that
    names new addresses again and again is not new itself. Any thread may call."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._took_s: dict[Metrics, float] = {}
        self._asked_s: dict[Metrics, float] = {}
        self._served: dict[Metrics, frozenset[str]] = {}
        self._namespace_s: dict[str, float] = {}

    def in_order(
        self,
        measured: Mapping[Metrics, Collection[Measured]],
        due: Collection[Metrics],
        asking: Collection[Metrics] = (),
    ) -> Order:
        """The sources that are due, in the order in which they are asked. Of those that are not quick, or were never
        asked, each namespace has one before any has two, and first comes the namespace that waited longest.

        Args:
            measured: every source, and what it measures.
            due: those that are to be asked.
            asking: those that are being asked still.
        """
        with self._lock:
            self._took_s = {source: took_s for source, took_s in self._took_s.items() if source in measured}
            self._asked_s = {source: at_s for source, at_s in self._asked_s.items() if source in measured}
            served = {source: frozenset(one.workload.namespace for one in measured[source]) for source in measured}
            busy = frozenset[str]().union(*(self._served.get(source, frozenset()) for source in asking))
            self._served = served | {source: self._served.get(source, frozenset()) for source in asking}
            order = {source: place for place, source in enumerate(due)}
            quick = [source for source in due if self._is_quick(source, len(measured[source]))]
            others = list(order.keys() - set(quick))
            others.sort(key=lambda source: (self._asked_s.get(source, -math.inf), order[source]))
            turns, places = Counter[frozenset[str]](), dict[Metrics, tuple[int, float]]()
            for source in others:
                waited = min((self._namespace_s.get(each, -math.inf) for each in served[source]), default=-math.inf)
                places[source] = (turns[served[source]], waited)
                turns[served[source]] += 1
        others.sort(key=lambda source: places[source])
        firsts = [source for source in others if places[source][0] == 0 and not served[source] & busy]
        left = set(others) - set(firsts)
        return Order(quick, firsts, [source for source in others if source in left])

    def begins(self, source: Metrics, at_s: float) -> None:
        """Note that a source is asked."""
        with self._lock:
            self._asked_s[source] = at_s
            self._namespace_s |= dict.fromkeys(self._served.get(source, ()), at_s)
            old = [each for each, asked_s in self._namespace_s.items() if asked_s < at_s - _FORGOTTEN_S]
            for each in old:
                del self._namespace_s[each]

    def ended(self, source: Metrics, at_s: float) -> None:
        """Note that it was."""
        with self._lock:
            self._took_s[source] = at_s - self._asked_s.get(source, at_s)

    def _is_quick(self, source: Metrics, baselines: int) -> bool:
        took_s = self._took_s.get(source)
        return took_s is not None and took_s <= _QUICK_S + _QUICK_OF_A_BASELINE_S * baselines

"""Whose sources are asked first: those that answered quickly, then of each namespace one in its turn.

Baselines name the addresses of sources, so that one namespace may have hundreds that never answer.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from threading import Lock
from typing import Protocol

from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.ports import Metrics

_QUICK_S = 1.0
_QUICK_OF_A_BASELINE_S = 0.05
"""Ten thousand baselines are read within seconds; a source that takes this long for each of a few is slow."""


class Measured(Protocol):
    """What is measured by a source."""

    @property
    def workload(self) -> WorkloadRef:
        """The training job."""


class Turns:
    """Remembers of each source when it was asked, and how long that took. Any thread may call."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._took_s: dict[Metrics, float] = {}
        self._asked_s: dict[Metrics, float] = {}

    def in_order(self, measured: Mapping[Metrics, Collection[Measured]], due: Collection[Metrics]) -> list[Metrics]:
        """The sources that are due, in the order in which they are asked. Of those that are not quick, or were never
        asked, each namespace has one before any has two, and first comes the namespace that waited longest.

        Args:
            measured: every source, and what it measures.
            due: those that are to be asked.
        """
        with self._lock:
            self._took_s = {source: took_s for source, took_s in self._took_s.items() if source in measured}
            self._asked_s = {source: at_s for source, at_s in self._asked_s.items() if source in measured}
            served = {source: frozenset(one.workload.namespace for one in measured[source]) for source in measured}
            last_s: dict[frozenset[str], float] = {}
            for source, at_s in self._asked_s.items():
                last_s[served[source]] = max(at_s, last_s.get(served[source], at_s))
            quick = [source for source in due if self._is_quick(source, len(measured[source]))]
            order = {source: place for place, source in enumerate(due)}
            others = list(order.keys() - set(quick))
            others.sort(key=lambda source: (self._asked_s.get(source, -math.inf), order[source]))
        turns, places = Counter[frozenset[str]](), dict[Metrics, tuple[int, float]]()
        for source in others:
            places[source] = (turns[served[source]], last_s.get(served[source], -math.inf))
            turns[served[source]] += 1
        return [*quick, *sorted(others, key=lambda source: places[source])]

    def begins(self, source: Metrics, at_s: float) -> None:
        """Note that a source is asked."""
        with self._lock:
            self._asked_s[source] = at_s

    def ended(self, source: Metrics, at_s: float) -> None:
        """Note that it was."""
        with self._lock:
            self._took_s[source] = at_s - self._asked_s.get(source, at_s)

    def _is_quick(self, source: Metrics, baselines: int) -> bool:
        took_s = self._took_s.get(source)
        return took_s is not None and took_s <= _QUICK_S + _QUICK_OF_A_BASELINE_S * baselines

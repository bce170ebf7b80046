"""How much of what all namespaces share one of them may take, so that several which take all they can leave room."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Of something that is counted.

    Args:
        of_one: for one namespace at most.
        of_all: for all namespaces together, which each may use up its own of.
        of_firsts: beyond these, for namespaces that have nothing yet: one for each of so many; None: for each of all.
            What a namespace has beyond its own (it may have been counted without being asked for) takes nothing from
            the others.
    """

    of_one: int
    of_all: int
    of_firsts: int | None

    def left_for(self, namespace: str, taken: Mapping[str, int]) -> bool:
        """Whether a namespace may take one more, when so many are taken by each."""
        return self.places_for(namespace, taken) > 0

    def places_for(self, namespace: str, taken: Mapping[str, int]) -> float:
        """How many are left, of those of which a namespace may take one more; 0 where it has its own already."""
        own = taken.get(namespace, 0)
        if own >= self.of_one:
            return 0
        left = self.of_all - sum(min(each, self.of_one) for each in taken.values())
        if own:
            return max(0, left)
        return math.inf if self.of_firsts is None else max(0, left + self.of_firsts)

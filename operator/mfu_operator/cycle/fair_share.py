"""How much of what all namespaces share one of them may take, so that several which take all they can leave room."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Of something that is counted.

    Args:
        of_one: for one namespace at most.
        of_all: for all namespaces together, which each may use up its own of.
        of_firsts: beyond these, for namespaces that have nothing yet: one for each of so many. What a namespace has
            beyond its own (it may have been counted without being asked for) takes nothing from the others.
    """

    of_one: int
    of_all: int
    of_firsts: int

    def left_for(self, namespace: str, taken: Mapping[str, int]) -> bool:
        """Whether a namespace may take one more, when so many are taken by each."""
        own = taken.get(namespace, 0)
        total = sum(min(each, self.of_one) for each in taken.values())
        if own >= self.of_one:
            return False
        return total < self.of_all + (0 if own else self.of_firsts)

"""What a cause is made of."""

from collections.abc import Callable
from dataclasses import dataclass

from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace.diagnosis.case import Case

Evidence = tuple[str, ...]
"""Sentences with numbers; empty where the case does not prove the cause."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause under a bottleneck.

    `needs` and `contradicted_by` say in words what `evidence` checks. `advice` are the remedies, the cheapest first.
    `behind` are the bottlenecks that it may look like in the account, where its own is not the only one.
    """

    name: str
    bottleneck: Bottleneck
    needs: str
    contradicted_by: str
    evidence: Callable[[Case], Evidence]
    advice: tuple[str, ...]
    behind: tuple[Bottleneck, ...] = ()

    def may_hide_behind(self, bottleneck: Bottleneck) -> bool:
        """Whether it is looked for where `bottleneck` is what grew."""
        return bottleneck in (self.behind or (self.bottleneck,))

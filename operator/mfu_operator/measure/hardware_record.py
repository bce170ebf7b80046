"""What is remembered of the GPUs of one job: how they read now, and how they usually do."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from mfu_operator.detect.hardware import Ruling, merged, rule_out
from mfu_operator.model.series import HardwareReading

_MOST_TRIES_BACK = 10
"""A Prometheus that fails for minutes holds up a diagnosis for ten sweeps; after that nothing is known to be usual."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look while the baseline held: what the GPUs read, in one sweep."""

    at_s: float
    gpus: tuple[HardwareReading, ...]


@dataclass(frozen=True, slots=True)
class HardwareRecord:
    """The GPUs of one job.

    `now` is what they read in the last sweep of a loss, `usual` what they read while the baseline held (None: not
    known). `last_look` is usual once it is known that no loss had
    begun by then. `tries_back` counts how often the time before the loss was asked for; `complete`: the hardware was
    looked at since the loss, and what is usual of it before, as far as that can be had.
    """

    now: tuple[HardwareReading, ...] = ()
    usual: tuple[HardwareReading, ...] | None = None
    last_look: Look | None = None
    tries_back: int = 0
    complete: bool = False

    @property
    def wants_usual(self) -> bool:
        """Whether what was usual before the loss is not known yet, and asking for it may still tell."""
        return self.usual is None and self.tries_back < _MOST_TRIES_BACK

    def looked(self, look: Look) -> "HardwareRecord":
        """After a look while the baseline held; what was read in the one before is usual by now."""
        return replace(self.with_look_as_usual(look.at_s), last_look=look)

    def with_look_as_usual(self, before_s: float) -> "HardwareRecord":
        """With the last look for usual where it was before a moment, and for nothing otherwise."""
        look = self.last_look
        if look is None:
            return self
        if look.at_s >= before_s:
            return replace(self, last_look=None)
        return replace(self, usual=merged(self.usual or (), look.gpus), last_look=None)

    def with_usual(self, gpus: Sequence[HardwareReading]) -> "HardwareRecord":
        """With what was read before the loss."""
        return replace(self, usual=merged(self.usual or (), gpus))

    def ruling(self, node_of: Mapping[str, str], usual_nodes: Collection[str]) -> Ruling:
        """What of the hardware explains the loss that is open now.

        Args:
            node_of: node by pod.
            usual_nodes: the nodes on which the baseline was held; empty: not known.
        """
        return rule_out(self.now, self.usual or (), node_of, usual_nodes)

"""One sweep over one source's baselines, as the looks that follow the readings see it."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from mfu_operator.runtime.watched import Watched


@dataclass(frozen=True, slots=True)
class Round:
    """One sweep over the baselines of one source.

    Args:
        current: the baselines, whose readings are up to date.
        now_s: the time of this sweep, Unix seconds.
        number: how many sweeps there were, this one included.
        lock: taken while what was found is noted, and not while it is asked for.
    """

    current: Sequence[Watched]
    now_s: float
    number: int
    lock: Lock

    def share(self, baselines: Sequence[Watched], every: int) -> Sequence[Watched]:
        """Those whose turn it is, where each has one in so many sweeps."""
        return baselines[self.number % every :: every]

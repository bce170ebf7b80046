"""One sweep over one source's baselines, as the looks that follow the readings see it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mfu_operator.measure.monitored_job import MonitoredJob


@dataclass(frozen=True, slots=True)
class SweepRound:
    """One sweep over the baselines of one source.

    Args:
        current: the baselines, whose readings are up to date.
        now_s: the time of this sweep, Unix seconds.
        number: how many sweeps there were, this one included.
    """

    current: Sequence[MonitoredJob]
    now_s: float
    number: int

    def share(self, baselines: Sequence[MonitoredJob], every: int) -> Sequence[MonitoredJob]:
        """Those whose turn it is, where each has one in so many sweeps."""
        return baselines[self.number % every :: every]

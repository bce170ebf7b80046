"""What the handlers share for the life of the process: made at startup, closed at cleanup."""

from dataclasses import dataclass

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.process.leader import Leader
from mfu_operator.process.reconciler import Reconciler
from mfu_operator.settings import Settings


@dataclass(slots=True)
class Shell:
    """The settings, the adapters, the Lease, and the loop over all baselines."""

    settings: Settings
    adapters: Adapters
    leader: Leader
    reconciler: Reconciler

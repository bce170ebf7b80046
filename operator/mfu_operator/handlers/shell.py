"""What the handlers share for the life of the process: made at startup, closed at cleanup."""

from dataclasses import dataclass

from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.leader import Leader
from mfu_operator.runtime.reconciler import Reconciler
from mfu_operator.settings import Settings


@dataclass(slots=True)
class Shell:
    """The settings, the hands, the Lease, and the loop over all baselines."""

    settings: Settings
    hands: Hands
    leader: Leader
    reconciler: Reconciler

"""What the handlers share for the life of the process: made at startup, closed at cleanup."""

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

from mfu_operator.reconcile.world import Defaults
from mfu_operator.runtime.backoff import Backoff
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.leader import Leader
from mfu_operator.settings import Settings

TICKS_AT_ONCE = 16
"""Ticks mostly wait for the API server: sixteen serve thousands of baselines, and sixteen clones fit into the memory.
asyncio's own executor would have as many threads as the node's cores allow, and kopf's is for synchronous handlers."""


@dataclass(slots=True)
class Shell:
    """The hands, the settings, the back-off of each baseline by uid, and the threads that ticks run in."""

    settings: Settings
    defaults: Defaults
    hands: Hands
    leader: Leader
    backoffs: dict[str, Backoff] = field(default_factory=dict)
    ticks: Executor = field(default_factory=lambda: ThreadPoolExecutor(TICKS_AT_ONCE, "tick"))

    def backoff(self, uid: str) -> Backoff:
        """The failures of one baseline."""
        return self.backoffs.setdefault(uid, Backoff(first_s=self.settings.reconcile_interval_s))

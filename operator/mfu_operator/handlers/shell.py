"""What the handlers share for the life of the process: made at startup, closed at cleanup."""

from dataclasses import dataclass, field

from mfu_operator.reconcile.world import Defaults
from mfu_operator.runtime.backoff import Backoff
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.leader import Leader
from mfu_operator.settings import Settings


@dataclass(slots=True)
class Shell:
    """The hands, the settings, and the back-off of each baseline by uid."""

    settings: Settings
    defaults: Defaults
    hands: Hands
    leader: Leader
    backoffs: dict[str, Backoff] = field(default_factory=dict)

    def backoff(self, uid: str) -> Backoff:
        """The failures of one baseline."""
        return self.backoffs.setdefault(uid, Backoff(first_s=self.settings.reconcile_interval_s))

"""Whether somebody's authority was asked for what a TrainingBaseline wants."""

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.api.guarded import Guard, unguarded
from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import BaselineSpec

log = logging.getLogger(__name__)

EVERY_S = 60.0


class Authority:
    """Looks every minute which admission policy guards the objects; `judged` answers from memory. Any thread may ask.

    Args:
        guard: reads the policy's binding; None: there is none.
        accepted: whether guarded fields count without one.
    """

    def __init__(self, guard: Callable[[], Guard | None], accepted: bool = False) -> None:
        self._guard = guard
        self._accepted = accepted
        self._known: Guard | None = None

    def judged(self, body: Mapping[str, Any], spec: BaselineSpec) -> BaselineSpec | Stall:
        """The spec of an object, or why it is not followed."""
        if self._accepted:
            return spec
        metadata = body["metadata"]
        made_s = unix_time(metadata.get("creationTimestamp")) or 0.0
        return unguarded(spec, metadata, made_s, self._known) or spec

    def look(self) -> bool:
        """Look once; whether it is another policy than before. Where the API server cannot be asked, what was seen
        last stands."""
        try:
            found = self._guard()
        except MfuError as error:
            log.warning("admission policy: %s: %s", error.reason, error.message)
            return False
        changed, self._known = found != self._known, found
        return changed

    def start(self, changed: Callable[[], None]) -> None:
        """Look every minute in a thread of its own, for the life of the process."""
        threading.Thread(target=self._run, args=(changed,), name="authority", daemon=True).start()

    def _run(self, changed: Callable[[], None]) -> None:
        never = threading.Event()
        while not never.wait(EVERY_S):
            if self.look():
                changed()

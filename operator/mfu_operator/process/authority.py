"""Whether somebody's authority was asked for what a TrainingBaseline wants, and what it wants where it says nothing."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.api.guarded import EVERYWHERE, Guard, unguarded
from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import BaselineSpec, RemediationMode

log = logging.getLogger(__name__)

EVERY_S = 60.0


class Authority:
    """Looks every minute which admission policy guards the objects; `judged` answers from memory. Any thread may ask.

    Args:
        guards: reads the policy's bindings, by namespace (EVERYWHERE: one for all).
        accepted: whether guarded fields count without one.
        modes: what baselines propose that do not say it, by namespace ("*": all others).
    """

    def __init__(
        self,
        guards: Callable[[], Mapping[str, Sequence[Guard]]],
        accepted: bool = False,
        modes: Mapping[str, RemediationMode] = MappingProxyType({}),
    ) -> None:
        self._guards = guards
        self._accepted = accepted
        self._modes = modes
        self._known: Mapping[str, Sequence[Guard]] = {}

    def judged(self, body: Mapping[str, Any], spec: BaselineSpec) -> BaselineSpec | Stall:
        """The spec of an object, or why it is not followed."""
        metadata = body["metadata"]
        spec = self._with_mode(body, spec)
        if self._accepted:
            return spec
        made_s = unix_time(metadata.get("creationTimestamp")) or 0.0
        guards = self._known.get(metadata["namespace"], self._known.get(EVERYWHERE, ()))
        return unguarded(spec, metadata, made_s, guards) or spec

    def _with_mode(self, body: Mapping[str, Any], spec: BaselineSpec) -> BaselineSpec:
        mode = self._modes.get(body["metadata"]["namespace"], self._modes.get("*"))
        if mode is None or (body["spec"].get("remediation") or {}).get("mode") is not None:
            return spec
        return replace(spec, remediation=replace(spec.remediation, mode=mode))

    def look(self) -> bool:
        """Look once; whether it is another policy than before. Where the API server cannot be asked, what was seen
        last stands."""
        try:
            found = self._guards()
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

"""Whether this replica acts. A Lease renewed in a thread, so that a slow tick cannot lose it."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from mfu_operator.errors import MfuError
from mfu_operator.runtime.telemetry import LEADER

log = logging.getLogger(__name__)

RENEW_S = 5.0
"""A third of the Lease's duration: two renewals may fail before another replica takes over."""


class Lease(Protocol):
    """What can be held by one replica at a time."""

    def hold(self, now_s: float) -> bool:
        """Take or renew it."""

    def release(self) -> None:
        """Give it back."""


class Leader:
    """Renews a Lease until stopped; `acting` tells whether it is held.

    Args:
        lease: what is renewed.
        clock: the time now, Unix seconds: what stands in the Lease.
        duration_s: how long a renewal holds. After that another replica may act, so this one does not.
        elapsed: seconds on a clock that nobody sets.
    """

    def __init__(
        self,
        lease: Lease,
        clock: Callable[[], float],
        duration_s: float = 15.0,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lease = lease
        self._clock = clock
        self._duration_s = duration_s
        self._elapsed = elapsed
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._renewed_s: float | None = None
        """When the renewal that is in force was begun; None where the last one failed."""

    @property
    def acting(self) -> bool:
        """Whether this replica holds the Lease, and renewed it recently enough for nobody else to have taken it."""
        renewed_s = self._renewed_s
        return renewed_s is not None and self._elapsed() < renewed_s + self._duration_s

    def renew(self) -> None:
        """Try once; where the API cannot be asked, this replica does not act."""
        begun_s, before = self._elapsed(), self.acting
        try:
            held = self._lease.hold(self._clock())
        except MfuError as error:
            log.warning("lease: %s: %s", error.reason, error.message)
            held = False
        if held != before:
            log.info("this replica %s", "acts now" if held else "stands by")
        self._renewed_s = begun_s if held else None
        LEADER.set(held)

    def start(self) -> None:
        """Renew every few seconds in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and give the Lease back."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(RENEW_S)
        held, self._renewed_s = self._renewed_s is not None, None
        if held:
            try:
                self._lease.release()
            except MfuError as error:
                log.warning("lease: %s: %s", error.reason, error.message)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.renew()
            self._stopping.wait(RENEW_S)

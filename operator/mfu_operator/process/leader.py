"""Whether this replica acts. A Lease renewed in a thread, so that a slow tick cannot lose it.

A replica that lost the Lease has a memory that another one's acts are missing from: its process ends, and the kubelet
starts one that knows nothing and reads everything.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from mfu_operator.errors import MfuError
from mfu_operator.ports import effect
from mfu_operator.process.ending import end_process
from mfu_operator.process.telemetry import LEADER

log = logging.getLogger(__name__)

RENEW_S = 4.0
"""Of a Lease of 15 s: a renewal that hangs for its 6 s and one more fit in before another replica may take over."""

MARGIN_S = 2.0
"""We end so long before another replica may begin: what was asked for just before is over by then, or nearly."""


class Lease(Protocol):
    """What can be held by one replica at a time."""

    @effect
    def hold(self, now_s: float) -> bool:
        """Take or renew it."""

    @effect
    def release(self) -> None:
        """Give it back."""


class Leader:
    """Renews a Lease until stopped; `acting` tells whether it is held.

    Args:
        lease: what is renewed.
        clock: the time now, Unix seconds: what stands in the Lease.
        duration_s: how long a renewal holds. After that another replica may act, so this one does not.
        elapsed: seconds on a clock that nobody sets.
        lost: called once where the Lease was held and is lost; it ends the process.
    """

    def __init__(
        self,
        lease: Lease,
        clock: Callable[[], float],
        duration_s: float = 15.0,
        elapsed: Callable[[], float] = time.monotonic,
        lost: Callable[[], None] = lambda: end_process("the Lease was lost"),
    ) -> None:
        self._lease = lease
        self._clock = clock
        self._acts_s = duration_s - MARGIN_S
        self._elapsed = elapsed
        self._lost = lost
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._renewed_s: float | None = None
        """When the renewal that is in force was begun; None where there is none."""

    @property
    def acting(self) -> bool:
        """Whether this replica holds the Lease, and renewed it recently enough for nobody else to have taken it."""
        renewed_s = self._renewed_s
        return renewed_s is not None and self._elapsed() < renewed_s + self._acts_s

    def renew(self) -> None:
        """Try once. Where the API cannot be asked, the last renewal holds for as long as it does."""
        led, begun_s = self._renewed_s is not None, self._elapsed()
        lapsed = led and not self.acting
        held = None if lapsed else self._held()
        if held:
            self._renewed_s = begun_s
        elif held is False:
            self._renewed_s = None
        if led and not self.acting:
            self._renewed_s = None
            LEADER.set(0)
            self._lost()
        elif self.acting and not led:
            log.info("this replica acts now")
        LEADER.set(self.acting)

    def start(self) -> None:
        """Renew every few seconds in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and give the Lease back."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * RENEW_S)
        held, self._renewed_s = self._renewed_s is not None, None
        if held:
            try:
                self._lease.release()
            except MfuError as error:
                log.warning("lease: %s: %s", error.reason, error.message)

    def _held(self) -> bool | None:
        """Whether it is held; None where that cannot be said now."""
        try:
            return self._lease.hold(self._clock())
        except MfuError as error:
            log.warning("lease: %s: %s", error.reason, error.message)
            return None

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.renew()
            self._stopping.wait(RENEW_S)

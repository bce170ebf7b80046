"""The real process before a real API server: told to end, what is under way ends or is given up, then comes the Lease;
stopped for longer than the Lease lasts, it does nothing more."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mfu_operator.adapters.cluster import Leadership
from mfu_operator.process.ending import FAILED
from mfu_operator.settings import Settings
from tests.cluster import preflight
from tests.cluster.layout import LOOPBACK
from tests.faults.control_plane import NAMESPACE, ONE_PROCESS, ControlPlane, control_plane
from tests.faults.running_operator import START_S, Running, operator
from tests.faults.table import Row
from tests.support.awaited import awaited

pytestmark = [pytest.mark.cluster, ONE_PROCESS]

GRACE_S = 5.0
"""In place of thirty seconds."""

ENDED_S = 60.0
"""The chart's terminationGracePeriodSeconds: then comes SIGKILL. The chart's test adds the parts up."""


class SwallowingHost:
    """A Git host that takes every connection and packet and never answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = f"http://{LOOPBACK}:{self._listener.getsockname()[1]}"
        self.open = self.ended = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.open += 1
                threading.Thread(target=self._swallow, args=(connection,), daemon=True).start()

    def _swallow(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(65536):
                pass
        self.ended += 1

    def close(self) -> None:
        self._listener.close()


STOPPED_S = 60.0
"""Four times as long as the Lease."""

AT_ONCE_S = 20.0


@dataclass
class Observed:
    """The process, and what stood in the Lease while it ended, by seconds since SIGTERM."""

    exit_status: int | None = None
    took_s: float = 0.0
    holders: list[tuple[float, str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    reason = preflight.why_not()
    if reason is not None:
        pytest.skip(reason)
    with control_plane(tmp_path_factory.mktemp("plane")) as started:
        yield started


def end(running: Running) -> Observed:
    """SIGTERM, and look at the Lease until the process has ended."""
    found, begun_s = Observed(), time.monotonic()
    running.process.send_signal(signal.SIGTERM)
    while running.process.poll() is None and time.monotonic() < begun_s + ENDED_S:
        found.holders.append((time.monotonic() - begun_s, running.holder))
        time.sleep(0.1)
    found.exit_status, found.took_s = running.process.poll(), time.monotonic() - begun_s
    return found


def test_a_push_that_hangs_is_given_up_and_the_lease_is_given_back_after_it(
    plane: ControlPlane, tmp_path: Path, row: Row
) -> None:
    host = SwallowingHost()
    with operator(plane, tmp_path, host.address, GRACE_S) as running:
        assert awaited(lambda: host.open, bool, START_S), running.log
        before = running.stored
        found = end(running)
        assert awaited(lambda: host.ended, lambda ended: ended == host.open, 5.0) == host.open
        row.note(stories=1, end_s=round(found.took_s, 1))
        assert (found.exit_status, running.holder) == (0, ""), running.log
        assert running.stored == before
    given_back_s = next((at_s for at_s, name in found.holders if not name), found.took_s)
    assert GRACE_S <= given_back_s <= found.took_s
    assert host.open == 1
    host.close()


def test_where_nothing_hangs_it_ends_at_once(plane: ControlPlane, tmp_path: Path, row: Row) -> None:
    with operator(plane, tmp_path, grace_s=GRACE_S) as running:
        assert awaited(lambda: running.has_proposed, bool, START_S), running.log
        found = end(running)
        row.note(stories=1, end_s=round(found.took_s, 1))
        assert (found.exit_status, running.holder) == (0, ""), running.log
    assert found.took_s < ENDED_S


@pytest.mark.faults
def test_a_process_that_is_stopped_in_a_push_while_another_acts_ends_and_does_nothing_more(
    plane: ControlPlane, tmp_path: Path, row: Row
) -> None:
    host = SwallowingHost()
    other = Leadership(plane.administrator, NAMESPACE, Settings().lease, "another")
    with operator(plane, tmp_path, host.address) as running:
        assert awaited(lambda: host.open, bool, START_S), running.log
        running.process.send_signal(signal.SIGSTOP)
        before, begun_s = running.stored, time.monotonic()
        assert awaited(lambda: other.hold(time.time()), bool, STOPPED_S), "the Lease runs out"
        awaited(lambda: other.hold(time.time()), lambda _: time.monotonic() > begun_s + STOPPED_S, STOPPED_S)
        running.process.send_signal(signal.SIGCONT)
        continued_s = time.monotonic()
        assert awaited(running.process.poll, lambda status: status is not None, AT_ONCE_S) == FAILED, running.log
        row.note(stories=1, end_s=round(time.monotonic() - continued_s, 1))
        assert (running.holder, host.open) == ("another", 1)
        assert running.stored == before
    other.release()
    host.close()

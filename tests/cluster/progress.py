"""What is under way, for whoever waits."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_HEARTBEAT_S = 15.0


@contextmanager
def progress(stage: str) -> Iterator[None]:
    """Say that a stage has begun, that it is alive, and how long it took.

    A terminal shows the seconds count up; elsewhere a stage is one line when it ends, and one more every
    quarter of a minute while it lasts.
    """
    reporter = _Reporter(stage)
    try:
        yield
    except BaseException:
        reporter.end("failed after")
        raise
    reporter.end("took")


class _Reporter:
    """The line of one stage, drawn by a thread of its own."""

    _screen = threading.Lock()

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._began_s = time.monotonic()
        self._over = threading.Event()
        self._terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._show_life, daemon=True)
        self._thread.start()

    def end(self, verb: str) -> None:
        self._over.set()
        self._thread.join()
        self._write(f"  {self._stage}: {verb} {self._elapsed_s():.1f} s\n")

    def _show_life(self) -> None:
        interval_s = 1.0 if self._terminal else _HEARTBEAT_S
        while not self._over.wait(interval_s):
            ending = "" if self._terminal else "\n"
            self._write(f"  {self._stage} … {self._elapsed_s():.0f} s{ending}")

    def _write(self, text: str) -> None:
        with self._screen:
            sys.stderr.write(f"\r\033[K{text}" if self._terminal else text)
            sys.stderr.flush()

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s

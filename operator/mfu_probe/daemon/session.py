"""The captures of one process that polls. What it is handed cannot be taken back, and it says nothing on its way: there
is a trace in the end, or there is none."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Callable

from mfu_probe.daemon.marks import Marks
from mfu_probe.daemon.protocol import POLL_SECONDS, configuration, written
from mfu_probe.live.session import EXPIRES_SECONDS, LONGEST_SECONDS, PAUSE_SECONDS, Refused, asked_id, asked_steps
from mfu_probe.live.storage import CHUNK, FASTEST, MOST_BYTES, TAIL

AGAIN_SECONDS = 4 * POLL_SECONDS
"""A configuration that comes before the first step is refused without a word, so it is handed over again."""

MOST_ROUND_UP = 1_000_000
MOST_REMEMBERED = 16


@dataclass
class Request:
    """One capture. `round_up` or `first_step` is None. Times are seconds of a monotonic clock."""

    id: str
    first_step: int | None
    round_up: int | None
    steps: int
    asked_s: float
    state: str = "waiting"
    reason: str | None = None
    handed_s: float | None = None
    logs: list[Path] = field(default_factory=list)
    seen_bytes: int = -1
    packed: BinaryIO | None = None
    size_bytes: int | None = None
    marks: Marks | None = None
    ended_s: float | None = None
    expired: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in ("done", "failed")

    @property
    def body(self) -> tuple[int | None, int | None, int]:
        """What was asked for."""
        return self.first_step, self.round_up, self.steps


class DaemonSession:
    """The captures of process `pid` (as it sees itself), whose traces Kineto writes below `folder`."""

    def __init__(self, pid: int, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._pid = pid
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, Request] = {}
        self._current: Request | None = None
        self.step_seconds: float | None = None

    @property
    def busy(self) -> bool:
        """Whether a capture is under way."""
        return self._current is not None

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Take a request; the same one again gives the same answer. Raises Refused."""
        wanted = _decoded(body, self._clock())
        with self._lock:
            known = self._known.get(wanted.id)
            if known is not None and known.body != wanted.body:
                raise Refused(409, f"capture {known.id} was asked for with another body")
            if known is None:
                self._require_free()
                self._known[wanted.id] = self._current = wanted
                for old in [each for each in self._known.values() if each.over][:-MOST_REMEMBERED]:
                    self._forget(old)
                    self._known.pop(old.id)
            return {"id": wanted.id, "firstStep": wanted.first_step, "steps": wanted.steps}

    def state(self, capture: str) -> dict[str, Any]:
        """How far a capture is. Kineto does not say which steps it recorded, only when. Raises Refused (404)."""
        with self._lock:
            found = self._found(capture)
            told: dict[str, Any] = {"state": found.state, "step": None, "firstStep": found.first_step}
            if found.reason is not None:
                told["reason"] = found.reason
            if found.size_bytes is not None:
                told["bytes"] = found.size_bytes
            if found.marks is not None:
                starts_ns = found.marks.starts_ns
                told.update(optimizerSteps=len(starts_ns), startNs=starts_ns[0], endNs=starts_ns[-1])
            return told

    def trace(self, capture: str) -> Path:
        """The compressed trace. Raises Refused: 404 unknown, 409 not done, 410 gone."""
        with self._lock:
            found = self._found(capture)
            if found.expired:
                raise Refused(410, f"the trace of capture {capture} is gone; ask for another capture")
            if found.packed is None:
                raise Refused(409, f"capture {capture} is {found.state}: {found.reason or 'wait until it is done'}")
            return Path(f"/proc/self/fd/{found.packed.fileno()}")

    def forget(self, capture: str) -> None:
        """Forget a capture; what the process was handed already it still records. Raises Refused (404)."""
        with self._lock:
            found = self._found(capture)
            if not found.over:
                self._end(found, "failed", "the capture was deleted")
            self._forget(found)

    def handed(self) -> str:
        """What the process is handed now that it polls: a configuration, or an empty text."""
        with self._lock:
            current, now_s = self._current, self._clock()
            if current is None or (current.handed_s is not None and now_s < current.handed_s + AGAIN_SECONDS):
                return ""
            current.handed_s, current.state = now_s, "recording"
            log = self._folder / f"{current.id}-{len(current.logs)}.json"
            current.logs.append(log)
            return configuration(log, current.first_step, current.round_up, current.steps)

    def look(self, polls: bool) -> None:
        """See whether a trace has come. `polls`: whether the process still does."""
        with self._lock:
            for each in self._known.values():
                if each.ended_s is not None and self._clock() > each.ended_s + EXPIRES_SECONDS:
                    self._forget(each)
            current = self._current
            if current is None:
                return
            try:
                came = self._came(current)
                if came is not None:
                    self._take(current, came)
            except OSError as error:
                self._end(current, "failed", f"the trace cannot be read or kept: {error.strerror}")
            if not current.over and not polls:
                self._end(current, "failed", "the process does not poll any more")
            if not current.over and self._clock() > current.asked_s + LONGEST_SECONDS:
                self._end(current, "failed", f"no trace came in {LONGEST_SECONDS:.0f} s; does the process step?")

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            for each in self._known.values():
                self._forget(each)
            self._known, self._current = {}, None

    def _came(self, current: Request) -> Path | None:
        """A trace that has not grown since the last look."""
        for log in current.logs:
            path = written(log, self._pid)
            with suppress(OSError):
                size = path.lstat().st_size
                if size == current.seen_bytes and size > 0:
                    return path
                current.seen_bytes, current.state = size, "exporting"
        return None

    def _take(self, current: Request, path: Path) -> None:
        """Keep what a person or a coordinator can use of the trace. Raises OSError."""
        marks = Marks()
        packed, size, complete = _packed(path, self._folder, marks)
        path.unlink()
        if size > MOST_BYTES:
            reason = f"the trace has more than {MOST_BYTES} bytes; ask for fewer steps"
        elif not complete:
            reason = f"the trace ends after {size} bytes: the folder of the traces is full"
        elif not marks.starts_ns:
            reason = "the trace holds no step of an optimizer"
        else:
            current.packed, current.marks = packed, marks
            current.size_bytes = os.fstat(packed.fileno()).st_size
            self.step_seconds = marks.step_seconds or self.step_seconds
            self._end(current, "done", None)
            return
        packed.close()
        self._end(current, "failed", reason)

    def _require_free(self) -> None:
        if self._current is not None:
            raise Refused(409, f"capture {self._current.id} is {self._current.state}; one runs at a time")
        ended_s = max((each.ended_s for each in self._known.values() if each.ended_s is not None), default=None)
        if ended_s is not None and self._clock() < ended_s + PAUSE_SECONDS:
            raise Refused(429, f"the last capture ended less than {PAUSE_SECONDS:.0f} s ago")

    def _end(self, request: Request, state: str, reason: str | None) -> None:
        request.state, request.reason, request.ended_s = state, reason, self._clock()
        if self._current is request:
            self._current = None

    def _forget(self, request: Request) -> None:
        if request.packed is not None:
            request.packed.close()
        request.packed, request.expired = None, True
        for log in request.logs:  # a second one may come of a configuration that was handed over twice
            path = written(log, self._pid)
            for each in (path, path.with_name(path.name + ".tmp")):
                with suppress(OSError):
                    each.unlink()

    def _found(self, capture: str) -> Request:
        found = self._known.get(capture)
        if found is None:
            raise Refused(404, f"no capture {capture!r} is known")
        return found


def _packed(path: Path, folder: Path, marks: Marks) -> tuple[BinaryIO, int, bool]:
    """The trace compressed into a file without a name, which is gone with this process; the trace's bytes (reading ends
    where they are too many), and whether its end is there. Raises OSError."""
    packed = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # open until the capture is forgotten
    squeeze = zlib.compressobj(FASTEST, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    tail, size = b"", 0
    try:
        with _opened(path) as plain:
            while size <= MOST_BYTES and (chunk := plain.read(CHUNK)):
                size += len(chunk)
                marks.feed(chunk)
                packed.write(squeeze.compress(chunk))
                tail = (tail + chunk)[-TAIL:]
        packed.write(squeeze.flush())
        packed.flush()
    except BaseException:
        packed.close()
        raise
    return packed, size, tail.rstrip().endswith(b"}")


def _opened(path: Path) -> BinaryIO:
    """A regular file, never what a link leads to: the folder is the training container's too. Raises OSError."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(0, "it is not a regular file")
    return os.fdopen(number, "rb")


def _decoded(body: Mapping[str, Any], now_s: float) -> Request:
    first, round_up = body.get("firstStep"), body.get("roundUp")
    if (first is None) == (round_up is None):
        raise Refused(400, "either firstStep or roundUp must be given")
    for name, value, most in (("firstStep", first, 2**53), ("roundUp", round_up, MOST_ROUND_UP)):
        least = 1 if name == "roundUp" else 0
        if value is not None and (type(value) is not int or not least <= value <= most):
            raise Refused(400, f"{name} must be a whole number from {least} to {most}")
    return Request(asked_id(body), first, round_up, asked_steps(body), now_s)

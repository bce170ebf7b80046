"""What was asked for and how far it is. HTTP threads ask; the loop's thread meets it at step boundaries.

Nothing here may reach the loop: what fails ends the capture and leaves its reason, and the loop goes on.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from mfu_probe.live.interrupt import on_main_thread
from mfu_probe.live.recorder import ACTIVITIES, Recorder, RecorderUnavailable
from mfu_probe.live.storage import Storage, StorageUnavailable

MOST_STEPS = 30
LEAST_SECONDS = 60.0
LONGEST_SECONDS = 600.0
STEPS_OF_TIME = 7
"""A capture may take the longer of 60 s and seven steps, and never more than ten minutes."""

PAUSE_SECONDS = 30.0
"""Between the end of one capture and the next request."""

LATER_SECONDS = 1.0
"""After a bound, so that it has passed when it is looked at."""

EXPIRES_SECONDS = 300.0
"""A trace is kept for so long after it is done."""

MOST_REMEMBERED = 16
"""Captures that are over and still answered for."""

_ID = re.compile(r"[a-z0-9-]{1,63}")


class Refused(Exception):
    """A request that is not taken: the HTTP status and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Capture:
    """One capture. Times are seconds of a monotonic clock; `pause_seconds` is what the loop waited for it, `thread` the
    one on which it is recorded."""

    id: str
    first_step: int
    steps: int
    activities: tuple[str, ...]
    asked_s: float = 0.0
    state: str = "waiting"
    reason: str | None = None
    trace: Path | None = None
    size_bytes: int | None = None
    started_s: float | None = None
    thread: int | None = None
    ended_s: float | None = None
    pause_seconds: float = 0.0
    expired: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in ("done", "failed")


class CaptureSession:
    """The captures of one process, one at a time.

    Args:
        recorder: what records.
        storage: where traces lie.
        clock: seconds of a monotonic clock.
        in_background: runs a function beside the loop.
        later: runs a function after so many seconds, beside the loop.
        interrupt: runs a function on the main thread, between two of the script's own instructions.
    """

    def __init__(
        self,
        recorder: Recorder,
        storage: Storage,
        clock: Callable[[], float] = time.monotonic,
        in_background: Callable[[Callable[[], None]], None] | None = None,
        later: Callable[[float, Callable[[], None]], None] | None = None,
        interrupt: Callable[[Callable[[], None]], None] = on_main_thread,
    ) -> None:
        self._recorder = recorder
        self._storage = storage
        self._clock = clock
        self._in_background = in_background or _in_thread
        self._later = later or _in_timer
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._current: Capture | None = None
        self._known: dict[str, Capture] = {}
        self._step = 0
        self._phase = "starting"
        self._limit_s = LEAST_SECONDS
        self._at_work = False

    @property
    def recorder(self) -> str:
        """The recorder's name."""
        return self._recorder.name

    @property
    def busy(self) -> bool:
        """Whether a capture is under way."""
        return self._current is not None

    @property
    def step(self) -> int:
        """The step that runs now, counted from 0 by this process."""
        return self._step

    def request(self, body: Mapping[str, Any], step_seconds: float | None) -> dict[str, Any]:
        """Take a request; the same one again gives the same answer. Raises Refused."""
        wanted = _decoded(body)
        with self._lock:
            self._expire()
            known = self._known.get(wanted.id)
            if known is not None:
                return _accepted(known, wanted)
            self._require_free(wanted)
            self._limit_s = min(LONGEST_SECONDS, max(LEAST_SECONDS, STEPS_OF_TIME * (step_seconds or 0.0)))
            wanted.asked_s = self._clock()
            self._known[wanted.id] = self._current = wanted
            for old in [each.id for each in self._known.values() if each.over][:-MOST_REMEMBERED]:
                self._known.pop(old)
            return _accepted(wanted, wanted)

    def state(self, capture: str) -> dict[str, Any]:
        """How far a capture is. Raises Refused (404)."""
        with self._lock:
            self._expire()
            found = self._found(capture)
            told: dict[str, Any] = {"state": found.state, "step": self._step, "firstStep": found.first_step}
            if found.reason is not None:
                told["reason"] = found.reason
            if found.size_bytes is not None:
                told["bytes"] = found.size_bytes
            told["pauseSeconds"] = round(found.pause_seconds, 6)
            return told

    def trace(self, capture: str) -> Path:
        """The compressed trace. Raises Refused: 404 unknown, 409 not done, 410 gone."""
        with self._lock:
            self._expire()
            found = self._found(capture)
            if found.expired:
                raise Refused(410, f"the trace of capture {capture} is gone; ask for another capture")
            if found.trace is None:
                raise Refused(
                    409, f"capture {capture} is {found.state}: {found.reason or 'ask for its trace when it is done'}"
                )
            return found.trace

    def forget(self, capture: str) -> None:
        """Stop and forget a capture. Raises Refused (404)."""
        with self._lock:
            found = self._found(capture)
            if not found.over:
                found.state, found.reason = "failed", "the capture was deleted"
                found.ended_s = self._clock() if found.started_s is not None else None
            self._drop(found)

    def before_step(self, step: int) -> None:
        """A step begins on the loop's thread. Costs an attribute's look while nothing is asked for."""
        self._step, self._phase = step, "running"
        if self._current is not None:
            self._guarded(self._at_boundary)

    def enter_phase(self, phase: str) -> None:
        """The loop does something else than training from here on."""
        self._phase = phase
        current = self._current
        if phase != "running" and current is not None and current.state == "recording":
            self._guarded(lambda capture: self._abort(capture, f"phase {phase} began at step {self._step}"))

    def close(self) -> None:
        """End what is under way, and remove every trace."""
        if self._current is not None:
            self._guarded(lambda capture: self._abort(capture, "the process ends"))
        self._storage.close()

    def _guarded(self, act: Callable[[Capture], None]) -> None:
        capture = self._current
        if capture is None or self._at_work:  # what interrupts the loop may meet it here
            return
        self._at_work = True
        begun_s = self._clock()
        try:
            act(capture)
        except Exception as error:  # noqa: BLE001  # whatever a recorder does, the loop goes on
            known = isinstance(error, (RecorderUnavailable, StorageUnavailable))
            self._recorder.discard()
            self._end(capture, "failed", str(error) if known else f"{type(error).__name__}: {error}"[:300])
        finally:
            self._at_work = False
            capture.pause_seconds += self._clock() - begun_s

    def _at_boundary(self, capture: Capture) -> None:
        if capture.state == "failed":  # deleted while it was recorded
            self._abort(capture, capture.reason or "")
        elif capture.state == "waiting":
            self._begin_when_due(capture)
        elif capture.state == "recording":
            self._go_on(capture)

    def _begin_when_due(self, capture: Capture) -> None:
        if self._step < capture.first_step:
            return
        if self._step > capture.first_step:
            self._end(capture, "failed", f"step {capture.first_step} passed before it could be recorded")
            return
        self._storage.path(capture.id)
        with self._lock:
            if capture.state != "waiting":
                return
            capture.state, capture.started_s = "recording", self._clock()  # a deletion from here on waits for the loop
        capture.thread = threading.get_ident()
        self._recorder.start(capture.activities)
        capture.started_s = self._clock()
        self._recorder.mark(self._step)
        self._later(self._limit_s + LATER_SECONDS, lambda: self._interrupt(lambda: self._end_overdue(capture)))

    def _go_on(self, capture: Capture) -> None:
        assert capture.started_s is not None
        if self._step >= capture.first_step + capture.steps:
            self._recorder.mark(None)
            self._recorder.stop()
            capture.state = "exporting"
            self._in_background(lambda: self._export(capture))
        elif self._clock() - capture.started_s > self._limit_s:
            self._abort(capture, f"the steps took longer than {self._limit_s:.0f} s")
        else:
            self._recorder.mark(self._step)

    def _end_overdue(self, capture: Capture) -> None:
        """On the main thread: end what no further step ended, as where a script evaluates and says nothing of it. A
        profiler ends on the thread that began it, and records all that runs until then."""
        mine = capture.thread == threading.get_ident() and capture.state in ("recording", "failed")
        if mine and capture.started_s is not None and self._clock() > capture.started_s + self._limit_s:
            said = f"no step began within {self._limit_s:.0f} s of step {self._step}"
            self._guarded(lambda each: self._abort(each, each.reason or said))

    def _abort(self, capture: Capture, reason: str) -> None:
        if capture.started_s is not None and capture.state in ("recording", "failed"):
            self._recorder.discard()
        self._end(capture, "failed", reason)

    def _export(self, capture: Capture) -> None:
        """Beside the loop. The profiler's own export holds the interpreter's lock: it is measured as a pause."""
        begun_s = self._clock()
        try:
            path = self._storage.path(capture.id)
            self._recorder.export(path)
            capture.pause_seconds += self._clock() - begun_s
            packed = self._storage.compressed(path)
            size = packed.stat().st_size
        except Exception as error:  # noqa: BLE001  # a full disk ends the capture and nothing else
            self._storage.remove(capture.id)
            self._end(capture, "failed", f"the trace was not written: {error}"[:300])
            return
        with self._lock:
            deleted = capture.expired
            if not deleted:
                capture.trace, capture.size_bytes = packed, size
        if deleted:
            self._storage.remove(capture.id)
            self._end(capture, "failed", "the capture was deleted")
        else:
            self._end(capture, "done", None)
            self._later(EXPIRES_SECONDS + LATER_SECONDS, self.expire)

    def _end(self, capture: Capture, state: str, reason: str | None) -> None:
        with self._lock:
            capture.state, capture.reason, capture.ended_s = state, reason, self._clock()
            if self._current is capture:
                self._current = None
            if capture.id not in self._known:
                self._storage.remove(capture.id)

    def _require_free(self, wanted: Capture) -> None:
        if self._current is not None:
            raise Refused(409, f"capture {self._current.id} is {self._current.state}; one runs at a time")
        if self._phase != "running":
            raise Refused(423, f"the run is in phase {self._phase}; ask again while it trains")
        ended_s = max((each.ended_s for each in self._known.values() if each.ended_s is not None), default=None)
        if ended_s is not None and self._clock() < ended_s + PAUSE_SECONDS:
            raise Refused(429, f"the last capture ended less than {PAUSE_SECONDS:.0f} s ago")
        if wanted.first_step <= self._step:
            raise Refused(412, f"step {wanted.first_step} has begun: the run is at step {self._step}")

    def _found(self, capture: str) -> Capture:
        found = self._known.get(capture)
        if found is None:
            raise Refused(404, f"no capture {capture!r} is known")
        return found

    def expire(self) -> None:
        """Let go of what is over its time, though nobody asks any more."""
        with self._lock:
            self._expire()

    def _expire(self) -> None:
        now_s, current = self._clock(), self._current
        if current is not None and current.state == "waiting" and now_s > current.asked_s + LONGEST_SECONDS:
            said = f"step {current.first_step} did not begin within {LONGEST_SECONDS:.0f} s: the run is at {self._step}"
            current.state, current.reason, self._current = "failed", said, None
        for each in self._known.values():
            if each.trace is not None and each.ended_s is not None and now_s > each.ended_s + EXPIRES_SECONDS:
                self._storage.remove(each.id)
                each.trace, each.expired = None, True

    def _drop(self, capture: Capture) -> None:
        """A capture that is being recorded is ended by the loop's thread, at its next step."""
        if self._current is not capture or capture.started_s is None:
            self._current = None if self._current is capture else self._current
            self._storage.remove(capture.id)
        capture.trace, capture.expired = None, True


def asked_id(body: Mapping[str, Any]) -> str:
    """The id of a request. Raises Refused (400)."""
    identifier = body.get("id")
    if not isinstance(identifier, str) or not _ID.fullmatch(identifier):
        raise Refused(400, "id must be 1 to 63 of a-z, 0-9 and -")
    return identifier


def asked_steps(body: Mapping[str, Any]) -> int:
    """How many steps a request is for. Raises Refused (400)."""
    steps = _count(body.get("steps"))
    if steps is None or not 1 <= steps <= MOST_STEPS:
        raise Refused(400, f"steps must be 1 to {MOST_STEPS}")
    return steps


def _decoded(body: Mapping[str, Any]) -> Capture:
    first = _count(body.get("firstStep"))
    if first is None:
        raise Refused(400, "firstStep must be a whole number of at least 0; GET /capture says which step runs")
    return Capture(asked_id(body), first, asked_steps(body), _activities(body.get("activities")))


def _activities(value: Any) -> tuple[str, ...]:
    if value is None:
        return ACTIVITIES
    if not isinstance(value, list) or not value or any(each not in ACTIVITIES for each in value):
        raise Refused(400, f"activities must be a list of {', '.join(ACTIVITIES)}")
    return tuple(value)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _accepted(known: Capture, wanted: Capture) -> dict[str, Any]:
    if (known.first_step, known.steps, known.activities) != (wanted.first_step, wanted.steps, wanted.activities):
        raise Refused(409, f"capture {known.id} was asked for with another body")
    return {"id": known.id, "firstStep": known.first_step, "steps": known.steps}


def _in_thread(act: Callable[[], None]) -> None:
    threading.Thread(target=act, name="mfu-probe-export", daemon=True).start()


def _in_timer(seconds: float, act: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()

"""torch.profiler as the recorder of a few steps. torch is looked up only when something is to be recorded."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from mfu_probe.live.launch import PROFILERS_MODULE, hook_module

ACTIVITIES = ("cpu", "cuda", "xpu")
"""What may be asked for; those that this torch does not support are left out."""


class RecorderUnavailable(Exception):
    """The steps cannot be recorded here; the message says why."""


class Recorder(Protocol):
    """Records between `start` and `stop`, all on the thread of the loop, and writes what it recorded once."""

    name: str

    def start(self, activities: Sequence[str]) -> None:
        """Begin. Raises RecorderUnavailable."""

    def mark(self, step: int | None) -> None:
        """A step begins here; None: the last one ended. Raises RecorderUnavailable where recording has ended."""

    def stop(self) -> None:
        """End; what was recorded stays in memory."""

    def export(self, path: Path) -> None:
        """Write it as a Chrome trace, and forget it. Raises OSError, RecorderUnavailable."""

    def discard(self) -> None:
        """End where it records, and forget what was recorded."""


class TorchRecorder:
    """Kineto in the process. Each step is a range `ProfilerStep#N` of its own with the run's own number: torch's own
    schedule counts from zero, which reads as the run's first iteration.

    A profiler of the script's own comes first: while it runs nothing is recorded, and what is being recorded is given
    up before it begins (`mfu_probe_profilers` says why).
    """

    name = "torch.profiler"

    def __init__(self) -> None:
        self._profiler: Any = None
        self._range: Any = None
        self._recording = False
        self._others: Any = None

    def start(self, activities: Sequence[str]) -> None:
        """Begin to record. Raises RecorderUnavailable where torch is not there or its profiler is in use."""
        try:
            profiler = importlib.import_module("torch.profiler")
            autograd = importlib.import_module("torch.autograd.profiler")
        except ImportError as error:
            raise RecorderUnavailable(f"torch.profiler cannot be imported: {error}") from error
        self._others = hook_module(PROFILERS_MODULE)
        self._others.watch(autograd)
        if self._others.active or getattr(autograd, "_is_profiler_enabled", False):
            raise RecorderUnavailable("the script runs a profiler of its own; ask again when it has ended")
        supported = profiler.supported_activities()
        wanted = {
            kind
            for name, kind in ((name, getattr(profiler.ProfilerActivity, name.upper(), None)) for name in activities)
            if kind in supported
        }
        self._profiler = profiler.profile(activities=wanted or supported, record_shapes=True)
        try:
            with self._others.Own():
                self._profiler.start()
        except RuntimeError as error:
            self._profiler = None
            raise RecorderUnavailable(f"torch.profiler did not start: {error}") from error
        self._recording = True
        self._others.give_way = self.discard

    def mark(self, step: int | None) -> None:
        """End the range of the last step, and open the next one's."""
        if not self._recording:
            raise RecorderUnavailable("the script began to profile itself, and the capture gave way")
        self._end_range()
        if step is not None:
            record = importlib.import_module("torch.profiler").record_function
            self._range = record(f"ProfilerStep#{step}")
            self._range.__enter__()

    def stop(self) -> None:
        """Stop recording."""
        if self._recording:
            self._recording = False
            self._others.give_way = None
            with self._others.Own():
                self._profiler.stop()

    def export(self, path: Path) -> None:
        """Write the trace uncompressed: torch compresses in Python, which held the loop for 0.4 s in a measurement."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        if not profiler.profiler.kineto_results.trace_start_ns():  # exporting what was cancelled ends the process
            raise RecorderUnavailable("another profiler cancelled the capture")
        profiler.export_chrome_trace(str(path))

    def discard(self) -> None:
        """Stop recording, whatever that says, and forget it."""
        with suppress(Exception):
            self._end_range()
        with suppress(Exception):
            self.stop()
        self._profiler = self._range = None

    def _end_range(self) -> None:
        if self._range is not None:
            self._range.__exit__(None, None, None)
            self._range = None

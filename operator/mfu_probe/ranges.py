"""NVTX push/pop ranges in the default domain, or nothing at all where `nvtx` is not installed.

The names are a contract with the trace analysis. Ranges nest on the thread that opens them, so a probe belongs to the
one thread that runs the training loop.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

STEP = "step"
DATA = "data"
FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
HOST_TO_DEVICE = "h2d"
CHECKPOINT = "checkpoint"
EVALUATION = "evaluation"
CAPTURE = "mfu_capture"


class Ranges(Protocol):
    """Where ranges go. `push` opens one inside the last that is open, `pop` closes the last one opened."""

    def push(self, name: str) -> None:
        """Open the range `name`."""

    def pop(self) -> None:
        """Close the range that was opened last."""


class NoRanges:
    """For a process without the `nvtx` package: ranges cost nothing and lead nowhere."""

    def push(self, name: str) -> None:
        """Do nothing."""

    def pop(self) -> None:
        """Do nothing."""


class NvtxRanges:
    """Ranges that a tool attached through NVTX (nsys) records; about a microsecond each without one."""

    def __init__(self, nvtx: Any) -> None:
        self._push = nvtx.push_range
        self._pop = nvtx.pop_range

    def push(self, name: str) -> None:
        """Open the range `name` in the default domain."""
        self._push(name)

    def pop(self) -> None:
        """Close the range that was opened last."""
        self._pop()


def available_ranges() -> Ranges:
    """NVTX ranges when the package is installed, else `NoRanges`."""
    try:
        nvtx = importlib.import_module("nvtx")
    except ImportError:
        return NoRanges()
    return NvtxRanges(nvtx)

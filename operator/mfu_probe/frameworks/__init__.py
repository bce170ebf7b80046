"""Hooks for frameworks that own the training loop. Steps are counted at the optimizer's step, which these make once for
each step whatever they accumulate; what a hook adds are the phases, and the loss where it costs nothing.

lightning      a callback for Lightning's Trainer
transformers   a callback for Hugging Face's Trainer
accelerate     for a loop of one's own with an Accelerator
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from mfu_probe.phases import Phase
from mfu_probe.probe import Probe

__all__ = ["PhaseSwitch", "within_phase"]


class PhaseSwitch:
    """The phases of a framework that tells where they begin and end, each by a call of its own."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self._open: AbstractContextManager[None] | None = None

    def enter(self, phase: Phase) -> None:
        """`phase` begins; the one that was entered before ends."""
        self.leave()
        self._open = self.probe.phase(phase)
        self._open.__enter__()

    def leave(self) -> None:
        """The phase ends, if one was entered."""
        left, self._open = self._open, None
        if left is not None:
            left.__exit__(None, None, None)


def within_phase(owner: Any, method: str, probe: Probe, phase: Phase) -> None:
    """From now on a call of this method of this object is in `phase`."""
    act = getattr(owner, method)

    @functools.wraps(act)
    def acts(*args: Any, **kwargs: Any) -> Any:
        with probe.phase(phase):
            return act(*args, **kwargs)

    setattr(owner, method, acts)

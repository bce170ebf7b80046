"""Accelerate: `probe = watch(accelerator, flops_per_step=…)` in a loop of one's own."""

from __future__ import annotations

from typing import Any

from mfu_probe.frameworks import within_phase
from mfu_probe.probe import Probe, start


def watch(accelerator: Any, probe: Probe | None = None, **arguments: Any) -> Probe:
    """Start the probe, and mark the checkpoints of `accelerator.save_state` and `save_model`.

    Args:
        accelerator: an `accelerate.Accelerator`.
        probe: one that the script started; None: one is started, with the arguments of `mfu_probe.start`.
    """
    found = probe or start(**arguments)
    for method in ("save_state", "save_model"):
        within_phase(accelerator, method, found, "checkpoint")
    return found

"""Lightning: `Trainer(callbacks=[MfuProbe(flops_per_step=…)])`."""

from __future__ import annotations

from typing import Any

from mfu_probe.frameworks import PhaseSwitch, within_phase
from mfu_probe.probe import Probe, start

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class MfuProbe(Callback):  # type: ignore[misc]  # Any where Lightning is not installed
    """Starts the probe in each process that trains, and marks validation and checkpoints.

    Args:
        probe: one that the script started; None: one is started, with the arguments of `mfu_probe.start`.
    """

    def __init__(self, probe: Probe | None = None, **arguments: Any) -> None:
        self.probe = probe
        self._arguments = arguments
        self._phases: PhaseSwitch | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start, in the process that trains."""
        self.probe = self.probe or start(**self._arguments)
        self._phases = PhaseSwitch(self.probe)
        within_phase(trainer, "save_checkpoint", self.probe, "checkpoint")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Validation begins; the check before training is none."""
        if self._phases is not None:
            self._phases.enter("evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Validation ends."""
        if self._phases is not None:
            self._phases.leave()

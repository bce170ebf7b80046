"""Hugging Face's Trainer: `Trainer(…, callbacks=[MfuProbe(flops_per_step=…)])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from mfu_probe.frameworks import PhaseSwitch
from mfu_probe.probe import Probe, start


class MfuProbe(TrainerCallback):  # type: ignore[misc]  # Any where transformers is not installed
    """Starts the probe in each process that trains, marks evaluation and checkpoints, and reports the loss as logged.

    Args:
        probe: one that the script started; None: one is started, with the arguments of `mfu_probe.start`.
    """

    def __init__(self, probe: Probe | None = None, **arguments: Any) -> None:
        self.probe = probe
        self._arguments = arguments
        self._phases: PhaseSwitch | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Start, in the process that trains."""
        self.probe = self.probe or start(**self._arguments)
        self._phases = PhaseSwitch(self.probe)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Training goes on."""
        self._enter(None)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """What the Trainer decided for after this step begins now: it evaluates before it saves."""
        self._enter(control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluation has ended."""
        self._enter(control)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """The checkpoint is written."""
        self._enter(None)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Nothing is trained any more."""
        self._enter(None)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """The Trainer has the loss as a number when it logs."""
        loss = (logs or {}).get("loss")
        if self.probe is not None and isinstance(loss, (int, float)):
            self.probe.loss(loss)

    def _enter(self, control: Any) -> None:
        if self._phases is None:
            return
        if control is not None and control.should_evaluate:
            self._phases.enter("evaluation")
        elif control is not None and control.should_save:
            self._phases.enter("checkpoint")
        else:
            self._phases.leave()

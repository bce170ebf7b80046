"""Bridges for frameworks that take a callback or a logger. Each imports its framework when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mfu_probe.bridges.gauges import mirror


def trainer_callback() -> Any:
    """For Hugging Face's Trainer: `Trainer(…, callbacks=[bridges.frameworks.trainer_callback()])`, with
    `include_num_input_tokens_seen` (profile `hf_trainer`)."""
    from transformers import TrainerCallback

    class Mirrored(TrainerCallback):  # type: ignore[misc]  # Any where transformers is not installed
        """Mirrors each log of the process that logs, under train_."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                mirror({f"train_{key}": value for key, value in (logs or {}).items()}, state.global_step)

    return Mirrored()


def lightning_logger() -> Any:
    """For Lightning and NeMo: `Trainer(logger=[…, bridges.frameworks.lightning_logger()])` (profiles `lightning`,
    `nemo`)."""
    try:
        from lightning.pytorch.loggers.logger import Logger
    except ImportError:
        from pytorch_lightning.loggers.logger import Logger

    class Mirrored(Logger):  # type: ignore[misc]  # Any where Lightning is not installed
        """A logger that keeps nothing."""

        name = "mfu_probe"
        version = None

        def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
            mirror(metrics, step)

        def log_hyperparams(self, *_: Any, **__: Any) -> None:
            """Nothing: they are no metrics."""

    return Mirrored()


def composer_destination() -> Any:
    """For Composer and LLM Foundry: `Trainer(loggers=[…, bridges.frameworks.composer_destination()])`."""
    from composer.loggers import LoggerDestination

    class Mirrored(LoggerDestination):  # type: ignore[misc]  # Any where Composer is not installed
        """A destination that keeps nothing."""

        def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
            mirror(metrics, step)

    return Mirrored()

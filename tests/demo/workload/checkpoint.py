"""Checkpoints: one file, replaced atomically and read back before the old one is given up."""

import hashlib
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .model import AdamW, Parameters


class CheckpointError(RuntimeError):
    """The file cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is needed to go on after `step` steps."""

    step: int
    parameters: Parameters
    optimizer_steps: int
    first: Parameters
    second: Parameters

    @classmethod
    def of(cls, step: int, parameters: Parameters, optimizer: AdamW) -> "Checkpoint":
        """The state after `step` steps; the arrays are shared, not copied."""
        return cls(step, parameters, optimizer.steps, optimizer.first, optimizer.second)

    def restore(self, parameters: Parameters, optimizer: AdamW) -> None:
        """Copy this state into a model and its optimizer. Raises CheckpointError when they are of another shape."""
        for target, source in (
            (parameters, self.parameters),
            (optimizer.first, self.first),
            (optimizer.second, self.second),
        ):
            if {name: value.shape for name, value in target.items()} != {
                name: value.shape for name, value in source.items()
            }:
                raise CheckpointError("the checkpoint is of a model of another shape: remove it or restore model.*")
            for name, value in source.items():
                target[name][...] = value
        optimizer.steps = self.optimizer_steps


_GROUPS = ("parameters", "first", "second")


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write compressed, flush to the disk, read back, then replace the file at `path` in one step."""
    arrays = {f"{group}/{name}": value for group in _GROUPS for name, value in getattr(checkpoint, group).items()}
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as file:
        np.savez_compressed(
            file, allow_pickle=False, step=checkpoint.step, optimizer_steps=checkpoint.optimizer_steps, **arrays
        )
        file.flush()
        os.fsync(file.fileno())
    if _digest(load(temporary)) != _digest(checkpoint):
        raise CheckpointError(f"{temporary} does not read back as it was written: the volume is failing")
    temporary.replace(path)


def load(path: Path) -> Checkpoint:
    """The checkpoint at `path`. Raises FileNotFoundError, or CheckpointError when it is not a whole checkpoint."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            groups = {
                group: {
                    name.removeprefix(f"{group}/"): archive[name]
                    for name in archive.files
                    if name.startswith(f"{group}/")
                }
                for group in _GROUPS
            }
            return Checkpoint(int(archive["step"]), optimizer_steps=int(archive["optimizer_steps"]), **groups)
    except (ValueError, KeyError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} is not a whole checkpoint ({error}): remove it to start again") from error


def _digest(checkpoint: Checkpoint) -> str:
    digest = hashlib.sha256(f"{checkpoint.step} {checkpoint.optimizer_steps}".encode())
    for group in _GROUPS:
        for name, value in sorted(getattr(checkpoint, group).items()):
            digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()

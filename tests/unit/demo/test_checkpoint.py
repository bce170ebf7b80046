"""The demo's checkpoints: whole, or refused with a remedy."""

from pathlib import Path

import numpy as np
import pytest

from tests.demo.workload.checkpoint import Checkpoint, CheckpointError, load, save
from tests.demo.workload.model import AdamW, ModelShape, Transformer, initial_parameters

SHAPE = ModelShape(vocabulary=11, sequence_length=5, layers=1, width=8, heads=2)


def trained() -> tuple[Transformer, AdamW]:
    parameters = initial_parameters(SHAPE, seed=2)
    model, optimizer = Transformer(SHAPE, parameters), AdamW(parameters, 0.01)
    model.forward(np.random.default_rng(0).integers(0, 11, (2, 6)))[1]()
    optimizer.update(parameters, model.gradients)
    return model, optimizer


def test_what_was_saved_is_restored(tmp_path: Path) -> None:
    model, optimizer = trained()
    save(tmp_path / "demo.npz", Checkpoint.of(17, model.parameters, optimizer))
    fresh = initial_parameters(SHAPE, seed=5)
    fresh_optimizer = AdamW(fresh, 0.01)
    saved = load(tmp_path / "demo.npz")
    saved.restore(fresh, fresh_optimizer)
    assert (saved.step, fresh_optimizer.steps) == (17, 1)
    assert all(np.array_equal(fresh[name], value) for name, value in model.parameters.items())
    assert all(np.array_equal(fresh_optimizer.second[name], value) for name, value in optimizer.second.items())
    assert [path.name for path in tmp_path.iterdir()] == ["demo.npz"]


def test_a_truncated_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    model, optimizer = trained()
    path = tmp_path / "demo.npz"
    save(path, Checkpoint.of(1, model.parameters, optimizer))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="remove it to start again"):
        load(path)


def test_a_model_of_another_shape_is_refused() -> None:
    model, optimizer = trained()
    other = initial_parameters(ModelShape(11, 5, 1, width=16, heads=2), seed=1)
    with pytest.raises(CheckpointError, match="another shape"):
        Checkpoint.of(1, model.parameters, optimizer).restore(other, AdamW(other, 0.01))

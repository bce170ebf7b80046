"""The demo's transformer: its gradients are right and it learns."""

import numpy as np
import pytest

from tests.demo.workload.model import AdamW, ModelShape, Transformer, initial_parameters

SHAPE = ModelShape(vocabulary=11, sequence_length=5, layers=2, width=8, heads=2)


def tokens(batch: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, SHAPE.vocabulary, (batch, SHAPE.sequence_length + 1))


def test_every_gradient_agrees_with_finite_differences() -> None:
    parameters = initial_parameters(SHAPE, seed=3, dtype=np.float64)
    for value in parameters.values():
        value += 0.1 * np.random.default_rng(value.size).standard_normal(value.shape)
    model, batch, epsilon = Transformer(SHAPE, parameters), tokens(3), 1e-6
    model.forward(batch)[1]()
    dice = np.random.default_rng(7)
    for name, value in parameters.items():
        for place in [tuple(dice.integers(size) for size in value.shape) for _ in range(4)]:
            before = value[place]
            value[place] = before + epsilon
            above = model.loss(batch)
            value[place] = before - epsilon
            below = model.loss(batch)
            value[place] = before
            numeric = (above - below) / (2 * epsilon)
            assert model.gradients[name][place] == pytest.approx(numeric, rel=1e-4, abs=1e-8), f"{name}{place}"


def test_a_position_sees_nothing_that_comes_later() -> None:
    model = Transformer(SHAPE, initial_parameters(SHAPE, seed=1, dtype=np.float64))
    first = tokens(1)
    second = first.copy()
    second[0, -2] = (second[0, -2] + 1) % SHAPE.vocabulary
    model.forward(first)[1]()
    hidden_of = [
        model._attention("0.attention", model.parameters["embedding"][batch[:, :-1]])[0] for batch in (first, second)
    ]
    assert np.allclose(hidden_of[0][:, :-1], hidden_of[1][:, :-1])
    assert not np.allclose(hidden_of[0][:, -1], hidden_of[1][:, -1])


def test_an_untrained_model_knows_nothing_and_a_trained_one_knows_its_batch() -> None:
    parameters = initial_parameters(SHAPE, seed=1)
    model, optimizer, batch = Transformer(SHAPE, parameters), AdamW(parameters, 0.01), tokens(4)
    assert model.loss(batch) == pytest.approx(np.log(SHAPE.vocabulary), abs=0.1)
    for _ in range(150):
        model.forward(batch)[1]()
        optimizer.update(parameters, model.gradients)
    assert model.loss(batch) < 0.5


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="not a multiple of heads"):
        ModelShape(11, 5, 1, width=10, heads=4)

"""A decoder-only transformer in numpy with its backward pass written out, and AdamW.

Shapes: B sequences, T tokens each, C features, H heads of D = C / H, V tokens in the vocabulary. Pre-norm blocks as in
GPT-2 (Radford et al. 2019): x + attention(norm(x)), then x + mlp(norm(x)) with the tanh form of GELU (Hendrycks and
Gimpel 2016). The token embedding is also the output projection. No biases except those of the norms.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]
Parameters = dict[str, Array]
Backward = Callable[[Array], Array]

GELU_SLOPE = float(np.sqrt(2.0 / np.pi))
NORM_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Sizes of the model; `width` must be a multiple of `heads`."""

    vocabulary: int
    sequence_length: int
    layers: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")


def initial_parameters(shape: ModelShape, seed: int, dtype: npt.DTypeLike = np.float32) -> Parameters:
    """Normal with deviation 0.02, residual projections smaller by √(2·layers) (GPT-2), norms at one and zero."""
    dice = np.random.default_rng(seed)
    width = shape.width

    def normal(*size: int, scale: float = 0.02) -> Array:
        return (dice.standard_normal(size) * scale).astype(dtype)

    residual_scale = 0.02 / np.sqrt(2 * shape.layers)
    parameters: Parameters = {
        "embedding": normal(shape.vocabulary, width),
        "position": normal(shape.sequence_length, width),
    }
    for layer in range(shape.layers):
        parameters |= {
            f"{layer}.attention.gain": np.ones(width, dtype),
            f"{layer}.attention.bias": np.zeros(width, dtype),
            f"{layer}.attention.input": normal(width, 3 * width),
            f"{layer}.attention.output": normal(width, width, scale=residual_scale),
            f"{layer}.mlp.gain": np.ones(width, dtype),
            f"{layer}.mlp.bias": np.zeros(width, dtype),
            f"{layer}.mlp.input": normal(width, 4 * width),
            f"{layer}.mlp.output": normal(4 * width, width, scale=residual_scale),
        }
    return parameters | {"final.gain": np.ones(width, dtype), "final.bias": np.zeros(width, dtype)}


class Transformer:
    """Computes the loss and, from what the forward pass kept, the gradient of every parameter."""

    def __init__(self, shape: ModelShape, parameters: Parameters) -> None:
        self.shape = shape
        self.parameters = parameters
        self.gradients: Parameters = {name: np.zeros_like(value) for name, value in parameters.items()}
        later = np.triu(np.ones((shape.sequence_length, shape.sequence_length), bool), k=1)
        self._mask = np.where(later, np.float32(-1e9), np.float32(0.0))

    @property
    def parameter_count(self) -> int:
        """Number of trained scalars that take part in matrix products; the embedding counts once, as the output."""
        return sum(value.size for name, value in self.parameters.items() if name != "position")

    def forward(self, tokens: npt.NDArray[np.integer[Any]]) -> tuple[float, Callable[[], None]]:
        """Mean cross-entropy in nats of predicting `tokens[:, 1:]` from `tokens[:, :-1]`, and the backward pass.

        `tokens` has shape (B, T + 1). Calling what is returned fills `gradients`.
        """
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        hidden: Array = self.parameters["embedding"][inputs] + self.parameters["position"]
        backwards: list[Backward] = []
        for layer in range(self.shape.layers):
            for part, compute in (("attention", self._attention), ("mlp", self._mlp)):
                normed, norm_backward = self._norm(f"{layer}.{part}", hidden)
                change, part_backward = compute(f"{layer}.{part}", normed)
                hidden = hidden + change
                backwards.append(_residual(norm_backward, part_backward))
        normed, norm_backward = self._norm("final", hidden)
        loss, logits_backward = self._cross_entropy(normed, targets)

        def backward() -> None:
            slope = norm_backward(logits_backward())
            for part in reversed(backwards):
                slope = part(slope)
            self._embedding_backward(inputs, slope)

        return loss, backward

    def loss(self, tokens: npt.NDArray[np.integer[Any]]) -> float:
        """Mean cross-entropy in nats, without gradients."""
        return self.forward(tokens)[0]

    def _norm(self, name: str, x: Array) -> tuple[Array, Backward]:
        gain = self.parameters[f"{name}.gain"]
        centred = x - x.mean(axis=-1, keepdims=True)
        inverse = 1.0 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + NORM_EPSILON)
        scaled = centred * inverse

        def backward(slope: Array) -> Array:
            self.gradients[f"{name}.gain"] = (slope * scaled).sum(axis=(0, 1))
            self.gradients[f"{name}.bias"] = slope.sum(axis=(0, 1))
            inner = slope * gain
            mean = inner.mean(axis=-1, keepdims=True)
            along = (inner * scaled).mean(axis=-1, keepdims=True)
            input_slope: Array = (inner - mean - scaled * along) * inverse
            return input_slope

        return scaled * gain + self.parameters[f"{name}.bias"], backward

    def _project(self, name: str, x: Array) -> tuple[Array, Backward]:
        weight = self.parameters[name]
        rows = x.reshape(-1, weight.shape[0])

        def backward(slope: Array) -> Array:
            slope_rows = slope.reshape(-1, weight.shape[1])
            self.gradients[name] = rows.T @ slope_rows
            return (slope_rows @ weight.T).reshape(x.shape)

        return (rows @ weight).reshape(*x.shape[:-1], weight.shape[1]), backward

    def _attention(self, name: str, x: Array) -> tuple[Array, Backward]:
        batch, length, width = x.shape
        heads, size = self.shape.heads, width // self.shape.heads
        scale = 1.0 / float(np.sqrt(size))
        joint, input_backward = self._project(f"{name}.input", x)
        split = joint.reshape(batch, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
        query, key, value = split[0], split[1], split[2]  # each (B, H, T, D)
        weights = _softmax(query @ key.swapaxes(-1, -2) * scale + self._mask[:length, :length])
        mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, length, width)
        output, output_backward = self._project(f"{name}.output", mixed)

        def backward(slope: Array) -> Array:
            mixed_slope = output_backward(slope).reshape(batch, length, heads, size).transpose(0, 2, 1, 3)
            weights_slope = mixed_slope @ value.swapaxes(-1, -2)
            scores_slope = weights * (weights_slope - (weights_slope * weights).sum(axis=-1, keepdims=True)) * scale
            joint_slope = np.empty_like(split)
            joint_slope[0] = scores_slope @ key
            joint_slope[1] = scores_slope.swapaxes(-1, -2) @ query
            joint_slope[2] = weights.swapaxes(-1, -2) @ mixed_slope
            return input_backward(joint_slope.transpose(1, 3, 0, 2, 4).reshape(batch, length, 3 * width))

        return output, backward

    def _mlp(self, name: str, x: Array) -> tuple[Array, Backward]:
        inner, input_backward = self._project(f"{name}.input", x)
        tanh = np.tanh(GELU_SLOPE * (inner + 0.044715 * inner * inner * inner))
        output, output_backward = self._project(f"{name}.output", 0.5 * inner * (1.0 + tanh))

        def backward(slope: Array) -> Array:
            bend = GELU_SLOPE * (1.0 + 3 * 0.044715 * inner * inner)
            gelu_slope = 0.5 * (1.0 + tanh) + 0.5 * inner * (1.0 - tanh * tanh) * bend
            return input_backward(output_backward(slope) * gelu_slope)

        return output, backward

    def _cross_entropy(self, normed: Array, targets: npt.NDArray[np.integer[Any]]) -> tuple[float, Callable[[], Array]]:
        embedding = self.parameters["embedding"]
        rows = normed.reshape(-1, self.shape.width)
        probabilities = _softmax(rows @ embedding.T)
        index = np.arange(len(rows)), targets.reshape(-1)
        loss = float(-np.log(probabilities[index] + 1e-12).mean())

        def backward() -> Array:
            slope = probabilities.copy()
            slope[index] -= 1.0
            slope /= len(rows)
            self.gradients["embedding"] = slope.T @ rows
            return (slope @ embedding).reshape(normed.shape)

        return loss, backward

    def _embedding_backward(self, inputs: npt.NDArray[np.integer[Any]], slope: Array) -> None:
        one_hot = np.zeros((inputs.size, self.shape.vocabulary), slope.dtype)
        one_hot[np.arange(inputs.size), inputs.reshape(-1)] = 1.0
        self.gradients["embedding"] += one_hot.T @ slope.reshape(inputs.size, -1)
        self.gradients["position"] = slope.sum(axis=0)


def _residual(norm_backward: Backward, part_backward: Backward) -> Backward:
    return lambda slope: slope + norm_backward(part_backward(slope))


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    normalized: Array = powers / powers.sum(axis=-1, keepdims=True)
    return normalized


class AdamW:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019) over the parameters of one model, in place."""

    def __init__(self, parameters: Parameters, learning_rate: float, *, weight_decay: float = 0.01) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.steps = 0
        self.first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: np.zeros_like(value) for name, value in parameters.items()}

    def update(self, parameters: Parameters, gradients: Parameters) -> None:
        """One step with β₁ = 0.9, β₂ = 0.99."""
        self.steps += 1
        correction_1, correction_2 = 1.0 - 0.9**self.steps, 1.0 - 0.99**self.steps
        rate = self.learning_rate * float(np.sqrt(correction_2)) / correction_1
        for name, gradient in gradients.items():
            first, second, value = self.first[name], self.second[name], parameters[name]
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient * gradient - second)
            if value.ndim > 1:
                value *= 1.0 - self.learning_rate * self.weight_decay
            value -= rate * first / (np.sqrt(second) + 1e-8)

"""How many samples a step takes, where operators' input shapes were recorded: two runs with another number of them are
not comparable."""

import msgspec
import numpy as np

from mfu_operator.model.trace import Ints, Trace
from mfu_operator.trace.steps import Steps

CONVOLUTION, EMBEDDING, LINEAR = range(3)
OPERATORS = {
    "aten::conv1d": CONVOLUTION,
    "aten::conv2d": CONVOLUTION,
    "aten::conv3d": CONVOLUTION,
    "aten::embedding": EMBEDDING,
    "aten::linear": LINEAR,
}
"""Operators that see a whole batch, by how well their inputs tell its size: the best first."""

INPUT = (0, 1, 0)
"""Which of the inputs holds the samples, by kind: an embedding's first is its table."""

FEWEST_DIMENSIONS = (3, 2, 3)
"""Of that input, by kind. With fewer, the first one may be samples times tokens."""


def batch_of(kind: int, dimensions: bytes) -> int | None:
    """The samples in an operator's input, from its shapes as JSON ("[[32, 3, 224, 224], …]"); None where not told."""
    try:
        shapes = msgspec.json.decode(dimensions, type=list[list[int]])
        samples = shapes[INPUT[kind]]
    except (msgspec.DecodeError, IndexError):
        return None
    return samples[0] if len(samples) >= FEWEST_DIMENSIONS[kind] and 0 < samples[0] < 1 << 31 else None


def batch_size(trace: Trace, steps: Steps) -> int | None:
    """The samples of a step; None where those steps that tell it differ, or none does.

    It is what the step's first convolution takes; without any, the largest batch that is looked up in an embedding;
    without any, what the first linear layer takes.
    """
    if not len(trace.batches):
        return None
    for kind in (CONVOLUTION, EMBEDDING, LINEAR):
        mine = trace.batches.kind == kind
        order = np.argsort(trace.batches.start[mine], kind="stable")
        start, size = trace.batches.start[mine][order], trace.batches.size[mine][order]
        found = {_of_step(kind, size[_inside(start, steps, index)]) for index in range(len(steps))} - {None}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _inside(start: Ints, steps: Steps, index: int) -> slice:
    first, last = np.searchsorted(start, (steps.start[index], steps.end[index]))
    return slice(int(first), int(last))


def _of_step(kind: int, sizes: Ints) -> int | None:
    if not len(sizes):
        return None
    return int(sizes.max()) if kind == EMBEDDING else int(sizes[0])

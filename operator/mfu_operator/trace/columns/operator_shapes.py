"""How many samples an operator takes, where its input shapes were recorded."""

import msgspec

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

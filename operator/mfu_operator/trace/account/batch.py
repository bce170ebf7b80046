"""How many samples a step takes, where operators' input shapes were recorded: two runs with another number of them are
not comparable."""

import numpy as np

from mfu_operator.model.trace import Ints, Trace
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.operator_shapes import CONVOLUTION, EMBEDDING, LINEAR


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

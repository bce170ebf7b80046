"""Steps that are not like the others: the mean is not over them.

A validation, a checkpoint or the profiler's own start between two steps says nothing of the loop. Waiting for input and
compiling do: they are what a cause is told by, however rarely they come, so that a step is judged by the rest of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mfu_operator.model.trace import Ints, Trace, column
from mfu_operator.trace.account import host_facts
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.formatting import milliseconds

UNLIKE = 2.0
"""Times the median of the others, or its part: a step that is longer or shorter is not one of them."""

MOST_LEFT_OUT = 1 / 3
"""Of the steps between the first and the last: if more differ, differing is how this loop steps."""

MUCH = 0.5
"""Of the median step: after so long a wait a device works off what was queued for the next steps, so that they are
short."""

FEWEST_OTHERS = 2
"""Interior steps that a step is compared with; where there are fewer, the first and the last are among the others."""


def without_uneven(trace: Trace, steps: Steps) -> Steps:
    """The steps, with those marked that are left out of the mean, and a warning that names them."""
    inner = [index for index, inside in enumerate(steps.interior) if inside]
    if not inner:
        return steps
    lengths = steps.end - steps.start
    known = host_facts.loading(trace, steps) + host_facts.compiling(trace, steps)
    among = inner if len(inner) > FEWEST_OTHERS else list(range(len(steps)))
    shorter = known.max() < MUCH * np.median(lengths)
    unlike = tuple(index for index in inner if _unlike(lengths - known, index, among, 1 / UNLIKE if shorter else 0.0))
    if not unlike:
        return steps
    named = ", ".join(f"{steps.names[index]} ({milliseconds(float(lengths[index]))})" for index in unlike)
    like = column([index for index in among if index not in unlike] or among)
    usual = milliseconds(float(np.median(lengths[like])))
    if len(unlike) > MOST_LEFT_OUT * len(inner):
        said = f"steps differ more than twofold: {named}, the others {usual}; the mean is over all of them"
        return replace(steps, warnings=(*steps.warnings, said))
    said = f"left out of the mean, more than twice as long or short as the median of the others ({usual}): {named}"
    return replace(steps, left_out=unlike, warnings=(*steps.warnings, said))


def left_out_ns(steps: Steps) -> float:
    """How much longer the mean step is with those that are left out of it; nothing where they are short."""
    lengths = steps.end - steps.start
    every = column([index for index, inside in enumerate(steps.interior) if inside])
    return max(0.0, float(lengths[every].mean() - lengths[column(steps.counted)].mean()))


def _unlike(lengths: Ints, index: int, among: Sequence[int], least: float) -> bool:
    median = float(np.median(lengths[column([one for one in among if one != index])]))
    return bool(lengths[index] > UNLIKE * median or lengths[index] < least * median)

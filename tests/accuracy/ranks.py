"""Changes on several ranks."""

import random
from collections.abc import Callable
from dataclasses import replace

from tests.accuracy.family import Pair
from tests.accuracy.pairs import faulty, healthy
from tests.accuracy.trial import prepared, step_us


def on_every_rank(cause: str) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        count, size = dice.choice((2, 4)), dice.uniform(0.08, 0.2)
        loop = prepared(healthy(dice, cause), cause, size)
        return (loop,) * count, (faulty(loop, cause, size),) * count

    return pair


def even(dice: random.Random) -> Pair:
    """Ranks whose steps vary, and whose devices differ by up to 1 %."""
    loop = replace(healthy(dice), step_noise=0.02)
    return tuple(tuple(replace(loop, device_scale=dice.uniform(0.995, 1.005)) for _ in range(4)) for _ in range(2))  # type: ignore[return-value]


def take_turns(dice: random.Random) -> Pair:
    """In every step another rank waits for its input."""
    loop = replace(healthy(dice), steps=14)
    lost = dice.uniform(0.08, 0.2) * step_us(loop)
    waits = [
        tuple(loop.input_us + (lost if index % 4 == rank else 0.0) for index in range(loop.steps)) for rank in range(4)
    ]
    return (loop,) * 4, tuple(replace(loop, input_by_step=wait) for wait in waits)

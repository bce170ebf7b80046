"""Loops before and after a fault that is switched on, alone or beside something else."""

import random
from collections.abc import Callable
from dataclasses import replace

from tests.accuracy.family import Pair
from tests.accuracy.trial import prepared, random_loop, step_us
from tests.support.synthetic.faults import FAULTS
from tests.support.synthetic.loop import Loop


def healthy(dice: random.Random, cause: str = "") -> Loop:
    """A loop of any depth, with steps that vary."""
    loop = random_loop(dice, cause)
    return replace(loop, layers=dice.randrange(4, 24), steps=dice.randrange(8, 20), step_noise=dice.uniform(0, 0.01))


def label(cause: str) -> str:
    return f"{FAULTS[cause][0]}/{cause}"


def faulty(loop: Loop, cause: str, size: float) -> Loop:
    return FAULTS[cause][1](loop, size * step_us(loop))


def single(cause: str, change: Callable[[Loop, random.Random], Loop] = lambda loop, _: loop) -> Callable[..., Pair]:
    """The fault `cause` at 5 to 20 % in a healthy loop that `change` made special beforehand."""

    def pair(dice: random.Random) -> Pair:
        size = dice.uniform(0.05, 0.2)
        loop = prepared(change(healthy(dice, cause), dice), cause, size)
        return loop, faulty(loop, cause, size)

    return pair


def same(change: Callable[[Loop, random.Random], Loop]) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        loop = healthy(dice)
        return loop, change(loop, dice)

    return pair


def two(first: str, second: str) -> Callable[[random.Random], Pair]:
    """The first fault at three times the size of the second."""

    def pair(dice: random.Random) -> Pair:
        loop, lost = healthy(dice, first), dice.uniform(0.03, 0.08)
        return loop, faulty(FAULTS[first][1](loop, 3 * lost * step_us(loop)), second, lost)

    return pair


def faster(cause: str) -> Callable[[random.Random], Pair]:
    """A fault of 12 to 25 %, and kernels that are faster by 5 %."""

    def pair(dice: random.Random) -> Pair:
        loop = healthy(dice, cause)
        return loop, replace(faulty(loop, cause, dice.uniform(0.12, 0.25)), device_scale=0.95)

    return pair


def small(cause: str) -> Callable[[random.Random], Pair]:
    def pair(dice: random.Random) -> Pair:
        loop = replace(healthy(dice, cause), step_noise=0.02)
        return loop, faulty(loop, cause, 0.008)

    return pair


def alone(cause: str) -> Callable[[random.Random], Pair]:
    """A fault of 1.5 times the rest of the step, and no baseline."""

    def pair(dice: random.Random) -> Pair:
        return None, faulty(healthy(dice, cause), cause, 1.5)

    return pair

"""Which steps every rank records: far enough ahead that each has heard of them before they begin."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

WHOLE_STEPS = 2
"""A rank may be one step ahead of what it said, and the next one has begun."""

UNKNOWN_STEP_S = 0.1
"""Where no rank has measured its step yet."""

LONGEST_S = 60.0
LEAST_STEPS = 7
"""A capture takes at most the longer of a minute and seven steps (the capture API's bound)."""

ROOM = 0.9
"""Of that minute: what a recorder adds to a step needs the rest."""

APART = 50
"""Steps by which ranks of one job may differ: pipeline stages and asynchronous loops run a few ahead. More is another
count, of a process that was started again."""


UNLIKE = 10.0
"""Times the median step of the ranks, or a tenth of it: what a rank says beyond that is not used, be it that it has
measured its start-up, or lies. One word of one rank must not move the first step beyond what all the others reach."""


@dataclass(frozen=True, slots=True)
class Window:
    """The steps that all ranks record: `steps` of them from `first` on."""

    first: int
    steps: int


def window_of(
    steps: Sequence[int], step_s: Sequence[float | None], asked: int, most: int, margin_s: float, again: int = 0
) -> Window:
    """The steps to ask for.

    Args:
        steps: that each rank runs now.
        step_s: how long each rank's step takes, None where it is not known.
        asked: how many steps are wanted.
        most: how many the ranks take at once.
        margin_s: between now and the first recorded step, at least.
        again: how many times ranks were already past the first step; each doubles the distance.
    """
    known = alike([one for one in step_s if one is not None and one > 0])
    shortest = min(known, default=UNKNOWN_STEP_S)
    first = max(steps) + math.ceil(margin_s * 2**again / shortest) + WHOLE_STEPS
    fitting = max(LEAST_STEPS, int(ROOM * LONGEST_S / max(known, default=UNKNOWN_STEP_S)))
    return Window(first, max(1, min(asked, most, fitting)))


def alike(step_s: Sequence[float]) -> Sequence[float]:
    """Without those that no rank of this run can mean: the ranks of one job step together, or nearly so."""
    usual = median_low(step_s) if step_s else 0.0
    return [one for one in step_s if usual / UNLIKE <= one <= usual * UNLIKE]


def until_next_round(begun_s: float, period_s: float, now_s: float, lead_s: float) -> float:
    """Seconds to wait before asking, where every rank begins at the next multiple of as many steps: a multiple that is
    nearer than `lead_s` would be missed by ranks that hear of it later, and they would take the one after it.

    Args:
        begun_s: when a multiple was reached.
        period_s: between two multiples.
        now_s: on the same clock.
        lead_s: until the last rank has heard.
    """
    if period_s <= lead_s:
        return 0.0
    left_s = period_s - (now_s - begun_s) % period_s
    return 0.0 if left_s >= lead_s else left_s


def counting_apart(steps: Mapping[int, int]) -> Mapping[int, int]:
    """Of steps by rank, those that are not the run's count: far from the median one."""
    if not steps:
        return {}
    ordered = sorted(steps.values())
    median = ordered[len(ordered) // 2]
    return {rank: step for rank, step in steps.items() if abs(step - median) > APART}

"""Worlds that the rule was not made for, one at a time: `python -m tests.detection.foreign` judges jobs in each.

Each is a healthy job's log speed at a scrape every 30 s, without phases and without a step counter; the level is
recorded from its own first three hours, as `kubectl mfu replay --record 3h` does.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mfu_operator.detect.record import record_first
from mfu_operator.detect.replay import replay
from mfu_operator.model.baseline import Detection, Signal
from mfu_operator.model.series import Reading

SCRAPE_S = 30.0
DAY_SCRAPES = 2880
Floats = NDArray[np.float64]
World = Callable[[np.random.Generator, int], Floats]


def _wandering(rng: np.random.Generator, count: int, correlated_s: float, sigma: float) -> Floats:
    """An Ornstein–Uhlenbeck process."""
    keep = math.exp(-SCRAPE_S / correlated_s)
    steps = rng.normal(0, sigma * math.sqrt(1 - keep**2), count)
    values = np.empty(count)
    value = rng.normal(0, sigma)
    for index in range(count):
        value = values[index] = keep * value + steps[index]
    return values


def _dips(rng: np.random.Generator, count: int, every_min: float, long_min: float, depth: float) -> Floats:
    """A dip that no label tells, again and again."""
    values = rng.normal(0, 0.006, count)
    every, long = round(every_min * 60 / SCRAPE_S), round(long_min * 60 / SCRAPE_S)
    for begin in range(0, count, every):
        values[begin : begin + long] -= depth
    return values


def _allocations(rng: np.random.Generator, count: int) -> Floats:
    """Another level every three to five hours."""
    values, begin = rng.normal(0, 0.006, count), 0
    while begin < count:
        end = begin + round(rng.uniform(3, 5) * 3600 / SCRAPE_S)
        values[begin:end] += rng.normal(0, 0.01)
        begin = end
    return values


def _day_and_night(rng: np.random.Generator, count: int) -> Floats:
    turns = np.arange(count) / DAY_SCRAPES + rng.random()
    return np.asarray(0.012 * np.sin(2 * np.pi * turns) + rng.normal(0, 0.006, count))


def _sawtooth(rng: np.random.Generator, count: int) -> Floats:
    teeth = (np.arange(count) / (DAY_SCRAPES / 3) + rng.random()) % 1
    return np.asarray(-0.01 * teeth + rng.normal(0, 0.005, count))


def _slow_steps(rng: np.random.Generator, count: int) -> Floats:
    return np.asarray(rng.normal(0, 0.006, count) - (rng.random(count) < 0.05) * rng.uniform(0.05, 0.7, count))


WORLDS: dict[str, World] = {
    "white noise, 1 %": lambda rng, count: rng.normal(0, 0.01, count),
    "heavy tails (t with 3 degrees), 1.2 %": lambda rng, count: rng.standard_t(3, count) * 0.012,
    "noise that lasts for 5 min, 1.2 %": lambda rng, count: _wandering(rng, count, 300, 0.012),
    "noise that lasts for 20 min, 1 %": lambda rng, count: _wandering(rng, count, 1200, 0.01),
    "noise that lasts for 2 h, 0.8 %": lambda rng, count: _wandering(rng, count, 7200, 0.008),
    "another level every 4 h, 1 %": _allocations,
    "day and night, ±1.2 %": _day_and_night,
    "a sawtooth of 8 h, 1 %": _sawtooth,
    "an evaluation of 4 min every 30, unlabelled": lambda rng, count: _dips(rng, count, 30, 4, 0.5),
    "an evaluation of 9 min every 2 h, unlabelled": lambda rng, count: _dips(rng, count, 120, 9, 0.3),
    "one step in 20 is 5–50 % slow": _slow_steps,
}


def said_of(world: World, seed: int, days: float) -> Counter[str]:
    """How often which event was said of a healthy job of so many days."""
    logs = world(np.random.default_rng(seed), round(days * DAY_SCRAPES))
    readings = [
        Reading(index * SCRAPE_S, {Signal.MFU: 0.46 * math.exp(value)}) for index, value in enumerate(logs.tolist())
    ]
    baseline = record_first(readings, 3 * 3600.0, Detection()).baseline
    return Counter(said.event for said in replay(readings, baseline, Detection()).said)


def main(jobs: int = 40, days: float = 3.0) -> None:
    """Print a table."""
    sys.stdout.write(f"| a healthy job with | Regressed in {jobs * days:.0f} days | Confirmed |\n|---|---|---|\n")
    for name, world in WORLDS.items():
        said = sum((said_of(world, seed, days) for seed in range(jobs)), Counter[str]())
        sys.stdout.write(f"| {name} | {said['Regressed']} | {said['Confirmed']} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""How often healthy memory is called a leak, and how early a leak is: `python -m tests.detection.memory`.

Seeded. Series are shares of the limit every two minutes, as the operator looks; all go through the operator's own code.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mfu_operator.detect.creeping import Trend
from mfu_operator.model.baseline import Watch

Floats = NDArray[np.float64]
Make = Callable[[np.random.Generator, Floats], Floats]
EVERY_S = 120.0
MONTH_H = 720.0
HORIZON_S = Watch().memory_horizon_s


def _drift(rng: np.random.Generator, hours: Floats, deviation: float, correlation_h: float) -> Floats:
    """An Ornstein–Uhlenbeck process."""
    keep = float(np.exp(-EVERY_S / 3600 / correlation_h))
    steps = rng.normal(0, deviation * np.sqrt(1 - keep**2), len(hours))
    values, value = np.empty(len(hours)), rng.normal(0, deviation)
    for index, step in enumerate(steps):
        value = value * keep + step
        values[index] = value
    return values


def _plateau(rng: np.random.Generator, hours: Floats) -> Floats:
    drift = _drift(rng, hours, rng.uniform(0, 0.01), rng.uniform(0.5, 8))
    return rng.uniform(0.3, 0.95) + drift + rng.normal(0, rng.uniform(0, 0.01), len(hours))


def _warm_up(rng: np.random.Generator, hours: Floats) -> Floats:
    start = rng.uniform(0.2, 0.6)
    end, time_h = rng.uniform(start, 0.95), 10 ** rng.uniform(-1.5, 0.8)
    return start + (end - start) * (1 - np.exp(-hours / time_h)) + rng.normal(0, rng.uniform(0, 0.003), len(hours))


def _largest_batches(rng: np.random.Generator, hours: Floats) -> Floats:
    records: Floats = np.maximum.accumulate(rng.gumbel(0, 1, len(hours)))
    records = (records - records[0]) / (records[-1] - records[0] + 1e-9)
    start = rng.uniform(0.3, 0.6)
    return start + (rng.uniform(start, 0.95) - start) * records


def _evaluations(rng: np.random.Generator, hours: Floats) -> Floats:
    every_h = 10 ** rng.uniform(-0.3, 1)
    length_h = rng.uniform(0.02, 0.25) * every_h
    peaks = np.where(hours % every_h < length_h, rng.uniform(0.05, 0.25), 0)
    return rng.uniform(0.3, 0.7) + peaks + rng.normal(0, 0.002, len(hours))


def _steps_up(rng: np.random.Generator, hours: Floats) -> Floats:
    values = np.full(len(hours), rng.uniform(0.2, 0.5))
    for _ in range(rng.integers(1, 6)):
        values[rng.integers(0, len(hours)) :] += rng.uniform(0.02, 0.1)
    return values + rng.normal(0, 0.002, len(hours))


def _saw(rng: np.random.Generator, hours: Floats, shortest_h: float, longest_h: float) -> Floats:
    tooth_h = float(np.exp(rng.uniform(np.log(shortest_h), np.log(longest_h))))
    edges = np.cumsum(tooth_h * rng.uniform(0.8, 1.2, int(2 * hours[-1] / tooth_h) + 10)) - tooth_h
    tooth = np.searchsorted(edges, hours, side="right")
    risen = (hours - edges[tooth - 1]) / (edges[tooth] - edges[tooth - 1])
    return rng.uniform(0.1, 0.6) + rng.uniform(0.02, 0.3) * risen + rng.normal(0, 0.002, len(hours))


def _short_saw(rng: np.random.Generator, hours: Floats) -> Floats:
    return _saw(rng, hours, 0.05, 1.0)


def _long_saw(rng: np.random.Generator, hours: Floats) -> Floats:
    return _saw(rng, hours, 1.0, 48.0)


HEALTHY: Mapping[str, Make] = {
    "plateau with noise and drift": _plateau,
    "allocator that warms up": _warm_up,
    "ever rarer largest batches": _largest_batches,
    "evaluations that nobody labels": _evaluations,
    "one to five steps up": _steps_up,
    "saw-tooth of 3 to 60 min": _short_saw,
    "saw-tooth of 1 to 48 h": _long_saw,
}
"""What memory does in runs that are well; shares of the limit between 0.1 and about 0.95."""


def _straight(rng: np.random.Generator, hours: Floats) -> Floats:
    return hours


def _staircase(rng: np.random.Generator, hours: Floats) -> Floats:
    step_h = hours[-1] * rng.uniform(0.05, 0.2)
    stairs: Floats = np.floor(hours / step_h) * step_h
    return stairs


LEAKS: Mapping[str, Make] = {"straight": _straight, "staircase of 5 to 20 steps": _staircase}
"""How the hours become those that have leaked."""


@dataclass(frozen=True)
class Found:
    """Of many series: in how many a creep was found, and the shares of the whole time that were left then."""

    series: int
    found: int
    left: tuple[float, ...]


def first_alarm_h(values: Floats) -> float | None:
    """After how many hours a creep is found, None where it never is."""
    trend = Trend()
    for index, value in enumerate(values.tolist()):
        trend.add(index * EVERY_S, value, HORIZON_S)
        if trend.since_s is not None:
            return index * EVERY_S / 3600
    return None


def false_alarms(make: Make, job_months: int, seed: int = 1) -> int:
    """In how many of so many healthy job-months a creep is found."""
    rng, hours = np.random.default_rng(seed), _hours(MONTH_H)
    return sum(first_alarm_h(make(rng, hours)) is not None for _ in range(job_months))


def leaks(make: Make, full_in_h: float, count: int, seed: int = 1) -> Found:
    """Leaks from 30 to 80 % of the limit that are full after `full_in_h`."""
    rng, hours = np.random.default_rng(seed), _hours(full_in_h)
    left = []
    for _ in range(count):
        start = rng.uniform(0.3, 0.8)
        values = start + (1 - start) * make(rng, hours) / full_in_h + rng.normal(0, 0.002, len(hours))
        found_h = first_alarm_h(values)
        if found_h is not None:
            left.append(1 - found_h / full_in_h)
    return Found(count, len(left), tuple(sorted(left)))


def _hours(span_h: float) -> Floats:
    return np.arange(round(span_h * 3600 / EVERY_S), dtype=np.float64) * (EVERY_S / 3600)


def table(job_months: int, count: int) -> Iterator[str]:
    """The figures, line by line."""
    yield f"{'healthy, ' + str(job_months) + ' job-months each':42}{'with an alarm':>14}"
    for name, make in HEALTHY.items():
        yield f"{name:42}{false_alarms(make, job_months):>14}"
    yield f"\n{'leaks, ' + str(count) + ' each':42}{'found':>14}{'time left, median':>20}"
    for name, make in LEAKS.items():
        for full_in_h in (2, 4, 8, 16, 24, 48):
            found = leaks(make, full_in_h, count)
            median = f"{np.median(found.left):.0%}" if found.left else "-"
            yield f"{f'{name}, full in {full_in_h} h':42}{found.found:>14}{median:>20}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job-months", type=int, default=300, help="healthy job-months of each kind")
    parser.add_argument("--leaks", type=int, default=200, help="leaks of each kind")
    options = parser.parse_args()
    for line in table(options.job_months, options.leaks):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The real series of tests/data/series as readings of step time or throughput."""

import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mfu_operator.model.baseline import Signal
from mfu_operator.model.series import Phase, Reading

FOLDER = Path(__file__).parent.parent / "data" / "series"
SCRAPE_S = 30.0


@dataclass(frozen=True)
class Point:
    """One logged value: seconds per step or samples per second, at the end of what it covers."""

    time_s: float
    value: float
    phase: Phase


def names() -> list[str]:
    """All series, sorted."""
    return sorted(path.name for path in FOLDER.glob("*.csv"))


def signal_of(name: str) -> Signal:
    """What a series' values are."""
    return (
        Signal.THROUGHPUT
        if any(row["kind"] == "throughput" for row in _rows(name) if "kind" in row)
        else (Signal.STEP_TIME)
    )


def points(name: str) -> list[Point]:
    """Every logged value."""
    if name.startswith("mlperf"):
        return list(_mlperf(name))
    if name.startswith("nanogpt"):
        return [Point(float(row["elapsed_s"]), float(row["step_time_s"]), Phase.UNKNOWN) for row in _rows(name)]
    return list(_megatron(name))


def scraped(name: str, every_s: float = SCRAPE_S, seed: int = 1, counted: bool = True) -> list[Reading]:
    """What a scrape every `every_s` (with a jitter of a tenth) would have seen: the last logged value; where the job
    exports a step counter, with the step that it is of."""
    jitter = random.Random(f"{name}{seed}")
    signal = signal_of(name)
    readings = []
    next_s = 0.0
    step = 0
    all_points = points(name)
    for step, (point, after) in enumerate(pairwise(all_points), 1):
        while next_s < after.time_s:
            if next_s >= point.time_s:
                readings.append(Reading(next_s, {signal: point.value}, point.phase, float(step) if counted else None))
            next_s += every_s * (1 + 0.1 * (jitter.random() - 0.5))
    return readings


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open() as file:
        return list(csv.DictReader(file))


def _mlperf(name: str) -> Iterator[Point]:
    phase = Phase.RUNNING
    value = None
    for row in _rows(name):
        time_s = float(row["elapsed_s"])
        if row["kind"] == "eval_start":
            phase = Phase.EVALUATION
        elif row["kind"] == "eval_stop":
            phase = Phase.RUNNING
        else:
            value = float(row["value"])
        if value is not None:
            yield Point(time_s, value, phase)


def _megatron(name: str) -> Iterator[Point]:
    """Iteration times logged every few iterations: the log interval times the iteration is the time between two."""
    rows = _rows(name)
    time_s = 0.0
    before = 0
    for row in rows:
        step = int(row["step"])
        seconds = float(row["step_time_s"])
        time_s += max(1, step - before) * seconds
        before = step
        yield Point(time_s, seconds, Phase.UNKNOWN)

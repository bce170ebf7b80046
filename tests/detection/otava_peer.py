"""Apache Otava's alarms on the simulated jobs. It pins another numpy, so it runs in an environment of its own."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.detection.profiles import EVERY_S, Floats, Jobs

PYTHON = Path(".venv-otava/bin/python")
"""Made by `make detection-figures`."""

WORKER = Path(__file__).parent / "otava_worker.py"
PER_MINUTE = round(60 / EVERY_S)
HISTORY_MIN = 150


def available() -> bool:
    """Whether its environment is there."""
    return PYTHON.exists()


def false_alarms(jobs: Jobs, days: float) -> int:
    """Alarms on healthy jobs."""
    return len(_alarms(_minutes(jobs, round(days * 1440), 0.0), "all"))


def delays_min(jobs: Jobs, kappa: float, watched_min: int) -> Floats:
    """Minutes from a loss of `kappa` (on the scale of d) to the first alarm after it; inf where none came."""
    series = np.hstack([_minutes(jobs, HISTORY_MIN, 0.0), _minutes(jobs, watched_min, kappa)])
    found = np.full(jobs.count, np.inf)
    for job, minute in _alarms(series, "all"):
        if minute >= HISTORY_MIN:
            found[job] = min(found[job], minute + 1 - HISTORY_MIN)
    return found


def _minutes(jobs: Jobs, minutes: int, kappa: float) -> Floats:
    """One value a minute: the mean speed of its usable readings."""
    values = np.empty((jobs.count, minutes))
    for minute in range(minutes):
        total, counted = np.zeros(jobs.count), np.zeros(jobs.count)
        for _ in range(PER_MINUTE):
            reading = jobs.read(kappa)
            total += np.where(reading.usable, np.exp(-reading.loss), 0.0)
            counted += reading.usable
        values[:, minute] = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
    return values


def _alarms(series: Floats, how: str) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "series.npy", Path(folder) / "alarms.npy"
        np.save(source, series)
        subprocess.run([PYTHON, WORKER, source, target, how], check=True)
        found: np.ndarray[tuple[int, int], np.dtype[np.int64]] = np.load(target)
    return found

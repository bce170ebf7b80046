"""Apache Otava's alarms on the simulated jobs. It pins another numpy, so it runs in an environment of its own."""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.detection.profiles import EVERY_S, Floats, Reading

PYTHON = Path(".venv-otava/bin/python")
"""Made by `make detection-figures`."""

WORKER = Path(__file__).parent / "otava_worker.py"
PER_MINUTE = round(60 / EVERY_S)

Alarms = np.ndarray[tuple[int, int], np.dtype[np.int64]]


def available() -> bool:
    """Whether its environment is there."""
    return PYTHON.exists()


class Minutes:
    """The first jobs' mean speed in each minute, as Otava is given it: without the checkpoints, each of which it would
    call a change.

    Args:
        jobs: so many of the jobs.
        minutes: so many minutes from the first scrape on.
    """

    def __init__(self, jobs: int, minutes: int) -> None:
        self.jobs = jobs
        self._scrapes = np.full((jobs, minutes * PER_MINUTE), np.nan)
        self._next = 0

    def advance(self, reading: Reading) -> None:
        """Keep one scrape, while there is room."""
        if self._next >= self._scrapes.shape[1]:
            return
        seen = (reading.usable & ~reading.checkpoint)[: self.jobs]
        self._scrapes[:, self._next] = np.where(seen, np.exp(-reading.loss[: self.jobs]), np.nan)
        self._next += 1

    def alarms(self) -> Alarms:
        """(job, minute) of each alarm, Otava asked every minute."""
        parts = self._scrapes.reshape(self.jobs, -1, PER_MINUTE)
        counted = np.sum(~np.isnan(parts), axis=2)
        series = np.where(counted > 0, np.nansum(parts, axis=2) / np.maximum(counted, 1), np.nan)
        return _alarms(series)


def first_after_min(alarms: Alarms, jobs: int, begun_min: int) -> Floats:
    """Minutes from `begun_min` to each job's first alarm after it; inf where none came."""
    found = np.full(jobs, np.inf)
    for job, minute in alarms:
        if minute >= begun_min:
            found[job] = min(found[job], minute + 1 - begun_min)
    return found


def _alarms(series: Floats) -> Alarms:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "series.npy", Path(folder) / "alarms.npy"
        np.save(source, series)
        subprocess.run([PYTHON, WORKER, source, target], check=True)
        found: Alarms = np.load(target)
    return found

"""Apache Otava over series of one value a minute, asked every minute. Run by an interpreter that has apache-otava:

    otava_worker.py SERIES.npy ALARMS.npy

SERIES is (jobs, minutes) with NaN where nothing was measured; ALARMS is (alarms, 2): job and minute.
"""

import math
import sys

import numpy as np
from otava.analysis import compute_change_points

WINDOW = 50
"""Otava's default window, in readings; the last three of them are looked at."""

MAX_P = 0.001
"""Otava's default."""

MAGNITUDE = 0.02
"""Smaller changes raise no alarm: the tolerance that the other rules have, too."""

SAME_MIN = 10
"""A change point this near to one that was told is the same one, seen again."""


def alarms(series: "np.ndarray") -> list[int]:
    """Minutes at which a change to the worse is told."""
    told: list[int] = []
    found: list[int] = []
    minutes: list[int] = []
    values: list[float] = []
    for minute, value in enumerate(series):
        if math.isnan(value):
            continue
        minutes.append(minute)
        values.append(float(value))
        if len(values) < WINDOW:
            continue
        points, _ = compute_change_points(
            values[-3 * WINDOW :], window_len=WINDOW, max_pvalue=MAX_P, min_magnitude=MAGNITUDE
        )
        begin = max(0, len(values) - 3 * WINDOW)
        worse = [minutes[begin + int(point.index)] for point in points if point.stats.mean_2 < point.stats.mean_1]
        new = [at for at in worse if all(abs(at - before) > SAME_MIN for before in told)]
        told += new
        if new:
            found.append(minute)
    return found


def main() -> None:
    source, target = sys.argv[1:]
    rows = [(job, minute) for job, series in enumerate(np.load(source)) for minute in alarms(series)]
    np.save(target, np.array(rows, dtype=np.int64).reshape(-1, 2))


if __name__ == "__main__":
    main()

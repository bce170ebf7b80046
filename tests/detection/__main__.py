"""Prints the figures as Markdown: `python -m tests.detection [--job-months 3000]`. Seeded.

What is being measured is said on stderr."""

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.detection import otava_peer
from tests.detection.asked import Measured, verdicts
from tests.detection.figures import (
    BUDGET_PER_YEAR,
    OURS,
    Delay,
    Otava,
    Rate,
    delays,
    detectors,
    false_alarms,
    physical_limit_min,
)
from tests.detection.profiles import LABELS, PROFILES, USUAL, Labels, Profile

LOSSES = (0.03, 0.05, 0.10)
DAYS = 6.0
"""Each healthy job is watched for so long: five jobs, and five baselines, make a job-month."""

LABEL_MONTHS = 300
LABEL_JOBS = 500
LIMITS = {"physical limit, 1 in 10,000 job-years": 1e-4, "physical limit, 1 in 3,000 job-months": BUDGET_PER_YEAR}
BEGUN_S = time.monotonic()


@dataclass(frozen=True)
class Size:
    """How much is simulated: healthy job-months of jobs that last so many days, and jobs per loss."""

    months: int
    days: float
    jobs: int

    def at_most(self, months: int, jobs: int) -> "Size":
        """The same, or smaller."""
        return Size(min(self.months, months), self.days, min(self.jobs, jobs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table per profile, and what was asked beside what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job-months", type=int, default=3000, help="healthy job-months per profile")
    parser.add_argument("--days", type=float, default=DAYS, help="days that each healthy job is watched for")
    parser.add_argument("--jobs", type=int, default=1500, help="jobs per loss")
    parser.add_argument("--otava-jobs", type=int, default=20, help="jobs that Apache Otava is asked about; 0: none")
    options = parser.parse_args(arguments)
    otava = Otava(jobs=options.otava_jobs) if options.otava_jobs and otava_peer.available() else None
    if otava is None:
        _progress("without Apache Otava, which `make detection-figures` installs into .venv-otava")
    size = Size(options.job_months, options.days, options.jobs)
    measured = {profile.name: _profile(profile, size, otava) for profile in PROFILES}
    _say("\n## What was asked, and what was measured\n")
    for line in verdicts(measured):
        _say(line)
    _say(
        "\nA loss in the tables: median minutes to the alarm / seen within 30 min / missed in 6 h; where a rule alarms"
    )
    _say(
        "on healthy jobs every few hours, much of what it finds is chance. The physical limit is the least mean time in"
    )
    _say("which any test tells the loss from one of 2 % at that rate of false alarms, on white noise.")
    _progress("done")


def _profile(profile: Profile, size: Size, otava: Otava | None) -> Measured:
    _say(f"\n## {profile.name}\n\nReadings every 30 s, {USUAL.name}.\n")
    _say(
        "| | alarms of healthy jobs | a job-month | confirmed | " + " | ".join(f"−{loss:.0%}" for loss in LOSSES) + " |"
    )
    _say("|---" * (4 + len(LOSSES)) + "|")
    rates, found = _measured(profile, size, USUAL, tuple(detectors()), otava)
    for name, rate in rates.items():
        _row(name, rate, [found[loss][name] for loss in LOSSES])
    for labels in LABELS:
        told, seen = _measured(profile, size.at_most(LABEL_MONTHS, LABEL_JOBS), labels, (OURS,), None)
        _row(f"{OURS}, {labels.name}", told[OURS], [seen[loss][OURS] for loss in LOSSES])
    for name, per_year in LIMITS.items():
        limits = (f"{physical_limit_min(profile, loss, per_year=per_year):.1f}" for loss in LOSSES)
        _say(f"| {name} | | | | {' | '.join(limits)} |")
    return Measured(rates[OURS], {loss: found[loss][OURS] for loss in LOSSES})


def _measured(
    profile: Profile, size: Size, labels: Labels, names: Sequence[str], otava: Otava | None
) -> tuple[Mapping[str, Rate], Mapping[float, Mapping[str, Delay]]]:
    makes = {name: make for name, make in detectors().items() if name in names}
    _progress(f"{profile.name}, {labels.name}: {size.months} healthy job-months")
    rates = false_alarms(profile, makes, round(size.months * 30 / size.days), size.days, labels, otava)
    found = {}
    for loss in LOSSES:
        _progress(f"{profile.name}, {labels.name}: {size.jobs} jobs that lose {loss:.0%}")
        found[loss] = delays(profile, loss, makes, size.jobs, labels, otava)
    return rates, found


def _row(name: str, rate: Rate, found: Sequence[Delay]) -> None:
    confirmed = "" if rate.confirmed is None else str(rate.confirmed)
    often = rate.alarms / rate.months
    per_month = f"{often:,.0f}" if often >= 10 or often == 0 else f"{often:.2g}"
    cells = (name, f"{rate.alarms:,} in {rate.months:,.4g}", per_month, confirmed, *map(_cell, found))
    _say(f"| {' | '.join(cells)} |")


def _cell(found: Delay) -> str:
    median = "missed" if math.isinf(found.median_min) else f"{found.median_min:g}"
    return f"{median} / {found.within_30:.1%} / {found.missed:.1%}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _progress(doing: str) -> None:
    sys.stderr.write(f"[{(time.monotonic() - BEGUN_S) / 60:5.1f} min] {doing}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()

"""Prints the figures: `python -m tests.detection [--job-months 300]`. Seeded; minutes for 300, an hour for 3000."""

import argparse
import math
import sys
from collections.abc import Callable

from tests.detection import otava_peer
from tests.detection.figures import (
    BUDGET_PER_YEAR,
    OURS,
    Delay,
    Make,
    Rate,
    delay,
    detectors,
    false_alarms,
    otava_delay,
    otava_false_alarms,
    physical_limit_min,
)
from tests.detection.profiles import LABELS, PROFILES, USUAL, Profile

LOSSES = (0.03, 0.05, 0.10)
DAYS = 6
"""Each healthy job is watched for so long: five jobs, and five baselines, make a job-month."""

PEER_MONTHS = 30
"""The peers alarm so often that thirty job-months tell their rate."""

LABEL_MONTHS = 300
OTAVA_JOBS = 20
OTAVA_DAYS = 0.75
"""Half a job-month: Otava takes a millisecond for each look, and looks every minute."""


def main() -> None:
    """Print one table per profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job-months", type=int, default=300, help="healthy job-months per profile")
    parser.add_argument("--jobs", type=int, default=1500, help="jobs per loss")
    options = parser.parse_args()
    for profile in PROFILES:
        _say(f"\n{profile.name} (readings every 30 s, {USUAL.name})")
        _say(f"{'':48}{'false alarms':>22}{'confirmed':>11}" + "".join(f"{f'−{loss:.0%}':>26}" for loss in LOSSES))
        for name, make in detectors().items():
            months = options.job_months if name in (OURS, "the rule it came from") else PEER_MONTHS
            _row(name, *_measured(profile, make, min(months, options.job_months), options.jobs))
        _otava(profile)
        for labels in LABELS:
            make = detectors()[OURS]
            rate = false_alarms(profile, make, _jobs(min(LABEL_MONTHS, options.job_months)), DAYS, labels)
            found = [delay(profile, loss, make, min(500, options.jobs), labels) for loss in LOSSES]
            _row(f"{OURS}, {labels.name}", rate, found)
        _limit(profile, "physical limit, 1 in 10,000 job-years", 1e-4)
        _limit(profile, "physical limit, 1 in 3,000 job-months", BUDGET_PER_YEAR)
    _say("\nA loss: median minutes to the alarm / seen within 30 min / missed in 6 h. The physical limit is the least")
    _say("mean time in which any test tells the loss from one of 2 % at that rate of false alarms, on white noise.")


def _measured(profile: Profile, make: Make, months: int, jobs: int) -> tuple[Rate, list[Delay]]:
    rate = false_alarms(profile, make, _jobs(months), DAYS)
    return rate, [delay(profile, loss, make, jobs) for loss in LOSSES]


def _jobs(months: int) -> int:
    return round(months * 30 / DAYS)


def _otava(profile: Profile) -> None:
    if not otava_peer.available():
        _say("Apache Otava: not installed (make detection-figures installs it into .venv-otava)")
        return
    found = [otava_delay(profile, loss, OTAVA_JOBS) for loss in LOSSES]
    _row("Apache Otava 0.8.0 every minute, perfect label", otava_false_alarms(profile, OTAVA_JOBS, OTAVA_DAYS), found)


def _limit(profile: Profile, name: str, per_year: float) -> None:
    minutes: Callable[[float], float] = lambda loss: physical_limit_min(profile, loss, per_year=per_year)  # noqa: E731
    _say(f"{name:48}{'':>22}{'':>11}" + "".join(f"{f'{minutes(loss):.1f}':>26}" for loss in LOSSES))


def _row(name: str, rate: Rate, found: list[Delay]) -> None:
    alarms = f"{rate.alarms} in {rate.months:g} months"
    confirmed = "" if rate.confirmed is None else str(rate.confirmed)
    _say(f"{name:48}{alarms:>22}{confirmed:>11}" + "".join(f"{_cell(one):>26}" for one in found))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _cell(found: Delay) -> str:
    median = "missed" if math.isinf(found.median_min) else f"{found.median_min:g}"
    return f"{median} / {found.within_30:.1%} / {found.missed:.1%}"


if __name__ == "__main__":
    main()

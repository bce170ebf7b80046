"""Prints the figures: `python -m tests.detection [--job-months 300]`. Seeded; minutes for 300, an hour for 3000."""

import argparse
import math
import sys
import time

from tests.detection.figures import Delay, delay, detectors, false_alarms, physical_limit_min
from tests.detection.profiles import PROFILES

LOSSES = (0.03, 0.05, 0.10)
PEER_MONTHS = 30
"""The peers alarm so often that thirty job-months tell their rate."""


def main() -> None:
    """Print one table per profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job-months", type=int, default=300, help="healthy job-months per profile")
    parser.add_argument("--jobs", type=int, default=1500, help="jobs per loss")
    options = parser.parse_args()
    for profile in PROFILES:
        _say(f"\n{profile.name}: physical limit at −5 % {physical_limit_min(profile):.1f} min")
        _say(f"{'':32}{'false alarms':>22}{'confirmed':>11}" + "".join(f"{f'−{loss:.0%}':>24}" for loss in LOSSES))
        for name, make in detectors().items():
            begun = time.monotonic()
            months = options.job_months if name == "mfu-operator" else min(PEER_MONTHS, options.job_months)
            rate = false_alarms(profile, make, months, 30)
            confirmed = str(rate.confirmed) if name == "mfu-operator" else ""
            cells = "".join(f"{_cell(delay(profile, loss, make, options.jobs)):>24}" for loss in LOSSES)
            alarms = f"{rate.alarms} in {rate.months:.0f} months"
            _say(f"{name:32}{alarms:>22}{confirmed:>11}{cells}   {time.monotonic() - begun:4.0f} s")
    _say("\nA loss: median minutes to the alarm, share within 30 min, share missed in 6 h. apache-otava is not part")
    _say("of this table: it looks at a whole history at once, and is not a dependency.")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _cell(found: Delay) -> str:
    median = "missed" if math.isinf(found.median_min) else f"{found.median_min:g}"
    return f"{median} / {found.within_30:.1%} / {found.missed:.1%}"


if __name__ == "__main__":
    main()

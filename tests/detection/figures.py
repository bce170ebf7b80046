"""The figures of the detection rule, by simulation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mfu_operator.model.baseline import Detection
from tests.detection.fleet import Fleet, Rule, tolerances
from tests.detection.peers import Cusum, Detector, Ewma, Ours, PrometheusRule
from tests.detection.profiles import EVERY_S, Floats, Jobs, Profile

SEED = 20
RUNS = 5
PER_DAY = round(86_400 / EVERY_S)
SETTLED = 120
"""Scrapes before a loss begins: an hour."""

WATCHED_H = 6.0
"""A loss that is not seen within six hours is missed."""

Make = Callable[[Floats, Floats, Floats, Floats], Detector]


@dataclass(frozen=True)
class Delay:
    """Median minutes to the alarm (inf: most were missed), share seen within 12 and 30 min, share missed."""

    median_min: float
    within_12: float
    within_30: float
    missed: float


@dataclass(frozen=True)
class Rate:
    """Alarms on healthy jobs per job-month, and confirmed ones in all."""

    per_month: float
    alarms: int
    confirmed: int
    months: float


def detectors() -> dict[str, Make]:
    """The operator's rule and its peers, made from kappa, scale, confirm_kappa and s_w of each job."""
    return {
        "mfu-operator": lambda kappa, scale, confirm, _within: Ours(Fleet(kappa, scale, Rule(), confirm)),
        "Prometheus rule −3 % for 6 min": lambda kappa, *_others: PrometheusRule(len(kappa)),
        "CUSUM k=0.5 h=5": lambda _kappa, _scale, _confirm, within: Cusum(within),
        "EWMA λ=0.2 L=3": lambda _kappa, _scale, _confirm, within: Ewma(within),
    }


def delay(profile: Profile, loss: float, make: Make, jobs: int = 1500, seed: int = SEED) -> Delay:
    """How long a sustained relative `loss` takes to alarm; jobs that alarm before it count from there on only."""
    simulated, detector, offset = _prepared(profile, make, jobs, seed)
    for _ in range(SETTLED):
        reading = simulated.read()
        reading.loss -= offset
        detector.advance(reading)
    minutes = np.full(jobs, np.inf)
    for index in range(round(WATCHED_H * 3600 / EVERY_S)):
        reading = simulated.read(-float(np.log1p(-loss)))
        reading.loss -= offset
        raised = detector.advance(reading)
        minutes[raised & np.isinf(minutes)] = (index + 1) * EVERY_S / 60
    return Delay(
        median_min=float(np.median(minutes)),
        within_12=float(np.mean(minutes <= 12)),
        within_30=float(np.mean(minutes <= 30)),
        missed=float(np.mean(np.isinf(minutes))),
    )


def false_alarms(profile: Profile, make: Make, jobs: int, days: float, seed: int = SEED + 1) -> Rate:
    """Alarms of healthy jobs over `days` each."""
    simulated, detector, offset = _prepared(profile, make, jobs, seed)
    alarms = 0
    for _ in range(round(days * PER_DAY)):
        reading = simulated.read()
        reading.loss -= offset
        alarms += int(detector.advance(reading).sum())
    months = jobs * days / 30
    confirmed = detector.confirmed if isinstance(detector, Ours) else 0
    return Rate(alarms / months, alarms, confirmed, months)


def physical_limit_min(profile: Profile, loss: float = 0.05, null: float = 0.02, per_year: float = 1e-4) -> float:
    """Wald's expected length of a sequential test between a loss of `null` and of `loss`, white normal noise, and one
    false alarm per 1/per_year job-years: n = 2·ln(A)·σ²/Δ² readings, with A the readings of a year over `per_year`."""
    apart = float(np.log((1 - null) / (1 - loss)))
    alternatives = float(np.log(365 * PER_DAY / per_year))
    return 2 * alternatives * (profile.within / apart) ** 2 * EVERY_S / 60


def _prepared(profile: Profile, make: Make, count: int, seed: int) -> tuple[Jobs, Detector, Floats]:
    jobs = Jobs(profile, count, np.random.default_rng(seed))
    offset, within, between, slow = jobs.recorded(RUNS)
    kappa, scale, confirm = tolerances(within, between, slow, RUNS, Detection())
    return jobs, make(kappa, scale, confirm, within), offset

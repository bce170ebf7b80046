"""The figures of the detection rule, by simulation."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.detection import otava_peer
from tests.detection.peers import AveragedRule, Counted, Cusum, Detector, Ewma, PrometheusRule, first_rule, ours
from tests.detection.profiles import EVERY_S, PERFECT, USUAL, Floats, Jobs, Labels, Profile, Recorded

SEED = 20
RUNS = 5
PER_DAY = round(86_400 / EVERY_S)
SETTLED = 120
"""Scrapes before a loss begins: an hour."""

WATCHED_H = 6.0
"""A loss that is not seen within six hours is missed."""

OURS = "mfu-operator"
BUDGET_PER_YEAR = 12 / 3000
"""One false alarm in the 3,000 job-months of these figures."""

Make = Callable[[Recorded, Labels], Detector]


@dataclass(frozen=True)
class Delay:
    """Median minutes to the alarm (inf: most were missed), share seen within 30 min, share missed."""

    median_min: float
    within_30: float
    missed: float

    @classmethod
    def of(cls, minutes: Floats) -> "Delay":
        """Of each job's minutes; inf where none came."""
        return cls(float(np.median(minutes)), float(np.mean(minutes <= 30)), float(np.mean(np.isinf(minutes))))


@dataclass(frozen=True)
class Rate:
    """Alarms on healthy jobs, and confirmed ones (None where the rule has no such thing)."""

    alarms: int
    confirmed: int | None
    months: float


def detectors() -> dict[str, Make]:
    """The operator's rule and its peers, made from what recording showed."""
    return {
        OURS: ours,
        "the rule it came from": first_rule,
        "Prometheus rule −3 % for 6 min": lambda recorded, _: PrometheusRule(len(recorded.within)),
        "Prometheus rule avg 10 min −3 % for 5 min": lambda recorded, _: AveragedRule(len(recorded.within)),
        "CUSUM k=0.5 h=5": lambda recorded, _: Cusum(recorded.within),
        "EWMA λ=0.2 L=3": lambda recorded, _: Ewma(recorded.within),
    }


def delay(
    profile: Profile, loss: float, make: Make, jobs: int = 1500, labels: Labels = USUAL, seed: int = SEED
) -> Delay:
    """How long a sustained relative `loss` takes to alarm; jobs that alarm before it count from there on only."""
    simulated, detector, offset = _prepared(profile, make, jobs, labels, seed)
    for _ in range(SETTLED):
        reading = simulated.read()
        reading.loss -= offset
        detector.advance(reading)
    minutes = np.full(jobs, np.inf)
    for index in range(round(WATCHED_H * 3600 / EVERY_S)):
        reading = simulated.read(-math.log1p(-loss))
        reading.loss -= offset
        raised = detector.advance(reading)
        minutes[raised & np.isinf(minutes)] = (index + 1) * EVERY_S / 60
    return Delay.of(minutes)


def false_alarms(
    profile: Profile, make: Make, jobs: int, days: float, labels: Labels = USUAL, seed: int = SEED + 1
) -> Rate:
    """Alarms of healthy jobs over `days` each."""
    simulated, detector, offset = _prepared(profile, make, jobs, labels, seed)
    alarms = 0
    for _ in range(round(days * PER_DAY)):
        reading = simulated.read()
        reading.loss -= offset
        alarms += int(detector.advance(reading).sum())
    return Rate(alarms, detector.confirmed if isinstance(detector, Counted) else None, jobs * days / 30)


def otava_delay(profile: Profile, loss: float, jobs: int, seed: int = SEED) -> Delay:
    """The same for Apache Otava, asked every minute, with labels that hide every checkpoint from it: it calls each one
    that it sees a change."""
    simulated = Jobs(profile, jobs, np.random.default_rng(seed), PERFECT)
    return Delay.of(otava_peer.delays_min(simulated, -math.log1p(-loss), round(WATCHED_H * 60)))


def otava_false_alarms(profile: Profile, jobs: int, days: float, seed: int = SEED + 1) -> Rate:
    """The same for Apache Otava, asked every minute."""
    simulated = Jobs(profile, jobs, np.random.default_rng(seed), PERFECT)
    return Rate(otava_peer.false_alarms(simulated, days), None, jobs * days / 30)


def physical_limit_min(profile: Profile, loss: float = 0.05, null: float = 0.02, per_year: float = 1e-4) -> float:
    """The least mean time to tell a loss of `loss` from one of `null` with `per_year` false alarms a job-year.

    Wald's bound for any sequential test: ln(A) over the information of one reading, with A the readings of a year over
    the false alarms in it. The information is the Kullback–Leibler divergence of the profile's own noise (Student's t)
    moved by the difference; level, drift and dips are taken as known, so that no rule that does not know them is faster
    at that rate.
    """
    apart = math.log((1 - null) / (1 - loss))
    return math.log(365 * PER_DAY / per_year) / _information(profile, apart) * EVERY_S / 60


def _information(profile: Profile, apart: float) -> float:
    """∫ f(x)·ln(f(x)/f(x + apart)) dx in nats."""
    freedom = profile.tail
    scale = profile.within * math.sqrt((freedom - 2) / freedom)
    x = np.linspace(-60, 60, 240_001)
    log_density = -(freedom + 1) / 2 * np.log1p(x**2 / freedom)
    density = np.exp(log_density)
    moved = -(freedom + 1) / 2 * np.log1p((x + apart / scale) ** 2 / freedom)
    return float(np.sum(density * (log_density - moved)) / np.sum(density))


def _prepared(profile: Profile, make: Make, count: int, labels: Labels, seed: int) -> tuple[Jobs, Detector, Floats]:
    jobs = Jobs(profile, count, np.random.default_rng(seed), labels)
    recorded = jobs.recorded(RUNS)
    return jobs, make(recorded, labels), recorded.offset

"""The figures of the detection rule, by simulation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tests.detection import otava_peer
from tests.detection.peers import AveragedRule, Counted, Cusum, Detector, Ewma, PrometheusRule, first_rule, ours
from tests.detection.profiles import EVERY_S, USUAL, Floats, Jobs, Labels, Mask, Profile, Recorded

SEED = 20
RUNS = 5
PER_DAY = round(86_400 / EVERY_S)
SETTLED_MIN = 150
"""Minutes before a loss begins: three of Otava's windows."""

WATCHED_H = 6.0
"""A loss that is not seen within six hours is missed."""

OURS = "mfu-operator"
FIRST = "the rule it came from"
PROMETHEUS = "Prometheus rule −3 % for 6 min"
PROMETHEUS_AVERAGED = "Prometheus rule avg 10 min −3 % for 5 min"
CUSUM = "CUSUM k=0.5 h=5"
EWMA = "EWMA λ=0.2 L=3"
OTAVA = "Apache Otava 0.8.0 every minute, perfect label"
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
        FIRST: first_rule,
        PROMETHEUS: lambda recorded, _: PrometheusRule(len(recorded.within)),
        PROMETHEUS_AVERAGED: lambda recorded, _: AveragedRule(len(recorded.within)),
        CUSUM: lambda recorded, _: Cusum(recorded.within),
        EWMA: lambda recorded, _: Ewma(recorded.within),
    }


@dataclass(frozen=True)
class Otava:
    """How many of the jobs Apache Otava is asked about, and for how many healthy days: it takes a millisecond for each
    look, and looks every minute."""

    jobs: int = 20
    days: float = 0.75


def delays(
    profile: Profile,
    loss: float,
    makes: Mapping[str, Make],
    jobs: int = 1500,
    labels: Labels = USUAL,
    otava: Otava | None = None,
    seed: int = SEED,
) -> dict[str, Delay]:
    """How long a sustained relative `loss` takes to alarm, for every detector on the same series.

    Jobs that alarm before it count from there on only. With `otava`, the first of these jobs are Apache Otava's, too.
    """
    series = _Series(profile, makes, jobs, labels, seed)
    watched_min = round(WATCHED_H * 60)
    minutes = otava_peer.Minutes(min(otava.jobs, jobs), SETTLED_MIN + watched_min) if otava else None
    for _ in range(_scrapes(SETTLED_MIN)):
        series.advance(0.0, minutes)
    found = {name: np.full(jobs, np.inf) for name in makes}
    for index in range(_scrapes(watched_min)):
        for name, raised in series.advance(-math.log1p(-loss), minutes).items():
            found[name][raised & np.isinf(found[name])] = (index + 1) * EVERY_S / 60
    if minutes is not None:
        found[OTAVA] = otava_peer.first_after_min(minutes.alarms(), minutes.jobs, SETTLED_MIN)
    return {name: Delay.of(each) for name, each in found.items()}


def false_alarms(
    profile: Profile,
    makes: Mapping[str, Make],
    jobs: int,
    days: float,
    labels: Labels = USUAL,
    otava: Otava | None = None,
    seed: int = SEED + 1,
) -> dict[str, Rate]:
    """Alarms of healthy jobs over `days` each, for every detector on the same series.

    With `otava`, the beginning of the first of these jobs is Apache Otava's, too.
    """
    series = _Series(profile, makes, jobs, labels, seed)
    minutes = otava_peer.Minutes(min(otava.jobs, jobs), round(min(otava.days, days) * 1440)) if otava else None
    alarms = dict.fromkeys(makes, 0)
    for _ in range(round(days * PER_DAY)):
        for name, raised in series.advance(0.0, minutes).items():
            alarms[name] += int(raised.sum())
    rates = {
        name: Rate(alarms[name], detector.confirmed if isinstance(detector, Counted) else None, jobs * days / 30)
        for name, detector in series.detectors.items()
    }
    if otava is not None and minutes is not None:
        rates[OTAVA] = Rate(len(minutes.alarms()), None, minutes.jobs * min(otava.days, days) / 30)
    return rates


class _Series:
    """Jobs that were recorded, and the detectors that read them."""

    def __init__(self, profile: Profile, makes: Mapping[str, Make], count: int, labels: Labels, seed: int) -> None:
        self._jobs = Jobs(profile, count, np.random.default_rng(seed), labels)
        recorded = self._jobs.recorded(RUNS)
        self._offset = recorded.offset
        self.detectors = {name: make(recorded, labels) for name, make in makes.items()}

    def advance(self, loss: float, minutes: otava_peer.Minutes | None) -> dict[str, Mask]:
        """One scrape with `loss` on the scale of d; which jobs alarm, by detector."""
        reading = self._jobs.read(loss)
        reading.loss -= self._offset
        if minutes is not None:
            minutes.advance(reading)
        return {name: detector.advance(reading) for name, detector in self.detectors.items()}


def _scrapes(minutes: int) -> int:
    return round(minutes * 60 / EVERY_S)


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

"""Simulated jobs: what healthy readings look like, as d = baseline − ln x, for many jobs side by side.

The shapes follow real series by eye; the sizes are such that the physical limit at a loss of 5 % (0.4, 3.7 and 19 min)
is the one that was found for them. Values are standard deviations of ln x unless said otherwise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

EVERY_S = 30.0
CHECKPOINT_EVERY = 60
"""Scrapes from one checkpoint to the next."""

CHECKPOINT_SCRAPES = 3
"""Scrapes that see a checkpoint, at a third of the speed."""


@dataclass(frozen=True)
class Labels:
    """How the exported phase follows the checkpoints.

    late: scrapes by which the label comes and goes late. missing: checkpoints are never labelled. stuck: share of
    labels that stay until the next checkpoint. exported: False where the job says no phase at all.
    """

    name: str
    late: int = 1
    missing: bool = False
    stuck: float = 0.0
    exported: bool = True


USUAL = Labels("label 30 s late")
PERFECT = Labels("perfect label", late=0)
LABELS = (
    PERFECT,
    Labels("label 60 s late", late=2),
    Labels("label 120 s late", late=4),
    Labels("checkpoints never labelled", missing=True),
    Labels("one label in ten stuck", stuck=0.1),
    Labels("no phase exported", exported=False),
)


@dataclass(frozen=True)
class Profile:
    """Noise of one kind of job.

    within: from reading to reading; tail: Student's degrees of freedom of it; slow: drift within a run with correlation
    time `slow_h` hours; between: of a run's level; wild: share of readings that are 6–50 % slow; run_h: mean hours
    between restarts, each with another level and 3 minutes of warm-up.
    """

    name: str
    within: float
    tail: float
    slow: float
    slow_h: float
    between: float
    wild: float
    run_h: float


PROFILES = (
    Profile("A clean dense", within=0.004, tail=30, slow=0.0010, slow_h=2, between=0.0015, wild=0.002, run_h=72),
    Profile("B typical", within=0.013, tail=8, slow=0.0025, slow_h=2, between=0.003, wild=0.01, run_h=48),
    Profile("C noisy MoE", within=0.029, tail=6, slow=0.0030, slow_h=2, between=0.004, wild=0.02, run_h=24),
)


@dataclass
class Reading:
    """One scrape of all jobs. usable: no label gates it; checkpoint: it saw one, whatever the label says."""

    loss: Floats
    usable: Mask
    restarted: Mask
    checkpoint: Mask


@dataclass(frozen=True)
class Recorded:
    """Baselines as recorded: the error of m0 (as d), s_w, s_b, and the pooled variance of `per_block` readings' medians
    with its degrees of freedom. Arrays are per job."""

    runs: int
    offset: Floats
    within: Floats
    between: Floats
    block_variance: Floats
    freedom: int
    per_block: int


class Jobs:
    """Many jobs of one profile, scrape by scrape. `loss_at` adds a sustained loss to each from one moment on."""

    def __init__(self, profile: Profile, count: int, rng: np.random.Generator, labels: Labels = USUAL) -> None:
        self.profile, self.count, self.rng, self.labels = profile, count, rng, labels
        self.stuck = np.zeros(count, dtype=bool)
        self.level = rng.normal(0, profile.between, count)
        self.drift = rng.normal(0, profile.slow, count)
        self.age = np.full(count, 10_000)
        self.scrape = rng.integers(0, CHECKPOINT_EVERY, count)
        self._keep = float(np.exp(-EVERY_S / (profile.slow_h * 3600)))
        self._scale = float(np.sqrt((profile.tail - 2) / profile.tail)) if profile.tail > 2 else 1.0

    def read(self, loss: float = 0.0) -> Reading:
        """The next scrape, with `loss` on the scale of d added to every job."""
        p, rng, count = self.profile, self.rng, self.count
        restarted = rng.random(count) < EVERY_S / (p.run_h * 3600)
        if restarted.any():
            self.level[restarted] = rng.normal(0, p.between, int(restarted.sum()))
            self.age[restarted] = 0
        self.drift *= self._keep
        self.drift += rng.standard_normal(count) * (p.slow * np.sqrt(1 - self._keep**2))
        noise = self._noise(count)
        observed = loss + self.level + self.drift + noise
        wild = rng.random(count) < p.wild
        if wild.any():
            observed[wild] += rng.uniform(0.06, 0.6, int(wild.sum()))
        observed += np.where(self.age < 6, 0.1 * (1 - self.age / 6), 0.0)
        self.age += 1
        self.scrape += 1
        within = self.scrape % CHECKPOINT_EVERY
        checkpoint = within < CHECKPOINT_SCRAPES
        observed[checkpoint] += 1.0
        return Reading(observed, ~self._labelled(within), restarted, checkpoint)

    def _labelled(self, within: NDArray[np.int64]) -> Mask:
        labels = self.labels
        if labels.missing or not labels.exported:
            return np.zeros(self.count, dtype=bool)
        if labels.stuck:
            self.stuck[within == labels.late] = False
            begins = np.flatnonzero(within == labels.late)
            self.stuck[begins] = self.rng.random(len(begins)) < labels.stuck
        return ((within >= labels.late) & (within < labels.late + CHECKPOINT_SCRAPES)) | self.stuck

    def recorded(self, runs: int = 5, hours: float = 3.0) -> "Recorded":
        """What recording `runs` runs of so many hours shows of each job; blocks are 15 minutes."""
        p = self.profile
        per_block = round(900 / EVERY_S)
        blocks = round(hours * 3600 / 900)
        medians, mads, variances = [], [], []
        for _ in range(runs):
            values = np.empty((self.count, blocks * per_block))
            drift = self.rng.normal(0, p.slow, self.count)
            level = self.rng.normal(0, p.between, self.count)
            for index in range(values.shape[1]):
                drift = drift * self._keep + self.rng.standard_normal(self.count) * p.slow * np.sqrt(1 - self._keep**2)
                values[:, index] = level + drift + self._noise(self.count)
            middle = np.median(values, axis=1)
            medians.append(middle)
            mads.append(1.4826 * np.median(np.abs(values - middle[:, None]), axis=1))
            block = np.median(values.reshape(self.count, blocks, per_block), axis=2)
            variances.append(np.var(block, axis=1, ddof=1))
        return Recorded(
            runs=runs,
            offset=np.median(medians, axis=0),
            within=np.median(mads, axis=0),
            between=np.std(medians, axis=0, ddof=1),
            block_variance=np.mean(variances, axis=0),
            freedom=runs * (blocks - 1),
            per_block=per_block,
        )

    def _noise(self, count: int) -> Floats:
        p = self.profile
        normal = self.rng.standard_normal(count)
        heavy = np.sqrt(self.rng.standard_gamma(p.tail / 2, count) * 2 / p.tail)
        return normal / heavy * (p.within * self._scale)

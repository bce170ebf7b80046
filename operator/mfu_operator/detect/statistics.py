"""How much healthy readings move, and the tolerance that follows. All spreads are standard deviations of ln x."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from mfu_operator.model.baseline import Detection, Spread

PRIOR_BETWEEN = 0.003
"""Spread between runs of one binary on one system before any was seen: the order of the median over 162 public
benchmark systems (sd 0.15 %, p90 0.49 %)."""

PRIOR_RUNS = 4
"""How many runs the prior counts for: with K = 1 it decides alone, with K = 5 it and the data weigh the same."""

DEFAULT_TOLERANCE = 0.02
"""Below 2 %, real fleets move without a cause that a commit could be blamed for."""

LARGEST_TOLERANCE = 0.05
"""Beyond it a baseline would hide the losses that it is there to show, and says so. A wider one is asked for."""

WIDEST = 0.5
"""A job at half its speed has regressed, whatever its noise."""

LEVEL_SIGMAS = 4.5
"""Tolerance in standard deviations of the level: between runs and slow drift. Both outlast the horizon, so no averaging
within it helps. The readings' own noise is asked for on top (told_from_noise), and shrinks with their number."""

CONFIRM_SIGMAS = 5.5
"""… and for a loss to be confirmed: an alarm tells a person, a proposal acts on a repository."""

NOISE_SIGMAS = 3.0
"""The mean loss since the onset must lie so many of its own standard errors beyond the tolerance …"""

NOISE_SIGMAS_PER_TOLERANCE = 3.75
"""… and so many times s_w/κ where the noise is as large as the tolerance: there chance keeps the evidence from falling
back to nothing, and tries again and again. Both by simulation (tests/detection)."""

SMALLEST_SCALE = 0.005
"""Evidence is full at one scale beyond the tolerance. Narrower, a quiet job would alarm on a hair."""

SMOOTHED_SHARE = 0.6
"""What is left of s_w in the running median of five readings that is judged: 1.25/√5."""

MAD_TO_SIGMA = 1.4826
"""1/Φ⁻¹(3/4): the median absolute deviation of a normal distribution in standard deviations."""

MEDIAN_VARIANCE = math.pi / 2
"""Variance of the median of n normal values, in σ²/n."""

FEWEST_RUNS = 3
UNSEEN_RUNS_TOLERANCE = 0.05
"""A baseline of fewer runs has not seen how levels move between allocations: on shared clusters by 1–4 %, for hours,
with no commit behind it. Such a loss is Regressed; to be confirmed, and blamed on a commit, it must be larger."""

_CUT = 3.0
"""Robust standard deviations at which a block's own deviation is cut."""

_FEWEST_TO_CUT = 8
"""Of fewer blocks, nothing says which one is the odd one: all count as they are."""

UNKNOWN_SPREAD = Spread(within=0.01, between=None, slow=PRIOR_BETWEEN, runs=1)
"""For a level that was declared without its spread: the prior, and drift of the same size."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a reading may be from the level.

    ratio is the relative loss of speed that is tolerated (0.05: 5 %), kappa = −ln(1 − ratio) the same on the scale of
    d, scale what a loss beyond kappa is divided by, noise the readings' own s_w. too_noisy: the spread asks for more
    than may be tolerated.
    level_sigma is s_lvl, the standard deviation of a healthy run's level. confirm_ratio and confirm_kappa are what a
    loss must exceed to be confirmed: at least the same, 5.5·s_lvl, and 5 % where the baseline is of fewer than three
    runs and no tolerance is declared.
    """

    ratio: float
    kappa: float
    scale: float
    noise: float
    level_sigma: float
    too_noisy: bool
    confirm_ratio: float
    confirm_kappa: float

    def told_from_noise(self, readings: float) -> float:
        """How far beyond kappa (on the scale of d) the mean of so many readings must lie to be no chance."""
        sigmas = max(NOISE_SIGMAS, NOISE_SIGMAS_PER_TOLERANCE * self.noise / self.kappa)
        return sigmas * self.noise / math.sqrt(max(readings, 1.0))


def level_sigma(spread: Spread) -> float:
    """s_lvl² = s_b*²·(1 + 1/K) + s_slow², with s_b shrunk to the prior: s_b*² = (4·prior² + (K − 1)·s_b²) / (K + 3).

    The factor is that of a prediction: a run differs from the mean of K others by its own spread and by theirs.
    """
    seen = max(spread.runs, 1) - 1 if spread.between is not None else 0
    between = spread.between or 0.0
    shrunk = (PRIOR_RUNS * PRIOR_BETWEEN**2 + seen * between**2) / (seen + PRIOR_RUNS)
    return math.sqrt(shrunk * (1 + 1 / max(spread.runs, 1)) + spread.slow**2)


def tolerance_of(spread: Spread, detection: Detection) -> Tolerance:
    """max(declared or 2 %, 4.5·s_lvl) and the scale max(0.5 %, 0.6·s_w).

    Where the spread asks for more than 5 % and more than was declared, too_noisy says so; the tolerance is then as wide
    as the spread asks for, so that a loss beyond even that is still seen.
    """
    asked = DEFAULT_TOLERANCE if detection.tolerance is None else detection.tolerance
    largest = max(LARGEST_TOLERANCE, asked)
    sigma = level_sigma(spread)
    needed = LEVEL_SIGMAS * sigma
    ratio = min(max(asked, needed), WIDEST)
    unseen = detection.tolerance is None and spread.runs < FEWEST_RUNS
    confirm = min(max(ratio, CONFIRM_SIGMAS * sigma, UNSEEN_RUNS_TOLERANCE if unseen else 0.0), WIDEST)
    return Tolerance(
        ratio=ratio,
        kappa=-math.log1p(-ratio),
        scale=max(SMALLEST_SCALE, SMOOTHED_SHARE * spread.within),
        noise=spread.within,
        level_sigma=sigma,
        too_noisy=needed > largest,
        confirm_ratio=confirm,
        confirm_kappa=-math.log1p(-confirm),
    )


def mad_sigma(values: Sequence[float]) -> float:
    """Robust standard deviation: 1.4826 times the median absolute deviation. values must not be empty."""
    centre = median(values)
    return MAD_TO_SIGMA * median(abs(value - centre) for value in values)


@dataclass(frozen=True, slots=True)
class Block:
    """The median of some consecutive readings, and how many they are."""

    middle: float
    readings: int


def blocks_of(points: Iterable[tuple[float, float]], block_s: float) -> list[Block]:
    """Consecutive blocks of (time_s, value) points, oldest first, without a last one under half full."""
    blocks: dict[int, list[float]] = {}
    start = None
    end = 0.0
    for time_s, value in points:
        start = time_s if start is None else start
        end = time_s - start
        blocks.setdefault(int(end // block_s), []).append(value)
    if len(blocks) > 1 and end % block_s < block_s / 2:
        blocks.pop(int(end // block_s))
    return [Block(median(values), len(values)) for _, values in sorted(blocks.items())]


def spread_of(runs: Sequence[Sequence[tuple[float, float]]], block_s: float) -> Spread:
    """The spread of K runs, each given as (time_s, ln x) points, oldest first and not empty.

    s_w is the median over runs of the MAD's sigma, s_b the standard deviation of the run medians (None for K = 1),
    s_slow the drift that the block medians within runs show (the prior where no run has two blocks).
    """
    logs = [[value for _, value in run] for run in runs]
    medians = [median(values) for values in logs]
    within = median(mad_sigma(values) for values in logs)
    return Spread(
        within=within,
        between=stdev(medians) if len(medians) > 1 else None,
        slow=_drift([blocks_of(run, block_s) for run in runs], within),
        runs=len(runs),
    )


def drift_sigma(variance: float, freedom: float, noise: float) -> float:
    """s_slow of block medians whose pooled variance is `variance` with `freedom` degrees of freedom.

    `noise` is what readings alone would make of it, (π/2)·s_w²/n. What is left is drift, known to within
    (noise + prior²)·√(2/freedom): the less sure, the more the prior counts, unless more than that was seen. Then the
    prior counts as PRIOR_RUNS more blocks, as it does for s_b.
    """
    prior = PRIOR_BETWEEN**2
    unsure = (noise + prior) * math.sqrt(2 / freedom) if freedom > 0 else math.inf
    seen = max(0.0, variance - noise)
    trust = 1 / (1 + (unsure / prior) ** 2)
    drift = max(trust * seen + (1 - trust) * prior, seen)
    return math.sqrt((PRIOR_RUNS * prior + freedom * drift) / (PRIOR_RUNS + freedom))


def _drift(groups: Sequence[Sequence[Block]], within: float) -> float:
    """Pooled over runs. Each block's deviation is cut at three robust ones, so that one crash is not a drift."""
    runs = [group for group in groups if len(group) > 1]
    deviations = [block.middle - median(one.middle for one in group) for group in runs for block in group]
    freedom = len(deviations) - len(runs)
    if freedom <= 0:
        return PRIOR_BETWEEN
    most = math.inf
    if len(deviations) >= _FEWEST_TO_CUT:
        most = _CUT * MAD_TO_SIGMA * median(abs(deviation) for deviation in deviations)
    squares = sum(min(abs(deviation), most) ** 2 for deviation in deviations)
    noise = MEDIAN_VARIANCE * within**2 * fmean(1 / block.readings for group in runs for block in group)
    return drift_sigma(squares / freedom, freedom, noise)

"""What else people use on the same readings, for N jobs side by side. Each tells which jobs alarm at a scrape."""

from typing import Protocol

import numpy as np

from mfu_operator.detect.statistics import MEDIAN_VARIANCE, drift_sigma, tolerance_of
from mfu_operator.model.baseline import Detection, Spread
from tests.detection.fleet import Fleet, Lines, Rule
from tests.detection.profiles import EVERY_S, Floats, Labels, Mask, Reading, Recorded

NO_PHASE_HORIZON_S = 600.0


class Detector(Protocol):
    """One rule with its state."""

    def advance(self, reading: Reading) -> Mask:
        """Which jobs raise an alarm just now."""


class Counted:
    """The operator's rule, or a variant of it; `confirmed` counts what a proposal would need."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.confirmed = 0

    def advance(self, reading: Reading) -> Mask:
        raised, confirmed = self.fleet.advance(reading)
        self.confirmed += int(confirmed.sum())
        return raised


def ours(recorded: Recorded, labels: Labels) -> Detector:
    """The operator's rule with its own tolerances."""
    tolerances = [
        tolerance_of(
            Spread(
                within=within,
                between=between,
                slow=drift_sigma(variance, recorded.freedom, MEDIAN_VARIANCE * within**2 / recorded.per_block),
                runs=recorded.runs,
            ),
            Detection(),
        )
        for within, between, variance in zip(
            recorded.within.tolist(), recorded.between.tolist(), recorded.block_variance.tolist(), strict=True
        )
    ]
    rule = Rule() if labels.exported else Rule(horizon_s=NO_PHASE_HORIZON_S)
    return Counted(Fleet(Lines.of(tolerances), rule))


def first_rule(recorded: Recorded, labels: Labels) -> Detector:
    """The rule that ours was derived from: single readings, tolerance 4.5·s_lvl with s_lvl² = s_b*² + s_slow², s_slow
    with the readings' noise in it, scale max(1 %, s_w), horizon 8 minutes (10 without a phase)."""
    between = (4 * 0.003**2 + (recorded.runs - 1) * recorded.between**2) / (recorded.runs + 3)
    tolerance = np.clip(4.5 * np.sqrt(between + recorded.block_variance), 0.02, 0.05)
    kappa = -np.log1p(-tolerance)
    lines = Lines(kappa=kappa, scale=np.maximum(0.01, recorded.within), confirm_kappa=kappa, noise=recorded.within)
    horizon_s = 480.0 if labels.exported else NO_PHASE_HORIZON_S
    return Counted(Fleet(lines, Rule(smooth_s=EVERY_S, horizon_s=horizon_s, told_from_noise=False)))


class PrometheusRule:
    """`expr: x < 0.97 * baseline, for: 6m`, gated by the phase, as an alerting rule would be."""

    def __init__(self, count: int, loss: float = 0.03, for_s: float = 360.0) -> None:
        self._kappa = -np.log1p(-loss)
        self._needed = round(for_s / EVERY_S)
        self._run = np.zeros(count, dtype=int)

    def advance(self, reading: Reading) -> Mask:
        beyond = reading.usable & (reading.loss > self._kappa)
        self._run = np.where(beyond, self._run + 1, np.where(reading.usable, 0, self._run))
        raised: Mask = self._run == self._needed
        return raised


class AveragedRule:
    """`avg_over_time(x[10m]) < 0.97 * baseline`, for 5 minutes: what people write where readings are noisy."""

    def __init__(self, count: int, loss: float = 0.03, over_s: float = 600.0, for_s: float = 300.0) -> None:
        self._least = 1 - loss
        self._needed = round(for_s / EVERY_S)
        self._run = np.zeros(count, dtype=int)
        self._window = np.ones((count, round(over_s / EVERY_S)))
        self._place = 0

    def advance(self, reading: Reading) -> Mask:
        before = self._window[:, self._place - 1]
        self._window[:, self._place] = np.where(reading.usable, np.exp(-reading.loss), before)
        self._place = (self._place + 1) % self._window.shape[1]
        self._run = np.where(self._window.mean(axis=1) < self._least, self._run + 1, 0)
        raised: Mask = self._run == self._needed
        return raised


class Cusum:
    """Page's one-sided CUSUM with the textbook's k = 0.5 and h = 5 standard deviations."""

    def __init__(self, within: Floats) -> None:
        self._sigma = np.maximum(within, 1e-4)
        self._sum = np.zeros(len(within))

    def advance(self, reading: Reading) -> Mask:
        z = np.where(reading.usable, reading.loss / self._sigma - 0.5, 0.0)
        self._sum = np.maximum(0.0, self._sum + z)
        raised: Mask = self._sum > 5
        self._sum[raised] = 0
        return raised


class Ewma:
    """Exponentially weighted mean, λ = 0.2, L = 3 standard deviations (Roberts 1959), begun again after an alarm."""

    def __init__(self, within: Floats) -> None:
        self._limit = 3 * np.maximum(within, 1e-4) * np.sqrt(0.2 / 1.8)
        self._mean = np.zeros(len(within))

    def advance(self, reading: Reading) -> Mask:
        self._mean = np.where(reading.usable, 0.8 * self._mean + 0.2 * reading.loss, self._mean)
        raised: Mask = self._mean > self._limit
        self._mean[raised] = 0
        return raised

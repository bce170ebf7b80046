"""What else people use on the same readings, for N jobs side by side. Each tells which jobs alarm at a scrape."""

from typing import Protocol

import numpy as np

from tests.detection.fleet import Fleet
from tests.detection.profiles import EVERY_S, Floats, Mask, Reading


class Detector(Protocol):
    """One rule with its state."""

    def advance(self, reading: Reading) -> Mask:
        """Which jobs raise an alarm just now."""


class Ours:
    """The operator's rule; `confirmed` counts what a proposal would need."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.confirmed = 0

    def advance(self, reading: Reading) -> Mask:
        raised, confirmed = self.fleet.advance(reading)
        self.confirmed += int(confirmed.sum())
        return raised


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
    """Exponentially weighted mean, λ = 0.2, L = 3 standard deviations (Roberts 1959), begun anew after an alarm."""

    def __init__(self, within: Floats) -> None:
        self._limit = 3 * np.maximum(within, 1e-4) * np.sqrt(0.2 / 1.8)
        self._mean = np.zeros(len(within))

    def advance(self, reading: Reading) -> Mask:
        self._mean = np.where(reading.usable, 0.8 * self._mean + 0.2 * reading.loss, self._mean)
        raised: Mask = self._mean > self._limit
        self._mean[raised] = 0
        return raised

"""The operator's rule for many jobs side by side, in numpy. `test_fleet.py` holds it to the operator's own code."""

from dataclasses import dataclass

import numpy as np

from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.model.baseline import Detection, Spread
from tests.detection.profiles import EVERY_S, Floats, Mask, Reading


@dataclass(frozen=True)
class Rule:
    """What may be varied for comparison; the defaults are the operator's, for a job that exports its phase."""

    smooth_s: float = 150.0
    horizon_s: float = 420.0
    confirm_s: float = 1800.0
    confirm_share: float = 0.6
    warmup_s: float = 120.0
    arming_s: float = 900.0
    recover_s: float = 600.0


class Fleet:
    """State of the rule for N jobs. kappa and scale are per job."""

    def __init__(self, kappa: Floats, scale: Floats, rule: Rule, confirm_kappa: Floats | None = None) -> None:
        count = len(kappa)
        self.kappa, self.scale, self.rule = kappa, scale, rule
        self.confirm_kappa = kappa if confirm_kappa is None else confirm_kappa
        self.window = np.zeros((count, max(1, round(rule.smooth_s / EVERY_S))))
        self.filled = np.zeros(count, dtype=int)
        self.evidence = np.zeros(count)
        self.arming = np.ones(count, dtype=bool)
        self.arming_s = np.zeros(count)
        self.good_s = np.zeros(count)
        self.alarmed = np.zeros(count, dtype=bool)
        self.confirmed = np.zeros(count, dtype=bool)
        self.after_s = np.zeros(count)
        self.beyond_s = np.zeros(count)
        self.recover_s = np.zeros(count)

    def advance(self, reading: Reading) -> tuple[Mask, Mask]:
        """One scrape; which jobs alarmed and which were confirmed just now."""
        rule = self.rule
        restarted = reading.restarted
        if restarted.any():
            self.arming |= restarted
            for array in (self.arming_s, self.good_s, self.recover_s):
                array[restarted] = 0
            self.filled[restarted] = 0
            self.evidence[restarted & ~self.alarmed] = 0
        usable = reading.usable
        loss = self._smoothed(reading.loss, usable)
        step = np.where(usable, EVERY_S, 0.0)
        if self.arming.any():
            self._arm(loss, step)
        counts = step * ~self.arming
        rate = np.clip((loss - self.kappa) / self.scale, -1, 1)
        self.evidence = np.clip(self.evidence + rate * counts, 0, rule.horizon_s)
        raised = ~self.alarmed & (self.evidence >= rule.horizon_s)
        confirmed = self._after_alarm(loss, counts) if self.alarmed.any() else raised & False
        if raised.any():
            self.alarmed |= raised
            for array in (self.after_s, self.beyond_s, self.recover_s):
                array[raised] = 0
            self.confirmed[raised] = False
        return raised, confirmed

    def _smoothed(self, loss: Floats, usable: Mask) -> Floats:
        if self.window.shape[1] == 1:
            return loss
        rows = np.flatnonzero(usable)
        self.window[rows] = np.roll(self.window[rows], 1, axis=1)
        self.window[rows, 0] = loss[rows]
        self.filled[rows] = np.minimum(self.filled[rows] + 1, self.window.shape[1])
        result = np.median(self.window, axis=1)
        short = np.flatnonzero(self.filled < self.window.shape[1])
        for row in short:
            if self.filled[row]:
                result[row] = np.median(self.window[row, : self.filled[row]])
        return result

    def _arm(self, loss: Floats, step: Floats) -> None:
        arming = self.arming
        self.good_s = np.where(arming & (loss <= self.kappa), self.good_s + step, 0.0)
        self.arming_s += np.where(arming, step, 0.0)
        self.arming = arming & (self.good_s < self.rule.warmup_s) & (self.arming_s < self.rule.arming_s)

    def _after_alarm(self, loss: Floats, counts: Floats) -> Mask:
        rule = self.rule
        counted = np.where(self.alarmed, counts, 0.0)
        self.after_s += counted
        self.beyond_s += counted * (loss > self.confirm_kappa)
        whole = self.alarmed & ~self.confirmed & (self.after_s >= rule.confirm_s)
        confirmed = whole & (self.beyond_s >= rule.confirm_share * self.after_s)
        self.confirmed |= confirmed
        again = whole & ~confirmed
        self.after_s[again] = 0
        self.beyond_s[again] = 0
        rate = np.clip((self.kappa / 2 - loss) / self.scale, -1, 1)
        self.recover_s = np.maximum(0, self.recover_s + rate * counted)
        recovered = self.alarmed & (self.recover_s >= rule.recover_s)
        self.alarmed &= ~recovered
        self.evidence[recovered] = 0
        return confirmed


def tolerances(
    within: Floats, between: Floats, slow: Floats, runs: int, detection: Detection
) -> tuple[Floats, Floats, Floats]:
    """kappa, scale and confirm_kappa of every job, by the operator's own function."""
    found = [tolerance_of(Spread(w, b, s, runs), detection) for w, b, s in zip(within, between, slow, strict=True)]
    columns = ([t.kappa for t in found], [t.scale for t in found], [t.confirm_kappa for t in found])
    return np.array(columns[0]), np.array(columns[1]), np.array(columns[2])

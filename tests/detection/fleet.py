"""The operator's rule for many jobs side by side, in numpy. `test_fleet.py` holds it to the operator's own code."""

from dataclasses import dataclass

import numpy as np

from mfu_operator.detect.statistics import NOISE_SIGMAS, NOISE_SIGMAS_PER_TOLERANCE, Tolerance
from tests.detection.profiles import EVERY_S, Floats, Mask, Reading


@dataclass(frozen=True)
class Rule:
    """What may be varied for comparison; the defaults are the operator's, for a job that exports its phase.

    With `told_from_noise` the mean loss must also lie beyond the tolerance by more than chance.
    """

    smooth_s: float = 150.0
    horizon_s: float = 420.0
    confirm_s: float = 1800.0
    confirm_share: float = 0.6
    warmup_s: float = 120.0
    arming_s: float = 900.0
    recover_s: float = 600.0
    told_from_noise: bool = True
    mean_cut: float = 3.0


@dataclass(frozen=True)
class Lines:
    """What losses are compared with, per job: see `statistics.Tolerance`."""

    kappa: Floats
    scale: Floats
    confirm_kappa: Floats
    noise: Floats

    @classmethod
    def of(cls, tolerances: list[Tolerance]) -> "Lines":
        """Of the operator's own tolerances."""
        return cls(
            *(
                np.array([getattr(one, name) for one in tolerances])
                for name in ("kappa", "scale", "confirm_kappa", "noise")
            )
        )


class Fleet:
    """State of the rule for N jobs."""

    def __init__(self, lines: Lines, rule: Rule) -> None:
        count = len(lines.kappa)
        self.lines, self.rule = lines, rule
        sigmas = np.maximum(NOISE_SIGMAS, NOISE_SIGMAS_PER_TOLERANCE * lines.noise / lines.kappa)
        self.doubt = sigmas * lines.noise if rule.told_from_noise else np.zeros(count)
        self.window = np.full((count, max(1, round(rule.smooth_s / EVERY_S))), np.nan)
        self.place = np.zeros(count, dtype=int)
        self.evidence = np.zeros(count)
        self.cut_sum = np.zeros(count)
        self.counted = np.zeros(count)
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
        rule, lines = self.rule, self.lines
        if reading.restarted.any():
            self._restart(reading.restarted)
        usable = reading.usable
        loss = self._smoothed(reading.loss, usable)
        step = np.where(usable, EVERY_S, 0.0)
        if self.arming.any():
            self._arm(loss, step)
        counts = step * ~self.arming
        rate = np.clip((loss - lines.kappa) / lines.scale, -1, 1)
        self.evidence = np.clip(self.evidence + rate * counts, 0, rule.horizon_s)
        self._average(reading.loss, counts)
        raised = ~self.alarmed & (self.evidence >= rule.horizon_s) & (counts > 0)
        raised &= self._told_from_noise(lines.kappa)
        confirmed = self._after_alarm(loss, counts) if self.alarmed.any() else raised & False
        if raised.any():
            self.alarmed |= raised
            self._new_span(raised)
            self.recover_s[raised] = 0
            self.confirmed[raised] = False
        return raised, confirmed

    def _restart(self, restarted: Mask) -> None:
        self.arming |= restarted
        for array in (self.arming_s, self.good_s, self.recover_s):
            array[restarted] = 0
        self.window[restarted] = np.nan
        quiet = restarted & ~self.alarmed
        for array in (self.evidence, self.cut_sum, self.counted):
            array[quiet] = 0

    def _smoothed(self, loss: Floats, usable: Mask) -> Floats:
        width = self.window.shape[1]
        if width == 1:
            return loss
        rows = np.flatnonzero(usable)
        self.window[rows, self.place[rows]] = loss[rows]
        self.place[rows] = (self.place[rows] + 1) % width
        ordered = np.sort(self.window, axis=1)
        result = ordered[:, width // 2]
        short = np.flatnonzero(np.isnan(ordered[:, -1]) & ~np.isnan(ordered[:, 0]))
        if len(short):
            result[short] = np.nanmedian(ordered[short], axis=1)
        return np.where(np.isnan(result), 0.0, result)

    def _arm(self, loss: Floats, step: Floats) -> None:
        arming = self.arming
        seen = arming & (step > 0)
        good = np.where(loss <= self.lines.kappa, self.good_s + step, 0.0)
        self.good_s = np.where(seen, good, self.good_s)
        self.arming_s += np.where(arming, step, 0.0)
        self.arming = arming & (self.good_s < self.rule.warmup_s) & (self.arming_s < self.rule.arming_s)

    def _average(self, loss: Floats, counts: Floats) -> None:
        lines = self.lines
        centre = np.where(self.alarmed, lines.confirm_kappa, lines.kappa)
        reach = self.rule.mean_cut * lines.scale
        seen = counts > 0
        self.cut_sum += np.where(seen, np.clip(loss, centre - reach, centre + reach), 0.0)
        self.counted += seen
        nothing = ~self.alarmed & (self.evidence <= 0)
        self.cut_sum[nothing] = 0
        self.counted[nothing] = 0

    def _told_from_noise(self, kappa: Floats) -> Mask:
        readings = np.maximum(self.counted, 1.0)
        told: Mask = self.cut_sum / readings >= kappa + self.doubt / np.sqrt(readings)
        return told if self.rule.told_from_noise else np.ones_like(told)

    def _new_span(self, rows: Mask) -> None:
        for array in (self.after_s, self.beyond_s, self.cut_sum, self.counted):
            array[rows] = 0

    def _after_alarm(self, loss: Floats, counts: Floats) -> Mask:
        rule, lines = self.rule, self.lines
        counted = np.where(self.alarmed, counts, 0.0)
        self.after_s += counted
        self.beyond_s += counted * (loss > lines.confirm_kappa)
        whole = self.alarmed & ~self.confirmed & (self.after_s >= rule.confirm_s)
        confirmed = whole & (self.beyond_s >= rule.confirm_share * self.after_s)
        confirmed &= self._told_from_noise(lines.confirm_kappa)
        self.confirmed |= confirmed
        self._new_span(whole & ~confirmed)
        rate = np.clip((lines.kappa / 2 - loss) / lines.scale, -1, 1)
        self.recover_s = np.maximum(0, self.recover_s + rate * counted)
        recovered = self.alarmed & (self.recover_s >= rule.recover_s)
        self.alarmed &= ~recovered
        self.evidence[recovered] = 0
        self._new_span(recovered)
        return confirmed

import math

import pytest

from mfu_operator.detect.statistics import block_medians, level_sigma, mad_sigma, spread_of, tolerance_of
from mfu_operator.model.baseline import Detection, Spread


def test_one_run_takes_its_spread_between_runs_from_the_prior() -> None:
    assert level_sigma(Spread(within=0.01, between=None, slow=0.0, runs=1)) == pytest.approx(0.003 * math.sqrt(2))


def test_many_runs_outweigh_the_prior() -> None:
    sigma = level_sigma(Spread(within=0.01, between=0.01, slow=0.0, runs=5))
    assert sigma == pytest.approx(math.sqrt((4 * 0.003**2 + 4 * 0.01**2) / 8 * 1.2))


def test_the_tolerance_is_at_least_two_per_cent_and_beyond_five_is_too_noisy_unless_asked_for() -> None:
    quiet = Spread(within=0.001, between=0.0, slow=0.0, runs=5)
    loud = Spread(within=0.03, between=0.02, slow=0.01, runs=5)
    assert tolerance_of(quiet, Detection()).ratio == 0.02
    assert tolerance_of(quiet, Detection(tolerance=0.10)).ratio == 0.10
    assert tolerance_of(loud, Detection()).ratio > 0.05
    assert tolerance_of(loud, Detection()).too_noisy
    assert tolerance_of(loud, Detection()).scale == pytest.approx(0.018)


def test_the_robust_deviation_ignores_a_few_wild_readings() -> None:
    assert mad_sigma([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 50.0]) < 0.2


def test_blocks_tell_drift_from_noise() -> None:
    points = [(30.0 * index, 0.01 if index % 60 >= 30 else 0.0) for index in range(240)]
    assert block_medians(points, 900) == [0.0, 0.01] * 4
    assert spread_of([points], 900).slow == pytest.approx(0.0047, rel=0.05)


def test_a_recording_too_short_for_drift_takes_it_from_the_prior() -> None:
    assert spread_of([[(0.0, 0.0), (2.0, 0.01)]], 900).slow == pytest.approx(0.003)
    two_blocks = [(30.0 * index, 0.02 if index >= 30 else 0.0) for index in range(60)]
    assert spread_of([two_blocks], 900).slow < 0.01

import math

import pytest

from mfu_operator.detect.statistics import blocks_of, drift_sigma, level_sigma, mad_sigma, spread_of, tolerance_of
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
    assert [block.middle for block in blocks_of(points, 900)] == [0.0, 0.01] * 4
    assert spread_of([points], 900).slow == pytest.approx(0.0044, rel=0.05)


def test_a_recording_too_short_for_drift_takes_it_from_the_prior() -> None:
    assert spread_of([[(0.0, 0.0), (2.0, 0.01)]], 900).slow == pytest.approx(0.003)
    two_blocks = [(30.0 * index, 0.02 if index >= 30 else 0.0) for index in range(60)]
    assert spread_of([two_blocks], 900).slow < 0.01


def test_what_noise_alone_makes_of_block_medians_is_no_drift() -> None:
    noise = 0.0066**2
    assert drift_sigma(noise, 55, noise) == pytest.approx(0.003, rel=0.3)
    assert drift_sigma(0.0, 55, 0.0) == pytest.approx(0.00095, rel=0.1)


def test_drift_that_is_surely_more_than_the_prior_counts_whole() -> None:
    assert drift_sigma(0.02**2, 11, 0.002**2) == pytest.approx(0.02, rel=0.2)
    assert drift_sigma(0.02**2 + 0.0066**2, 55, 0.0066**2) == pytest.approx(0.02, rel=0.05)


def test_few_noisy_readings_are_not_told_from_noise_and_many_are() -> None:
    tolerance = tolerance_of(Spread(within=0.01, between=0.001, slow=0.001, runs=5), Detection())
    assert tolerance.told_from_noise(1) == pytest.approx(0.03)
    assert tolerance.told_from_noise(100) == pytest.approx(0.003)
    noisy = tolerance_of(Spread(within=0.04, between=0.001, slow=0.001, runs=5), Detection())
    assert noisy.told_from_noise(100) == pytest.approx(3.75 * 0.04 / noisy.kappa * 0.004)

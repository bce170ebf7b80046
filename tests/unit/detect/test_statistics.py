import math

import pytest

from mfu_operator.detect.statistics import (
    UNKNOWN_SPREAD,
    blocks_of,
    drift_sigma,
    level_sigma,
    mad_sigma,
    spread_of,
    tolerance_of,
)
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


def test_slow_drift_adds_to_the_spread_of_a_level() -> None:
    drifting = Spread(within=0.0, between=None, slow=0.004, runs=1)
    assert level_sigma(drifting) == pytest.approx(math.sqrt(2 * 0.003**2 + 0.004**2))


def test_a_spread_between_runs_that_is_not_known_counts_for_none() -> None:
    assert level_sigma(Spread(0.0, None, 0.0, runs=5)) == pytest.approx(0.003 * math.sqrt(1.2))
    assert level_sigma(Spread(0.0, 0.01, 0.0, runs=1)) == pytest.approx(0.003 * math.sqrt(2))
    two = level_sigma(Spread(0.0, 0.01, 0.0, runs=2))
    assert two == pytest.approx(math.sqrt((4 * 0.003**2 + 0.01**2) / 5 * 1.5))


def spread(level: float, runs: int = 5, within: float = 0.0) -> Spread:
    """A spread by which a healthy run's level moves so much: all of it is slow drift."""
    without = level_sigma(Spread(within, 0.0, 0.0, runs))
    return Spread(within, 0.0, math.sqrt(level**2 - without**2), runs)


def test_the_tolerance_is_four_and_a_half_times_the_spread_of_the_level_and_what_confirms_five_and_a_half() -> None:
    found = tolerance_of(spread(0.01), Detection())
    assert found.ratio == pytest.approx(0.045)
    assert found.kappa == pytest.approx(-math.log(1 - 0.045))
    assert found.confirm_ratio == pytest.approx(0.055)
    assert found.confirm_kappa == pytest.approx(-math.log(1 - 0.055))
    assert found.level_sigma == pytest.approx(0.01)
    assert not found.too_noisy


@pytest.mark.parametrize(
    ("level", "declared", "too_noisy"),
    [(0.0110, None, False), (0.0112, None, True), (0.0112, 0.06, False), (0.0134, 0.06, True), (0.0110, 0.02, False)],
)
def test_a_spread_that_asks_for_more_than_five_per_cent_and_more_than_was_declared_is_too_noisy(
    level: float, declared: float | None, too_noisy: bool
) -> None:
    assert tolerance_of(spread(level), Detection(tolerance=declared)).too_noisy is too_noisy


@pytest.mark.parametrize(
    ("runs", "declared", "confirms"), [(2, None, 0.05), (3, None, 0.0275), (2, 0.02, 0.0275), (5, 0.03, 0.03)]
)
def test_what_few_runs_have_not_seen_is_not_confirmed_unless_a_tolerance_was_declared(
    runs: int, declared: float | None, confirms: float
) -> None:
    assert tolerance_of(spread(0.005, runs), Detection(tolerance=declared)).confirm_ratio == pytest.approx(confirms)


def test_half_of_the_speed_is_a_loss_whatever_the_noise() -> None:
    wild = tolerance_of(spread(1.0), Detection())
    assert (wild.ratio, wild.confirm_ratio) == (0.5, 0.5)
    assert tolerance_of(spread(0.1), Detection()).confirm_ratio == 0.5


def test_a_quiet_job_has_the_smallest_scale_and_a_loud_one_six_tenths_of_its_noise() -> None:
    assert tolerance_of(spread(0.005, within=0.008), Detection()).scale == 0.005
    assert tolerance_of(spread(0.005, within=0.02), Detection()).scale == pytest.approx(0.012)


def test_fewer_than_one_reading_are_one() -> None:
    told = tolerance_of(spread(0.005, within=0.005), Detection())
    assert told.told_from_noise(0.1) == told.told_from_noise(1) == pytest.approx(0.015)


def test_a_declared_level_has_a_spread_of_one_run_and_one_per_cent() -> None:
    assert (UNKNOWN_SPREAD.within, UNKNOWN_SPREAD.between, UNKNOWN_SPREAD.runs) == (0.01, None, 1)


@pytest.mark.parametrize(
    ("times", "readings"),
    [
        ((0, 50, 100, 150, 199), [2, 3]),
        ((0, 50, 100, 150), [2, 2]),
        ((0, 50, 100, 149), [2]),
        ((1000, 1050, 1100, 1120), [2]),
        ((1030, 1080, 1130, 1150), [2]),
        ((0, 10), [2]),
        ((0,), [1]),
        ((0, 50, 100, 199, 300, 390), [2, 2, 2]),
        ((0, 99, 100, 199, 200, 249), [2, 2]),
    ],
)
def test_a_last_block_that_is_under_half_full_is_left_out_unless_it_is_the_only_one(
    times: tuple[float, ...], readings: list[int]
) -> None:
    assert [block.readings for block in blocks_of([(time_s, 0.0) for time_s in times], 100)] == readings


def test_no_points_are_no_blocks() -> None:
    assert blocks_of([], 100) == []


def test_the_spread_of_runs_is_that_of_their_medians_and_the_middle_of_their_own() -> None:
    def run(level: float, by: float) -> list[tuple[float, float]]:
        return [(30.0 * index, level + by * (index % 3 - 1)) for index in range(9)]

    found = spread_of([run(0.0, 0.01), run(0.02, 0.02), run(0.04, 0.09)], 900)
    assert found.between == pytest.approx(0.02)
    assert found.within == pytest.approx(1.4826 * 0.02)
    assert found.runs == 3
    assert spread_of([run(0.0, 0.01), run(0.02, 0.02)], 900).between == pytest.approx(0.02 / math.sqrt(2))
    assert spread_of([run(0.0, 0.01)], 900).between is None


def test_drift_without_any_freedom_is_the_prior() -> None:
    assert drift_sigma(0.02**2, 0, 0.0) == pytest.approx(0.003)


@pytest.mark.parametrize("freedom", [1, 8])
def test_drift_is_trusted_by_how_well_it_is_known(freedom: int) -> None:
    """Nothing was seen: the prior fills what is not known of it, and counts as four blocks more."""
    noise, prior = 0.004**2, 0.003**2
    unsure = (noise + prior) * math.sqrt(2 / freedom) / prior
    trust = 1 / (1 + unsure**2)
    told = (4 * prior + freedom * (1 - trust) * prior) / (4 + freedom)
    assert drift_sigma(0.0, freedom, noise) == pytest.approx(math.sqrt(told))


def blocks(*middles: float) -> list[tuple[float, float]]:
    """Blocks of 100 s with three readings each, that do not vary within a block."""
    return [(100.0 * block + 40 * index, middle) for block, middle in enumerate(middles) for index in range(3)]


def test_one_block_that_stands_out_of_many_counts_as_three_robust_deviations() -> None:
    steady = (0.0, 0.01) * 4
    odd = spread_of([blocks(*steady, 0.5)], 100)
    assert odd.slow == pytest.approx(spread_of([blocks(*steady, 9.0)], 100).slow)
    deviations = [0.01] * 4 + [3 * 1.4826 * 0.01]
    noise = math.pi / 2 * odd.within**2 / 3
    assert odd.slow == pytest.approx(drift_sigma(sum(each**2 for each in deviations) / 8, 8, noise))


@pytest.mark.parametrize(
    ("middles", "cut"), [((0.0, 0.01) * 3 + (0.5,), False), ((0.0, 0.01) * 3 + (0.005, 0.5), True)]
)
def test_of_fewer_than_eight_blocks_nothing_says_which_is_the_odd_one(middles: tuple[float, ...], cut: bool) -> None:
    slow = spread_of([blocks(*middles)], 100).slow
    assert (slow < 0.05) is cut


def test_drift_is_within_runs_and_a_run_of_one_block_has_none() -> None:
    steady = blocks(0.0, 0.0)
    apart = spread_of([steady, [(time_s, 0.3) for time_s, _ in steady], blocks(0.7)], 100)
    assert apart.slow == pytest.approx(drift_sigma(0.0, 2, 0.0))


def test_a_run_of_one_block_says_nothing_of_the_noise_of_medians_either() -> None:
    two_blocks = [(40.0 * index, 0.01 * (index % 3)) for index in range(6)]
    found = spread_of([two_blocks, [(0.0, 0.5)]], 120)
    assert found.slow == pytest.approx(drift_sigma(0.0, 1, math.pi / 2 * found.within**2 / 3))

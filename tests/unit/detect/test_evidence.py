import math

import pytest

from mfu_operator.detect.evidence import (
    Alarm,
    Doubt,
    Loss,
    Losses,
    Mean,
    Run,
    Start,
    State,
    added,
    alarm_after_s,
    as_of_now,
    initial,
    is_told_from_noise,
    of_another_loss,
    reopened,
    restarted,
    resumed,
    smallest_visible_loss,
)
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection, Signal
from mfu_operator.model.verdict import Gate

RULE = Detection(sustain_s=600)
LOSS = Loss(evidence_s=500.0, onset_s=60.0, losses=Losses((0.1, 0.2, 0.4)), mean=Mean(1.0, 10.0))
DOUBT = Doubt(unusual_s=30.0, unusual=(Signal.MFU, 4.0))
SEEN = State(
    reading_s=600.0, counted_s=600.0, usable_s=600.0, level_until_s=10.0, bad_since_s=60.0,
    gates=frozenset({Gate.HUNG}), signal=Signal.MFU, recent=((570.0, 0.3), (585.0, 0.5), (600.0, 0.4)),
    window=((600.0, 0.1, 0.1),), run=Run("a", 2, 7.0, 590.0, True), start=Start(False, 5.0, 120.0), doubt=DOUBT,
    loss=LOSS,
)  # fmt: skip
"""Everything that can be remembered, without an alarm."""
ALARM = Alarm(raised=True, after_s=100.0, beyond_s=50.0, confirmed=True, recover_s=20.0)


def tolerance(*, scale: float = 0.006, noise: float = 0.0) -> Tolerance:
    return Tolerance(
        ratio=0.02, kappa=0.02, scale=scale, noise=noise, level_sigma=0.0, too_noisy=False, confirm_ratio=0.05,
        confirm_kappa=0.05,
    )  # fmt: skip


def test_losses_are_all_kept_until_they_are_256() -> None:
    losses = Losses()
    for number in range(256):
        losses = losses.and_one(float(number))
    assert losses == Losses(tuple(float(number) for number in range(256)))


def test_of_more_losses_every_other_one_is_kept_and_then_every_fourth() -> None:
    losses = Losses()
    for number in range(257):
        losses = losses.and_one(float(number))
    assert losses == Losses(tuple(float(number) for number in range(0, 257, 2)), stride=2)
    losses = losses.and_one(257.0)
    assert losses.skipped == 1
    losses = losses.and_one(258.0)
    assert (losses.values[-1], losses.skipped) == (258.0, 0)
    for number in range(259, 513):
        losses = losses.and_one(float(number))
    assert losses == Losses(tuple(float(number) for number in range(0, 513, 4)), stride=4)


def test_a_state_shows_the_medians_of_what_it_remembers() -> None:
    assert SEEN.value == 0.4
    assert SEEN.drop == pytest.approx(1 - math.exp(-0.2))
    assert (SEEN.evidence_s, SEEN.onset_s, SEEN.alarmed, SEEN.confirmed) == (500.0, 60.0, False, False)
    alarmed = SEEN._replace(alarm=ALARM)
    assert (alarmed.alarmed, alarmed.confirmed) == (True, True)


def test_a_state_without_readings_shows_nothing() -> None:
    state = initial(level_until_s=10.0)
    assert (state.value, state.drop, state.level_until_s) == (None, None, 10.0)
    assert state.start.waiting


def test_before_the_first_reading_nothing_was_counted() -> None:
    state = initial()
    counted = (state.run.restarts, state.gauge.moves, state.start.good_s, *state.loss.mean, *state.loss.growth[:1])
    against = (state.doubt.contradiction_s, state.doubt.unusual_s, state.alarm.after_s, state.alarm.beyond_s)
    assert not any((state.evidence_s, state.alarm.recover_s, *state.gauge[1:3], *counted, *against))


def test_where_the_level_was_not_known_yet_the_run_is_remembered_and_nothing_for_or_against_a_loss() -> None:
    known = SEEN._replace(alarm=ALARM)
    assert as_of_now(known) == known._replace(loss=Loss(), alarm=Alarm(), doubt=Doubt(), bad_since_s=None)
    assert as_of_now(known) != known


def test_an_operator_that_was_restarted_goes_on_with_the_incident_of_the_status() -> None:
    assert resumed(alarmed=True, onset_s=60.0) == State(loss=Loss(onset_s=60.0), alarm=Alarm(raised=True))
    assert not resumed(alarmed=False, onset_s=None).alarmed


def test_an_incident_that_history_did_not_show_stands_again_with_its_onset() -> None:
    again = reopened(SEEN, 17.0)
    assert again == SEEN._replace(loss=LOSS._replace(onset_s=17.0), alarm=Alarm(raised=True))
    assert reopened(SEEN, None).onset_s == 60.0


@pytest.mark.parametrize("alarm", [ALARM, Alarm(recovered_at_s=100.0)])
def test_an_alarm_that_history_showed_is_not_raised_again(alarm: Alarm) -> None:
    known = SEEN._replace(alarm=alarm)
    assert reopened(known, 17.0) == known


@pytest.mark.parametrize("raised", [True, False])
def test_a_loss_that_began_later_has_to_be_confirmed_by_its_own_readings(raised: bool) -> None:
    known = SEEN._replace(alarm=ALARM._replace(raised=raised, recovered_at_s=44.0))
    later = of_another_loss(known, 550.0)
    assert later.loss == Loss(evidence_s=500.0, onset_s=550.0)
    assert later.alarm == Alarm(raised=raised, recovered_at_s=44.0)


def test_a_job_that_says_its_phase_needs_seven_tenths_of_the_evidence() -> None:
    assert alarm_after_s(State(), RULE) == 600
    assert alarm_after_s(State(run=Run(phase_known=True)), RULE) == pytest.approx(420)


def test_the_smallest_loss_that_is_seen_gathers_its_evidence_in_one_and_a_half_horizons() -> None:
    """It counts two seconds in three, or seven in fifteen where the job says its phase."""
    assert smallest_visible_loss(tolerance(), 600, RULE) == pytest.approx(1 - math.exp(-0.024))
    assert smallest_visible_loss(tolerance(), 420, RULE) == pytest.approx(1 - math.exp(-0.0228))


def test_where_readings_are_noisy_the_noise_says_what_is_seen() -> None:
    """In one and a half horizons thirty readings count."""
    noisy = tolerance(noise=0.01)
    visible = smallest_visible_loss(noisy, 600, RULE)
    assert visible == pytest.approx(1 - math.exp(-0.02 - noisy.told_from_noise(30)))
    assert visible > smallest_visible_loss(tolerance(), 600, RULE)


@pytest.mark.parametrize(
    ("mean", "told"),
    [(Mean(), False), (Mean(0.2, 9.0), False), (Mean(0.279, 9.0), True), (Mean(0.26, 9.0), False)],
)
def test_a_mean_is_told_from_noise_by_three_of_its_standard_errors(mean: Mean, told: bool) -> None:
    """With nine readings of noise 0.01 a mean beyond 0.03."""
    known = SEEN._replace(loss=LOSS._replace(mean=mean))
    assert is_told_from_noise(known, 0.02, tolerance(noise=0.01)) is told


def test_a_mean_that_lies_exactly_where_it_should_is_told() -> None:
    known = SEEN._replace(loss=LOSS._replace(mean=Mean(0.25, 0.5)))
    assert is_told_from_noise(known, 0.5, tolerance())


def test_a_restart_forgets_what_was_collected_and_waits_for_the_start() -> None:
    assert restarted(SEEN) == SEEN._replace(
        run=Run(restarts=3, phase_known=True), start=Start(), bad_since_s=None, window=(), doubt=Doubt(), loss=Loss()
    )


def test_an_alarm_outlives_a_restart_and_its_recovery_begins_anew() -> None:
    known = SEEN._replace(alarm=ALARM)
    assert restarted(known).loss == LOSS
    assert restarted(known).alarm == ALARM._replace(recover_s=0.0)


@pytest.mark.parametrize(
    ("rate", "sum_s"),
    [(0.5, 115.0), (1.0, 130.0), (7.0, 130.0), (0.0, 100.0), (-0.5, 85.0), (-1.0, 70.0), (-7.0, 70.0)],
)
def test_each_second_counts_as_one_at_most_for_or_against(rate: float, sum_s: float) -> None:
    assert added(100.0, rate, 30.0, 600.0) == sum_s


def test_a_sum_is_never_less_than_nothing_and_never_more_than_is_needed() -> None:
    assert added(10.0, -1.0, 30.0, 600.0) == 0.0
    assert added(590.0, 1.0, 30.0, 600.0) == 600.0

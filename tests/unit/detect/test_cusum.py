import pytest

from mfu_operator.detect.cusum import collect, running_medians
from mfu_operator.detect.evidence import Alarm, Growth, Loss, Losses, Mean, Run, State
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection
from tests.unit.detect.series import about

RULE = Detection(sustain_s=600, confirm_s=1800, recover_s=300)
SILENT = Alarm()
ALARMED = Alarm(raised=True)


def tolerance(noise: float = 0.0) -> Tolerance:
    """A loss of 0.02 is tolerated, 0.05 is enough to be confirmed."""
    return Tolerance(
        ratio=0.02, kappa=0.02, scale=0.01, noise=noise, level_sigma=0.0, too_noisy=False, confirm_ratio=0.05,
        confirm_kappa=0.05,
    )  # fmt: skip


def state(loss: float, *, worst: float | None = None, evidence_s: float = 0.0, alarm: Alarm = SILENT) -> State:
    """The last reading of the window was at 300 s; until 270 s the run held its level."""
    window = ((270.0, 0.0, 0.0), (300.0, loss, loss if worst is None else worst))
    beyond = Loss(evidence_s, onset_s=60.0, losses=Losses((0.06,)))
    return State(window=window[1:], alarm=alarm, loss=beyond if evidence_s or alarm.raised else Loss())


def after(before: State, loss: float = 0.1, step_s: float = 30.0, noise: float = 0.0) -> State:
    return collect(before, 300.0, loss, step_s, tolerance(noise), RULE)


def test_the_medians_are_of_what_every_signal_shows_and_of_the_worst() -> None:
    window = ((0.0, 0.1, 0.4), (1.0, 0.3, 0.9), (2.0, 0.2, 0.5))
    assert running_medians(State(window=window)) == (0.2, 0.5)


@pytest.mark.parametrize(
    ("loss", "evidence_s"), [(0.1, 130.0), (0.03, 130.0), (0.025, 115.0), (0.02, 100.0), (0.015, 85.0), (0.0, 70.0)]
)
def test_a_second_counts_for_or_against_a_loss_by_how_far_it_is_beyond_the_tolerance(
    loss: float, evidence_s: float
) -> None:
    assert after(state(loss, evidence_s=100.0)).evidence_s == pytest.approx(evidence_s)


def test_without_evidence_nothing_is_remembered_of_a_loss() -> None:
    known = state(0.0, evidence_s=30.0)._replace(bad_since_s=5.0)
    assert after(known) == known._replace(loss=Loss(), bad_since_s=None)


def test_a_loss_that_is_seen_first_begins_between_the_readings() -> None:
    began = after(state(0.06))
    assert began.onset_s == about(285.0)
    assert began.loss.losses == Losses((0.1,))
    assert began.loss.growth == Growth(about(30.0), about(285.0), (0.1,), Losses((0.1,)))


def test_a_fraction_of_a_second_is_evidence() -> None:
    assert after(state(0.06), step_s=0.5).evidence_s == 0.5


def test_a_loss_keeps_its_onset_and_collects_its_losses() -> None:
    goes_on = after(state(0.06, evidence_s=30.0)._replace(bad_since_s=5.0))
    assert goes_on.onset_s == 60.0
    assert goes_on.loss.losses == Losses((0.06, 0.1))
    assert goes_on.bad_since_s is None


@pytest.mark.parametrize(
    ("alarm", "loss", "cut"),
    [
        (Alarm(), 0.04, 0.04),
        (Alarm(), 0.2, 0.05),
        (Alarm(), -0.2, -0.01),
        (ALARMED, 0.06, 0.06),
        (ALARMED, 0.2, 0.08),
        (ALARMED, -0.2, 0.02),
    ],
)
def test_a_wild_reading_counts_no_more_than_three_scales_around_what_the_mean_is_compared_with(
    alarm: Alarm, loss: float, cut: float
) -> None:
    known = state(0.06, evidence_s=100.0, alarm=alarm)
    known = known._replace(loss=known.loss._replace(mean=Mean(1.0, 10.0)))
    assert after(known, loss).loss.mean == Mean(about(1.0 + cut), 11.0)


@pytest.mark.parametrize(("step_s", "weight"), [(15.0, 0.5), (30.0, 1.0), (150.0, 1.0)])
def test_readings_that_come_faster_than_one_in_thirty_seconds_count_for_less(step_s: float, weight: float) -> None:
    mean = after(state(0.06, evidence_s=100.0), 0.04, step_s).loss.mean
    assert mean == Mean(about(0.04 * weight), weight)


def test_the_alarm_is_raised_with_the_last_second_of_evidence_that_it_takes() -> None:
    almost = after(state(0.06, evidence_s=569.0))
    assert (almost.alarmed, almost.evidence_s) == (False, 599.0)
    raised = after(state(0.06, evidence_s=570.0))
    assert raised.alarm == ALARMED
    assert raised.loss.mean == Mean()
    assert (raised.evidence_s, raised.onset_s) == (600.0, 60.0)


def test_a_job_that_says_its_phase_needs_less_evidence() -> None:
    known = state(0.06, evidence_s=390.0)
    assert not after(known).alarmed
    assert after(known._replace(run=Run(phase_known=True))).alarmed


@pytest.mark.parametrize(("noise", "alarmed"), [(0.005, True), (0.02, False)])
def test_a_loss_within_the_readings_own_noise_raises_no_alarm(noise: float, alarmed: bool) -> None:
    """One reading 0.03 beyond the tolerance."""
    assert after(state(0.06, evidence_s=590.0), 0.05, noise=noise).alarmed is alarmed


@pytest.mark.parametrize(("loss", "beyond_s"), [(0.06, 130.0), (0.04, 100.0), (0.0, 100.0)])
def test_after_the_alarm_the_time_beyond_what_confirms_is_counted(loss: float, beyond_s: float) -> None:
    known = state(loss, evidence_s=600.0, alarm=Alarm(raised=True, after_s=200.0, beyond_s=100.0))
    told = after(known)
    assert (told.alarm.after_s, told.alarm.beyond_s) == (230.0, beyond_s)
    assert told.alarmed


def confirming(
    *,
    after_s: float = 1770.0,
    beyond_s: float = 1500.0,
    mean: float = 0.06,
    noise: float = 0.0,
    confirmed: bool = False,
) -> State:
    alarm = Alarm(raised=True, after_s=after_s, beyond_s=beyond_s, confirmed=confirmed)
    known = state(0.06, evidence_s=600.0, alarm=alarm)
    known = known._replace(loss=known.loss._replace(mean=Mean(60 * mean, 60.0)))
    return after(known, 0.06, noise=noise)


def test_a_loss_is_confirmed_at_the_end_of_a_span_that_it_lasted() -> None:
    assert not confirming(after_s=1769.0).confirmed
    confirmed = confirming()
    assert confirmed.confirmed
    assert (confirmed.alarm.after_s, confirmed.alarm.beyond_s) == (1800.0, 1530.0)


def test_most_of_the_span_has_to_lie_beyond_what_confirms() -> None:
    assert confirming(beyond_s=1050.0).confirmed
    again = confirming(beyond_s=1040.0)
    assert not again.confirmed
    assert again.alarm == ALARMED
    assert again.loss.mean == Mean()
    assert again.evidence_s == 600.0


def test_the_mean_of_the_span_has_to_lie_beyond_what_confirms_by_more_than_chance() -> None:
    """With sixty readings three standard errors of noise 0.02 are 0.0077."""
    assert not confirming(mean=0.0495).confirmed
    assert confirming(mean=0.06, noise=0.02).confirmed
    assert not confirming(mean=0.057, noise=0.02).confirmed


def test_what_is_confirmed_is_not_looked_at_again() -> None:
    still = confirming(beyond_s=0.0, confirmed=True)
    assert still.confirmed
    assert (still.alarm.after_s, still.alarm.beyond_s) == (1800.0, 30.0)


def test_a_confirmed_loss_has_the_onset_of_what_it_grew_to() -> None:
    alarm = Alarm(raised=True, after_s=1770.0, beyond_s=1500.0)
    grew = Growth(600.0, 200.0, (0.02,) * 9, Losses((0.14,) * 9))
    loss = Loss(600.0, 60.0, Losses((0.02,) * 9), grew, Mean(9.0, 60.0))
    confirmed = after(State(window=((300.0, 0.14, 0.14),), alarm=alarm, loss=loss), 0.14)
    assert confirmed.confirmed
    assert confirmed.onset_s == 200.0


@pytest.mark.parametrize(
    ("worst", "recover_s"), [(0.0, 130.0), (0.005, 115.0), (0.01, 100.0), (0.015, 85.0), (0.06, 70.0)]
)
def test_a_second_counts_for_a_recovery_where_the_worst_signal_is_within_half_of_the_tolerance(
    worst: float, recover_s: float
) -> None:
    known = state(0.0, worst=worst, evidence_s=600.0, alarm=Alarm(raised=True, recover_s=100.0))
    assert after(known).alarm.recover_s == pytest.approx(recover_s)


def test_the_last_second_of_a_recovery_ends_the_alarm_and_forgets_the_loss() -> None:
    almost = after(state(0.0, evidence_s=600.0, alarm=Alarm(raised=True, confirmed=True, recover_s=269.0)))
    assert almost.alarmed
    assert almost.alarm.recover_s == 299.0
    recovered = after(state(0.0, evidence_s=600.0, alarm=Alarm(raised=True, confirmed=True, recover_s=270.0)))
    assert recovered.alarm == Alarm(recovered_at_s=300.0)
    assert recovered.loss == Loss()


def test_an_alarm_stands_while_the_evidence_goes_back() -> None:
    known = state(0.0, worst=0.05, evidence_s=20.0, alarm=ALARMED)
    stands = after(known)
    assert stands.alarmed
    assert (stands.evidence_s, stands.onset_s) == (0.0, 60.0)

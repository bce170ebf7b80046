import pytest

from mfu_operator.detect.evidence import Growth, Loss, Losses, State
from mfu_operator.detect.onset import begin_s, grown, since_it_grew
from mfu_operator.detect.statistics import Tolerance
from mfu_operator.model.baseline import Detection
from tests.unit.detect.series import about

RULE = Detection(sustain_s=600)


def tolerance(kappa: float = 0.02, confirm_kappa: float = 0.05, noise: float = 0.0) -> Tolerance:
    return Tolerance(
        ratio=kappa, kappa=kappa, scale=0.01, noise=noise, level_sigma=0.0, too_noisy=False,
        confirm_ratio=confirm_kappa, confirm_kappa=confirm_kappa,
    )  # fmt: skip


def window(*losses: float) -> State:
    """Readings every 30 s, the last at 300 s."""
    begin = 330 - 30 * len(losses)
    return State(window=tuple((begin + 30.0 * index, loss, loss) for index, loss in enumerate(losses)))


@pytest.mark.parametrize(
    ("losses", "began_s"),
    [
        ((0.0, 0.0, 0.1), 285),
        ((0.0, 0.1, 0.1), 255),
        ((0.0, 0.1, 0.0, 0.1), 285),
        ((0.1, 0.0, 0.1, 0.1), 255),
        ((0.1, 0.1, 0.1), 225),
        ((0.1,), 285),
        ((0.02, 0.021), 285),
        ((0.0, 0.1, 0.0), 255),
        ((0.0, 0.0, 0.0), 285),
    ],
)
def test_a_loss_began_halfway_between_the_last_good_reading_and_the_first_bad_one_after_it(
    losses: tuple[float, ...], began_s: float
) -> None:
    """The newest reading is where the loss was seen, whatever it reads itself: the median lags behind it."""
    assert begin_s(window(*losses), 300, step_s=30, kappa=0.02) == began_s


def test_what_a_reading_stands_for_does_not_matter_where_the_one_before_was_good() -> None:
    assert begin_s(window(0.0, 0.1, 0.1), 300, step_s=7, kappa=0.02) == 255


def test_where_no_reading_was_good_the_time_that_the_first_stands_for_is_halved() -> None:
    assert begin_s(window(0.1, 0.1), 300, step_s=100, kappa=0.02) == 220


def test_a_run_that_was_bad_from_its_start_began_to_be_so_there() -> None:
    assert begin_s(window(0.0, 0.1)._replace(bad_since_s=17.0), 300, 30, 0.02) == 17


def test_a_loss_that_cannot_be_confirmed_has_not_grown() -> None:
    known = window(0.0, 0.04)._replace(loss=Loss(growth=Growth(30.0, 5.0, (0.03,), Losses((0.06,)))))
    assert grown(known, 300, 0.04, 0.04, 30, tolerance(), RULE) == Growth()


def test_the_first_second_beyond_what_confirms_sets_the_losses_before_it_apart() -> None:
    before = window(0.03, 0.09)._replace(loss=Loss(onset_s=10.0, losses=Losses((0.03, 0.031, 0.09))))
    growth = grown(before, 300, 0.09, 0.09, 30, tolerance(), RULE)
    assert growth == Growth(30.0, 285.0, (0.03, 0.031, 0.09), Losses((0.09,)))
    later = before._replace(loss=before.loss._replace(growth=growth, losses=Losses((0.5,))))
    assert grown(later, 330, 0.08, 0.055, 30, tolerance(), RULE) == Growth(
        about(45.0), 285.0, (0.03, 0.031, 0.09), Losses((0.09, 0.08))
    )


def test_a_fraction_of_a_second_is_where_growth_begins() -> None:
    assert grown(window(0.09), 300, 0.09, 0.09, 0.5, tolerance(), RULE).since_s is not None


def test_growth_counts_no_more_than_a_whole_horizon() -> None:
    full = window(0.09)._replace(loss=Loss(growth=Growth(590.0, 5.0, (), Losses())))
    assert grown(full, 300, 0.09, 0.09, 30, tolerance(), RULE).evidence_s == 600


def lossy(
    *,
    smaller: tuple[float, ...] = (0.03,) * 40,
    larger: tuple[float, ...] = (0.14,) * 40,
    since_s: float | None = 3000.0,
    onset_s: float | None = 0.0,
    evidence_s: float = 600.0,
) -> State:
    growth = Growth(evidence_s, since_s, smaller, Losses(larger))
    return State(loss=Loss(700.0, onset_s, Losses(smaller + larger), growth))


def moved(state: State, now_s: float = 4200.0, by: Tolerance | None = None) -> bool:
    found = since_it_grew(state, now_s, tolerance() if by is None else by, RULE)
    if found == state.loss:
        return False
    assert found == state.loss._replace(onset_s=3000.0, losses=state.loss.growth.larger)
    return True


def test_a_loss_that_grew_has_the_onset_and_the_losses_of_what_it_grew_to() -> None:
    assert moved(lossy())


def test_a_loss_that_did_not_grow_keeps_its_own() -> None:
    assert not moved(lossy(since_s=None))
    assert not moved(lossy(onset_s=None))
    assert not moved(lossy(smaller=()))


def test_a_loss_has_to_have_grown_for_a_whole_horizon() -> None:
    assert not moved(lossy(evidence_s=599))
    known = lossy(evidence_s=420)
    assert moved(known._replace(run=known.run._replace(phase_known=True)))


def test_a_loss_has_to_have_grown_by_more_than_the_tolerance() -> None:
    assert not moved(lossy(smaller=(0.0,) * 40, larger=(0.02,) * 40))
    assert moved(lossy(larger=(0.0501,) * 40))


@pytest.mark.parametrize(
    ("before", "since", "noise", "is_told"),
    [
        ((100, 3000), (100, 3000), 0.02, True),
        ((100, 90), (100, 3000), 0.016, True),
        ((100, 90), (100, 3000), 0.018, False),
        ((100, 3000), (100, 90), 0.016, True),
        ((100, 3000), (100, 90), 0.018, False),
        ((4, 3000), (100, 3000), 0.016, True),
        ((4, 3000), (100, 3000), 0.022, False),
        ((100, 3000), (4, 3000), 0.016, True),
        ((100, 3000), (4, 3000), 0.022, False),
        ((100, 10), (100, 3000), 0.0102, False),
        ((100, 3000), (100, 10), 0.0102, False),
        ((1, 30), (1, 30), 0.0098, True),
    ],
)
def test_a_loss_has_to_have_grown_by_more_than_chance(
    before: tuple[int, float], since: tuple[int, float], noise: float, is_told: bool
) -> None:
    """By 0.05, of which 0.02 are tolerated. Before and since are readings and the seconds in which they came: those
    that came faster than one in 30 s count as one, and the shorter side says how sure the difference is."""
    grew = lossy(smaller=(0.03,) * before[0], larger=(0.08,) * since[0])
    loss = grew.loss._replace(onset_s=3000 - before[1])
    assert moved(grew._replace(loss=loss), 3000 + since[1], tolerance(noise=noise)) is is_told

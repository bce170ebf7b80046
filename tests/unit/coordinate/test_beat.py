"""Recorders that begin at multiples of a number of steps are asked soon after one, so that all take the next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.profiling.live.steps import until_next_round

POLL_S = 5.0


@pytest.mark.parametrize(
    ("now_s", "wait_s"),
    [(100.0, 0.0), (110.0, 0.0), (116.0, 0.0), (117.0, 7.0), (123.0, 1.0), (124.5, 0.0)],
)
def test_a_multiple_that_is_near_is_let_pass(now_s: float, wait_s: float) -> None:
    assert until_next_round(100.0, 24.0, now_s, 8.0) == pytest.approx(wait_s)


def test_multiples_that_come_too_fast_are_not_waited_for() -> None:
    assert until_next_round(100.0, 4.0, 101.0, 8.0) == 0.0


@given(
    begun_s=st.floats(0, 1e9),
    period_s=st.floats(9, 600),
    passed_s=st.floats(0, 1e5),
    polls=st.lists(st.floats(0, POLL_S), min_size=2, max_size=8),
)
def test_ranks_that_poll_within_the_lead_all_take_the_same_multiple(
    begun_s: float, period_s: float, passed_s: float, polls: list[float]
) -> None:
    now_s = begun_s + passed_s
    asked_s = now_s + until_next_round(begun_s, period_s, now_s, 8.0) + 0.01
    taken = {int((asked_s + poll - begun_s) // period_s) for poll in polls}
    assert len(taken) == 1

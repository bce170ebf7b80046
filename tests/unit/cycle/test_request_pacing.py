"""How often the world is asked what costs a request."""

import pytest

from mfu_operator.cycle.request_pacing import LONGEST_S, RequestPacing
from mfu_operator.errors import Retry, Wait
from mfu_operator.reconcile.world import Need

PROBLEM = Retry("ForgeUnreachable", "503")


def test_a_look_that_fails_is_repeated_later_and_later_apart_from_the_others() -> None:
    pacing = RequestPacing(15.0)
    for expected_s in (15.0, 30.0, 60.0, 120.0, 240.0, LONGEST_S, LONGEST_S):
        pacing.made(Need.SOURCE, PROBLEM, 1000.0)
        assert not pacing.due(Need.SOURCE, 1000.0 + expected_s - 0.1)
        assert pacing.due(Need.SOURCE, 1000.0 + expected_s)
    assert pacing.problem(Need.SOURCE) is PROBLEM
    assert pacing.due(Need.JOB, 1000.0)


@pytest.mark.parametrize("answer", [None, Wait("NothingDeployed", "")])
def test_an_answer_ends_the_pauses(answer: Wait | None) -> None:
    pacing = RequestPacing(15.0)
    pacing.made(Need.SOURCE, PROBLEM, 1000.0)
    pacing.made(Need.SOURCE, answer, 1015.0)
    assert pacing.due(Need.SOURCE, 1015.0)
    assert pacing.problem(Need.SOURCE) is None


@pytest.mark.parametrize(("interval_s", "pause_s"), [(15.0, 60.0), (2.0, 8.0)])
def test_an_open_pull_request_is_looked_at_every_fourth_tick(interval_s: float, pause_s: float) -> None:
    pacing = RequestPacing(interval_s)
    pacing.made(Need.PULL_REQUEST, None, 1000.0)
    assert not pacing.due(Need.PULL_REQUEST, 1000.0 + pause_s - 0.1)
    assert pacing.due(Need.PULL_REQUEST, 1000.0 + pause_s)


def test_another_spec_is_looked_at_anew() -> None:
    pacing = RequestPacing(15.0)
    pacing.made(Need.JOB, PROBLEM, 1000.0)
    pacing.forget()
    assert (pacing.due(Need.JOB, 1000.0), pacing.problem(Need.JOB)) == (True, None)

"""How often the world is asked what costs a request."""

import pytest

from mfu_operator.errors import Retry, Wait
from mfu_operator.reconcile.world import Need
from mfu_operator.runtime.looks import LONGEST_S, Looks

PROBLEM = Retry("ForgeUnreachable", "503")


def test_a_look_that_fails_is_repeated_later_and_later_apart_from_the_others() -> None:
    looks = Looks(15.0)
    for expected_s in (15.0, 30.0, 60.0, 120.0, 240.0, LONGEST_S, LONGEST_S):
        looks.made(Need.SOURCE, PROBLEM, 1000.0)
        assert not looks.due(Need.SOURCE, 1000.0 + expected_s - 0.1)
        assert looks.due(Need.SOURCE, 1000.0 + expected_s)
    assert looks.problem(Need.SOURCE) is PROBLEM
    assert looks.due(Need.JOB, 1000.0)


@pytest.mark.parametrize("answer", [None, Wait("NothingDeployed", "")])
def test_an_answer_ends_the_pauses(answer: Wait | None) -> None:
    looks = Looks(15.0)
    looks.made(Need.SOURCE, PROBLEM, 1000.0)
    looks.made(Need.SOURCE, answer, 1015.0)
    assert looks.due(Need.SOURCE, 1015.0)
    assert looks.problem(Need.SOURCE) is None


@pytest.mark.parametrize(("interval_s", "pause_s"), [(15.0, 60.0), (2.0, 8.0)])
def test_an_open_pull_request_is_looked_at_every_fourth_tick(interval_s: float, pause_s: float) -> None:
    looks = Looks(interval_s)
    looks.made(Need.PULL_REQUEST, None, 1000.0)
    assert not looks.due(Need.PULL_REQUEST, 1000.0 + pause_s - 0.1)
    assert looks.due(Need.PULL_REQUEST, 1000.0 + pause_s)


def test_another_spec_is_looked_at_anew() -> None:
    looks = Looks(15.0)
    looks.made(Need.JOB, PROBLEM, 1000.0)
    looks.forget()
    assert (looks.due(Need.JOB, 1000.0), looks.problem(Need.JOB)) == (True, None)

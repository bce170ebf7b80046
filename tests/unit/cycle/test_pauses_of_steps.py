"""Which steps wait, for what and how long; and how much one namespace may take of what all share."""

import math

import pytest

from mfu_operator.cycle.backoff import Backoff
from mfu_operator.cycle.fair_share import Share
from mfu_operator.cycle.request_pacing import RequestPacing
from mfu_operator.errors import Retry, Wait
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.world import Need

PROFILE, PROPOSAL = "ProfilingFailed", "ProposalFailed"
BROKEN, REFUSED = Failure(PROFILE, "JobFailed", ""), Failure(PROPOSAL, "ForgeUnreachable", "")
FROZEN, COOLING = Wait("Frozen", "until noon"), Wait("CoolDown", "until one")


def dues(backoff: Backoff, condition: str, at_s: float) -> tuple[bool, bool]:
    """Whether a step is due a moment before a time, and then."""
    return backoff.due(condition, at_s - 0.1), backoff.due(condition, at_s)


def test_a_step_that_never_failed_is_due() -> None:
    backoff = Backoff(15.0)
    assert backoff.due(PROFILE, 0.0)
    assert (backoff.standing(), backoff.waiting(), backoff.newly_failed()) == ((), (), ())
    assert backoff.pacing.interval_s == 15.0


def test_the_pause_after_each_failure_of_a_step_is_twice_as_long_and_of_that_step_alone() -> None:
    backoff = Backoff(15.0)
    for pause_s in (15.0, 30.0, 60.0, 120.0, 240.0, 300.0, 300.0):
        assert backoff.fail(BROKEN, 1000.0) == pause_s
        assert dues(backoff, PROFILE, 1000.0 + pause_s) == (False, True)
    assert backoff.due(PROPOSAL, 0.0)
    assert backoff.fail(REFUSED, 1000.0) == 15.0
    assert backoff.standing() == (BROKEN, REFUSED)


def test_what_stands_of_a_step_is_its_last_failure() -> None:
    backoff, again = Backoff(15.0), Failure(PROFILE, "JobEvicted", "")
    backoff.fail(BROKEN, 0.0)
    backoff.fail(again, 0.0)
    assert backoff.standing() == (again,)


def test_failures_are_told_once() -> None:
    backoff = Backoff(15.0)
    backoff.fail(BROKEN, 0.0)
    backoff.fail(REFUSED, 0.0)
    assert backoff.newly_failed() == (BROKEN, REFUSED)
    assert backoff.newly_failed() == ()
    backoff.fail(REFUSED, 0.0)
    assert backoff.newly_failed() == (REFUSED,)


@pytest.mark.parametrize(("left_s", "pause_s"), [(60.0, 60.0), (3600.0, 300.0), (300.0, 300.0), (0.5, 0.5)])
def test_a_step_waits_as_long_as_it_says_and_for_five_minutes_at_most(left_s: float, pause_s: float) -> None:
    backoff = Backoff(15.0)
    backoff.wait(PROPOSAL, FROZEN, left_s, 1000.0)
    assert dues(backoff, PROPOSAL, 1000.0 + pause_s) == (False, True)
    assert backoff.waiting() == (FROZEN,)
    assert backoff.due(PROFILE, 1000.0)


def test_a_wait_that_is_over_already_holds_nothing_up() -> None:
    backoff = Backoff(15.0)
    for left_s in (0.0, -3600.0):
        backoff.wait(PROPOSAL, FROZEN, left_s, 1000.0)
        assert dues(backoff, PROPOSAL, 1000.0) == (False, True)


def test_a_step_that_waits_has_not_failed_and_one_that_fails_does_not_wait() -> None:
    backoff = Backoff(15.0)
    backoff.fail(REFUSED, 0.0)
    backoff.fail(REFUSED, 0.0)
    backoff.wait(PROPOSAL, FROZEN, 60.0, 0.0)
    assert (backoff.standing(), backoff.waiting()) == ((), (FROZEN,))
    assert backoff.fail(REFUSED, 0.0) == 15.0, "it counts anew"
    assert (backoff.standing(), backoff.waiting()) == ((REFUSED,), ())


def test_a_step_that_succeeds_is_due_and_its_failures_and_waits_are_forgotten() -> None:
    backoff = Backoff(15.0)
    backoff.fail(BROKEN, 0.0)
    backoff.wait(PROPOSAL, FROZEN, 60.0, 0.0)
    backoff.succeed(PROPOSAL)
    assert (backoff.standing(), backoff.waiting(), backoff.due(PROPOSAL, 0.0)) == ((BROKEN,), (), True)
    backoff.succeed(PROFILE)
    assert (backoff.standing(), backoff.due(PROFILE, 0.0)) == ((), True)
    backoff.succeed(PROFILE)


def both() -> Backoff:
    backoff = Backoff(15.0)
    backoff.fail(BROKEN, 0.0)
    backoff.wait(PROPOSAL, FROZEN, 60.0, 0.0)
    return backoff


@pytest.mark.parametrize(
    ("condition", "standing", "waiting"),
    [(PROFILE, (BROKEN,), ()), (PROPOSAL, (), (FROZEN,)), (None, (), ())],
)
def test_what_is_done_now_outlives_what_had_failed_before_it(
    condition: str | None, standing: tuple[Failure, ...], waiting: tuple[Wait, ...]
) -> None:
    backoff = both()
    backoff.outlived_by(condition)
    assert (backoff.standing(), backoff.waiting()) == (standing, waiting)


def test_another_spec_is_tried_anew_and_the_same_is_not() -> None:
    backoff = both()
    backoff.pacing.made(Need.SOURCE, Retry("Down", ""), 0.0)
    backoff.renew(0)
    assert (backoff.standing(), backoff.waiting(), backoff.pacing.due(Need.SOURCE, 0.0)) == (
        (BROKEN,),
        (FROZEN,),
        False,
    )
    backoff.renew(2)
    assert (backoff.standing(), backoff.waiting(), backoff.pacing.due(Need.SOURCE, 0.0)) == ((), (), True)
    backoff.fail(BROKEN, 0.0)
    backoff.renew(2)
    assert backoff.standing() == (BROKEN,)


def test_a_look_that_succeeded_may_be_made_again_at_once_but_for_the_answer_of_a_person() -> None:
    pacing = RequestPacing(15.0)
    for need in (Need.JOB, Need.SOURCE, Need.PULL_REQUEST):
        assert pacing.due(need, 0.0)
        pacing.made(need, None, 1000.0)
    assert pacing.due(Need.JOB, 1000.0) and pacing.due(Need.SOURCE, 1000.0)
    assert (pacing.due(Need.PULL_REQUEST, 1059.0), pacing.due(Need.PULL_REQUEST, 1060.0)) == (False, True)


def test_a_look_that_succeeded_counts_its_failures_anew() -> None:
    pacing, down = RequestPacing(15.0), Retry("Down", "")
    pacing.made(Need.JOB, down, 0.0)
    pacing.made(Need.JOB, down, 0.0)
    pacing.made(Need.JOB, COOLING, 0.0)
    assert pacing.problem(Need.JOB) is None
    pacing.made(Need.JOB, down, 0.0)
    assert (pacing.due(Need.JOB, 14.9), pacing.due(Need.JOB, 15.0)) == (False, True)
    pacing.forget()
    pacing.made(Need.JOB, down, 0.0)
    assert pacing.due(Need.JOB, 15.0)


ROOM: list[tuple[dict[str, int], float]] = [
    ({}, 5 + 2),
    ({"a": 1}, 4),
    ({"a": 2}, 3),
    ({"a": 3}, 0),
    ({"a": 4}, 0),
    ({"b": 3}, 2 + 2),
    ({"b": 3, "c": 2}, 2),
    ({"b": 3, "c": 3}, 1),
    ({"b": 3, "c": 3, "d": 1}, 0),
    ({"b": 3, "c": 3, "d": 3}, 0),
    ({"b": 9}, 2 + 2),
    ({"a": 1, "b": 3}, 1),
    ({"a": 1, "b": 3, "c": 3}, 0),
]
"""What is taken by each, and how many places are left of which `a` may take one: three of its own, five of all, and
two for those that have nothing."""


@pytest.mark.parametrize(("taken", "places"), ROOM)
def test_a_namespace_takes_of_its_own_of_all_and_of_what_is_kept_for_the_first(
    taken: dict[str, int], places: float
) -> None:
    share = Share(3, 5, 2)
    assert share.places_for("a", taken) == places
    assert share.left_for("a", taken) is (places > 0)


def test_where_the_first_of_each_is_never_refused_there_is_always_one_left() -> None:
    share = Share(3, 5, None)
    assert share.places_for("a", {"b": 3, "c": 3}) == math.inf
    assert share.places_for("a", {"a": 1, "b": 3, "c": 3}) == 0

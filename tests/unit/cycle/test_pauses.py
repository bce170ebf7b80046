"""What fails is tried again later and later."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.cycle.backoff import Backoff
from mfu_operator.cycle.request_pacing import LONGEST_S, RequestPacing
from mfu_operator.errors import Retry
from mfu_operator.model.pauses import growing_pause_s
from mfu_operator.reconcile.conclude import Failure
from mfu_operator.reconcile.world import Need
from tests.support.adapters_double import Stage


def test_the_pause_after_a_failure_doubles_up_to_five_minutes(stage: Stage) -> None:
    stage.regress()
    asked: list[float] = []

    def investigate(*_: object) -> object:
        asked.append(stage.now_s)
        raise Retry("RepositoryUnreachable", "the host does not answer")

    stage.repository.investigate = investigate  # type: ignore[method-assign, assignment]
    stage.ticks(120)
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses[:6] == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0]
    assert max(pauses) == 300.0


def test_the_pause_grows_too_where_only_the_last_of_several_requests_fails(stage: Stage) -> None:
    stage.regress()
    stage.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    stage.ticks(30)
    assert len(stage.asked_with) == 5


def test_a_new_generation_forgets_the_pause(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.ticks(10)
    stage.repository.fails = None
    stage.edit(lambda spec: replace(spec, suspend=False))
    stage.tick()
    assert len(stage.forge.pulls) == 1


def test_a_delivery_tool_that_fails_is_asked_less_and_less_and_its_problem_stands_meanwhile(stage: Stage) -> None:
    asked = []

    def fail() -> None:
        asked.append(stage.now_s)
        raise Retry("ClusterUnreachable", "503")

    stage.delivery._fail = fail  # type: ignore[method-assign]
    stage.ticks(20)
    assert [round(later - earlier) for earlier, later in itertools.pairwise(asked)] == [15, 30, 60, 120]


YEAR_S = 365 * 86400.0


@given(
    first_s=st.floats(0.01, 300.0),
    longest_s=st.floats(300.0, 3600.0),
    failures=st.one_of(st.integers(1, 64), st.integers(1, 10**9)),
)
def test_a_pause_begins_with_the_first_grows_and_is_bounded(first_s: float, longest_s: float, failures: int) -> None:
    pause_s = growing_pause_s(first_s, longest_s, failures)
    assert first_s <= pause_s <= longest_s
    assert pause_s <= growing_pause_s(first_s, longest_s, failures + 1)
    assert growing_pause_s(first_s, longest_s, 1) == first_s
    assert growing_pause_s(first_s, longest_s, 10**6) == longest_s


def test_what_fails_for_a_year_is_still_tried_every_five_minutes() -> None:
    backoff, pacing = Backoff(15.0), RequestPacing(15.0)
    failure, problem = Failure("ProfilingFailed", "NotInstrumented", ""), Retry("ClusterUnreachable", "503")
    tries, steady_s = 0, 0.0
    while steady_s < YEAR_S:
        assert backoff.due("ProfilingFailed", steady_s)
        assert pacing.due(Need.SOURCE, steady_s)
        tries += 1
        pause_s = backoff.fail(failure, steady_s)
        backoff.newly_failed()
        pacing.made(Need.SOURCE, problem, steady_s)
        steady_s += pause_s
    assert tries == pytest.approx(YEAR_S / LONGEST_S, rel=0.01)


def test_a_clock_that_is_set_back_holds_up_no_step_that_failed(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    stage.repository.fails = None
    stage.set_by_s = -3600.0
    stage.tick()
    assert len(stage.forge.pulls) == 1

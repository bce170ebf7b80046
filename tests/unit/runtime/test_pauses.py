"""What fails is tried again later and later."""

import itertools
from dataclasses import replace

from mfu_operator.errors import Retry
from tests.support.hands_double import Stage


def test_the_pause_after_a_failure_doubles_up_to_five_minutes(stage: Stage) -> None:
    stage.regress()
    asked: list[float] = []

    def commits(*_: object) -> object:
        asked.append(stage.now_s)
        raise Retry("RepositoryUnreachable", "the host does not answer")

    stage.repository.commits = commits  # type: ignore[method-assign, assignment]
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

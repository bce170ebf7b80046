"""The operator may die at any instruction, and two of it may act at once: the outcome is the same."""

from dataclasses import replace

import pytest

from tests.support.adapters_double import Stage


class Killed(BaseException):
    """The operator dies here."""


STEPS = ("settle", "slow_down", "explain", "confirm", "tick", "tick", "merge", "tick", "tick")


def tell(stage: Stage) -> None:
    for step in STEPS:
        getattr(stage, step)()


def left(stage: Stage) -> tuple[object, ...]:
    """What the world and the record hold in the end, whatever happened on the way."""
    (closed,) = stage.status.history
    return (
        sorted(stage.cluster.jobs), stage.repository.branches, stage.forge.pulls, stage.status.incident,
        stage.status.incidents, closed.suspect, closed.diagnosis, closed.profile and closed.profile.account,
        closed.proposal and closed.proposal.branch,
    )  # fmt: skip


EFFECTS = [
    ("cluster", "ensure_job"),
    ("repository", "commits"),
    ("repository", "preview"),
    ("repository", "ensure_branch"),
    ("forge", "ensure"),
    ("forge", "get"),
]


class Dying:
    """Stands before a double and dies once, after the call of `method` number `at` was made or before it was."""

    def __init__(self, inner: object, method: str, at: int, after: bool) -> None:
        self._inner, self._method, self._at, self._after, self._calls = inner, method, at, after, 0

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        if name != self._method:
            return found

        def call(*arguments: object) -> object:
            self._calls += 1
            if self._calls != self._at:
                return found(*arguments)
            if self._after:
                found(*arguments)
            raise Killed

        return call


def unkillable(stage: Stage) -> None:
    """Every tick that dies is made again by another process, from what was stored."""
    alive = stage.tick

    def tick(after_s: float = 15.0) -> object:
        try:
            return alive(after_s)
        except Killed:
            stage.restart()
            return alive(0.0)

    stage.tick = tick  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize(("port", "method"), EFFECTS, ids=[method for _, method in EFFECTS])
def test_dying_at_any_effect_changes_nothing_of_the_outcome(port: str, method: str, at: int, after: bool) -> None:
    calm = Stage()
    tell(calm)
    stage = Stage()
    dying = Dying(getattr(stage, port), method, at, after)
    forge = dying if port == "forge" else stage.forge
    changed = {"forge": lambda *_: forge} if port == "forge" else {port: dying}
    stage.adapters = replace(stage.adapters, **changed)
    unkillable(stage)
    tell(stage)
    assert left(stage) == left(calm)


def test_a_restart_between_any_two_ticks_changes_nothing_of_the_outcome() -> None:
    calm = Stage()
    tell(calm)
    for restarted in range(len(STEPS)):
        stage = Stage()
        for index, step in enumerate(STEPS):
            if index == restarted:
                stage.restart()
            getattr(stage, step)()
        assert left(stage) == left(calm)


def test_two_replicas_that_both_act_make_one_of_everything(stage: Stage) -> None:
    """The Lease is a courtesy: each tick is made twice, the second time from what was stored before the first."""
    alive = stage.tick

    def twice(after_s: float = 15.0) -> object:
        before = stage.stored
        alive(after_s)
        stage.stored = before
        return alive(0.0)

    stage.tick = twice  # type: ignore[method-assign, assignment]
    tell(stage)
    assert len(stage.cluster.jobs) == 2
    assert (len(stage.repository.branches), len(stage.forge.pulls), stage.status.incidents) == (1, 1, 1)


def test_a_pull_request_that_a_person_closed_before_the_crash_is_found(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.close(1)
    stage.stored = before
    stage.ticks(3)
    assert len(stage.forge.pulls) == 1
    incident = stage.status.incident
    assert incident is not None
    assert incident.blocked is not None
    assert incident.blocked[0] == "PullRequestClosed"

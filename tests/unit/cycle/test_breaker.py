"""A cause that all jobs share opens three pull requests, and the rest one after the other."""

from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import pytest

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.breaker import MOST, MOST_OF_ALL, MOST_OF_FIRSTS, RECALL_S, WINDOW_S, Breaker, organisation
from mfu_operator.errors import AskPerson, Retry, Wait
from mfu_operator.model.incident import Status
from tests.support import worlds
from tests.support.adapters_double import Stage

TEAM, WHERE = "team-a", "https://git.example/ml/models"
NOON_S = 1_790_000_040.0


def opened(breaker: Breaker, what: str, now_s: float = NOON_S, namespace: str = TEAM, where: str = WHERE) -> None:
    with breaker.opening(namespace, what, where, now_s, now_s):
        pass


def refused(breaker: Breaker, what: str, now_s: float = NOON_S, namespace: str = TEAM) -> Wait:
    with pytest.raises(Wait) as raised, breaker.opening(namespace, what, WHERE, now_s, now_s):
        pytest.fail("it was let through")
    return raised.value


def full() -> Breaker:
    breaker = Breaker()
    for number in range(MOST):
        opened(breaker, f"request {number}", NOON_S + 60 * number)
    return breaker


def test_the_fourth_within_the_hour_waits_until_the_first_is_an_hour_old() -> None:
    breaker = full()
    error = refused(breaker, "one more", NOON_S + WINDOW_S - 1)
    assert (error.reason, error.until_s) == ("FleetBreaker", NOON_S + WINDOW_S)
    assert "opened 3 pull requests in namespace team-a within 60 min" in error.message
    assert "2026-09-21 15:14 UTC" in error.message
    opened(breaker, "one more", NOON_S + WINDOW_S)
    assert refused(breaker, "and one", NOON_S + WINDOW_S).until_s == NOON_S + 60 + WINDOW_S


def test_a_namespace_that_uses_up_its_share_delays_no_other() -> None:
    breaker = full()
    opened(breaker, "request 0", NOON_S + 180, "team-b")
    refused(breaker, "one more", NOON_S + 180)


def test_all_namespaces_together_have_a_share_too() -> None:
    breaker = Breaker()
    for number in range(MOST_OF_ALL + MOST_OF_FIRSTS):
        opened(breaker, "request", NOON_S + 60 * number, f"team-{number}")
    error = refused(breaker, "request", NOON_S + 900, "another")
    assert error.until_s == NOON_S + WINDOW_S
    assert "opened 12 pull requests in git.example/ml within 60 min" in error.message
    error = refused(breaker, "second", NOON_S + 900, "team-11")
    assert "opened 6 pull requests within 60 min" in error.message


def test_namespaces_that_together_use_up_the_share_of_all_leave_each_other_one() -> None:
    breaker = Breaker()
    for number in range(MOST):
        for namespace in ("hostile-a", "hostile-b"):
            opened(breaker, f"request {number}", NOON_S, namespace)
    opened(breaker, "request", NOON_S, "team-a")
    refused(breaker, "second", NOON_S, "team-a")
    opened(breaker, "request", NOON_S, "team-b")


def test_however_many_namespaces_use_up_their_shares_another_proposes_to_other_people() -> None:
    breaker = Breaker()
    for number in range(30):
        opened(breaker, "request", NOON_S, f"hostile-{number}", f"https://git.example/evil-{number}/models")
    opened(breaker, "request", NOON_S, "team-a")
    refused(breaker, "second", NOON_S, "team-a")
    for number in range(MOST_OF_ALL + MOST_OF_FIRSTS - 1):
        opened(breaker, "request", NOON_S, f"team-{number}b")
    refused(breaker, "request", NOON_S, "team-z")


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example/ml/models.git",
        "https://bot@Git.example:8443/ML/models/pulls/7",
        "ssh://git@git.example:22/ml/models",
        "git@git.example:ml/models.git",
    ],
)
def test_an_organisation_is_the_host_and_the_first_part_of_the_path(address: str) -> None:
    assert organisation(address) == "git.example/ml"
    assert organisation("nowhere") == "nowhere"


def test_what_is_counted_already_is_neither_refused_nor_counted_twice() -> None:
    breaker = full()
    opened(breaker, "request 0", NOON_S + 180)
    assert refused(breaker, "one more", NOON_S + 180).until_s == NOON_S + WINDOW_S


def test_what_could_not_be_opened_leaves_its_place_to_others() -> None:
    breaker = Breaker()
    for number in range(9):
        with pytest.raises(Retry), breaker.opening(TEAM, f"request {number}", WHERE, NOON_S, NOON_S):
            raise Retry("ForgeUnreachable", "")
    opened(breaker, "one more")


def test_one_that_was_opened_before_and_fails_now_stays_counted() -> None:
    breaker = full()
    with pytest.raises(Retry), breaker.opening(TEAM, "request 0", WHERE, NOON_S + 180, NOON_S + 180):
        raise Retry("ForgeUnreachable", "")
    refused(breaker, "one more", NOON_S + 180)


def test_one_that_is_found_open_counts_and_is_never_refused() -> None:
    breaker = full()
    breaker.found(TEAM, "found", WHERE, NOON_S + 120)
    assert refused(breaker, "one more", NOON_S + WINDOW_S).until_s == NOON_S + 60 + WINDOW_S


def test_ticks_that_ask_at_the_same_moment_get_three_places() -> None:
    breaker, begin, let_through = Breaker(), Barrier(20), list[int]()

    def ask(number: int) -> None:
        begin.wait()
        try:
            with breaker.opening(TEAM, str(number), WHERE, NOON_S, NOON_S):
                let_through.append(number)
        except Wait:
            pass

    threads = [Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(let_through) == MOST


def test_the_hour_is_one_on_a_clock_that_nobody_sets() -> None:
    breaker = full()
    for set_by_s in (-7200.0, 7200.0):
        with pytest.raises(Wait), breaker.opening(TEAM, "one more", WHERE, NOON_S + set_by_s, NOON_S + WINDOW_S - 1):
            pytest.fail("it was let through")
    with breaker.opening(TEAM, "one more", WHERE, NOON_S - 7200.0, NOON_S + WINDOW_S):
        pass


def proposed(number: int, at_s: float, **changes: Any) -> Status:
    proposal = replace(worlds.PROPOSED, branch=f"request {number}", opened_at=at_s, **changes)
    return replace(worlds.SETTLED, incident=worlds.explained(proposal=proposal))


def test_another_process_counts_what_the_statuses_say_was_opened() -> None:
    breaker = Breaker()
    breaker.recall(TEAM, proposed(0, NOON_S - 600), NOON_S, 50.0)
    open_one = proposed(1, NOON_S - 300)
    assert open_one.incident is not None
    breaker.recall(TEAM, replace(open_one, incident=None, history=(open_one.incident,)), NOON_S, 50.0)
    breaker.recall(TEAM, proposed(2, NOON_S - 4000), NOON_S, 50.0)
    breaker.recall(TEAM, proposed(3, NOON_S - 60, dry_run=True), NOON_S, 50.0)
    breaker.recall(TEAM, proposed(4, NOON_S + 3000), NOON_S, 50.0)
    with pytest.raises(Wait) as raised, breaker.opening(TEAM, "one more", WHERE, NOON_S, 50.0):
        pytest.fail("it was let through")
    assert raised.value.until_s == NOON_S + WINDOW_S - 600
    with breaker.opening(TEAM, "request 0", WHERE, NOON_S, 50.0):
        pass


def test_a_process_that_begins_opens_nothing_before_it_recalled_what_was_opened() -> None:
    breaker = Breaker()
    breaker.begin(50.0)
    with pytest.raises(Wait) as raised, breaker.opening(TEAM, "one", WHERE, NOON_S, 60.0):
        pytest.fail("it was let through")
    assert raised.value.until_s == NOON_S + RECALL_S - 10.0
    with breaker.opening(TEAM, "one", WHERE, NOON_S, 50.0 + RECALL_S):
        pass


def test_an_operator_that_is_killed_every_ten_minutes_opens_three_an_hour() -> None:
    stages, opened_at = jobs(20), list[float]()
    for minute in range(180):
        if minute % 10 == 0:
            breaker, begun_s = Breaker(), stages[0].now_s
            breaker.begin(begun_s)
            for stage in stages:
                stage.restart()
                stage.adapters = replace(stage.adapters, breaker=breaker)
                breaker.recall(TEAM, stage.status, stage.now_s, begun_s)
        for stage in stages:
            before = len(stage.forge.pulls)
            stage.tick(60.0)
            opened_at += [stage.now_s] * (len(stage.forge.pulls) - before)
    for at_s in opened_at:
        assert sum(at_s <= other < at_s + WINDOW_S for other in opened_at) <= MOST
    assert len(opened_at) == 3 * MOST


def jobs(count: int) -> list[Stage]:
    """That many jobs that all became slow, each about to be proposed for, in one operator."""
    stages = []
    breaker = Breaker()
    for number in range(count):
        stage = Stage()
        stage.identity = replace(stage.identity, name=f"gpt-{number}")
        stage.repository.commit({"NUMBER": str(number)}, f"Job {number}")  # another history: another suspect
        stage.adapters = Adapters(
            stage.adapters.cluster,
            stage.adapters.sweep,
            stage.adapters.deliveries,
            stage.adapters.repository,
            stage.adapters.forge,
            breaker,
        )
        stage.regress()
        stages.append(stage)
    return stages


def requests(stages: list[Stage]) -> list[int]:
    return [len(stage.forge.pulls) for stage in stages]


def test_of_five_jobs_that_lose_at_once_three_are_proposed_for_and_the_others_say_for_what_they_wait() -> None:
    stages = jobs(5)
    for stage in stages:
        stage.ticks(4)
    assert requests(stages) == [1, 1, 1, 0, 0]
    assert [stage.repository.branches for stage in stages[3:]] == [{}, {}]
    for stage in stages[3:]:
        reconciling = stage.condition("Reconciling")
        assert reconciling is not None
        assert "waiting: FleetBreaker: the operator opened 3 pull requests" in reconciling.message
        assert (stage.condition("ProposalFailed"), stage.condition("Stalled")) == (None, None)
    for _ in range(3):
        for stage in stages:
            stage.tick(1250)
    assert requests(stages) == [1, 1, 1, 1, 1]
    assert stages[3].condition("Reconciling") is None


def test_while_it_waits_no_repository_is_read() -> None:
    stage = jobs(4)[3]
    for number in range(MOST):
        opened(stage.adapters.breaker, f"request {number}", stage.now_s)
    stage.tick()
    stage.repository.fails = AskPerson("RevertConflict", "it was asked")
    stage.ticks(19)
    assert stage.incident.blocked is None
    stage.ticks(2)
    assert stage.incident.blocked is not None


def test_a_wait_is_forgotten_with_the_incident_and_with_another_spec() -> None:
    for cured in ("recovered", "edited"):
        stage = jobs(1)[0]
        for number in range(MOST):
            opened(stage.adapters.breaker, f"request {number}", stage.now_s)
        stage.tick()
        assert stage.backoff.waiting() != ()
        if cured == "recovered":
            stage.sweep.says = worlds.judgement(recovered=True)
            stage.ticks(2)
        else:
            stage.backoff.renew(99)
        assert stage.backoff.waiting() == ()

"""Whom our own profiling Jobs disturb, and when."""

import pytest

from mfu_operator.errors import Wait
from mfu_operator.runtime.occupancy import ASK_AGAIN_S, KEPT_S, MOST_AT_ONCE, Occupancy, Stay


def test_a_job_disturbs_every_run_on_its_node() -> None:
    occupancy = Occupancy()
    occupancy.note("a/job", Stay("gpt", "node-1", 10.0, 20.0), 15.0)
    assert occupancy.spans("bert", ["node-1", "node-2"]) == ((10.0, 20.0),)
    assert occupancy.spans("bert", ["node-2"]) == ()
    assert occupancy.spans("gpt", ["node-2"]) == ()


def test_where_the_node_is_not_known_only_its_own_run_is_held_to_be_disturbed() -> None:
    occupancy = Occupancy()
    occupancy.note("a/job", Stay("gpt", None, 10.0, 20.0), 15.0)
    assert occupancy.spans("gpt", []) == ((10.0, 20.0),)
    assert occupancy.spans("bert", ["node-1"]) == ()


def test_a_node_once_seen_stays_known_and_the_rest_is_as_it_was_told_last() -> None:
    occupancy = Occupancy()
    occupancy.note("a/job", Stay("gpt", "node-1", 10.0, 90.0), 15.0)
    occupancy.note("a/job", Stay("gpt", None, 10.0, 20.0), 20.0)
    assert occupancy.spans("bert", ["node-1"]) == ((10.0, 20.0),)


def test_several_stays_are_told_oldest_first_and_old_ones_are_forgotten() -> None:
    occupancy = Occupancy()
    occupancy.note("a/second", Stay("gpt", "node-1", 30.0, 40.0), 35.0)
    occupancy.note("a/first", Stay("gpt", "node-1", 10.0, 20.0), 35.0)
    assert occupancy.spans("gpt", ["node-1"]) == ((10.0, 20.0), (30.0, 40.0))
    occupancy.note("a/third", Stay("gpt", "node-2", 30.0, 40.0), 30.0 + KEPT_S)
    assert occupancy.spans("gpt", ["node-1"]) == ((30.0, 40.0),)
    assert not occupancy.knows("a/first")


def test_only_so_many_healthy_jobs_are_profiled_at_once_and_the_next_comes_when_one_is_done() -> None:
    occupancy = Occupancy()
    for number in range(MOST_AT_ONCE):
        occupancy.admit(f"a/{number}", 10.0)
    occupancy.admit("a/0", 12.0)
    with pytest.raises(Wait) as queued:
        occupancy.admit("a/next", 12.0)
    assert (queued.value.reason, queued.value.until_s) == ("ProfilingQueued", 12.0 + ASK_AGAIN_S)
    for number in range(MOST_AT_ONCE):
        occupancy.note(f"a/{number}", Stay(f"job-{number}", "node-1", 10.0, 900.0), 15.0)
    with pytest.raises(Wait):
        occupancy.admit("a/next", 60.0)
    occupancy.note("a/3", Stay("job-3", "node-1", 10.0, 70.0), 75.0)
    occupancy.admit("a/next", 75.0)


def test_a_job_that_was_launched_and_never_seen_holds_its_place_for_half_a_minute() -> None:
    occupancy = Occupancy()
    for number in range(MOST_AT_ONCE):
        occupancy.admit(f"a/{number}", 10.0)
    occupancy.admit("a/next", 10.0 + ASK_AGAIN_S)

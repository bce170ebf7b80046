"""Whom our own profiling Jobs disturb, and when."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.cycle.profiling.slots import (
    ASK_AGAIN_S,
    KEPT_S,
    MOST_AT_ONCE,
    MOST_OF_A_NAMESPACE,
    ProfilingSlot,
    ProfilingSlots,
)
from mfu_operator.errors import Wait


def test_a_job_disturbs_every_run_on_its_node() -> None:
    slots = ProfilingSlots()
    slots.note("a/job", ProfilingSlot("gpt", "node-1", 10.0, 20.0), 15.0)
    assert slots.spans("bert", ["node-1", "node-2"]) == ((10.0, 20.0),)
    assert slots.spans("bert", ["node-2"]) == ()
    assert slots.spans("gpt", ["node-2"]) == ()


def test_where_the_node_is_not_known_only_its_own_run_is_held_to_be_disturbed() -> None:
    slots = ProfilingSlots()
    slots.note("a/job", ProfilingSlot("gpt", None, 10.0, 20.0), 15.0)
    assert slots.spans("gpt", []) == ((10.0, 20.0),)
    assert slots.spans("bert", ["node-1"]) == ()


def test_a_node_once_seen_stays_known_and_the_rest_is_as_it_was_told_last() -> None:
    slots = ProfilingSlots()
    slots.note("a/job", ProfilingSlot("gpt", "node-1", 10.0, 90.0), 15.0)
    slots.note("a/job", ProfilingSlot("gpt", None, 10.0, 20.0), 20.0)
    assert slots.spans("bert", ["node-1"]) == ((10.0, 20.0),)


def test_several_stays_are_told_oldest_first_and_old_ones_are_forgotten() -> None:
    slots = ProfilingSlots()
    slots.note("a/second", ProfilingSlot("gpt", "node-1", 30.0, 40.0), 35.0)
    slots.note("a/first", ProfilingSlot("gpt", "node-1", 10.0, 20.0), 35.0)
    assert slots.spans("gpt", ["node-1"]) == ((10.0, 20.0), (30.0, 40.0))
    slots.note("a/third", ProfilingSlot("gpt", "node-2", 30.0, 40.0), 30.0 + KEPT_S)
    assert slots.spans("gpt", ["node-1"]) == ((30.0, 40.0),)
    assert not slots.knows("a/first")


def test_a_namespace_that_uses_up_its_share_leaves_places_to_others() -> None:
    slots = ProfilingSlots()
    for number in range(MOST_OF_A_NAMESPACE):
        slots.admit(f"a/{number}", 10.0)
    with pytest.raises(Wait, match="6 of them in namespace a"):
        slots.admit("a/next", 10.0)
    slots.admit("b/first", 10.0)


def test_namespaces_that_together_use_up_all_places_leave_each_other_one() -> None:
    """Jobs of incidents never wait, so that a namespace may have many more than its share."""
    slots = ProfilingSlots()
    for namespace in ("hostile-a", "hostile-b"):
        for number in range(40):
            slots.note(f"{namespace}/{number}", ProfilingSlot("x", "node-1", 10.0, 900.0), 15.0)
    slots.admit("team-a/first", 20.0)
    with pytest.raises(Wait):
        slots.admit("team-a/second", 20.0)
    slots.admit("team-b/first", 20.0)


def test_only_so_many_healthy_jobs_are_profiled_at_once_and_the_next_comes_when_one_is_done() -> None:
    slots = ProfilingSlots()
    for number in range(MOST_AT_ONCE):
        slots.admit(f"team-{number % 5}/job-{number}", 10.0)
    slots.admit("team-0/job-0", 12.0)
    with pytest.raises(Wait) as queued:
        slots.admit("team-0/next", 12.0)
    assert (queued.value.reason, queued.value.until_s) == ("ProfilingQueued", 12.0 + ASK_AGAIN_S)
    for number in range(MOST_AT_ONCE):
        slots.note(f"team-{number % 5}/job-{number}", ProfilingSlot(f"job-{number}", "node-1", 10.0, 900.0), 15.0)
    with pytest.raises(Wait):
        slots.admit("team-0/next", 60.0)
    slots.note("team-3/job-3", ProfilingSlot("job-3", "node-1", 10.0, 70.0), 75.0)
    slots.admit("team-0/next", 75.0)


def test_however_many_namespaces_have_jobs_under_way_another_has_its_first_at_once() -> None:
    slots = ProfilingSlots()
    for number in range(30):
        for nth in range(2):
            slots.note(f"hostile-{number}/{nth}", ProfilingSlot("x", "node-1", 10.0, 14_400.0), 15.0)
    slots.admit("team-a/first", 20.0)
    with pytest.raises(Wait):
        slots.admit("team-a/second", 20.0)


def test_a_job_that_was_launched_and_never_seen_holds_its_place_for_half_a_minute() -> None:
    slots = ProfilingSlots()
    for number in range(MOST_AT_ONCE):
        slots.admit(f"team-{number % 5}/{number}", 10.0)
    with pytest.raises(Wait):
        slots.admit("team-0/next", 9.9 + ASK_AGAIN_S)
    slots.admit("team-0/next", 10.0 + ASK_AGAIN_S)


NOTES = st.tuples(
    st.sampled_from("abc"),
    st.builds(
        ProfilingSlot,
        owner=st.sampled_from(["gpt", "bert"]),
        node=st.sampled_from([None, "node-1", "node-2"]),
        from_s=st.sampled_from([0.0, 5.0]),
        to_s=st.sampled_from([5.0, 600.0, KEPT_S]),
    ),
    st.sampled_from([0.0, 10.0, KEPT_S, KEPT_S + 10, KEPT_S + 700]),
)


@given(st.lists(NOTES, max_size=12))
def test_a_baseline_is_disturbed_by_every_job_of_the_last_week_that_was_on_its_nodes_or_is_its_own(
    notes: list[tuple[str, ProfilingSlot, float]],
) -> None:
    slots, known = ProfilingSlots(), dict[str, ProfilingSlot]()
    for job, stay, now_s in notes:
        slots.note(job, stay, now_s)
        node = stay.node or (known[job].node if job in known else None)
        known = {**known, job: replace(stay, node=node)}
        known = {name: each for name, each in known.items() if each.to_s >= now_s - KEPT_S}
        expected = [
            (x.from_s, x.to_s) for x in known.values() if x.node == "node-1" or (x.owner, x.node) == ("gpt", None)
        ]
        assert slots.spans("gpt", ["node-1", "node-1"]) == tuple(sorted(expected))
        assert [slots.knows(each) for each in "abc"] == [each in known for each in "abc"]
    assert len(slots._ends) <= len(notes)

"""Which ranks are asked, and which steps."""

import pytest

from mfu_operator.profiling.live.choice import chosen
from mfu_operator.profiling.live.steps import LEAST_STEPS, WHOLE_STEPS, counting_apart, window_of


def ranks(nodes: int, each: int) -> list[tuple[int, str]]:
    return [(node * each + local, f"node-{node}") for node in range(nodes) for local in range(each)]


@pytest.mark.parametrize(("nodes", "each"), [(1, 1), (8, 8), (64, 1)])
def test_up_to_64_all_are_asked(nodes: int, each: int) -> None:
    assert chosen(ranks(nodes, each), None) == tuple(range(nodes * each))


def test_beyond_64_one_of_each_node_is_asked() -> None:
    assert chosen(ranks(16, 8), None) == tuple(range(0, 128, 8))


def test_and_never_more_than_64() -> None:
    assert len(chosen(ranks(100, 8), None)) == 64
    assert len(chosen(ranks(100, 8), 1000)) == 64


def test_a_number_that_a_person_gives_goes_round_the_nodes() -> None:
    assert chosen(ranks(2, 8), 4) == (0, 1, 8, 9)


def test_the_first_step_is_ahead_of_the_rank_that_is_furthest() -> None:
    window = window_of([100, 103, 101], [0.5, 0.5, None], 12, 30, margin_s=3.0)
    assert window.first == 103 + 6 + WHOLE_STEPS
    assert window.steps == 12


def test_each_time_that_ranks_were_past_it_the_distance_doubles() -> None:
    once, twice = (window_of([0], [1.0], 5, 30, 3.0, again) for again in (0, 1))
    assert (once.first, twice.first) == (3 + WHOLE_STEPS, 6 + WHOLE_STEPS)


def test_slow_steps_are_asked_for_as_many_as_fit_a_minute_and_at_least_seven() -> None:
    assert window_of([0], [5.0], 30, 30, 3.0).steps == 10
    assert window_of([0], [40.0], 30, 30, 3.0).steps == LEAST_STEPS
    assert window_of([0], [None], 30, 20, 3.0).steps == 20


def test_a_process_that_began_anew_counts_apart_and_a_step_ahead_does_not() -> None:
    assert counting_apart({0: 5000, 1: 5001, 2: 4999, 3: 12}) == {3: 12}
    assert counting_apart({}) == {}

"""Which ranges are steps, which of them the mean is over, and what is said of few. Times in nanoseconds."""

from collections.abc import Sequence

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import column
from mfu_operator.trace.account.steps import Steps, find_steps, in_counted, outermost, span, too_few
from tests.support.recording import Row, steps_of, trace_of


def found(
    *ranges: Row, step_range: str | None = None, process: int | None = None, processes: Sequence[int] = ()
) -> Steps:
    steps = find_steps(trace_of(ranges=ranges, processes=processes or (0,) * 10), step_range, process)
    assert steps is not None
    return steps


def named(name: str, starts: Sequence[int], length: int = 5, thread: int = 0) -> list[Row]:
    """Ranges of a name and their number."""
    return [(f"{name} {place}", start, start + length, thread) for place, start in enumerate(starts)]


TENS = (0, 10, 20, 30, 40, 50)


def test_a_step_lasts_until_the_next_and_the_last_until_its_own_end() -> None:
    steps = found(*named("step", TENS))
    assert (steps.start.tolist(), steps.end.tolist()) == ([0, 10, 20, 30, 40, 50], [10, 20, 30, 40, 50, 55])
    assert (steps.names[0], steps.names[5], steps.thread, steps.warnings) == ("step 0", "step 5", 0, ())


def test_ranges_in_any_order_are_taken_by_time() -> None:
    steps = found(*named("step", TENS, thread=3)[::-1])
    assert (steps.names[0], steps.names[5], steps.thread) == ("step 0", "step 5", 3)
    assert (steps.start[0], steps.end[-1]) == (0, 55)


def test_nothing_is_a_step_where_no_range_is() -> None:
    assert find_steps(trace_of(ranges=[("forward", 0, 10)])) is None
    assert find_steps(trace_of(ranges=[("step 1", 10, 10)])) is None
    assert find_steps(trace_of()) is None


def test_the_profilers_own_steps_go_before_all_others() -> None:
    steps = found(*named("iteration", range(0, 60, 5)), *named("ProfilerStep#", TENS), *named("batch", range(0, 60, 5)))
    assert steps.names[0] == "ProfilerStep# 0"
    assert found(*named("batch", range(0, 60, 5)), *named("global_step", TENS)).names[0] == "global_step 0"


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep#12",
        "step",
        "Step 5",
        "[step_3]",
        "train step 5/100",
        "epoch 2, iteration 7",
        "iter 3 of 9",
        "mini_batch 4",
        "[pl][profile]run_training_batch",
    ],
)
def test_steps_are_known_by_many_names(name: str) -> None:
    assert find_steps(trace_of(ranges=[(name, 0, 10)])) is not None


@pytest.mark.parametrize(
    "name", ["optimizer step", "stepwise", "step 5 of the plan", "batch_norm", "lr_scheduler.step"]
)
def test_names_that_only_hold_the_word_are_no_steps(name: str) -> None:
    assert find_steps(trace_of(ranges=[(name, 0, 10)])) is None


def test_a_given_name_is_taken_with_a_number_after_it_or_without() -> None:
    ranges = [*named("update", TENS), *named("step", TENS)]
    assert found(*ranges, step_range="update").names[0] == "update 0"
    assert found(("update", 0, 10), step_range="update").names == ("update",)
    assert found(("a+b #3", 0, 10), step_range="a+b").names == ("a+b #3",)
    with pytest.raises(Unreadable, match="no range is named 'other'") as refused:
        found(*ranges, step_range="other")
    assert refused.value.reason == "NoSuchRange"
    with pytest.raises(Unreadable):
        found(*named("updates", TENS), step_range="update")


def test_of_several_processes_the_one_that_is_asked_for_counts_as_long_as_it_has_steps() -> None:
    ranges = [*named("step", TENS), *named("step", range(5, 100, 10), thread=1)]
    assert found(*ranges, processes=(7, 8), process=7).thread == 0
    assert found(*ranges, processes=(7, 8), process=8).thread == 1
    assert found(*ranges, processes=(7, 8), process=9).thread == 1
    assert found(*ranges, processes=(7, 8)).thread == 1


@pytest.mark.parametrize(
    ("ranges", "first"),
    [
        # Five are enough; of those that are, the ones that cover most.
        ([*named("step", TENS, 9), *named("iteration", range(0, 60, 6), 4)], "step 0"),
        ([*named("step", TENS[:5], 9), *named("iteration", range(0, 60, 6), 4)], "step 0"),
        ([*named("step", TENS[:4], 9), *named("iteration", range(0, 60, 6), 1)], "iteration 0"),
        ([*named("step", TENS, 3, thread=1), *named("step", TENS, 9, thread=2)], "step 0"),
        ([*named("step", [0, 100], 90), *named("micro step", TENS, 1)], "step 0"),
    ],
)
def test_the_steps_are_those_of_one_thread_and_one_name_that_are_enough_and_cover_most(
    ranges: Sequence[Row], first: str
) -> None:
    steps = found(*ranges)
    assert steps.names[0] == first
    assert len({name.rstrip("0123456789") for name in steps.names}) == 1


def test_the_thread_that_covers_most_has_the_steps() -> None:
    assert found(*named("step", TENS, 3, thread=1), *named("step", TENS, 9, thread=2)).thread == 2
    assert found(*named("step", TENS, 9, thread=1), *named("step", TENS, 3, thread=2)).thread == 1


def test_ranges_within_another_are_left_out() -> None:
    rows: list[Row] = [("a", 0, 10), ("b", 2, 10), ("c", 0, 8), ("d", 10, 20), ("e", 15, 25), ("f", 16, 19)]
    assert outermost(trace_of(ranges=rows).ranges).start.tolist() == [0, 10, 15]
    assert outermost(trace_of(ranges=rows[::-1]).ranges).end.tolist() == [10, 20, 25]
    assert len(outermost(trace_of().ranges)) == 0


@pytest.mark.parametrize(
    ("count", "left_out", "interior", "counted", "alike"),
    [
        (1, (), [], [0], [0]),
        (2, (), [], [0, 1], [0, 1]),
        (3, (), [1], [1], [0, 1, 2]),
        (4, (), [1, 2], [1, 2], [0, 1, 2, 3]),
        (5, (), [1, 2, 3], [1, 2, 3], [1, 2, 3]),
        (5, (2,), [1, 2, 3], [1, 3], [0, 1, 3, 4]),
        (6, (2,), [1, 2, 3, 4], [1, 3, 4], [1, 3, 4]),
        (3, (1,), [1], [0, 1, 2], [0, 1, 2]),
    ],
)
def test_the_mean_is_over_interior_steps_that_are_like_the_others(
    count: int, left_out: tuple[int, ...], interior: Sequence[int], counted: Sequence[int], alike: Sequence[int]
) -> None:
    steps = steps_of(*range(count + 1), left_out=left_out)
    assert [index for index, inside in enumerate(steps.interior) if inside] == interior
    assert list(steps.counted) == counted
    assert list(steps.alike) == alike


BOTH = "so the mean includes the first and the last, which carry what belongs to their neighbours"
ALONE = "the first and the last carry what belongs to their neighbours, so"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, f"only 1 step recorded, {BOTH}"),
        (2, f"only 2 steps recorded, {BOTH}"),
        (3, f"only 3 steps recorded: {ALONE} the one between them speaks alone"),
        (4, f"only 4 steps recorded: {ALONE} the mean is over the 2 between them"),
        (5, None),
    ],
)
def test_a_warning_says_whose_mean_it_is_where_few_steps_were_recorded(count: int, said: str | None) -> None:
    assert too_few(count) == (() if said is None else (f"{said}; record at least five",))
    steps = found(*named("step", range(0, 10 * count, 10)))
    assert steps.warnings == too_few(count)


def test_a_recorded_span_is_one_window_that_says_so() -> None:
    steps = span(5, 25)
    assert (steps.names, steps.start.tolist(), steps.end.tolist(), steps.thread) == (("span",), [5], [25], None)
    assert "no step range was found" in steps.warnings[0]


STEPS = steps_of(0, 100, 200, 300, 400)


@pytest.mark.parametrize(
    ("at", "inside"),
    [(-1, False), (0, False), (99, False), (100, True), (299, True), (300, False), (400, False), (500, False)],
)
def test_an_event_counts_where_it_starts_in_a_counted_step(at: int, inside: bool) -> None:
    assert in_counted(column([at]), STEPS, STEPS.counted).tolist() == [inside]


def test_an_event_between_two_steps_is_in_none() -> None:
    apart = Steps(("a", "b"), column([0, 200]), column([100, 300]), 0)
    assert in_counted(column([99, 100, 150, 200]), apart, (0, 1)).tolist() == [True, False, False, True]

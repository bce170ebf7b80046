"""Steps where none are marked, steps that are unlike the others, and what a span begins with. Times in nanoseconds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.model.trace import NONE, Trace, column
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.account.windows import repetition
from mfu_operator.trace.account.windows.repetition import between_optimizer_steps, repeated
from mfu_operator.trace.account.windows.startup import Moment, longest_gaps, startup
from mfu_operator.trace.account.windows.uneven import without_uneven
from mfu_operator.trace.columns.parts import COMMUNICATION, H2D
from tests.support.recording import Op, Row, steps_of, trace_of

GEMM, ADAM, LAUNCH = "ampere_fp16_s16816gemm", "multi_tensor_apply_kernel<AdamFunctor>", "cudaLaunchKernel"
NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
STEP, ZERO = "Optimizer.step#Adam.step", "Optimizer.zero_grad#Adam.zero_grad"
MS = 1_000_000


def ops_every(names: Sequence[str], *, each: int = 10, stream: int = 7, first: int = 0, **more: Any) -> list[Op]:
    """Kernels one after the other, half busy."""
    return [
        Op(name, first + each * place, first + each * place + each // 2, stream=stream, **more)
        for place, name in enumerate(names)
    ]


LAYERS = ["a", "b", "c", "d", "e", "f"]


def found(trace: Trace) -> Steps | None:
    return repeated(trace, trace.ops)


def marked(name: str, starts: Sequence[int], thread: int = 0) -> list[Row]:
    return [(name, start, start + 2, thread) for start in starts]


@pytest.mark.parametrize(
    ("name", "told_by"), [(NEXT, "the loader's next batch"), (STEP, "the optimizer's step"), (ZERO, "zero_grad")]
)
def test_what_is_annotated_once_a_step_tells_steps_in_which_the_same_kernels_run(name: str, told_by: str) -> None:
    steps = found(trace_of(ops=ops_every(LAYERS * 4), ranges=marked(name, (0, 60, 120, 180), thread=3)))
    assert steps is not None
    assert (steps.start.tolist(), steps.end.tolist(), steps.thread) == ([0, 60, 120], [60, 120, 180], 3)
    assert steps.names == ("repetition 1", "repetition 2", "repetition 3")
    assert f"3 steps are distinguished by {told_by}" in steps.warnings[0]
    assert "only 3 steps recorded" in steps.warnings[1]


def test_the_best_mark_is_taken_that_repeats() -> None:
    ranges = [*marked(STEP, (50, 110, 170, 230)), *marked(NEXT, (0, 60, 120, 180))]
    steps = found(trace_of(ops=ops_every(LAYERS * 4), ranges=ranges))
    assert steps is not None and steps.start.tolist() == [0, 60, 120]
    ranges = [*marked(STEP, (50, 110, 170, 230)), *marked(NEXT, (0, 10, 20, 30))]
    steps = found(trace_of(ops=ops_every(LAYERS * 4), ranges=ranges))
    assert steps is not None and steps.start.tolist() == [50, 110, 170]


@pytest.mark.parametrize(("count", "enough"), [(3, False), (4, True)])
def test_three_repetitions_are_needed(count: int, enough: bool) -> None:
    trace = trace_of(ops=ops_every(LAYERS * count), ranges=marked(NEXT, range(0, 60 * count, 60)))
    assert (found(trace) is not None) is enough


def test_marks_are_those_of_the_thread_that_has_most() -> None:
    ranges = [
        *marked(NEXT, (0, 60, 120, 180), 2),
        *marked(NEXT, (5, 25, 45), 1),
        *marked("forward", range(0, 50, 5), 1),
    ]
    steps = found(trace_of(ops=ops_every(LAYERS * 4), ranges=ranges))
    assert steps is not None and (steps.start.tolist(), steps.thread) == ([0, 60, 120], 2)


def test_kernels_count_when_they_are_issued_where_that_is_known() -> None:
    """The device runs one step late; one kernel has no launch."""
    calls: list[Row] = [(LAUNCH, 10 * place, 10 * place + 1) for place in range(24)]
    ops = [replace(one, launch=place) for place, one in enumerate(ops_every(LAYERS * 4, first=65))]
    trace = trace_of(ops=ops, calls=calls, ranges=marked(NEXT, (0, 60, 120, 180, 240)))
    assert repetition._issued(trace, trace.ops).tolist() == [10 * place for place in range(24)]
    steps = found(trace)
    assert steps is not None and len(steps) == 4
    unknown = replace(trace.ops, launch=column([NONE, *range(1, 24)]))
    assert repetition._issued(trace, unknown).tolist()[:2] == [65, 10]
    assert repetition._issued(trace_of(ops=ops), trace.ops).tolist()[:2] == [65, 75]


def test_the_longest_run_of_like_windows_is_taken() -> None:
    kernels = [*LAYERS * 2, *"uvwxyz", *LAYERS * 4, *"uvwxyz"]
    steps = found(trace_of(ops=ops_every(kernels), ranges=marked(NEXT, range(0, 60 * 9, 60))))
    assert steps is not None
    assert (steps.start.tolist(), steps.end.tolist()) == ([180, 240, 300, 360], [240, 300, 360, 420])


@pytest.mark.parametrize(("others", "most"), [(18, True), (19, False)])
def test_repetitions_hold_half_of_all_kernels(others: int, most: bool) -> None:
    kernels = [*LAYERS * 3, *(f"other {place}" for place in range(others))]
    steps = found(trace_of(ops=ops_every(kernels), ranges=marked(NEXT, (0, 60, 120, 180))))
    assert (steps is not None) is most


@pytest.mark.parametrize(("kernels", "enough"), [(5, True), (4, False)])
def test_a_step_holds_five_kernels(kernels: int, enough: bool) -> None:
    trace = trace_of(ops=ops_every(LAYERS[:kernels] * 4), ranges=marked(NEXT, range(0, 40 * kernels, 10 * kernels)))
    assert (found(trace) is not None) is enough


def test_copies_are_no_kernels_and_collectives_are() -> None:
    copies = [Op(f"copy {place}", 10 * place, 10 * place + 1, H2D) for place in range(40)]
    ranges = marked(NEXT, (0, 60, 120, 180))
    assert found(trace_of(ops=[*ops_every(LAYERS * 4), *copies], ranges=ranges)) is not None
    assert found(trace_of(ops=ops_every(LAYERS * 4, part=H2D), ranges=ranges)) is None
    assert found(trace_of(ops=ops_every(LAYERS * 4, part=COMMUNICATION), ranges=ranges)) is not None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([5, 5], [5, 5], True),
        ([9, 0], [10, 0], True),
        ([8, 0], [10, 0], False),
        ([9], [9, 1], True),
        ([9, 2], [9], False),
        ([4], [4], False),
        ([5], [5], True),
        ([0, 9], [9, 0], False),
    ],
)
def test_two_windows_are_alike_where_nine_tenths_of_their_kernels_are_the_same(
    one: Sequence[int], other: Sequence[int], same: bool
) -> None:
    assert repetition._same(column(one), column(other)) is same


@pytest.mark.parametrize(
    ("bags", "run"),
    [
        ("", (0, 0)),
        ("a", (0, 1)),
        ("aab", (0, 2)),
        ("abb", (1, 3)),
        ("aabb", (0, 2)),
        ("abbba", (1, 4)),
        ("abcc", (2, 4)),
    ],
)
def test_the_longest_run_is_the_first_of_equally_long_ones(bags: str, run: tuple[int, int]) -> None:
    counts = [column([10 * (letter == each) for each in "abc"]) for letter in bags]
    assert repetition._longest_run(counts) == run


# The optimizer's kernels.

WHOLE = [*LAYERS, ADAM, ADAM]


def test_without_marks_the_optimizers_kernels_end_the_steps() -> None:
    steps = found(trace_of(ops=ops_every([*LAYERS, *WHOLE * 5])))
    assert steps is not None
    assert (steps.start.tolist(), steps.end.tolist()) == ([140, 220, 300, 380], [220, 300, 380, 455])
    assert (steps.thread, "the optimizer's kernels" in steps.warnings[0]) == (None, True)


def test_the_thread_of_the_steps_is_the_one_that_launches_the_optimizer_most() -> None:
    calls: list[Row] = [(LAUNCH, 0, 1, thread) for thread in (1, 2, 3)]
    names = WHOLE * 6
    launches = {ADAM: [1, 1, 0]}
    ops = [
        replace(one, launch=launches[ADAM][place % 3] if one.name == ADAM else 2)
        for place, one in enumerate(ops_every(names))
    ]
    trace = trace_of(ops=ops, calls=calls)
    steps = found(trace)
    assert steps is not None and steps.thread == 2
    assert repetition._launching_thread(trace, column([NONE, NONE, NONE, 0])) == 1
    assert repetition._launching_thread(trace, column([NONE])) is None


def cuts(*names: str, stream: int = 7, beside: Sequence[Op] = ()) -> list[int]:
    trace = trace_of(ops=[*ops_every(names, stream=stream), *beside])
    return [int(one) for one in repetition._after_optimizer(trace.ops, repetition._optimizer(trace, trace.ops))]


def test_each_run_of_the_optimizers_kernels_ends_a_step() -> None:
    assert cuts(*WHOLE * 3) == [80, 160, 235]
    assert cuts(*WHOLE * 3, "x") == [80, 160, 240]
    # Between kernels of one run lie fewer than half as many as between two runs.
    assert cuts(*([*LAYERS, "b", ADAM, "a", "b", "c", ADAM] * 3)) == [120, 240, 355]
    assert cuts(*([*LAYERS, ADAM, "a", "b", "c", ADAM] * 3)) == [70, 110, 180, 220, 290, 325]


@pytest.mark.parametrize(("between", "told"), [(5, True), (4, False)])
def test_more_than_five_places_lie_between_two_runs(between: int, told: bool) -> None:
    assert bool(cuts(*([*LAYERS[:between], ADAM] * 3))) is told


def test_without_an_optimizer_or_a_kernel_nothing_is_cut() -> None:
    assert cuts(*LAYERS * 3) == []
    assert cuts(ADAM) == []
    trace = trace_of(ops=[Op("copy", 0, 1, H2D)])
    assert repetition._after_optimizer(trace.ops, repetition._optimizer(trace, trace.ops)).tolist() == []


def test_the_stream_that_computes_most_is_looked_at() -> None:
    beside = [Op("y", 83, 84, stream=1), Op(ADAM, 84, 85, stream=9), Op("copy", 1, 2, H2D, stream=20)]
    beside += [Op("copy", 1, 2, H2D, stream=20)] * 40
    assert cuts(*WHOLE * 3, beside=beside)[:2] == [80, 160]
    assert cuts(*WHOLE * 3, "x", beside=[Op("y", 900, 950, stream=1)])[-1] == 240


def test_a_kernel_of_communication_is_none_of_the_optimizers() -> None:
    trace = trace_of(ops=[Op(ADAM, 0, 1), Op(ADAM, 2, 3, COMMUNICATION), Op(GEMM, 4, 5)])
    assert repetition._optimizer(trace, trace.ops).tolist() == [True, False, False]


def test_the_optimizers_steps_part_a_loop_without_kernels() -> None:
    steps = between_optimizer_steps(trace_of(ranges=marked(STEP, (5, 25, 45, 65), thread=2)))
    assert steps is not None
    assert (steps.start.tolist(), steps.end.tolist(), steps.thread) == ([5, 25, 45], [25, 45, 65], 2)
    assert (steps.names[0], len(steps.names), len(steps.warnings)) == ("repetition 1", 3, 2)
    assert "3 steps are distinguished by the optimizer's step" in steps.warnings[0]
    assert between_optimizer_steps(trace_of(ranges=marked(STEP, (5, 25, 45)))) is None
    assert between_optimizer_steps(trace_of(ranges=marked(NEXT, (5, 25, 45, 65)))) is None


# Steps that are unlike the others.


def uneven(*lengths: int, ranges: Sequence[Row] = (), unit: int = MS) -> Steps:
    edges = [sum(lengths[:place]) * unit for place in range(len(lengths) + 1)]
    return without_uneven(trace_of(ranges=ranges), steps_of(*edges))


@pytest.mark.parametrize(
    ("lengths", "left_out"),
    [
        ((10, 10, 10, 10, 10), ()),
        ((10, 10, 20, 10, 10, 10), ()),
        ((10, 10, 21, 10, 10, 10), (2,)),
        ((10, 10, 5, 10, 10, 10), ()),
        ((10, 10, 4, 10, 10, 10), (2,)),
        # The first and the last are in no mean anyway; they are among the others only where these are few.
        ((99, 10, 10, 10, 99), ()),
        ((10, 10, 25, 10), ()),
        ((10, 10, 10, 25, 10, 10, 4, 10, 10), (3, 6)),
        # A third at most, else all of them are uneven.
        ((10, 10, 25, 10, 10), (2,)),
        ((10, 10, 30, 10, 4, 10), ()),
        ((10,), ()),
        ((10, 30), ()),
        ((10, 30, 10), ()),
    ],
)
def test_a_step_twice_as_long_or_half_as_long_as_the_others_median_is_left_out(
    lengths: Sequence[int], left_out: tuple[int, ...]
) -> None:
    assert uneven(*lengths).left_out == left_out


def test_what_is_left_out_is_named_beside_the_usual_length() -> None:
    said = uneven(10, 10, 25, 11, 12, 10).warnings
    assert said == (
        "left out of the mean, more than twice as long or short as the median of the others (11.0 ms): step 2 (25.0 ms)",  # noqa: E501
    )
    assert uneven(10, 10, 10, 10, 10).warnings == ()


def test_where_more_than_a_third_differ_that_is_said_and_nothing_left_out() -> None:
    steps = uneven(10, 10, 30, 10, 4, 10)
    said = (
        "steps differ more than twofold: step 2 (30.0 ms), step 4 (4 ms), the others 10.0 ms; "
        "the mean is over all of them"
    )
    assert (steps.left_out, steps.warnings) == ((), (said,))
    few = uneven(10, 10, 25, 10)
    assert "steps differ more than twofold: step 2 (25.0 ms), the others 10.0 ms" in few.warnings[0]


def test_warnings_that_were_there_stay() -> None:
    steps = replace(steps_of(0, 10, 20, 45, 55, 65, 75), warnings=("few",))
    assert without_uneven(trace_of(), steps).warnings[0] == "few"
    several = replace(steps_of(0, 10, 20, 45, 55, 59, 75), warnings=("few",))
    assert without_uneven(trace_of(), several).warnings[0] == "few"


def test_a_step_that_waits_for_input_or_compiles_is_judged_by_the_rest_of_it() -> None:
    wait: list[Row] = [("data", 20 * MS, 32 * MS)]
    assert uneven(10, 10, 22, 10, 10, 10, ranges=wait).left_out == ()
    assert uneven(10, 10, 22, 10, 10, 10, ranges=[("compile_fx", 20 * MS, 32 * MS)]).left_out == ()
    assert uneven(10, 10, 22, 10, 10, 10).left_out == (2,)
    assert uneven(10, 10, 34, 10, 10, 10, ranges=wait).left_out == (2,)


@pytest.mark.parametrize(("wait_ms", "left_out"), [(4.9, (4,)), (5.0, ())])
def test_after_a_long_wait_steps_may_be_short(wait_ms: float, left_out: tuple[int, ...]) -> None:
    """The device works off what was queued."""
    wait: list[Row] = [("data", 20 * MS, 20 * MS + round(wait_ms * MS))]
    assert uneven(10, 10, 14, 10, 4, 10, 10, ranges=wait).left_out == left_out


# What a span begins with.


def began(ops: Sequence[Op], calls: Sequence[Row] = ()) -> Any:
    trace = trace_of(ops=ops, calls=calls)
    return startup(trace, trace.ops)


def test_a_start_up_lasts_until_the_first_matrix_kernel() -> None:
    copies = [Op("memcpy", 20, 30, H2D), Op("memcpy", 25, 40, H2D), Op("memcpy", 200, 300, H2D)]
    calls: list[Row] = [
        ("cudaMalloc", 5, 12),
        (LAUNCH, 100, 140),
        ("cuModuleLoadData", 400, 450),
        ("cudaFree", 400, 480),
    ]
    found = began([*copies, Op("add", 50, 60), Op(GEMM, 110, 120, launch=1)], calls)
    assert (found.ns, found.copies_ns) == (105, 20)
    assert found.calls == (
        Moment("cuModuleLoadData", 50, 400), Moment(LAUNCH, 40, 100), Moment("2 copies to the device", 20, 20),
        Moment("cudaMalloc", 7, 5),
    )  # fmt: skip


def test_without_calls_or_copies_a_start_up_begins_with_the_first_operation() -> None:
    found = began([Op("add", 50, 60), Op(GEMM, 110, 120), Op("x", 130, 140, H2D)])
    assert (found.ns, found.copies_ns, found.calls) == (60, 0, ())
    assert began([Op("add", 50, 60)]) is None
    assert began([Op(GEMM, 50, 60, COMMUNICATION)]) is None
    late = began([Op(GEMM, 110, 120, launch=0)], [(LAUNCH, 300, 310)])
    assert (late.ns, late.calls) == (0, ())


def test_a_start_up_names_the_five_longest_calls() -> None:
    calls: list[Row] = [(f"call {place}", place, 2 * place + 1) for place in range(8)]
    found = began([Op(GEMM, 110, 120, launch=0)], calls)
    assert [one.name for one in found.calls] == ["call 7", "call 6", "call 5", "call 4", "call 3"]


def test_the_three_longest_gaps_are_told_the_longest_first() -> None:
    trace = trace_of(ops=[Op("k", start, start + 10) for start in (0, 20, 50, 100, 115)])
    assert longest_gaps(trace, trace.ops, 0, 200) == (
        Moment(None, 75, 125), Moment(None, 40, 60), Moment(None, 20, 30),
    )  # fmt: skip
    assert longest_gaps(trace, trace.ops, 5, 55) == (Moment(None, 20, 30), Moment(None, 10, 10))
    assert longest_gaps(trace, trace.ops, 100, 110) == ()
    assert longest_gaps(trace, trace.ops, -10, 5) == (Moment(None, 10, -10),)


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        ({"calls": [("sync", 10, 20)]}, "sync"),
        ({"calls": [("sync", 10, 14)]}, None),
        ({"calls": [("sync", 10, 15)]}, "sync"),
        ({"calls": [("sync", 0, 12)]}, None),
        # What ran for half of it, the shortest such.
        ({"calls": [("sync", 0, 90)], "host_ops": [("aten::item", 8, 22)], "ranges": [("step", 0, 100)]}, "aten::item"),
        ({"ranges": [("step", 0, 100)]}, "step"),
    ],
)
def test_a_gap_is_named_by_the_shortest_that_ran_for_half_of_it(recorded: dict[str, Any], name: str | None) -> None:
    trace = trace_of(ops=[Op("k", 0, 10), Op("k", 20, 30)], **recorded)
    assert longest_gaps(trace, trace.ops, 0, 30) == (Moment(name, 10, 10),)

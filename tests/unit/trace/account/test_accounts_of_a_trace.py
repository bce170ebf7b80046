"""From a trace to the accounts of its devices, or of its training thread: what is told, and what is warned of."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.trace import NONE, Trace, column
from mfu_operator.trace.account import accounts as room
from mfu_operator.trace.account.accounts import DeviceAccount, accounts, warnings_of
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.parts import COMMUNICATION, H2D
from tests.support.recording import Message, Op, Row, steps_of, trace_of

GEMM, ADD, LAUNCH = "ampere_fp16_s16816gemm", "elementwise_add", "cudaLaunchKernel"
MS = 1_000_000


def looped(lengths_ms: Sequence[float] = (10,) * 6, device: int = 0, **more: Any) -> Trace:
    """Steps of these lengths on thread 0, each with a launch at its start and a kernel for half of it."""
    starts = [round(sum(lengths_ms[:place]) * MS) for place in range(len(lengths_ms) + 1)]
    calls: list[Row] = [(LAUNCH, begin, begin + 1_000) for begin in starts[:-1]]
    ops = [
        Op(GEMM, begin + 2_000, begin + 2_000 + (end - begin) // 2, launch=place, device=device)
        for place, (begin, end) in enumerate(pairwise(starts))
    ]
    ranges: list[Row] = [(f"step {place}", *pair) for place, pair in enumerate(pairwise(starts))]
    recorded = {"calls": calls, "ranges": ranges, "ops": ops}
    for name, rows in more.items():
        recorded[name] = [*recorded.get(name, []), *rows] if name in recorded else rows  # type: ignore[misc]
    return trace_of(**recorded)  # type: ignore[arg-type]


def only(trace: Trace) -> DeviceAccount:
    (found,) = accounts(trace)
    return found


def named(found: DeviceAccount) -> dict[str, float | str]:
    return dict(found.mean.facts.named)


def test_each_device_has_its_account_with_its_name() -> None:
    other = [Op(GEMM, 10 * MS * place + 3_000, 10 * MS * place + 5 * MS, device=1) for place in range(6)]
    trace = replace(looped(ops=other), gpus={0: "H100", 1: "H200"})
    found = accounts(trace)
    assert [(one.device, one.mean.gpu, one.mean.account_from) for one in found] == [
        (0, "H100", "gpu"),
        (1, "H200", "gpu"),
    ]
    assert found[0].mean.count == 4
    assert found[0].mean.parts_ns["compute"] == 5.0 * MS
    assert found[1].mean.parts_ns["compute"] == 5.0 * MS - 3_000


@pytest.mark.parametrize(("busy_ns", "stray"), [(299_999, True), (300_000, False)])
def test_a_device_that_is_busy_for_less_than_a_hundredth_of_the_busiest_is_left_out(busy_ns: int, stray: bool) -> None:
    found = accounts(looped(ops=[Op("spin", 3_000, 3_000 + busy_ns, device=1)]))
    said = "device 1 was busy for 0.3 ms in all: it is left out of the means and of the diagnosis"
    assert [one.mean.facts.number(facts.STRAY_DEVICE) for one in found] == [None, 1.0 if stray else None]
    assert (said in found[1].mean.warnings) is stray
    assert len(found[1].mean.warnings) > 1 or not stray


def test_communication_in_all_and_kernels_are_of_the_counted_steps() -> None:
    ops = [Op("ncclDevKernel_AllReduce", 11 * MS, 13 * MS, COMMUNICATION, message=0)]
    trace = looped(ops=ops, messages=[Message(size=8)])
    found = only(trace)
    assert found.mean.communication_total_ns == 0.5 * MS
    assert {one.name: one.calls for one in found.mean.kernels} == {GEMM: 1.0, "ncclDevKernel_AllReduce": 0.25}
    assert found.mean.tensor_core_ns["eligible"] == 5.0 * MS
    assert named(found)["messageBytes"] == 2.0
    assert found.collectives is not None and len(found.collectives) == 1
    assert found.startup is None


def test_a_hundred_kernels_are_kept() -> None:
    ops = [Op(f"k{place}", 12 * MS + place, 12 * MS + place + 1) for place in range(120)]
    assert len(only(looped(ops=ops)).mean.kernels) == 100


def test_where_no_kernel_was_recorded_idle_time_is_unknown() -> None:
    trace = looped()
    copies = replace(trace, ops=replace(trace.ops, part=column([H2D] * 6)))
    found = only(copies)
    assert (found.mean.parts_ns["h2d"], found.mean.parts_ns["idleUnknown"]) == (5.0 * MS, 5.0 * MS)
    assert named(found)["kernelsLost"] == 1.0
    assert only(trace).mean.parts_ns["idleUnknown"] == 0.0


def unmarked(trace: Trace) -> Trace:
    return replace(trace, ranges=trace.ranges.where(column([0] * len(trace.ranges)).astype(bool)))


def test_without_steps_the_recorded_span_is_accounted_with_its_start_up() -> None:
    copy = Op("memcpy", 500, 1_500, H2D)
    trace = unmarked(looped((10,) * 2, ops=[copy]))
    found = only(trace)
    assert (found.steps.names, found.steps.start.tolist(), found.steps.end.tolist()) == (
        ("span",),
        [500],
        [15 * MS + 2_000],
    )
    observed = named(found)
    assert (observed["wholeSteps"], observed["startupNs"], observed["startupCopiesNs"]) == (0.0, 2_000.0, 1_000.0)
    assert found.startup is not None
    assert [gap.ns for gap in found.gaps] == [5 * MS, 500]


def test_steps_that_are_not_marked_are_told_by_what_repeats() -> None:
    ops = [Op(f"k{place % 6}", 10 * place, 10 * place + 5) for place in range(24)]
    marks: list[Row] = [("Optimizer.step#Adam.step", start, start + 2) for start in (0, 60, 120, 180)]
    found = only(trace_of(ops=ops, ranges=marks))
    assert (found.steps.names[0], found.mean.count, found.startup) == ("repetition 1", 1, None)


def test_a_span_without_a_matrix_kernel_has_no_start_up() -> None:
    found = only(trace_of(ops=[Op(ADD, 0, 10), Op(ADD, 30, 40)]))
    assert (named(found)["wholeSteps"], "startupNs" in named(found)) == (0.0, False)
    assert "wholeSteps" not in named(only(looped()))


def test_the_longest_gaps_are_those_of_the_steps() -> None:
    found = only(looped())
    assert found.gaps[0].ns == 5 * MS
    assert all(0 <= gap.at_ns < 60 * MS for gap in found.gaps)


def test_the_steps_are_those_of_the_process_that_launches_most() -> None:
    trace = looped()
    ranges: list[Row] = [(f"step {place}", 8 * MS * place, 8 * MS * (place + 1), 1) for place in range(8)]
    both = trace_of(
        ops=[Op(GEMM, 5 * MS * place, 5 * MS * place + 9, launch=place % 3) for place in range(12)],
        calls=[(LAUNCH, 0, 1, 0), (LAUNCH, 0, 1, 0), (LAUNCH, 0, 1, 1)],
        ranges=[*ranges, *((f"step {place}", 10 * MS * place, 10 * MS * (place + 1), 0) for place in range(6))],
        processes=(4, 5),
    )
    assert len(only(both).steps) == 6
    assert room._launching_process(both, both.ops) == 4
    unlaunched = replace(trace.ops, launch=column([NONE] * 6))
    assert room._launching_process(trace, unlaunched) is None


# Without a device.

RANGES: list[Row] = [("forward", 10 * place, 10 * place + 6) for place in range(6)]
HOST_STEPS: list[Row] = [(f"step {place}", 10 * place, 10 * place + 10) for place in range(6)]


def test_without_device_activity_the_account_is_of_the_training_threads_ranges() -> None:
    ranges = [*HOST_STEPS, *RANGES, *(("gloo:all_reduce", 10 * place + 6, 10 * place + 9) for place in range(6))]
    found = only(trace_of(ranges=ranges))
    assert (found.device, found.mean.account_from, found.mean.count) == (None, "nvtx", 4)
    assert (found.mean.parts_ns["compute"], found.mean.parts_ns["communication"]) == (6.0, 3.0)
    assert found.mean.communication_total_ns == 3.0
    assert found.mean.ranges_ns["forward"] == 6.0
    assert found.mean.warnings == ("no device activity was recorded: the account is of host ranges",)
    assert found.collectives is not None and found.collectives.on_host


@pytest.mark.parametrize(
    ("recorded", "lost", "said"),
    [
        ({"unread": "2 events of a TPU"}, "2 events of a TPU", "2 events of a TPU are left out"),
        ({"device_expected": True, "calls": [(LAUNCH, 3, 5)]}, 1.0, room.DEVICE_LOST),
        ({"ranges": [("nccl:all_reduce", 3, 5)]}, 1.0, room.DEVICE_LOST),
    ],
)
def test_where_a_device_was_used_and_cannot_be_read_all_is_unknown(
    recorded: dict[str, Any], lost: float | str, said: str
) -> None:
    found = only(trace_of(**{**recorded, "ranges": [*HOST_STEPS, *recorded.get("ranges", [])]}))
    assert (found.device, found.mean.account_from) == (None, "gpu")
    assert found.parts.sum(axis=1).tolist() == found.parts[:, 11].tolist() == [10] * 6
    assert found.mean.parts_ns["idleUnknown"] == 10.0
    assert (named(found)["deviceLost"], found.mean.warnings) == (lost, (said,))


def test_calls_of_a_device_alone_are_a_span_of_which_nothing_is_known() -> None:
    calls: list[Row] = [(LAUNCH, 20, 30), (LAUNCH, 5, 90)]
    found = only(trace_of(calls=calls, device_expected=True))
    assert (found.steps.start.tolist(), found.steps.end.tolist(), named(found)["deviceLost"]) == ([5], [90], 1.0)
    for nothing in (trace_of(calls=calls), trace_of(device_expected=True)):
        with pytest.raises(Unreadable):
            accounts(nothing)


def test_the_optimizers_steps_tell_the_training_threads_steps_apart() -> None:
    ranges: list[Row] = [("Optimizer.step#Adam.step", 10 * place, 10 * place + 2) for place in range(7)]
    assert len(only(trace_of(ranges=ranges)).steps) == 6


def test_an_uneven_step_is_left_out_of_the_mean() -> None:
    assert only(looped((10, 10, 10, 40, 10, 10, 10))).steps.left_out == (3,)
    lengths = [0, 10, 20, 30, 70, 80, 90, 100]
    rows: list[Row] = [(f"step {place}", *pair) for place, pair in enumerate(pairwise(lengths))]
    assert only(trace_of(ranges=rows)).steps.left_out == (3,)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ({"unread": "events of a TPU"}, "t: events of a TPU, and no step ranges; what can be read is of CUDA"),
        (
            {"warnings": ("clock", "2 events have impossible times and are left out")},
            "t: 2 events have impossible times and are left out, and nothing is left to account for; record it again",
        ),
        ({}, "t: neither device activity nor step ranges; record with torch.profiler"),
        (
            {"format": "nsys-sqlite", "warnings": ("clock",)},
            "t: neither device activity nor step ranges; record with --trace",
        ),
    ],
)
def test_a_trace_of_nothing_is_refused_with_what_to_do(recorded: dict[str, Any], said: str) -> None:
    with pytest.raises(Unreadable) as refused:
        accounts(trace_of(**recorded))
    assert refused.value.reason == "NothingRecorded"
    assert str(refused.value).startswith(said)


# What is told of the mean step.


def test_the_spread_is_that_of_the_counted_steps_or_of_the_middle_of_few() -> None:
    many = only(looped((10, 10, 12, 14, 10)))
    assert many.mean.std_ns == pytest.approx(2.0 * MS)
    assert "spreadSteps" not in named(many)
    few = only(looped((10, 11, 13, 10)))
    assert few.mean.std_ns == pytest.approx(1.4826 * 0.5 * MS)
    assert named(few)["spreadSteps"] == 4.0
    assert named(few)["computeStdNs"] == pytest.approx(1.4826 * 0.25 * MS)
    alone = only(trace_of(ops=[Op(ADD, 0, 10)]))
    assert alone.mean.std_ns == 0.0


def test_the_spread_of_ones_own_time_is_without_exposed_communication() -> None:
    """Steps of 10, 10, 12 ms, of which the last exposes 2 ms more."""
    exchange = [
        Op("ncclDevKernel_AllReduce", begin * MS, (begin + longer) * MS, COMMUNICATION)
        for begin, longer in ((18, 1), (28, 1), (38, 3))
    ]
    observed = named(only(looped((10, 10, 10, 12, 10), ops=exchange)))
    assert observed["restStdNs"] == pytest.approx(2 / 3**0.5 * MS)
    assert observed["communicationStdNs"] == pytest.approx(2 / 3**0.5 * MS)
    assert observed["ownStdNs"] == 0.0


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([0, 0, 0, 0], [10, 10, 13, 10]),
        ([0, 0, 9, 0], [10, 10, 10]),
        ([1, 1, 2, 1], [9, 9, 11, 9]),
        # Too few are left where waits stand out in most.
        ([0, 9, 9, 0], [10, 1, 4, 10]),
    ],
)
def test_the_rest_is_what_is_neither_input_nor_compiling_over_steps_in_which_they_do_not_stand_out(
    known: Sequence[int], expected: Sequence[int]
) -> None:
    seen: list[list[int]] = []

    def spread(lengths: Any) -> float:
        seen.append(lengths.tolist())
        return 7.0

    assert room._rest_spread(column([10, 10, 13, 10]), column(known), spread) == 7.0
    assert seen == [list(expected)]


def test_a_spread_has_two_values_and_a_robust_one_forgives_an_outlier() -> None:
    assert room._spread(column([5])) == 0.0
    assert room._spread(column([5, 7])) == pytest.approx(2**0.5)
    assert room._robust_spread(column([10, 11, 12, 999])) == pytest.approx(1.4826)


def test_compiling_is_known_of_a_step() -> None:
    """A step of 12 ms among those of 10, of which 2 ms are a compiler's."""
    compiling: list[Row] = [("compile_fx", 11 * MS, 13 * MS)]
    plain, compiled = (named(only(looped((10, 12, 10, 10, 10), ranges=rows))) for rows in ([], compiling))
    assert plain["restStdNs"] == pytest.approx(2 / 3**0.5 * MS)
    assert compiled["restStdNs"] == 0.0


def test_what_must_be_equal_is_told_as_far_as_it_is_known() -> None:
    assert not {"producer", "worldSize", "batchSize"} & named(only(looped())).keys()
    trace = replace(
        looped(batches=[(11 * MS, 0, 32)]), producer="nsys 2025.3", world_size=8, settings={facts.PROFILER_STACKS: 1.0}
    )
    observed = named(only(trace))
    assert [observed[name] for name in ("producer", "worldSize", "batchSize", "profilerStacks")] == [
        "nsys",
        8.0,
        32.0,
        1.0,
    ]


def test_warnings_are_those_of_the_trace_then_of_the_steps_then_of_the_operations() -> None:
    trace = replace(looped((10,) * 4), warnings=("clock",))
    lost = replace(trace, ops=replace(trace.ops, launch=column([NONE] * 4), graph=column([1] * 4)))
    said = only(lost).mean.warnings
    assert [one.split()[0] for one in said] == ["clock", "only", "4", "CUDA"]


@pytest.mark.parametrize(("hidden", "warned"), [(0, False), (1, False), (2, True), (20, True)])
def test_operations_without_a_launch_are_warned_of_beyond_a_twentieth(hidden: int, warned: bool) -> None:
    ops = trace_of(ops=[Op(ADD, 0, 1, launch=NONE if place < hidden else 0) for place in range(20)]).ops
    expected = f"{hidden} of 20 device operations have no launch call: the idle time before them is unknown"
    assert warnings_of(ops) == ((expected,) if warned else ())


def test_a_steps_facts_hold_its_inputs_and_its_blocked_time() -> None:
    trace = looped(
        ranges=[("data", 11 * MS, 12 * MS), ("gloo:all_reduce", 21 * MS, 23 * MS)],
        os_calls=[("recv", 11 * MS, 12 * MS)],
    )
    observed = named(only(trace))
    assert (observed["inputRangeNs"], observed["hostBlockedNs"], observed["hostCollectiveNs"]) == (
        0.25 * MS,
        0.25 * MS,
        0.5 * MS,
    )
    assert observed["analysis"] == 6.0
    assert steps_of(0, 1).left_out == Steps(("a",), column([0]), column([1]), 0).left_out

"""Which collectives a rank took part in, when it issued them, what they do, of which group, and what they carry."""

from collections.abc import Sequence

import pytest

from mfu_operator.model import facts
from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.account.collectives import (
    Collectives,
    collectives,
    host_collectives,
    issue_times,
    kinds_of,
    message_facts,
    messages_of,
)
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.parts import COMMUNICATION
from mfu_operator.trace.names.collectives import POINT_TO_POINT, SEND_RECEIVE
from tests.support.recording import Message, Op, Row, collectives_of, steps_of, trace_of

REDUCE, SEND = "ncclDevKernel_AllReduce_Sum(int)", "ncclDevKernel_SendRecv(int)"
LAUNCH = "cudaLaunchKernel"
STEPS = steps_of(0, 100, 200, 300)


def launched(name: str, start: int, launch: int = NONE, stream: int = 7, message: int = NONE, length: int = 10) -> Op:
    return Op(name, start, start + length, COMMUNICATION, launch, stream=stream, message=message)


def every(rows: Sequence[Op]) -> Ints:
    return column(range(len(rows)))


def test_rows_are_chosen_by_flags_or_by_their_numbers() -> None:
    whole = collectives_of(
        (0, 1), (2, 3), (4, 5), kinds=("a", "b", "c"), groups=("x", None, "y"), sizes=(1, 2, 3), step=(0, 1, NONE),
        step_names=("s", "t"), counted=(1,), on_host=True,
    )  # fmt: skip
    last = collectives_of(
        (4, 5), kinds=("c",), groups=("y",), sizes=(3,), step=(NONE,), step_names=("s", "t"), counted=(1,), on_host=True
    )
    for chosen in (whole.where(column([2])), whole.where(column([0, 0, 1]).astype(bool))):
        assert_same(chosen, last)
    assert whole.in_counted().tolist() == [False, True, False]


def assert_same(found: Collectives, expected: Collectives) -> None:
    for name in Collectives.__slots__:
        own, other = getattr(found, name), getattr(expected, name)
        assert (own.tolist() if hasattr(own, "tolist") else own) == (
            other.tolist() if hasattr(other, "tolist") else other
        )


def test_a_devices_collectives_stand_in_the_order_of_issue_in_the_step_that_issued_them() -> None:
    calls: list[Row] = [(LAUNCH, 150, 151), (LAUNCH, 90, 91)]
    ops = [launched(REDUCE, 160, 0, stream=7), launched(REDUCE, 170, 1, stream=8), Op("gemm", 0, 5)]
    trace = trace_of(ops=ops, calls=calls)
    found = collectives(trace, trace.ops, STEPS)
    assert_same(
        found,
        collectives_of((170, 180), (160, 170), step=(0, 1), step_names=STEPS.names, counted=(1,)),
    )


@pytest.mark.parametrize(("at", "step"), [(-1, NONE), (0, 0), (99, 0), (100, 1), (299, 2), (300, NONE)])
def test_a_collective_is_of_the_step_that_issued_it(at: int, step: int) -> None:
    trace = trace_of(ops=[launched(REDUCE, at)])
    assert collectives(trace, trace.ops, STEPS).step.tolist() == [step]


def test_a_collective_that_was_issued_between_two_steps_is_of_none() -> None:
    apart = Steps(("a", "b"), column([0, 200]), column([100, 300]), 0)
    trace = trace_of(ops=[launched(REDUCE, at) for at in (99, 100, 150, 200)])
    assert collectives(trace, trace.ops, apart).step.tolist() == [0, NONE, NONE, 1]


def test_transfers_between_two_ranks_are_none_of_them() -> None:
    ops = [launched("ncclSendKernel", 10), launched(REDUCE, 30)]
    trace = trace_of(ops=ops)
    assert collectives(trace, trace.ops, STEPS).start.tolist() == [30]


def test_one_without_a_launch_was_issued_before_all_that_follow_it_on_its_stream() -> None:
    ops = [
        launched(REDUCE, 500, 0), launched(REDUCE, 510), launched(REDUCE, 520, 1), launched(REDUCE, 505, stream=9),
        launched(REDUCE, 530), launched(REDUCE, 508, 2, stream=11),
    ]  # fmt: skip
    trace = trace_of(ops=ops, calls=[(LAUNCH, 100, 101), (LAUNCH, 120, 121), (LAUNCH, 90, 91)])
    assert issue_times(trace, trace.ops, every(ops)).tolist() == [100, 120, 120, 505, 530, 90]
    assert issue_times(trace, trace.ops, column([2, 0])).tolist() == [120, 100]
    turned = trace_of(ops=ops[::-1], calls=[(LAUNCH, 100, 101), (LAUNCH, 120, 121), (LAUNCH, 90, 91)])
    assert issue_times(turned, turned.ops, every(ops)).tolist() == [90, 530, 505, 120, 120, 100]


def test_what_an_operation_says_itself_goes_before_what_stands_around_its_launch() -> None:
    messages = [Message(90, 110, 1, size=1), Message(90, 110, 2, size=2), Message(size=3)]
    ops = [
        launched(REDUCE, 500, 0),
        launched(REDUCE, 510, 0, message=2),
        launched(REDUCE, 520),
        launched(REDUCE, 530, 1),
    ]
    calls: list[Row] = [(LAUNCH, 100, 101, 1), (LAUNCH, 150, 151, 1)]
    trace = trace_of(ops=ops, calls=calls, messages=messages)
    assert messages_of(trace, trace.ops, every(ops)).tolist() == [0, 2, NONE, NONE]
    silent = trace_of(ops=ops[:1], calls=calls)
    assert messages_of(silent, silent.ops, column([0])).tolist() == [NONE]


def kinds(ops: Sequence[Op], messages: Sequence[Message] = (), ranges: Sequence[Row] = ()) -> tuple[str, ...]:
    calls: list[Row] = [(LAUNCH, 100, 101, 1), (LAUNCH, 200, 201, 1)]
    trace = trace_of(ops=ops, calls=calls, messages=messages, ranges=ranges)
    return kinds_of(trace, trace.ops, every(ops), messages_of(trace, trace.ops, every(ops)))


def test_a_collective_is_known_by_its_message_then_by_the_range_then_by_its_name() -> None:
    message = Message(90, 110, 1, kind="allgather")
    ranges: list[Row] = [("nccl:all_to_all", 80, 120, 1), ("forward", 95, 105, 1)]
    assert kinds([launched(SEND, 500, 0)], [message], ranges) == ("all_gather",)
    assert kinds([launched(SEND, 500, 0)], [Message(90, 110, 1)], ranges) == ("all_to_all",)
    assert kinds([launched(SEND, 500, 0)], [Message(90, 110, 1, kind="wait")], ranges) == ("all_to_all",)
    assert kinds([launched(REDUCE, 500, 0)], (), [("forward", 95, 105, 1)]) == ("all_reduce",)
    assert kinds([launched(REDUCE, 500)], (), ranges) == ("all_reduce",)
    assert kinds([launched("myCustomExchange(int)", 500)]) == ("myCustomExchange",)
    assert kinds([launched(REDUCE, 500, 1)], (), ranges) == ("all_reduce",)


def test_ranges_are_looked_at_for_those_that_were_launched_in_one() -> None:
    ranges: list[Row] = [("nccl:all_to_all", 80, 120, 1), ("nccl:send", 190, 210, 1), ("nccl:all_gather", 190, 210, 2)]
    ops = [launched(SEND, 500, 1), launched(SEND, 510), launched(SEND, 520, 0)]
    assert kinds(ops, (), ranges) == (POINT_TO_POINT, SEND_RECEIVE, "all_to_all")


def test_sends_that_were_seen_for_one_purpose_only_have_it_where_none_was_recorded() -> None:
    ranges: list[Row] = [("nccl:all_to_all", 80, 120, 1)]
    assert kinds([launched(SEND, 500, 0), launched(SEND, 510)], (), ranges) == ("all_to_all", "all_to_all")
    assert kinds([launched(SEND, 500), launched(REDUCE, 510)]) == (SEND_RECEIVE, "all_reduce")
    assert kinds([launched(REDUCE, 500, 0), launched(SEND, 510)], (), ranges) == ("all_to_all", SEND_RECEIVE)


def grouped(*ops: tuple[int, str | None]) -> tuple[str | None, ...]:
    """The groups of operations by (stream, what each one says of its group)."""
    messages = [Message(group=group) for _, group in ops]
    rows = [launched(REDUCE, 10 * place, stream=stream, message=place) for place, (stream, _) in enumerate(ops)]
    trace = trace_of(ops=rows, messages=messages)
    return collectives(trace, trace.ops, STEPS).group


def test_a_group_that_was_not_recorded_is_that_of_all_others_on_the_stream() -> None:
    assert grouped((7, "x"), (7, None), (8, None)) == ("x", "x", None)
    assert grouped((7, "x"), (7, None), (7, "y")) == ("x", None, "y")
    assert grouped((7, "x"), (8, "y"), (8, None), (9, None)) == ("x", "y", "y", None)


def test_an_operation_without_a_message_has_no_size_and_no_group() -> None:
    ops = [launched(REDUCE, 10, message=1), launched(REDUCE, 20, stream=8)]
    trace = trace_of(ops=ops, messages=[Message(size=5, group="x"), Message(size=7, group="y")])
    found = collectives(trace, trace.ops, STEPS)
    assert (found.size.tolist(), found.group) == ([7, 0], ("y", None))
    silent = trace_of(ops=ops[1:])
    assert collectives(silent, silent.ops, STEPS).size.tolist() == [0]


HOST: list[Row] = [
    ("gloo:all_reduce", 150, 160, 2), ("gloo:send", 20, 30, 1), ("gloo:all_gather", 110, 130, 1),
    ("gloo:all_reduce", 310, 330, 1), ("gloo:all_reduce", 120, 130, 3), ("gloo:what", 10, 20, 1),
]  # fmt: skip


def test_a_devices_own_collectives_go_before_those_of_the_host() -> None:
    trace = trace_of(ops=[launched(REDUCE, 10)], ranges=HOST)
    assert not collectives(trace, trace.ops, STEPS).on_host
    copies = trace_of(ops=[Op("memcpy", 10, 20)], ranges=HOST)
    assert collectives(copies, copies.ops, STEPS).on_host


def test_collectives_of_the_host_are_those_of_the_steps_process_that_all_ranks_take_part_in() -> None:
    trace = trace_of(ranges=HOST, processes=(1, 1, 1, 2), messages=[Message(105, 115, 1, size=64)])
    assert_same(
        host_collectives(trace, STEPS),
        collectives_of(
            (110, 130), (150, 160), (310, 330), kinds=("all_gather", "all_reduce", "all_reduce"), sizes=(64, 0, 0),
            step=(1, 1, NONE), step_names=STEPS.names, counted=(1,), on_host=True,
        ),
    )  # fmt: skip
    anyone = host_collectives(trace, steps_of(0, 100, 200, 300, thread=None))
    assert anyone.start.tolist() == [110, 120, 150, 310]
    assert host_collectives(trace_of(ranges=HOST), STEPS).size.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([10, 20, 40, 80], {facts.MESSAGE_BYTES: 75.0, facts.MESSAGE_MEDIAN_BYTES: 30.0}),
        ([10, 20, 0, 0], {facts.MESSAGE_BYTES: 15.0, facts.MESSAGE_MEDIAN_BYTES: 15.0}),
        ([10, 0, 0, 0], {}),
        ([0, 0, 0, 0], {}),
        ([1, 0, 1, 0], {facts.MESSAGE_BYTES: 1.0, facts.MESSAGE_MEDIAN_BYTES: 1.0}),
    ],
)
def test_what_collectives_carry_is_told_where_half_of_those_that_count_say_it(
    sizes: Sequence[int], told: dict[object, float]
) -> None:
    names = {"step_names": ("a", "b", "c"), "counted": (1, 2)}
    found = collectives_of(
        *((0, 1),) * 6,
        sizes=(1_000, *sizes, 1_000),
        step=(0, 1, 1, 2, 2, NONE),
        **names,  # type: ignore[arg-type]
    )
    assert message_facts(found) == told
    assert message_facts(collectives_of()) == {}

"""What must hold for every account, whatever ran."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.model.trace import DeviceOps, Spans, Trace, column
from mfu_operator.trace.account.accounting import Accounts, account
from mfu_operator.trace.account.steps import Steps
from mfu_operator.trace.columns.intervals import intersect, join, subtract, union, within

PROPERTY = settings(deadline=None, max_examples=60)
"""A busy machine is not a failure, and sixty examples of forty operations take a second."""

SPAN = 10_000
Op = tuple[int, int, int, int]
"""(start, length, part, how long before it was issued)."""

OPS = st.lists(
    st.tuples(st.integers(0, SPAN), st.integers(0, 400), st.integers(0, 5), st.integers(0, 900)),
    min_size=1,
    max_size=40,
)
INTERVALS = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60)), max_size=25)


def steps(shift: int = 0, scale: int = 1) -> Steps:
    edges = np.arange(0, SPAN + 1, 2_000) * scale + shift
    return Steps(tuple(f"step {n}" for n in range(len(edges) - 1)), edges[:-1], edges[1:], 0)


def trace_of(ops: list[Op], shift: int = 0, scale: int = 1) -> tuple[Trace, DeviceOps]:
    ordered = sorted(ops)
    start = column([op[0] for op in ordered]) * scale + shift
    zero = np.zeros(len(ordered), dtype=np.int64)
    device = DeviceOps(
        start=start,
        end=start + column([op[1] for op in ordered]) * scale,
        device=zero,
        stream=zero,
        part=column([op[2] for op in ordered]),
        name=zero,
        launch=np.arange(len(ordered)),
        size=zero,
        pageable=zero,
        shape=zero,
        graph=zero,
        message=zero - 1,
    )
    issued = start - column([op[3] for op in ordered]) * scale
    names = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "data")
    calls = Spans(issued, issued + 10 * scale, zero, zero)
    blocks = Spans(start - 50 * scale, start - 20 * scale, zero, zero + 1)
    every = Spans(*(np.concatenate((getattr(calls, one), getattr(blocks, one))) for one in Spans.__slots__))
    ranges = Spans(issued - 70 * scale, issued - 30 * scale, zero, zero + 3)
    return Trace("t", "test", names=names, processes=column([0]), ops=device, calls=every, ranges=ranges), device


def accounts(ops: list[Op], shift: int = 0, scale: int = 1) -> Accounts:
    trace, device = trace_of(ops, shift, scale)
    return account(trace, device, steps(shift, scale))


@PROPERTY
@given(OPS)
def test_the_parts_sum_to_every_step_and_none_is_negative(ops: list[Op]) -> None:
    parts = accounts(ops).parts
    assert (parts.sum(axis=1) == 2_000).all()
    assert (parts >= 0).all()


@PROPERTY
@given(OPS, st.integers(-(10**15), 10**15))
def test_a_shift_of_all_times_changes_nothing(ops: list[Op], shift: int) -> None:
    assert (accounts(ops).parts == accounts(ops, shift=shift).parts).all()


@PROPERTY
@given(OPS, st.integers(2, 9))
def test_a_scale_of_all_times_scales_the_account(ops: list[Op], scale: int) -> None:
    assert (accounts(ops).parts * scale == accounts(ops, scale=scale).parts).all()


@PROPERTY
@given(OPS, st.data())
def test_splitting_an_operation_in_two_changes_no_busy_part(ops: list[Op], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(ops) - 1))
    start, length, part, before = ops[index]
    cut = data.draw(st.integers(0, length))
    two = [(start, cut, part, before), (start + cut, length - cut, part, before)]
    assert (accounts(ops).parts[:, :6] == accounts([*ops[:index], *two, *ops[index + 1 :]]).parts[:, :6]).all()


@PROPERTY
@given(OPS, OPS)
def test_an_added_stream_never_adds_idle_time(ops: list[Op], more: list[Op]) -> None:
    assert (accounts([*ops, *more]).parts[:, 6:].sum(axis=1) <= accounts(ops).parts[:, 6:].sum(axis=1)).all()


@PROPERTY
@given(OPS)
def test_exposed_communication_is_never_more_than_all_of_it(ops: list[Op]) -> None:
    found = accounts(ops)
    assert (found.parts[:, 1] <= found.communication_total).all()


@PROPERTY
@given(OPS)
def test_without_launch_calls_all_idle_time_is_unknown(ops: list[Op]) -> None:
    trace, device = trace_of(ops)
    blind = replace(device, launch=np.full(len(device), -1))
    parts = account(trace, blind, steps()).parts
    assert (parts[:, 6:11] == 0).all()


@PROPERTY
@given(INTERVALS, INTERVALS)
def test_sets_of_time_agree_with_sets_of_nanoseconds(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    one, two = ({at for start, length in rows for at in range(start, start + length)} for rows in (left, right))
    a, b = (
        union(column([row[0] for row in rows]), column([row[0] + row[1] for row in rows])) for rows in (left, right)
    )
    assert a.length == len(one)
    assert join(a, b).length == len(one | two)
    assert intersect(a, b).length == len(one & two)
    assert subtract(a, b).length == len(one - two)
    assert within(a, column([100]), column([300]))[0] == len([at for at in one if 100 <= at < 300])

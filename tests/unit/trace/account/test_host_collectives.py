"""What is told of collectives of the host, and what of them nothing hides. Times in nanoseconds."""

from collections.abc import Mapping, Sequence

import pytest

from mfu_operator.model.trace import Trace
from mfu_operator.trace.account.host_collectives import collective_facts
from mfu_operator.trace.account.steps import Steps
from tests.support.recording import Op, Row, steps_of, trace_of

STEPS = steps_of(0, 100, 200, 300)
COUNTED = (1, 2)
LOOP, GLOO = 0, 1
REDUCED: list[Row] = [("gloo:all_reduce", 110, 190, GLOO)]


def told(trace: Trace, steps: Steps = STEPS) -> Mapping[str, float]:
    """In few words, without what every name begins with."""
    found = collective_facts(trace, steps, COUNTED)
    return {fact.name.removeprefix("hostCollective"): float(value) for fact, value in found.items()}


def test_collectives_of_the_host_are_those_of_the_steps_own_process() -> None:
    ranges: list[Row] = [
        ("gloo:all_reduce", 90, 120, 1),
        ("gloo:all_reduce", 110, 130, 2),
        ("gloo:all_reduce", 150, 190, 3),
    ]
    trace = trace_of(ranges=ranges, processes=(1, 1, 1, 2))
    assert told(trace) == {"Ns": 15.0, "Calls": 0.5, "LongestNs": 10.0}
    assert told(trace, steps_of(0, 100, 200, 300, thread=None)) == {"Ns": 35.0, "Calls": 1.0, "LongestNs": 20.0}
    assert told(trace_of(ranges=ranges[2:], processes=(1, 1, 1, 2))) == {}
    assert told(trace_of(ranges=[("forward", 0, 90)])) == {}


@pytest.mark.parametrize(
    ("operators", "exposed"),
    [
        ([("aten::mm", 0, 90, LOOP)], 80),
        ([("aten::mm", 100, 150, LOOP)], 40),
        ([("aten::mm", 100, 150, LOOP), ("aten::mm", 140, 160, 2)], 30),
        # What issues a collective or waits for it computes nothing, nor does the thread that runs it.
        ([("c10d::allreduce_", 110, 190, LOOP)], 80),
        ([("_c10d_functional::wait_tensor", 110, 190, LOOP)], 80),
        ([("record_param_comms", 110, 190, LOOP)], 80),
        ([("aten::div", 110, 190, GLOO), ("aten::mm", 0, 90, LOOP)], 80),
        # A hook within a node of the backward pass waits: only the innermost operators compute.
        ([("AddmmBackward0", 100, 200, LOOP), ("aten::mm", 110, 120, LOOP), ("aten::mm", 120, 130, LOOP)], 60),
        ([("aten::mm", 110, 120, LOOP), ("AddmmBackward0", 110, 190, LOOP)], 70),
        # Another process computes for itself.
        ([("aten::mm", 0, 90, LOOP), ("aten::mm", 110, 190, 3)], 80),
    ],
)
def test_exposed_is_what_runs_while_no_other_thread_computes(operators: Sequence[Row], exposed: int) -> None:
    trace = trace_of(ranges=REDUCED, host_ops=operators, processes=(1, 1, 1, 2))
    assert told(trace)["ExposedNs"] == exposed / len(COUNTED)


def test_what_is_exposed_is_not_known_without_operators_or_beside_a_device() -> None:
    assert "ExposedNs" not in told(trace_of(ranges=REDUCED))
    computing: list[Row] = [("aten::mm", 100, 150, LOOP)]
    assert "ExposedNs" not in told(trace_of(ranges=REDUCED, host_ops=computing, ops=[Op("gemm", 120, 130)]))

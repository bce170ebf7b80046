"""Bus bandwidth by nccl-tests' definitions: sizes and factors by kind, and what is not known counts nowhere."""

import gzip
import json
from pathlib import Path

import pytest

from mfu_operator.cli.render import answer_text
from mfu_operator.model.trace import NONE
from mfu_operator.trace.account.collectives import Bandwidth, bandwidths
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.columns.parts import COMMUNICATION
from tests.support.recording import Message, Op, Row, steps_of, trace_of
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import ALLREDUCE

REAL = Path("tests/data/traces/hta/nccl_data.json.gz")
"""NCCL's kernels say what they carry: all-reduces of 2 ranks, in elements of four bytes."""

STEPS = steps_of(0, 1_000)


def reached(*messages: Message, length: int = 100, calls: tuple[Row, ...] = ()) -> tuple[Bandwidth, ...]:
    """With a kernel of that length for each message, which names it itself, or is launched in it by its call."""
    ops = [
        Op(f"kernel {at}", at * length, (at + 1) * length, COMMUNICATION, at if calls else NONE, message=at)
        for at in range(len(messages))
    ]
    trace = trace_of(ops=ops, messages=messages, calls=calls)
    return bandwidths(trace, trace.ops, STEPS)


@pytest.mark.parametrize(
    ("name", "size", "bus"),
    [
        ("allreduce", 800, 800 * 2 * 3 / 4),
        ("_allgather_base", 800, 800 * 3 / 4),
        ("ncclAllGather", 3200, 3200 * 3 / 4),
        ("_reduce_scatter_base", 800, 800 * 3 / 4),
        ("ncclReduceScatter", 3200, 3200 * 3 / 4),
        ("all_to_all", 800, 800 * 3 / 4),
        ("nccl:all_to_all", 800, 800 * 3 / 4),
        ("ncclAlltoAll", 3200, 3200 * 3 / 4),
        ("ncclAllReduce", 800, 800 * 2 * 3 / 4),
        ("broadcast", 800, 800),
        ("ncclReduce", 800, 800),
        ("ncclSend", 800, 800),
    ],
)
def test_sizes_and_factors_are_those_of_nccl_tests(name: str, size: float, bus: float) -> None:
    """800 bytes by 4 ranks in 100 ns; NCCL's own ranges say one rank's share, PyTorch the whole."""
    (found,) = reached(Message(kind=name, size=800, members=4))
    assert (found.calls, found.size, found.spent_ns) == (1, size, 100)
    assert (found.algorithm, found.bus) == pytest.approx((size * 1e7, bus * 1e7))


@pytest.mark.parametrize(
    "unknown",
    [
        Message(kind="allreduce", members=4),
        Message(kind="allreduce", size=800),
        Message(kind="allreduce", size=800, members=1),
        Message(size=800, members=4),
        Message(kind="barrier", size=800, members=4),
        Message(kind="all_to_allv", size=800, members=4),
    ],
    ids=["size", "members", "one member", "name", "no bandwidth", "uneven"],
)
def test_what_is_not_known_is_left_out(unknown: Message) -> None:
    known = Message(kind="allreduce", size=800, members=4)
    assert reached(unknown) == ()
    assert reached(known, unknown) == reached(known)


def test_bytes_and_times_of_a_kind_are_added_up_and_the_longest_kind_comes_first() -> None:
    small, large = (Message(kind="allreduce", size=size, members=2) for size in (100, 300))
    first, second = reached(Message(kind="broadcast", size=50, members=2), small, large)
    assert (first.kind, first.calls, first.size, first.spent_ns, first.bus) == ("all_reduce", 2, 400, 200, 2e9)
    assert (second.kind, second.bus) == ("broadcast", 5e8)


def test_kernels_that_one_call_launched_share_its_size() -> None:
    around = Message(0, 50, 0, "allreduce", 800, members=2)
    own = Message(kind="allreduce", size=800, members=2)
    launches = tuple(("cudaLaunchKernel", at, at + 1) for at in (10, 20))
    ops = [Op(str(at), 100 + at, 150 + at, COMMUNICATION, at, message=message) for at, message in ((0, 1), (1, 2))]
    trace = trace_of(ops=ops, messages=(around, own, own), calls=launches)
    (found,) = bandwidths(trace, trace.ops, STEPS)
    assert (found.calls, found.size, found.spent_ns) == (1, 800, 100)


def test_a_kernel_outside_the_counted_steps_counts_nowhere() -> None:
    assert reached(Message(kind="allreduce", size=800, members=2), length=2_000) != ()
    trace = trace_of(
        ops=[Op("late", 1_000, 1_100, COMMUNICATION, message=0)],
        messages=[Message(kind="allreduce", size=800, members=2)],
    )
    assert bandwidths(trace, trace.ops, STEPS) == ()


def test_a_real_trace_reaches_what_its_raw_events_say() -> None:
    (device,) = analyze([REAL]).devices
    (step,) = [one for one in device.steps if one.name == "ProfilerStep#5"]
    kernels = [
        one
        for one in json.loads(gzip.decompress(REAL.read_bytes()))["traceEvents"]
        if one.get("cat") == "kernel" and one["args"].get("Collective name") == "allreduce"
    ]
    mine = [one for one in kernels if step.start_ns <= one["ts"] * 1000 < step.end_ns]
    spent = sum(one["dur"] for one in mine) / 1e6
    on_bus = sum(one["args"]["In msg nelems"] for one in mine) * 4 * (2 * 1 / 2)
    found = {one.kind: one for one in device.collectives}  # type: ignore[union-attr]
    assert len(mine) == found["all_reduce"].calls == 5
    assert found["all_reduce"].bus_bytes_per_second == pytest.approx(on_bus / spent, rel=1e-6)


@pytest.mark.parametrize(("exposed_us", "members", "said"), [(400, 4, True), (400, 0, False), (50, 4, False)])
def test_the_text_says_it_where_much_is_exposed_and_known(
    exposed_us: int, members: int, said: bool, tmp_path: Path
) -> None:
    file = KinetoFile(rank=0, world_size=4)
    carried = {"Collective name": "allreduce", "In msg nelems": 1_000_000, "dtype": "Float", "Group size": members}
    for begin in range(1_000_000, 7_000_000, 1_000_000):
        ready = begin + 1_000_000 - exposed_us * 1_000
        file.kernel("gemm", begin, ready, file.call("cudaLaunchKernel", begin + 1_000, begin + 2_000))
        launch = file.call("cudaLaunchKernel", begin + 3_000, begin + 4_000)
        file.kernel(ALLREDUCE, ready, begin + 1_000_000, launch, 20)
        file.events[-1]["args"] |= carried
        file.range(f"ProfilerStep#{begin // 1_000_000}", begin, begin + 1_000_000)
    text = answer_text(analyze([file.write(tmp_path / "trace.json")]))
    assert ("all_reduce 15.00 GB/s" in text) == said
    assert ("bus bandwidth" in text) == said

"""What collectives carry is read wherever it is recorded, and decides whether messages became small."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.model import facts
from mfu_operator.model.account import StepAccount
from mfu_operator.trace.analyze import analyze, profile
from mfu_operator.trace.read import formats
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import ALLREDUCE, Loop

MIB = 1 << 20
DLRM = Path("tests/data/traces/param/dlrm8")


def recorded(loop: Loop, path: Path, message: int | None, *, by: str = "kernel") -> Path:
    """The loop with all its collectives carrying `message` bytes, said by the kernel, the operator or the range."""
    file = KinetoFile("2.4", rank=0, world_size=1)
    loop.record(file, 1)
    arguments = {"Collective name": "allreduce", "In msg nelems": (message or 0) // 2, "dtype": "BFloat16"}
    calls = {one["args"]["correlation"]: one for one in file.events if one["cat"] == "cuda_runtime"}
    for event in [one for one in file.events if one["name"] == ALLREDUCE]:
        call = calls[event["args"]["correlation"]]
        around = {**call, "ts": call["ts"] - 1, "dur": call["dur"] + 2}
        if message is None:
            continue
        if by == "kernel":
            event["args"] |= arguments
        elif by == "operator":
            file.events.append({**around, "cat": "cpu_op", "name": "record_param_comms", "args": arguments})
        else:
            shapes: dict[str, Any] = {"Input Dims": [[message // 2]], "Input type": ["c10::BFloat16"]}
            file.events.append({**around, "cat": "user_annotation", "name": "nccl:all_reduce", "args": shapes})
    return file.write(path)


def of(account: StepAccount) -> tuple[float | None, float | None]:
    return account.facts.number(facts.MESSAGE_BYTES), account.facts.number(facts.MESSAGE_MEDIAN_BYTES)


@pytest.mark.parametrize("by", ["kernel", "operator", "range"])
def test_message_sizes_are_read_wherever_they_are_recorded(by: str, tmp_path: Path) -> None:
    loop = Loop(steps=6, buckets=4)
    assert of(profile([recorded(loop, tmp_path / "t", 25 * MIB, by=by)])) == (100 * MIB, 25 * MIB)


def test_a_recording_without_sizes_says_none(tmp_path: Path) -> None:
    assert of(profile([recorded(Loop(steps=6), tmp_path / "t", None)])) == (None, None)


def test_sizes_of_an_older_real_trace_are_those_of_its_annotations() -> None:
    """PARAM's rank 0: all-to-alls of 6144 floats, 24 longs, 384 and 3392 ints, …"""
    trace = formats.read(formats.expand([DLRM / "worker0.json.gz"])[0])
    assert sorted(trace.messages.size.tolist())[:4] == [24 * 8, 112 * 4, 384 * 4, 3392 * 4]
    assert (trace.messages.size > 0).all()


DDP = Loop(steps=8, layers=8, buckets=4, bucket_us=400.0)
"""Four buckets of 25 MB a step."""

TENSOR_PARALLEL = replace(DDP, buckets=1, bucket_us=250.0, extra_collectives=(260.0,) * 16)
"""Two all-reduces of 16 MB in every layer instead, of which each is shorter than a bucket's."""

SPLIT = replace(DDP, split=8, bucket_us=900.0)
"""The same bytes in messages of an eighth."""


def test_more_all_reduces_of_16_mb_are_no_small_messages(tmp_path: Path) -> None:
    before = recorded(DDP, tmp_path / "before", 25 * MIB)
    now = recorded(TENSOR_PARALLEL, tmp_path / "now", 16 * MIB)
    found = analyze([now], [before]).diagnosis
    assert (found.bottleneck, found.cause) == ("CommsBound", "ExposedCollectives")


def test_the_same_bytes_in_more_and_smaller_messages_are(tmp_path: Path) -> None:
    before = recorded(DDP, tmp_path / "before", 25 * MIB)
    now = recorded(SPLIT, tmp_path / "now", 25 * MIB // 8)
    found = analyze([now], [before]).diagnosis
    assert (found.bottleneck, found.cause) == ("CommsBound", "SmallMessages")
    assert any("the median message" in one for one in found.evidence)


def test_without_sizes_small_messages_are_doubted(tmp_path: Path) -> None:
    found = analyze([recorded(SPLIT, tmp_path / "now", None)], [recorded(DDP, tmp_path / "before", None)]).diagnosis
    assert (found.cause, found.confidence <= 0.5) == ("SmallMessages", True)
    assert any("sizes of messages were not recorded" in one for one in found.evidence)


def test_process_groups_keep_their_collectives_apart(tmp_path: Path) -> None:
    """Ranks 0 and 1 meet by themselves, and 2 and 3: rank 3 is late, and only rank 2 waits for it."""
    from tests.unit.trace.test_ranks import MS

    for rank in range(4):
        file = KinetoFile(rank=rank, world_size=4)
        for step in range(6):
            begin = 1_000_000 + step * 20 * MS
            ready = begin + (14 if rank == 3 else 10) * MS
            leaves = begin + (16 if rank >= 2 else 12) * MS
            call = file.call("cudaLaunchKernel", begin + 1000, begin + 2000)
            file.kernel("sm90_xmma_gemm_bf16_tn", begin, ready, call)
            file.kernel(ALLREDUCE, ready, leaves, file.call("cudaLaunchKernel", begin + 3000, begin + 4000), 20)
            group = "[0, 1]" if rank < 2 else "[2, 3]"
            file.events[-1]["args"] |= {"Collective name": "allreduce", "Process Group Ranks": group}
            file.range(f"ProfilerStep#{step}", begin, begin + 20 * MS)
        file.write(tmp_path / str(rank))
    found = analyze([tmp_path]).ranks
    assert found.slowest == 3  # type: ignore[union-attr]
    assert {rank: round(wait / MS) for rank, wait in found.wait_ns.items()} == {"0": 0, "1": 0, "2": 4, "3": 0}  # type: ignore[union-attr]

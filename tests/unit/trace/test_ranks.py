import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Ranks
from tests.support.synthetic.altered import Skewed
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import ALLREDUCE, COMM_STREAM, GEMM, Loop
from tests.support.synthetic.ranks import record_ranks

MS = 1_000_000


@dataclass(frozen=True)
class Rank:
    """A rank whose step is compute, then one collective that all ranks leave together."""

    number: int
    compute_ms: float = 10.0
    input_ms: float = 0.5
    clock_ms: float = 0.0


def record(
    ranks: list[Rank],
    folder: Path,
    steps: int = 6,
    transfer_ms: float = 2.0,
    first_step: int = 0,
    *,
    calls: bool = True,
) -> list[Path]:
    files = {rank.number: KinetoFile(rank=rank.number, world_size=len(ranks)) for rank in ranks}
    now = 1.0
    for step in range(first_step, first_step + steps):
        leaves = max(now + rank.input_ms + rank.compute_ms for rank in ranks) + transfer_ms
        for rank in ranks:
            _step(files[rank.number], rank, step, now, leaves)
        now = leaves + 0.1
    if not calls:
        for file in files.values():
            file.events = [event for event in file.events if event["cat"] != "cuda_runtime"]
    return [file.write(folder / f"rank{number}") for number, file in files.items()]


def _step(file: KinetoFile, rank: Rank, step: int, begin_ms: float, leaves_ms: float) -> None:
    begin, leaves = (round((value + rank.clock_ms) * MS) for value in (begin_ms, leaves_ms))
    ready = begin + round(rank.input_ms * MS)
    done = ready + round(rank.compute_ms * MS)
    file.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", begin, ready)
    file.kernel(GEMM, ready, done, file.call("cudaLaunchKernel", ready, ready + 1000))
    file.kernel(ALLREDUCE, done, leaves, file.call("cudaLaunchKernel", ready + 1000, ready + 2000), COMM_STREAM)
    file.range(f"ProfilerStep#{step}", begin, leaves)


def ranks_of(paths: list[Path]) -> Ranks:
    found = analyze(paths).ranks
    assert isinstance(found, Ranks)
    return found


def test_the_rank_that_the_others_wait_for_is_named_with_what_it_is_slow_in(tmp_path: Path) -> None:
    ranks = [Rank(0), Rank(1), Rank(2, compute_ms=14), Rank(3)]
    found = analyze(record(ranks, tmp_path))
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.ranks.slow_in, found.ranks.clock) == (2, "compute", "aligned")
    assert found.ranks.wait_ns["0"] == pytest.approx(4e6, rel=0.01)
    assert found.ranks.wait_ns["2"] == 0
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", "SlowCompute")


def test_a_rank_that_waits_for_its_input_is_slow_in_input(tmp_path: Path) -> None:
    assert ranks_of(record([Rank(0), Rank(1, input_ms=5.0)], tmp_path)).slow_in == "input"


def test_what_a_rank_is_slow_in_is_not_said_where_its_idle_time_is_unknown(tmp_path: Path) -> None:
    """Without launch calls nothing tells what the device waited for."""
    paths = record([Rank(0), Rank(1, input_ms=5.0), Rank(2)], tmp_path, calls=False)
    found = analyze(paths)
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.ranks.slow_in) == (1, None)
    assert "what it is slower in is unknown" in found.ranks.evidence
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", None)


def test_clocks_that_differ_by_an_offset_do_not_matter(tmp_path: Path) -> None:
    ranks = [Rank(0), Rank(1, compute_ms=13, clock_ms=700.0)]
    found = ranks_of(record(ranks, tmp_path))
    assert (found.slowest, found.clock) == (1, "aligned")


def test_even_ranks_have_no_straggler(tmp_path: Path) -> None:
    found = analyze(record([Rank(0), Rank(1)], tmp_path))
    assert found.diagnosis.bottleneck != "Straggler"
    assert not isinstance(found.opportunities, tuple) or "UnevenRanks" not in {one.cause for one in found.opportunities}


def test_with_a_baseline_growth_is_laid_on_the_straggler_and_not_on_communication(tmp_path: Path) -> None:
    even = [Rank(number) for number in range(4)]
    for folder in ("before", "now"):
        (tmp_path / folder).mkdir()
    before = record(even, tmp_path / "before")
    now = record([*even[:3], replace(even[3], compute_ms=13)], tmp_path / "now")
    found = analyze(now, before)
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", "SlowCompute")
    assert any("rank 3" in one for one in found.diagnosis.evidence)


LAYERS = 6


def record_grid(
    compute_ms: list[float], folder: Path, steps: int = 6, transfer_ms: list[float] | None = None
) -> list[Path]:
    """Four ranks: 0 and 1, 2 and 3 meet after every layer (tensor parallel), 0 and 2, 1 and 3 after every step (data
    parallel). No collective is of all four, and clocks differ."""
    folder.mkdir(exist_ok=True)
    slower = transfer_ms or [0.2] * 4
    files = [KinetoFile(rank=rank, world_size=4) for rank in range(4)]
    now = [1.0] * 4

    def meet(first: int, second: int) -> None:
        leaves = max(now[first], now[second]) + slower[first]
        for rank in (first, second):
            clock = 700 * rank
            start, end = (round((value + clock) * MS) for value in (now[rank], leaves))
            files[rank].kernel(
                ALLREDUCE, start, end, files[rank].call("cudaLaunchKernel", start - 900, start), COMM_STREAM
            )
            now[rank] = leaves

    for step in range(steps):
        begins = list(now)
        for _ in range(LAYERS):
            for rank, file in enumerate(files):
                start, end = (round((value + 700 * rank) * MS) for value in (now[rank], now[rank] + compute_ms[rank]))
                file.kernel(GEMM, start, end, file.call("cudaLaunchKernel", start - 900, start))
                now[rank] += compute_ms[rank]
            meet(0, 1)
            meet(2, 3)
        meet(0, 2)
        meet(1, 3)
        for rank, file in enumerate(files):
            start, end = (round((value + 700 * rank) * MS) for value in (begins[rank], now[rank]))
            file.range(f"ProfilerStep#{step}", start, end)
    return [file.write(folder / f"rank{rank}") for rank, file in enumerate(files)]


def test_ranks_that_meet_in_groups_are_compared_where_the_slowest_is_as_much_slower_as_the_others_wait(
    tmp_path: Path,
) -> None:
    even = record_grid([2.0] * 4, tmp_path / "even")
    found = analyze(record_grid([2.0, 2.0, 2.0, 2.4], tmp_path / "now"), even)
    assert isinstance(found.ranks, Ranks)
    assert (found.ranks.slowest, found.ranks.slow_in, found.ranks.clock) == (3, "compute", "aligned")
    assert "the ranks meet in 2 groups" in found.ranks.evidence
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == ("Straggler", "SlowCompute")


def test_a_group_that_transfers_more_slowly_is_no_straggler(tmp_path: Path) -> None:
    paths = record_grid([2.0] * 4, tmp_path / "now", transfer_ms=[0.2, 0.2, 1.2, 1.2])
    found = analyze(paths)
    assert found.diagnosis.bottleneck != "Straggler"


def test_ranks_that_recorded_other_steps_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = record([Rank(0)], tmp_path)
    two = record([Rank(1)], tmp_path / "other", first_step=10)
    found = ranks_of([*one, *two])
    assert found.slowest is None
    assert "cannot be matched" in found.evidence


def test_ranks_that_recorded_another_number_of_steps_are_compared_in_those_that_both_have(tmp_path: Path) -> None:
    loops = [Loop(steps=12, python_us=lost) for lost in (0.0, 900.0)]
    files = [KinetoFile(rank=rank, world_size=2) for rank in range(2)]
    _, meetings = record_ranks(loops, files, 1)
    files[0].events = [one for one in files[0].events if one["ts"] < 7.5 * _step_us(files[0]) + 5000]
    per_step = len(meetings.arrivals) // 12
    waited = sum(max(arrived) - arrived[0] for arrived in meetings.arrivals[per_step : 7 * per_step]) / 6
    found = ranks_of([file.write(tmp_path / str(rank)) for rank, file in enumerate(files)])
    assert (found.slowest, found.slow_in, found.clock) == (1, "host", "aligned")
    assert found.wait_ns["0"] == pytest.approx(waited, rel=0.001)


def _step_us(file: KinetoFile) -> float:
    steps = [one for one in file.events if one["name"].startswith("ProfilerStep")]
    return float(steps[-1]["ts"] - steps[0]["ts"]) / (len(steps) - 1)


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_waiting_is_what_the_true_arrivals_say_whatever_the_clocks_show(tmp_path: Path, seed: int, ahead: bool) -> None:
    dice = random.Random(seed)
    slow = dice.randrange(4)
    loops = [
        Loop(
            steps=10,
            noise=0.02,
            device_scale=dice.uniform(1, 1.02) + (0.1 if rank == slow else 0),
            waits_for_device=ahead,
        )
        for rank in range(4)
    ]
    files = [KinetoFile(rank=rank, world_size=4) for rank in range(4)]
    skewed = [Skewed(file, dice.randrange(10**9), dice.uniform(-5e-5, 5e-5)) for file in files]
    _, meetings = record_ranks(loops, skewed, seed)
    found = ranks_of([file.write(tmp_path / str(rank)) for rank, file in enumerate(files)])
    per_step = len(meetings.arrivals) // 10
    inner = meetings.arrivals[per_step : 9 * per_step]
    assert (found.slowest, found.slow_in, found.clock) == (slow, "compute", "aligned")
    for rank in range(4):
        waited = sum(max(arrived) - arrived[rank] for arrived in inner) / 8
        assert found.wait_ns[str(rank)] == pytest.approx(waited, rel=0.001, abs=2000)


def test_clocks_that_jump_are_said_to_be_unaligned_and_blame_nobody(tmp_path: Path) -> None:
    files = [KinetoFile(rank=rank, world_size=2) for rank in range(2)]
    record_ranks([Loop(steps=10), Loop(steps=10, device_scale=1.2)], files, 1)
    for place, event in enumerate(one for one in files[1].events if "nccl" in one["name"]):
        event["ts"] += 700.0 * (place % 3)
    found = analyze([file.write(tmp_path / str(rank)) for rank, file in enumerate(files)])
    assert isinstance(found.ranks, Ranks)
    assert found.ranks.clock == "unaligned"
    assert "cannot be aligned" in found.ranks.evidence
    assert found.diagnosis.bottleneck != "Straggler"


def test_transfers_between_two_ranks_make_nobody_else_wait(tmp_path: Path) -> None:
    files = [KinetoFile(rank=rank, world_size=2) for rank in range(2)]
    record_ranks([Loop(steps=6), Loop(steps=6, device_scale=1.2)], files, 1)
    for event in files[1].events:
        event["name"] = event["name"].replace("AllReduce_Sum_bf16_RING_LL", "SendRecv")
    found = ranks_of([file.write(tmp_path / str(rank)) for rank, file in enumerate(files)])
    assert found.slowest is None

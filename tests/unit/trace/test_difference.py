"""What changed: parts that sum to the step, kernels matched by name and grid, runs that may not be compared."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfu_operator.model.account import PARTS, KernelTotal, ShapeTotal, StepAccount
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.diagnosis.difference import difference, kernel_deltas
from mfu_operator.trace.markdown import grid_change
from tests.support.facts import facts_of
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import GEMM, POINTWISE, Loop
from tests.support.synthetic.nsys_file import NsysFile

MS = 1_000_000
PARTS_NS = st.lists(st.integers(0, 10**12), min_size=len(PARTS), max_size=len(PARTS))
COUNT = st.integers(1, 50)


def account(parts_ns: list[int], count: int) -> StepAccount:
    parts = {part: value / count for part, value in zip(PARTS, parts_ns, strict=True)}
    return StepAccount(count, sum(parts_ns) / count, 0.0, parts)


@settings(deadline=None)
@given(PARTS_NS, COUNT, PARTS_NS, COUNT)
def test_the_parts_differences_sum_to_the_steps_exactly(
    now: list[int], count_now: int, before: list[int], count_before: int
) -> None:
    one, other = account(now, count_now), account(before, count_before)
    found = difference(one, other)
    assert sum(found.account_ns.values()) == found.step_ns
    assert abs(found.step_ns - (one.mean_ns - other.mean_ns)) <= 1e-2


def test_accounts_of_two_analyses_are_not_comparable() -> None:
    before = account([1] * len(PARTS), 1)
    found = difference(replace(before, facts=facts_of(analysis=2.0)), before)
    assert not found.comparable
    assert "analysis differs: number 2, the baseline's account was made by number 1" in found.not_comparable_because[0]


def test_a_step_under_one_profiler_is_not_held_against_a_step_under_another(tmp_path: Path) -> None:
    now, before = tmp_path / "now.sqlite", tmp_path / "before.json"
    for file, path in ((NsysFile(), now), (KinetoFile(), before)):
        Loop().record(file, 1)
        file.write(path)
    found = analyze([now], baseline=[before])
    assert not isinstance(found.difference, msgspec.UnsetType)
    assert found.difference.not_comparable_because == ("the profiler differs: nsys, baseline torch.profiler",)
    assert found.diagnosis.bottleneck in (None, "Inconclusive")


def kernel(name: str, *shapes: tuple[int, float, float]) -> KernelTotal:
    split = tuple(ShapeTotal(*one) for one in shapes)
    return KernelTotal(name, "gemm", sum(one.calls for one in split), sum(one.total_ns for one in split), split)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6)), max_size=12
    ),
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6)), max_size=12
    ),
)
def test_the_kernels_rows_sum_to_the_kernels_difference(
    now: list[tuple[str, int, int, int]], before: list[tuple[str, int, int, int]]
) -> None:
    def kernels(rows: list[tuple[str, int, int, int]]) -> list[KernelTotal]:
        return [
            kernel(name, *{row[1]: row[1:] for row in rows if row[0] == name}.values())
            for name in sorted({row[0] for row in rows})
        ]

    one, other = kernels(now), kernels(before)
    rows = kernel_deltas(one, other)
    assert sum(row.delta_ns for row in rows) == sum(each.total_ns for each in one) - sum(
        each.total_ns for each in other
    )
    assert sum(row.calls_now for row in rows) == sum(each.calls for each in one)
    assert sum(row.calls_baseline for row in rows) == sum(each.calls for each in other)


def test_a_kernel_on_a_larger_grid_is_a_changed_shape_and_not_a_slower_kernel() -> None:
    before = [kernel(GEMM, (64, 10, 1000.0), (128, 10, 2000.0))]
    now = [kernel(GEMM, (96, 10, 1500.0), (128, 10, 2010.0))]
    rows = {(one.blocks_baseline, one.blocks_now): one.delta_ns for one in kernel_deltas(now, before)}
    assert rows == {(64, 96): 500.0, (msgspec.UNSET, msgspec.UNSET): 10.0}


def test_a_kernel_on_the_same_grids_is_one_row() -> None:
    (row,) = kernel_deltas([kernel(GEMM, (64, 10, 1500.0), (8, 1, 1.0))], [kernel(GEMM, (64, 10, 1000.0), (8, 1, 1.0))])
    assert (row.delta_ns, row.blocks_now) == (500.0, msgspec.UNSET)


def looping(file: KinetoFile | NsysFile, path: Path, grid: int, us: int) -> Path:
    for step in range(6):
        begin = step * MS
        file.range(f"ProfilerStep#{step}", begin, begin + MS)
        file.kernel(
            GEMM, begin + 100, begin + 100 + us * 1000, file.call("cudaLaunchKernel", begin, begin + 50), 7, 0, grid
        )
        file.kernel(POINTWISE, begin + 900_000, begin + 910_000, None, 7, 0, 32)
    return file.write(path)


def test_both_formats_carry_the_grid(tmp_path: Path) -> None:
    pairs: list[tuple[KinetoFile | NsysFile, KinetoFile | NsysFile]] = [
        (KinetoFile(), KinetoFile()),
        (NsysFile(), NsysFile()),
    ]
    for number, (one, other) in enumerate(pairs):
        before = looping(one, tmp_path / f"before{number}", 64, 100)
        now = looping(other, tmp_path / f"now{number}", 96, 150)
        found = analyze([now], [before]).difference
        assert not isinstance(found, msgspec.UnsetType)
        (row,) = (one for one in found.kernels if one.delta_ns)
        assert grid_change(row) == ", 64 → 96 blocks"
        assert (row.name, row.blocks_baseline, row.blocks_now, row.delta_ns) == (GEMM, 64, 96, 50_000.0)


def shaped(path: Path, *batches: int, operator: str = "aten::conv2d", tail: tuple[int, ...] = (3, 224, 224)) -> Path:
    """Steps of which each begins with an operator on so many samples."""
    file = KinetoFile()
    for step, batch in enumerate(batches):
        begin = step * MS
        file.range(f"ProfilerStep#{step + 3}", begin, begin + MS)
        file.host_op(operator, begin + 10, begin + 20)
        file.events[-1]["args"] = {"Input Dims": [[batch, *tail], [64, 3, 7, 7], []]}
        file.kernel(GEMM, begin + 100, begin + 900_000, file.call("cudaLaunchKernel", begin, begin + 50))
    return file.write(path)


def test_another_batch_size_is_not_comparable_and_nobody_is_blamed(tmp_path: Path) -> None:
    found = analyze([shaped(tmp_path / "now", *[64] * 6)], [shaped(tmp_path / "before", *[32] * 6)])
    assert not isinstance(found.difference, msgspec.UnsetType)
    assert not found.difference.comparable
    assert found.difference.not_comparable_because == ("batch size differs: 64, baseline 32",)
    assert found.diagnosis.bottleneck == "Inconclusive"


@pytest.mark.parametrize(
    ("batches", "operator", "tail", "expected"),
    [
        ((32,) * 6, "aten::conv2d", (3, 224, 224), 32.0),
        ((8,) * 6, "aten::linear", (128, 512), 8.0),
        ((32, 32, 32, 16, 32, 32), "aten::conv2d", (3, 224, 224), None),
        ((4096,) * 6, "aten::linear", (512,), None),
        ((32,) * 6, "aten::add", (512,), None),
    ],
    ids=["convolution", "linear with tokens", "steps differ", "samples or tokens", "another operator"],
)
def test_the_batch_size_is_known_only_where_shapes_tell_it(
    tmp_path: Path, batches: tuple[int, ...], operator: str, tail: tuple[int, ...], expected: float | None
) -> None:
    path = shaped(tmp_path / "t", *batches, operator=operator, tail=tail)
    assert analyze([path]).devices[0].step.facts.get("batchSize") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kineto/resnet50_workers4_a", 32.0),
        ("tracelens/resnet_act_checkpoint_mi300_rank0", 10.0),
        ("hta/nccl_data", None),
    ],
)
def test_real_traces_tell_their_batch_size_where_shapes_were_recorded(name: str, expected: float | None) -> None:
    found = analyze([Path(f"tests/data/traces/{name}.json.gz")])
    assert found.devices[0].step.facts.get("batchSize") == expected

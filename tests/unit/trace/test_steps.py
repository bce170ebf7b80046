"""Which windows are steps: marked ones by rule 1 of the contract, others only where what repeats leaves no doubt."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mfu_operator.model.trace import Trace
from mfu_operator.trace.account import accounting
from mfu_operator.trace.account.steps import Steps, find_steps
from mfu_operator.trace.account.windows.repetition import repeated
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import DeviceRow
from mfu_operator.trace.read import formats
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import ADAM, GEMM, NORM, POINTWISE
from tests.support.synthetic.nsys_file import NsysFile

TRACES = Path("tests/data/traces")
MS = 1_000_000


@cache
def real(name: str) -> Trace:
    path = TRACES / name
    return formats.read(formats.TraceFile(path, path))


def without_marks(trace: Trace) -> Trace:
    kept = np.array([not name.startswith("ProfilerStep") for name in trace.names])
    return replace(trace, ranges=trace.ranges.where(kept[trace.ranges.name]))


def found_by_repetition(trace: Trace) -> Steps | None:
    return repeated(trace, accounting.ops_of(trace, int(trace.ops.device[0])))


@pytest.mark.parametrize(
    "name", ["kineto/resnet50_workers0_a", "kineto/resnet50_workers4_a", "hta/trace_diff_control_a100"]
)
def test_steps_whose_marks_are_taken_away_are_found_again_by_the_loaders_next_batch(name: str) -> None:
    trace = real(f"{name}.json.gz")
    marked, told = find_steps(trace), found_by_repetition(without_marks(trace))
    assert marked is not None
    assert told is not None
    assert len(told) == len(marked) - 1
    assert np.abs(np.diff(told.start) - np.diff(marked.start)[: len(told) - 1]).max() < 0.1 * MS
    assert "the loader's next batch" in told.warnings[0]


def test_without_annotations_the_optimizers_kernels_tell_the_steps_apart() -> None:
    trace = without_marks(real("hta/trace_diff_control_a100.json.gz"))
    told = found_by_repetition(replace(trace, ranges=trace.ranges.where(np.zeros(len(trace.ranges), dtype=bool))))
    assert told is not None
    assert len(told) == 5
    assert "the optimizer's kernels" in told.warnings[0]


@pytest.mark.parametrize("name", ["tracelens/qwen_h100", "tracelens/bert_small_h100", "hta/nccl_data"])
def test_too_few_steps_are_not_told_by_repetition(name: str) -> None:
    assert found_by_repetition(without_marks(real(f"{name}.json.gz"))) is None


def unmarked(layers: int, optimizer: bool, steps: int = 6) -> KinetoFile:
    """A loop of which only kernels are recorded."""
    file = KinetoFile()
    now = 0
    for _ in range(steps):
        names = [*(GEMM, NORM, POINTWISE) * layers, *([ADAM] * 4 if optimizer else [])]
        for name in names:
            file.kernel(name, now, now + 90_000, None)
            now += 100_000
    return file


def backward_on_its_own_thread(file: NsysFile | KinetoFile, wait_us: int, steps: int = 8) -> NsysFile | KinetoFile:
    """Thread 1 waits in the system, then launches forward and optimizer; thread 2, autograd's, the many of backward."""
    at = 0
    for _ in range(steps):
        file.os_call("sem_clockwait", at, at + wait_us * 1_000)
        at += wait_us * 1_000
        for name, thread in [(GEMM, 1)] * 8 + [(NORM, 2)] * 24 + [(ADAM, 1)] * 4:
            file.kernel(name, at + 5_000, at + 20_000, file.call("cudaLaunchKernel", at, at + 4_000, thread))
            at += 21_000
    return file


def test_without_marks_the_training_thread_is_the_one_that_launches_the_optimizer(tmp_path: Path) -> None:
    """What it waits for in the system is not Python work, though another thread launches more kernels."""
    healthy = backward_on_its_own_thread(NsysFile(), wait_us=10).write(tmp_path / "healthy")
    slow = backward_on_its_own_thread(NsysFile(), wait_us=310).write(tmp_path / "slow")
    found = analyze([slow], [healthy]).diagnosis
    assert (found.bottleneck, found.cause) == ("HostBound", None)


def device(path: Path) -> DeviceRow:
    return analyze([path]).devices[0]


def test_an_answer_from_repetition_says_so_and_its_steps_are_equally_long(tmp_path: Path) -> None:
    path = unmarked(layers=8, optimizer=True).write(tmp_path / "t")
    found = analyze([path])
    assert [step.name for step in found.devices[0].steps] == [f"repetition {number}" for number in range(1, 6)]
    assert {step.end_ns - step.start_ns for step in found.devices[0].steps} == {2_790_000, 2_800_000}
    assert any("distinguished by the optimizer's kernels" in one for one in found.traces[0].warnings)


def test_layers_that_repeat_are_no_steps(tmp_path: Path) -> None:
    path = unmarked(layers=8, optimizer=False).write(tmp_path / "t")
    assert [step.name for step in device(path).steps] == ["span"]
    assert any("no step range was found" in one for one in analyze([path]).traces[0].warnings)


def marked(file: NsysFile, name: str, start_ms: float, end_ms: float, thread: int = 1) -> None:
    file.range(name, round(start_ms * MS), round(end_ms * MS), thread)


def with_kernels(file: NsysFile, until_ms: int) -> NsysFile:
    for at in range(until_ms):
        file.kernel(GEMM, at * MS, at * MS + 500_000, file.call("cudaLaunchKernel", at * MS - 1000, at * MS))
    return file


def test_a_step_ends_where_the_next_begins_and_the_last_at_its_own_end(tmp_path: Path) -> None:
    file = NsysFile()
    for number in range(6):
        marked(file, f"step {number}", number * 10, number * 10 + 7)
    steps = device(with_kernels(file, 60).write(tmp_path / "t")).steps
    assert [(step.start_ns // MS, step.end_ns // MS) for step in steps] == [
        *((10 * number, 10 * number + 10) for number in range(5)),
        (50, 57),
    ]
    assert [step.interior for step in steps] == [False, True, True, True, True, False]


def test_micro_batches_within_a_step_are_not_taken_for_steps(tmp_path: Path) -> None:
    file = NsysFile()
    for number in range(6):
        marked(file, f"step {number}", number * 10, number * 10 + 9)
        for micro in range(4):
            marked(file, f"iteration {micro}", number * 10 + 2 * micro, number * 10 + 2 * micro + 1.5)
    assert len(device(with_kernels(file, 60).write(tmp_path / "t")).steps) == 6


def test_a_helpers_own_batches_are_not_taken_for_steps(tmp_path: Path) -> None:
    file = NsysFile()
    for number in range(6):
        marked(file, f"step_{number}", number * 10, number * 10 + 9)
    for number in range(30):
        marked(file, f"step {number}", number * 2, number * 2 + 0.1, thread=5)
    assert len(device(with_kernels(file, 60).write(tmp_path / "t")).steps) == 6


def test_a_step_range_of_another_name_can_be_given(tmp_path: Path) -> None:
    file = NsysFile()
    for number in range(6):
        marked(file, f"gradient update {number}", number * 10, number * 10 + 9)
    path = with_kernels(file, 60).write(tmp_path / "t")
    assert len(analyze([path], step_range="gradient update").devices[0].steps) == 6

"""Where no step is found: what lies before the first matrix kernel is start-up, and the longest gaps have a name."""

from pathlib import Path

from mfu_operator.cli import render
from mfu_operator.trace import markdown
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer, GapRow, StartupRow
from mfu_operator.trace.page import html_page
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import GEMM, POINTWISE

MS = 1_000_000


def beginning(path: Path) -> Path:
    """A program that loads a module for 300 ms, copies its model, computes for 50 ms, waits for 90 ms and computes."""
    file = KinetoFile()
    file.call("cuModuleLoadData", 10 * MS, 310 * MS)
    file.copy(1, 400 * MS, 480 * MS, file.call("cudaMemcpyAsync", 390 * MS, 391 * MS))
    file.kernel(POINTWISE, 500 * MS, 501 * MS, file.call("cudaLaunchKernel", 485 * MS, 499 * MS))
    file.kernel(GEMM, 510 * MS, 560 * MS, file.call("cudaLaunchKernel", 505 * MS, 506 * MS))
    file.call("cudaStreamSynchronize", 555 * MS, 649 * MS)
    file.kernel(GEMM, 650 * MS, 700 * MS, file.call("cudaLaunchKernel", 649 * MS, 649 * MS + 5_000))
    return file.write(path)


def found(tmp_path: Path) -> Answer:
    return analyze([beginning(tmp_path / "t")])


def test_what_lies_before_the_first_matrix_kernel_is_start_up_with_its_calls(tmp_path: Path) -> None:
    startup = found(tmp_path).startup
    assert isinstance(startup, StartupRow)
    assert startup.ms == 500
    assert [(one.name, one.ms) for one in startup.calls[:3]] == [
        ("cuModuleLoadData", 300),
        ("1 copies to the device", 80),
        ("cudaLaunchKernel", 14),
    ]


def test_the_longest_gaps_are_named_with_their_time_and_what_the_host_did(tmp_path: Path) -> None:
    answer = found(tmp_path)
    assert isinstance(answer.longest_gaps, tuple)
    assert answer.longest_gaps[0] == GapRow(
        ms=90, at_ns=answer.devices[0].steps[0].start_ns + 160 * MS, call="cudaStreamSynchronize", device=0
    )
    assert [gap.ms for gap in answer.longest_gaps] == [90, 20, 9]


def test_a_start_up_has_no_cause_and_no_step(tmp_path: Path) -> None:
    answer = found(tmp_path)
    assert (answer.diagnosis.bottleneck, answer.diagnosis.cause) == (None, None)
    assert any(said.startswith("start-up: 500.0 ms") for said in answer.diagnosis.evidence)
    for page in (render.answer_text(answer), markdown.answer_page(answer)):
        assert "per step" not in page
        assert "cuModuleLoadData" in page
        assert "cudaStreamSynchronize" in page


def test_a_loop_with_steps_has_no_start_up() -> None:
    answer = analyze([Path("tests/data/traces/kineto/resnet50_workers4_a.json.gz")])
    assert not isinstance(answer.startup, StartupRow)


def test_a_recording_that_begins_in_a_loop_has_no_start_up() -> None:
    said = render.answer_text(analyze([Path("tests/data/traces/nsys/h100_2gpu_1s.sqlite")]))
    assert "12.7 ms before the first matrix kernel" in said
    assert "start-up" not in said


def test_one_collective_alone_is_told_and_not_to_be_overlapped_with_what_is_not_there() -> None:
    answer = analyze([Path("tests/data/traces/hta/large_integer.json.gz")])
    assert answer.diagnosis.bottleneck is None
    assert answer.opportunities == ()
    said = render.answer_text(answer)
    assert "exposed communication 0.05 ms of 0.05 ms of the recorded span" in " ".join(said.split())
    assert "overlap them" not in said
    assert "recorded span, ms: 0.1" in said
    assert "steps, ms" not in said


def test_a_span_without_a_matrix_kernel_has_its_longest_gaps_in_every_form(tmp_path: Path) -> None:
    file = KinetoFile()
    for at in (0, 100 * MS):
        file.kernel(POINTWISE, at + MS, at + 2 * MS, file.call("cudaLaunchKernel", at, at + MS // 2))
    answer = analyze([file.write(tmp_path / "t")])
    for page in (render.answer_text(answer), markdown.answer_page(answer), html_page(answer)):
        assert "from 1.0 ms on" in page

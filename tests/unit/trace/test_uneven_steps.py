"""Few and uneven steps: whose mean it is, which step is left out of it, and what growth is beyond their own spread."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mfu_operator.cli import render
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import GEMM

MS = 1_000_000
NEXT = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def stepping(path: Path, steps: Sequence[tuple[float, float, float]]) -> Path:
    """A loop whose steps take so many ms for input, for other host work, and to compute."""
    file, now = KinetoFile(), 0.0
    for number, (data, host, compute) in enumerate(steps):
        begin = now
        if data:
            file.range(NEXT, round(now * MS), round((now + data) * MS))
        now += data + host
        call = file.call("cudaLaunchKernel", round(now * MS), round((now + 0.01) * MS))
        file.kernel(GEMM, round((now + 0.02) * MS), round((now + 0.02 + compute) * MS), call)
        now += compute + 0.05
        file.range(f"ProfilerStep#{number + 3}", round(begin * MS), round(now * MS))
    return file.write(path)


def lasting(path: Path, *compute_ms: float) -> Path:
    return stepping(path, [(0.1, 0.2, one) for one in compute_ms])


def warnings(found: Answer) -> str:
    return "; ".join(found.traces[0].warnings)


def test_of_three_steps_the_one_in_the_middle_speaks_alone_and_a_warning_says_so(tmp_path: Path) -> None:
    found = analyze([lasting(tmp_path / "t", 55, 40, 30)])
    assert found.devices[0].step.count == 1
    assert found.devices[0].step.account_ns["compute"] == 40 * MS
    assert "only 3 steps recorded" in warnings(found)
    assert "the one between them speaks alone" in warnings(found)


def test_of_four_steps_the_two_in_the_middle_speak(tmp_path: Path) -> None:
    found = analyze([lasting(tmp_path / "t", 55, 40, 42, 30)])
    assert found.devices[0].step.account_ns["compute"] == 41 * MS
    assert "the mean is over the 2 between them" in warnings(found)


@pytest.mark.parametrize("odd", [130.0, 12.0])
def test_a_step_that_is_no_step_of_the_loop_is_left_out_and_named(odd: float, tmp_path: Path) -> None:
    found = analyze([lasting(tmp_path / "t", 40, 40, 41, odd, 42, 40, 40)])
    assert found.devices[0].step.count == 4
    assert found.devices[0].step.account_ns["compute"] == pytest.approx(40.75 * MS)
    assert [step.name for step in found.devices[0].steps if step.left_out] == ["ProfilerStep#6"]
    assert f"ProfilerStep#6 ({odd + 0.35:.1f} ms)" in warnings(found)


def test_a_step_that_waits_long_for_its_input_is_of_the_loop(tmp_path: Path) -> None:
    steps = [(0.1, 0.2, 40.0)] * 4 + [(200.0, 0.2, 40.0)] + [(0.1, 0.2, 40.0)] * 4
    found = analyze([stepping(tmp_path / "t", steps)])
    assert not [step for step in found.devices[0].steps if step.left_out]
    assert found.devices[0].step.count == 7


def test_where_many_steps_differ_none_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    found = analyze([lasting(tmp_path / "t", 40, 10, 40, 100, 40, 10, 100, 40)])
    assert found.devices[0].step.count == 6
    assert "steps differ more than twofold" in warnings(found)


def test_text_shows_how_long_every_step_took(tmp_path: Path) -> None:
    said = render.answer_text(analyze([lasting(tmp_path / "t", 55, 40, 41, 130, 42, 40, 30)]))
    assert "steps, ms: (55.4) 40.4 41.4 (130.3) 42.4 40.4 (30.4); in brackets: not in the mean" in said


def compared(folder: Path, now: Sequence[tuple[float, float, float]], before: Sequence[float]) -> Answer:
    return analyze([stepping(folder / "now", now)], [lasting(folder / "before", *before)])


def test_growth_of_three_even_steps_is_seen(tmp_path: Path) -> None:
    found = compared(tmp_path, [(2.1, 0.2, 40.0), (2.2, 0.2, 40.1), (2.1, 0.2, 40.0)], (40.0, 40.1, 40.0))
    assert found.diagnosis.bottleneck == "InputStarved"


def test_growth_of_three_steps_that_vary_as_much_is_none(tmp_path: Path) -> None:
    uneven = [(0.1, 0.2, 36.0), (0.1, 0.2, 42.0), (0.1, 0.2, 47.0)]
    assert compared(tmp_path, uneven, (43.0, 40.0, 37.0)).diagnosis.bottleneck is None

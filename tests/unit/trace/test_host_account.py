from pathlib import Path

import pytest

from mfu_operator.model.account import PARTS
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.trace import termination_message as compact
from mfu_operator.trace.analyze import analyze, profile
from mfu_operator.trace.diagnosis.diagnose import diagnose
from tests.support.synthetic.host_loop import HostLoop
from tests.support.synthetic.nsys_file import SCHEMAS, NsysFile


@pytest.mark.parametrize("version", SCHEMAS)
def test_ranges_of_the_training_thread_make_the_account_where_no_device_was_recorded(
    tmp_path: Path, version: str
) -> None:
    answer = analyze([HostLoop(data_ms=5).trace(version).write(tmp_path / "t")])
    (device,) = answer.devices
    assert device.account_from == "nvtx"
    assert device.device is None
    assert answer.traces[0].producer == f"nsys {version}"
    assert device.step.account_ns["idleInput"] == pytest.approx(5e6)
    assert device.step.account_ns["compute"] == pytest.approx(18e6)


def test_the_parts_of_every_step_sum_to_it_exactly(tmp_path: Path) -> None:
    answer = analyze([HostLoop(steps=6).trace().write(tmp_path / "t")])
    for step in answer.devices[0].steps:
        assert sum(step.account_ns.values()) == step.end_ns - step.start_ns
        assert tuple(step.account_ns) == PARTS


def test_a_step_lasts_to_the_start_of_the_next_and_the_last_one_to_its_own_end(tmp_path: Path) -> None:
    steps = analyze([HostLoop(steps=5).trace().write(tmp_path / "t")]).devices[0].steps
    assert [one.end_ns for one in steps[:-1]] == [one.start_ns for one in steps[1:]]
    assert steps[-1].end_ns - steps[-1].start_ns < steps[0].end_ns - steps[0].start_ns
    assert [one.interior for one in steps] == [False, True, True, True, False]


def test_the_innermost_known_range_decides_and_unknown_ones_are_transparent(tmp_path: Path) -> None:
    file = NsysFile()
    for start in (0, 100, 200, 300, 400):
        file.range("step", start, start + 100)
        file.range("forward", start, start + 80)
        file.range("layer 3", start + 10, start + 30)
        file.range("allreduce", start + 15, start + 25)
    step = analyze([file.write(tmp_path / "t")]).devices[0].step
    assert step.account_ns["compute"] == 70
    assert step.account_ns["communication"] == 10
    assert step.account_ns["idleHost"] == 20


def test_loading_on_the_training_thread_instead_of_in_workers_is_named(tmp_path: Path) -> None:
    healthy = profile([HostLoop(data_ms=1).trace().write(tmp_path / "healthy")])
    slow = profile([HostLoop(data_ms=60, inline=True, loader_threads=0).trace().write(tmp_path / "slow")])
    found = diagnose(compact.decode(compact.encode(slow)), compact.decode(compact.encode(healthy)))
    assert (found.bottleneck, found.cause) == (Bottleneck.INPUT_STARVED, "DataLoaderWorkers")
    assert any("60.0 ms" in one and "1 ms" in one for one in found.evidence)
    assert found.delta_ns["idleInput"] == pytest.approx(59e6, rel=0.01)
    alone = diagnose(compact.decode(compact.encode(slow)))
    told = "the training thread loads its batches itself"
    assert f"{told}; in the baseline workers did" in found.evidence
    assert f"{told}: no worker hides the wait" in alone.evidence
    assert found.confidence > 0.8


def test_the_same_loop_twice_has_no_bottleneck(tmp_path: Path) -> None:
    one = profile([HostLoop().trace().write(tmp_path / "a")])
    two = profile([HostLoop(forward_ms=8.02).trace().write(tmp_path / "b")])
    assert diagnose(two, one).bottleneck is None


def test_a_slower_store_behind_the_same_loader_is_slow_storage(tmp_path: Path) -> None:
    healthy = profile([HostLoop(data_ms=10, inline=True).trace().write(tmp_path / "a")])
    slow = profile([HostLoop(data_ms=40, inline=True).trace().write(tmp_path / "b")])
    found = diagnose(slow, healthy)
    assert (found.bottleneck, found.cause) == (Bottleneck.INPUT_STARVED, "SlowStorage")

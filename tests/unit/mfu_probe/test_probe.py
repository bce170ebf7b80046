"""The probe in a training loop: readings, phases, ranges and the capture window."""

import math
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mfu_probe import Probe, RankIdentity, RunInfo
from mfu_probe.capture import CapturePlan
from mfu_probe.identity import node_of
from mfu_probe.metrics import page_of
from tests.unit.mfu_probe.support import ManualClock, RecordedRanges


class Loop:
    """A training loop of 0.2 s steps, of which the loader takes 0.05 s."""

    def __init__(self, capture: CapturePlan | None = None) -> None:
        self.clock = ManualClock()
        self.ranges = RecordedRanges()
        self.probe = Probe(
            flops_per_step=2e9,
            tokens_per_step=512,
            peak_flops=1e11,
            info=RunInfo(model="demo", rank="0"),
            capture=capture,
            ranges=self.ranges,
            clock=self.clock,
        )

    def loader(self, batches: int) -> Iterator[int]:
        for batch in range(batches):
            self.clock.advance(0.05)
            yield batch

    def train(self, steps: int) -> None:
        for _ in self.probe.steps(self.loader(steps)):
            with self.probe.forward():
                self.clock.advance(0.15)


def samples(probe: Probe) -> dict[str, float]:
    text = page_of(probe.snapshot())
    return {
        sample.name + "".join(f"|{value}" for value in sample.labels.values() if value): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_readings_come_from_completed_steps_and_wall_time() -> None:
    loop = Loop()
    loop.train(100)
    found = samples(loop.probe)
    assert found["mfu_probe_mfu_ratio"] == pytest.approx(2e9 / 0.2 / 1e11)
    assert found["mfu_probe_step_seconds"] == pytest.approx(0.2)
    assert found["mfu_probe_tokens_per_second"] == pytest.approx(512 / 0.2)
    assert found["mfu_probe_steps_total"] == 100
    assert found["mfu_probe_peak_flops"] == 1e11


def test_before_the_first_step_readings_are_absent_and_the_phase_is_starting() -> None:
    found = samples(Loop().probe)
    assert "mfu_probe_mfu_ratio" not in found
    assert "mfu_probe_step_seconds" not in found
    assert "mfu_probe_loss" not in found
    assert found["mfu_probe_phase|starting"] == 1


def test_the_phase_is_one_hot() -> None:
    loop = Loop()
    loop.train(3)
    with loop.probe.phase("checkpoint"):
        inside = {name: value for name, value in samples(loop.probe).items() if "_phase|" in name}
    assert inside == {
        "mfu_probe_phase|starting": 0,
        "mfu_probe_phase|running": 0,
        "mfu_probe_phase|checkpoint": 1,
        "mfu_probe_phase|evaluation": 0,
        "mfu_probe_phase|paused": 0,
    }
    assert loop.probe.snapshot().phase == "running"


def test_a_checkpoint_is_a_dip_in_mfu_and_says_how_much_of_the_window_it_took() -> None:
    loop = Loop()
    loop.train(100)
    healthy = loop.probe.snapshot().mfu_ratio
    with loop.probe.phase("checkpoint"):
        loop.clock.advance(2.0)
    loop.train(1)
    dipped = loop.probe.snapshot()
    assert healthy is not None and dipped.mfu_ratio is not None
    assert dipped.mfu_ratio == pytest.approx(healthy * 0.8, rel=0.03)
    assert dipped.window_running_ratio == pytest.approx(0.8, rel=0.03)


def test_a_step_ends_where_a_phase_begins() -> None:
    loop = Loop()
    for _ in loop.probe.steps(loop.loader(1)):
        loop.clock.advance(0.15)
        with loop.probe.phase("checkpoint"):
            step_seconds = loop.probe.snapshot().step_seconds
            loop.clock.advance(5.0)
    assert loop.ranges.events[:6] == ["+step", "+data", "-data", "-step", "+checkpoint", "-checkpoint"]
    assert loop.probe.completed_steps == 1
    assert step_seconds == pytest.approx(0.2)


def test_ranges_nest_inside_the_step() -> None:
    loop = Loop()
    loop.train(1)
    loop.probe.close()
    one_step = ["+step", "+data", "-data", "+forward", "-forward", "-step"]
    assert loop.ranges.events == [*one_step, "+step", "+data", "-data", "-step"]


def test_the_gap_between_two_epochs_belongs_to_one_step() -> None:
    loop = Loop()
    loop.train(2)
    loop.train(2)
    loop.probe.close()
    assert loop.probe.completed_steps == 4
    assert loop.ranges.events.count("+step") == 5
    assert loop.ranges.open == []


def test_leaving_the_loop_early_counts_the_step_and_leaves_no_range_open() -> None:
    loop = Loop()
    for batch in loop.probe.steps(loop.loader(10)):
        if batch == 3:
            break
    assert loop.probe.completed_steps == 4
    assert loop.ranges.open == []


def test_a_loop_without_a_loader_marks_its_own_steps() -> None:
    loop = Loop()
    for _ in range(4):
        with loop.probe.step(), loop.probe.data():
            loop.clock.advance(0.1)
    assert loop.probe.snapshot().step_seconds == pytest.approx(0.1)


def test_the_capture_window_holds_exactly_the_steps_asked_for_and_then_the_copy_ends() -> None:
    loop = Loop(CapturePlan(warmup_steps=3, steps=5))
    with pytest.raises(SystemExit) as ended:
        loop.train(1000)
    assert ended.value.code == 0
    events = loop.ranges.events
    opened, closed = events.index("+mfu_capture"), events.index("-mfu_capture")
    inside = events[opened + 1 : closed]
    assert inside.count("+step") == inside.count("-step") == 5
    assert inside[0] == "+step" and inside[-1] == "-step"
    assert events[:opened].count("-step") == 3
    assert closed == len(events) - 1
    assert loop.ranges.open == []


def test_the_capture_window_works_without_a_loader_too() -> None:
    loop = Loop(CapturePlan(warmup_steps=0, steps=2))
    done = 0
    with pytest.raises(SystemExit):
        while True:
            with loop.probe.step():
                done += 1
    assert done == 2
    assert loop.ranges.events[0] == "+mfu_capture"


def test_nothing_periodic_is_due_in_a_copy() -> None:
    assert Loop().probe.due(200, 100)
    assert not Loop().probe.due(150, 100)
    assert not Loop().probe.due(0, 100)
    assert not Loop().probe.due(200, 0)
    assert not Loop(CapturePlan(1, 1)).probe.due(200, 100)


def test_an_exception_in_the_training_step_leaves_no_range_open() -> None:
    loop = Loop()

    def failing() -> None:
        for _ in loop.probe.steps(loop.loader(3)):
            with loop.probe.forward():
                raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"), loop.probe:
        failing()
    assert loop.ranges.open == []


def test_a_loss_that_is_no_number_is_counted_until_it_is_one_again() -> None:
    probe = Loop().probe
    assert "mfu_probe_nonfinite_loss_streak" not in samples(probe)
    for value in (2.5, math.nan, math.inf, math.nan):
        probe.loss(value)
    broken = samples(probe)
    assert math.isnan(broken["mfu_probe_loss"])
    assert (broken["mfu_probe_nonfinite_loss_streak"], broken["mfu_probe_nonfinite_losses_total"]) == (3, 3)
    probe.loss(2.4)
    well = samples(probe)
    assert (well["mfu_probe_nonfinite_loss_streak"], well["mfu_probe_nonfinite_losses_total"]) == (0, 3)


def test_a_tensor_is_refused_and_never_made_a_number() -> None:
    class Tensor:
        def __float__(self) -> float:
            raise AssertionError("this waits for the device")

    probe = Loop().probe
    with pytest.warns(UserWarning, match="takes a Python number, not Tensor"):
        probe.loss(Tensor())  # type: ignore[arg-type]
    assert probe.snapshot().loss is None


def test_numpy_s_numbers_are_numbers() -> None:
    probe = Loop().probe
    probe.loss(np.float32(2.5))  # type: ignore[arg-type]
    assert probe.snapshot().loss == 2.5


def test_steps_that_are_skipped_in_a_row_are_counted_until_one_is_not() -> None:
    loop = Loop()
    loop.train(3)
    assert loop.probe.snapshot().skipped_steps_total is None
    for _ in loop.probe.steps(loop.loader(4)):
        loop.probe.skipped()
    found = samples(loop.probe)
    assert (found["mfu_probe_skipped_step_streak"], found["mfu_probe_skipped_steps_total"]) == (4, 4)
    loop.train(1)
    found = samples(loop.probe)
    assert (found["mfu_probe_skipped_step_streak"], found["mfu_probe_skipped_steps_total"]) == (0, 4)


def test_a_phase_between_steps_of_the_optimizer_is_part_of_none() -> None:
    """The step that begins at the optimizer's end begins again after the checkpoint: none is lost and none is long."""
    loop = Loop()
    for step in range(6):
        loop.clock.advance(0.2)
        loop.probe.after_optimizer()
        if step == 2:
            with loop.probe.phase("checkpoint"):
                loop.clock.advance(3.0)
    assert loop.probe.completed_steps == 5
    assert loop.probe.snapshot().phase == "running"
    assert "mfu_capture" not in loop.ranges.open and loop.ranges.open == ["step"]
    assert [event for event in loop.ranges.events if "checkpoint" in event] == ["+checkpoint", "-checkpoint"]


def test_a_loop_that_tells_its_steps_is_believed_before_the_optimizer() -> None:
    loop = Loop()
    for _ in range(2):
        loop.probe.after_optimizer()
        loop.clock.advance(1.0)
    for _ in loop.probe.steps(loop.loader(4)):
        loop.probe.after_optimizer()
        loop.clock.advance(0.15)
    assert loop.probe.completed_steps == 1 + 4


def test_the_node_and_the_rank_are_told() -> None:
    environment = {"NODE_NAME": "gpu-7", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8"}
    assert node_of(environment) == "gpu-7"
    assert node_of({**environment, "MFU_PROBE_NODE": "gpu-8"}) == "gpu-8"
    assert node_of({}) == ""
    mpi = RankIdentity.from_environment({**environment, "OMPI_COMM_WORLD_LOCAL_RANK": "1"})
    assert mpi == RankIdentity(rank=5, world_size=8, local_rank=1)
    page = page_of(Probe(info=RunInfo(rank="5", node="gpu-7")).snapshot())
    assert 'rank="5",node="gpu-7"' in page


def test_host_memory_is_exported_and_device_memory_is_absent_without_torch() -> None:
    found = samples(Loop().probe)
    assert 0 < found["mfu_probe_host_memory_bytes"] < found["mfu_probe_host_memory_limit_bytes"]
    assert not any(name.startswith("mfu_probe_memory_") for name in found)


def test_the_info_metric_carries_what_was_declared() -> None:
    text = page_of(Loop().probe.snapshot())
    assert 'model="demo"' in next(line for line in text.splitlines() if line.startswith("mfu_probe_info{"))


def test_metrics_are_served_over_http_and_the_port_is_given_back() -> None:
    probe = Loop().probe
    probe.serve(0, "127.0.0.1")
    assert probe.serving
    probe.close()
    assert not probe.serving


def test_a_port_that_is_taken_is_a_warning_and_no_end_of_training() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        probe = Loop().probe
        with pytest.warns(UserWarning, match="serves no metrics"):
            probe.serve(taken.getsockname()[1], "127.0.0.1")
    assert not probe.serving


@pytest.mark.parametrize("name", ["flops_per_step", "tokens_per_step", "peak_flops"])
def test_what_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive"):
        Probe(**{name: 0.0})  # type: ignore[arg-type]


def test_the_rank_comes_from_the_environment() -> None:
    environment = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}
    assert RankIdentity.from_environment(environment) == RankIdentity(3, 8, 1)
    assert RankIdentity.from_environment({}) == RankIdentity(0, 1, 0)


def test_the_capture_plan_comes_from_the_environment() -> None:
    assert CapturePlan.from_environment({}) is None
    assert CapturePlan.from_environment({"MFU_PROBE_CAPTURE_STEPS": "12"}) == CapturePlan(10, 12)
    with pytest.raises(ValueError, match="at least 1"):
        CapturePlan.from_environment({"MFU_PROBE_CAPTURE_STEPS": "0"})


_ORDINARY_RUN = """
import sys, urllib.request, warnings
sys.modules["nvtx"] = None
import os, socket, mfu_probe

def is_free(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0

# Below the ports that the kernel hands out by itself, where a stranger could take the next one in between.
port = next(port for port in range(20000 + os.getpid() % 9000, 32000) if is_free(port + 1))
with mfu_probe.start(flops_per_step=1.0, peak_flops=1.0, model="five-lines", port=port) as probe:
    for batch in probe.steps(range(3)):
        pass
    text = urllib.request.urlopen(f"http://127.0.0.1:{port + 1}/metrics").read().decode() if probe.serving else ""
print(probe.profiling, probe.completed_steps, "mfu_probe_steps_total 3.0" in text, "numpy" in sys.modules)
"""


def run_script(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[3] / "operator"
    return subprocess.run(
        [sys.executable, "-c", source],
        env={"PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_script_without_nvtx_or_numpy_serves_on_the_port_of_its_local_rank() -> None:
    finished = run_script(_ORDINARY_RUN, RANK="5", LOCAL_RANK="1", WORLD_SIZE="8")
    assert finished.stdout.split() == ["False", "3", "True", "False"], finished.stderr


def test_a_copy_ends_by_itself_with_exit_code_zero_and_serves_nothing() -> None:
    source = """
import itertools, mfu_probe
probe = mfu_probe.start(port=1)
for number in probe.steps(itertools.count()):
    print(number, probe.profiling, probe.serving)
"""
    finished = run_script(source, MFU_PROBE_CAPTURE_STEPS="2", MFU_PROBE_CAPTURE_WARMUP_STEPS="1")
    assert (finished.returncode, finished.stdout.split("\n")[:-1]) == (0, [f"{n} True False" for n in range(3)])

"""Which of a trace's devices speak for it, and what is said of those that cannot be read."""

from pathlib import Path

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import NsysFile


def with_a_stray_kernel(file: NsysFile | KinetoFile, path: Path, **loop: float) -> Path:
    """A rank's loop on device 0, and one tiny kernel that it left on another rank's device."""
    run = Loop(steps=7, **loop).record(file, 1)  # type: ignore[arg-type]
    file.kernel("spin_kernel", run.marks[3], run.marks[3] + 900, None, device=1)
    return file.write(path)


@pytest.mark.parametrize("form", [NsysFile, KinetoFile])
def test_a_device_that_only_met_a_stray_operation_does_not_speak_for_the_trace(
    form: type[NsysFile] | type[KinetoFile], tmp_path: Path
) -> None:
    alone = form()
    Loop(steps=7).record(alone, 1)
    expected = analyze([alone.write(tmp_path / "alone")])
    found = analyze([with_a_stray_kernel(form(), tmp_path / "stray")])
    assert [one.device for one in found.devices] == [0, 1]
    assert found.diagnosis == expected.diagnosis
    assert any("device 1 was busy for 0.0009 ms" in said for said in found.traces[0].warnings)


def test_a_stray_operation_does_not_change_what_grew(tmp_path: Path) -> None:
    healthy = with_a_stray_kernel(KinetoFile(), tmp_path / "healthy")
    found = analyze([with_a_stray_kernel(KinetoFile(), tmp_path / "slow", input_us=900.0)], [healthy])
    assert found.diagnosis.bottleneck == "InputStarved"
    (before, now) = (analyze([healthy]).devices[0].step, found.devices[0].step)
    assert found.difference.step_ns == pytest.approx(now.mean_ns - before.mean_ns)  # type: ignore[union-attr]


def test_two_devices_that_share_the_work_both_count(tmp_path: Path) -> None:
    file = KinetoFile()
    run = Loop(steps=7).record(file, 1)
    for begin in run.marks[:-1]:
        file.kernel("ampere_sgemm_128x64_tn", begin, begin + 200_000, None, device=1)
    assert "device 1 was busy" not in " ".join(analyze([file.write(tmp_path / "t")]).traces[0].warnings)


def test_ranks_in_one_file_whose_calls_are_numbered_alike_are_not_matched_to_each_others(tmp_path: Path) -> None:
    file = KinetoFile()
    Loop(steps=7).record(file, 1)
    second = [
        {**one, "ts": one["ts"] + 300, "pid": one["pid"] + 1, "args": {**one["args"], "device": 1}}
        for one in file.events
    ]
    alone = analyze([file.write(tmp_path / "alone")]).devices[0].step.account_ns
    file.events += second
    found = analyze([file.write(tmp_path / "both")])
    assert [one.step.account_ns["compute"] for one in found.devices] == pytest.approx([alone["compute"]] * 2)
    assert all(one.step.account_ns["idleLaunch"] == 0 for one in found.devices)
    assert any("give one file per rank" in said for said in found.traces[0].warnings)


@pytest.mark.parametrize(("first", "second"), [("[TP00] {}", "[TP01] {}"), ("[TP00 {}]", "[TP01 {}]")])
def test_ranks_that_a_tool_labelled_in_one_file_are_devices_of_their_own(
    first: str, second: str, tmp_path: Path
) -> None:
    """SGLang's merger: every process is renamed, and device and correlation stay as each rank counted them."""
    ranks = [KinetoFile(), KinetoFile()]
    for file, input_us in zip(ranks, (0.0, 900.0), strict=True):
        Loop(steps=7, input_us=input_us).record(file, 1)
    alone = [analyze([file.write(tmp_path / f"{rank}")]) for rank, file in enumerate(ranks)]
    for file, label in zip(ranks, (first, second), strict=True):
        for event in file.events:
            event["pid"] = label.format(event["pid"])
    ranks[0].events += ranks[1].events
    found = analyze([ranks[0].write(tmp_path / "merged")])
    assert [one.gpu for one in found.devices] == ["NVIDIA H100 80GB HBM3"] * 2
    assert [one.device for one in found.devices] == [0, 1]
    assert [one.step.account_ns for one in found.devices] == [one.devices[0].step.account_ns for one in alone]
    assert any("number their devices alike" in said for said in found.traces[0].warnings)


def test_ranks_in_one_file_are_numbered_in_their_own_order_and_not_in_the_files(tmp_path: Path) -> None:
    labelled = []
    for rank, input_us in ((10, 900.0), (2, 0.0)):
        file = KinetoFile()
        Loop(steps=7, input_us=input_us).record(file, 1)
        labelled += [{**event, "pid": f"[TP{rank:02d}] {event['pid']}"} for event in file.events]
    file.events = labelled
    waits = [one.step.account_ns["idleInput"] for one in analyze([file.write(tmp_path / "merged")]).devices]
    assert waits[0] < waits[1]


def test_ranks_whose_processes_a_tool_numbered_anew_are_devices_of_their_own(tmp_path: Path) -> None:
    """TraceLens's merger: processes and correlations are moved, each rank's by as much."""
    ranks = [KinetoFile(), KinetoFile()]
    for file, input_us in zip(ranks, (0.0, 900.0), strict=True):
        Loop(steps=7, input_us=input_us).record(file, 1)
    alone = [analyze([file.write(tmp_path / f"{rank}")]) for rank, file in enumerate(ranks)]
    for event in ranks[1].events:
        event["pid"] += 10_000_000
        if event["args"].get("correlation") is not None:
            event["args"]["correlation"] += 10_000_000
    ranks[0].events += ranks[1].events
    found = analyze([ranks[0].write(tmp_path / "merged")])
    assert [one.step.account_ns for one in found.devices] == [one.devices[0].step.account_ns for one in alone]


def test_ranks_whose_events_a_tool_put_under_their_number_are_devices_of_their_own(tmp_path: Path) -> None:
    """Composer's merger: host and device of a rank are one process, named by the rank."""
    ranks = [KinetoFile(), KinetoFile()]
    for file, input_us in zip(ranks, (0.0, 900.0), strict=True):
        Loop(steps=7, input_us=input_us).record(file, 1)
    alone = [analyze([file.write(tmp_path / f"{rank}")]) for rank, file in enumerate(ranks)]
    for rank, file in enumerate(ranks):
        for event in file.events:
            event["pid"] = rank
    ranks[0].events += ranks[1].events
    found = analyze([ranks[0].write(tmp_path / "merged")])
    assert [one.step.account_ns for one in found.devices] == [one.devices[0].step.account_ns for one in alone]


UNREAD = "2 device events of a kind that cannot be read (mtia_ccp_events)"


def of_another_kind(path: Path, *, steps: int) -> Path:
    file = KinetoFile()
    for index in range(steps):
        file.range(f"ProfilerStep#{index + 3}", index * 1_000_000, (index + 1) * 1_000_000)
    for begin in (100_000, 200_000):
        file._event("mtia_ccp_events", "pe_exe", begin, begin + 50_000, 17, 3910, stream=112)
    return file.write(path)


def test_a_kind_of_device_that_cannot_be_read_leaves_its_steps_unknown(tmp_path: Path) -> None:
    found = analyze([of_another_kind(tmp_path / "t", steps=6)])
    assert found.devices[0].step.account_ns["idleUnknown"] == found.devices[0].step.mean_ns
    assert found.diagnosis.bottleneck == "Inconclusive"
    assert UNREAD in found.diagnosis.evidence[0]
    assert "no device activity" not in " ".join(found.traces[0].warnings)


def test_without_steps_it_is_refused_with_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="mtia_ccp_events"):
        analyze([of_another_kind(tmp_path / "t", steps=0)])

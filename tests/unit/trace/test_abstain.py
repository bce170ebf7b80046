"""When nothing may be said: the verdict is Inconclusive, with the reason and the exact flags to record instead."""

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.answer import Answer
from tests.support.synthetic.host_loop import HostLoop
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import GEMM, Loop
from tests.support.synthetic.nsys_file import PROCESS, NsysFile

TRACES = Path("tests/data/traces")
RESNET = TRACES / "kineto/resnet50_workers4_a.json.gz"
STARVED = TRACES / "kineto/resnet50_workers0_a.json.gz"
MS = 1_000_000


def refused(found: Answer, why: str, *flags: str) -> None:
    """The answer names no bottleneck, and says why and what to record."""
    row = found.diagnosis
    assert row.bottleneck == "Inconclusive"
    assert row.cause is None
    assert why in " ".join(row.evidence)
    assert all(flag in " ".join(row.advice) for flag in flags)


def test_a_file_that_is_cut_short(tmp_path: Path) -> None:
    text = gzip.decompress(RESNET.read_bytes())
    path = tmp_path / "t"
    path.write_bytes(text[: len(text) * 9 // 10])
    refused(analyze([path]), "cut short", "nsys profile --trace=cuda,nvtx,osrt")
    refused(analyze([STARVED], [path]), "the baseline is incomplete", "nsys profile --trace=cuda,nvtx,osrt")


def test_a_sampled_trace() -> None:
    refused(analyze([TRACES / "hta/sampled_rank-0.json.gz"]), "sampled", "nsys profile --trace=cuda,nvtx,osrt")


def loop(steps: int = 9) -> NsysFile:
    file = NsysFile("2025.3.1.90")
    Loop(steps=steps).record(file, 1)
    return file


def diagnostic(file: NsysFile, text: str) -> None:
    file.add("DIAGNOSTIC_EVENT", 0, 0, 1, 2, text, PROCESS)


def test_dropped_records(tmp_path: Path) -> None:
    file = loop()
    diagnostic(file, "CUPTI buffer overflow: 1200 CUDA records were dropped")
    found = analyze([file.write(tmp_path / "t")])
    refused(found, "nsys reports dropped records", "nsys profile --trace=cuda,nvtx,osrt", "--duration=")
    assert "nsys reports dropped records" in found.traces[0].warnings


def test_records_in_doubt_are_a_warning_only(tmp_path: Path) -> None:
    file = loop()
    diagnostic(file, "Not all NVTX events might have been collected.")
    found = analyze([file.write(tmp_path / "t")])
    assert found.diagnosis.bottleneck != "Inconclusive"
    assert "nsys is not sure that it collected every record" in found.traces[0].warnings


def test_copies_without_a_kernel_table(tmp_path: Path) -> None:
    file = loop()
    del file.rows["CUPTI_ACTIVITY_KIND_KERNEL"]
    found = analyze([file.write(tmp_path / "t")])
    refused(found, "no kernel", "CAP_SYS_ADMIN", "--trace=cuda-sw,nvtx,osrt")
    parts = found.devices[0].step.account_ns
    assert parts["h2d"] > 0
    assert parts["idleUnknown"] == pytest.approx(found.devices[0].step.mean_ns - parts["h2d"] - parts["memset"])


def test_launches_without_any_device_activity(tmp_path: Path) -> None:
    file = HostLoop().trace("2025.3.1.90")
    file.call("cudaLaunchKernel_v7000", 5_000, 9_000)
    refused(analyze([file.write(tmp_path / "t")]), "no device activity", "CAP_SYS_ADMIN", "--trace=cuda-sw,nvtx,osrt")


@pytest.mark.parametrize("name", ["rank_non_gpu", "distributed_info_not_found"])
def test_collectives_of_nccl_without_any_device_activity(name: str) -> None:
    refused(analyze([TRACES / f"hta/{name}.json.gz"]), "no device activity", "--trace=cuda", "ProfilerActivity.CUDA")


def graphs(steps: int = 6) -> NsysFile:
    """Steps that are one graph each, recorded whole."""
    file = NsysFile("2025.3.1.90")
    for step in range(steps):
        begin = step * 10 * MS
        file.range("step", begin, begin + 10 * MS)
        call = file.call("cudaGraphLaunch_v10000", begin, begin + 100_000)
        file.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", begin + MS, begin + 9 * MS, 0, 1, 7, call, PROCESS, 1)
        file.kernel(GEMM, begin + 9 * MS, begin + 10 * MS, file.call("cudaLaunchKernel", begin, begin + 1))
    return file


def test_graphs_that_hide_their_kernels(tmp_path: Path) -> None:
    refused(
        analyze([graphs().write(tmp_path / "t")]), "80% of the step are CUDA graphs", "--cuda-graph-trace=node", "nsys"
    )


def test_graphs_that_hide_idle_time() -> None:
    refused(analyze([TRACES / "hta/negative_queue_rank0.json.gz"]), "CUDA graphs", "--cuda-graph-trace=node", "nsys")


def test_one_step_is_not_compared(tmp_path: Path) -> None:
    one = loop(steps=1).write(tmp_path / "one")
    many = loop().write(tmp_path / "many")
    refused(analyze([one], [many]), "one step only", "nsys profile", "--delay=60 --duration=30")
    refused(analyze([many], [one]), "the baseline holds one step only", "nsys profile")


def test_one_step_alone_is_answered_with_a_warning() -> None:
    found = analyze([TRACES / "tracelens/qwen_h100.json.gz"])
    assert found.diagnosis.bottleneck == "KernelBound"
    assert any("only 1 step recorded" in one for one in found.traces[0].warnings)


def test_spans_without_steps_are_not_compared() -> None:
    path = TRACES / "nsys/h100_2gpu_1s.sqlite"
    found = analyze([path], [path])
    refused(found, "no steps", "NVTX range named step", "nsys profile")
    assert found.difference is not msgspec.UNSET
    assert not found.difference.comparable


def first_iterations(path: Path, first: int, steps: int) -> Path:
    """Steps of which most is the host's work before the kernel."""
    file = KinetoFile()
    for step in range(steps):
        begin = step * 10 * MS
        file.range(f"ProfilerStep#{first + step}", begin, begin + 10 * MS)
        file.kernel(GEMM, begin + 8 * MS, begin + 9 * MS, file.call("cudaLaunchKernel", begin + 7 * MS, begin + 8 * MS))
    return file.write(path)


def test_the_first_iteration_is_not_blamed_for_its_warm_up(tmp_path: Path) -> None:
    refused(analyze([first_iterations(tmp_path / "t", 0, 2)]), "first iteration", "--delay=60", "nsys profile")


@pytest.mark.parametrize(("first", "steps"), [(1, 2), (10, 3), (0, 3), (0, 6)])
def test_later_iterations_and_interior_ones_are_answered(tmp_path: Path, first: int, steps: int) -> None:
    assert analyze([first_iterations(tmp_path / "t", first, steps)]).diagnosis.bottleneck == "HostBound"


def test_a_first_iteration_without_marks_is_answered_with_a_warning() -> None:
    found = analyze([TRACES / "hta/alexnet_first_iteration.json.gz"])
    assert (found.diagnosis.bottleneck, found.diagnosis.cause) == (None, None)
    assert "the device idles 8484.0 ms of the recorded span for calls that allocate or free memory" in (
        found.diagnosis.evidence
    )
    assert any("warm-up" in one for one in found.traces[0].warnings)


def test_a_trace_without_anything_to_account_for(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": []}))
    with pytest.raises(Unreadable, match=r"record with torch\.profiler"):
        analyze([path])

"""A refusal says the true reason, and one file that cannot be read does not end a folder."""

import json
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from mfu_operator.cli.analyze import analyze_command
from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import analyze
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import PROCESS, NsysFile

NO_EVENTS = "No CUDA events collected. Does the process use CUDA?"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1048576\n"


def why(path: Path) -> str:
    with pytest.raises(Unreadable) as caught:
        analyze([path])
    assert caught.value.message.startswith(f"{path}: ")
    return caught.value.message.removeprefix(f"{path}: ")


def events(path: Path, *found: dict[str, Any], bare: bool = False) -> Path:
    path.write_text(json.dumps(list(found) if bare else {"traceEvents": list(found)}))
    return path


def process(name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": name}}


def complete(name: str, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 7, "tid": 1, "ts": 100.0, "dur": 5.0, **more}


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("an Ascend NPU", [process("Ascend Hardware"), complete("MatMulV2")]),
        ("a Gaudi accelerator (HPU)", [complete("gemm", cat="hpu_op")]),
        ("a TPU", [process("/device:TPU:0 (pid 3)"), complete("fusion.7")]),
        ("an MTIA accelerator", [complete("dma", cat="mtia_ccp_events")]),
    ],
)
def test_a_trace_of_another_accelerator_is_refused_by_its_name(
    device: str, found: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert f"of {device}" in why(events(tmp_path / "t.json", *found))


def test_launches_on_an_xpu_without_its_activity_are_named(tmp_path: Path) -> None:
    found = analyze([events(tmp_path / "t", complete("urEnqueueKernelLaunch", cat="xpu_runtime"))]).diagnosis
    assert found.bottleneck == "Inconclusive"
    assert any("of an Intel XPU" in one for one in found.evidence)


def test_a_bare_array_of_ascends_profiler_is_known_too(tmp_path: Path) -> None:
    assert "an Ascend NPU" in why(events(tmp_path / "t", process("Ascend Hardware"), complete("x"), bare=True))


def test_a_file_cut_short_says_so_and_how_much_is_there(tmp_path: Path) -> None:
    file = NsysFile()
    Loop(steps=4).record(file, 1)
    path = file.write(tmp_path / "t.sqlite")
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[: whole // 2])
    assert why(path).startswith(f"cut short: {whole // 2:,} of {whole:,} bytes")


def test_a_pointer_and_an_empty_file_are_named_for_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "pointer.json").write_text(POINTER)
    (tmp_path / "empty.json").write_text("")
    assert "a Git LFS pointer, not the file itself; fetch it with git lfs pull" in why(tmp_path / "pointer.json")
    assert "empty" in why(tmp_path / "empty.json")


def test_a_trace_whose_times_cannot_be_says_so(tmp_path: Path) -> None:
    assert "2 events have impossible times" in why(
        events(tmp_path / "t", *(complete("k", cat="kernel", dur=-1.0) for _ in range(2)))
    )


class Armed:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (self.path, "ran"))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_refused_and_never_unpickled(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [Armed(tmp_path / "trap")]}, protocol))
    assert "a pickle" in why(path)
    assert not (tmp_path / "trap").exists()


def folder_of_ranks(folder: Path) -> Path:
    for rank in range(2):
        file = KinetoFile(rank=rank, world_size=3)
        Loop(steps=5).record(file, rank)
        file.write(folder / f"rank{rank}.json.gz")
    return folder


def test_one_unreadable_file_does_not_end_a_folder(tmp_path: Path) -> None:
    folder = folder_of_ranks(tmp_path)
    (folder / "rank2.json.gz").write_text(POINTER)
    (folder / "rank3.json.gz").write_bytes(b"")
    events(folder / "rank4.json", complete("MatMulV2"), process("Ascend Hardware"))
    ran = CliRunner().invoke(analyze_command, [str(folder), "-o", "json"])
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert [trace["rank"] for trace in found["traces"]] == [0, 1]
    assert [Path(one["path"]).name for one in found["unreadable"]] == ["rank2.json.gz", "rank3.json.gz", "rank4.json"]
    assert [one["because"][:20] for one in found["unreadable"]] == [
        "a Git LFS pointer, n",
        "empty; copy or recor",
        "device activity that",
    ]
    text = CliRunner().invoke(analyze_command, [str(folder)]).stdout
    assert "rank2.json.gz could not be read: a Git LFS pointer" in " ".join(text.split())


def test_a_folder_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rank0.json.gz").write_text(POINTER)
    assert CliRunner().invoke(analyze_command, [str(tmp_path)]).exit_code == 3


def test_a_file_that_is_named_itself_must_be_readable(tmp_path: Path) -> None:
    folder = folder_of_ranks(tmp_path)
    (folder / "rank2.json.gz").write_text(POINTER)
    with pytest.raises(Unreadable):
        analyze(sorted(folder.iterdir()))


def test_a_folder_of_readable_files_has_no_list_of_others(tmp_path: Path) -> None:
    assert analyze([folder_of_ranks(tmp_path)]).unreadable is msgspec.UNSET


def launched(tmp_path: Path, process_number: int | None, *, calls: bool = False) -> Path:
    """An export of a training process, and of a launcher of which nsys says that it has no CUDA events."""
    file = NsysFile("2025.3.1.90")
    Loop().record(file, 1)
    file.add("DIAGNOSTIC_EVENT", 0, 0, 1, 2, NO_EVENTS, process_number)
    if calls and process_number is not None:
        name = file.string("cudaLaunchKernel")
        file.add("CUPTI_ACTIVITY_KIND_RUNTIME", 10, 20, 0, process_number + 5, 9999, name, 0, None)
    return file.write(tmp_path / "t")


LAUNCHER = PROCESS + (1 << 24)


@pytest.mark.parametrize("of", [LAUNCHER, PROCESS, None])
def test_a_launcher_without_cuda_events_is_no_lack_of_privileges(of: int | None, tmp_path: Path) -> None:
    found = analyze([launched(tmp_path, of)])
    assert not any("privileges" in one for one in found.traces[0].warnings)
    assert found.diagnosis.bottleneck != "Inconclusive"


def test_a_process_that_makes_cuda_calls_and_has_no_events_is_one(tmp_path: Path) -> None:
    found = analyze([launched(tmp_path, LAUNCHER, calls=True)])
    assert any("privileges" in one for one in found.traces[0].warnings)


def test_where_no_process_has_kernels_the_alarm_stays(tmp_path: Path) -> None:
    file = NsysFile("2025.3.1.90")
    Loop().record(file, 1)
    file.add("DIAGNOSTIC_EVENT", 0, 0, 1, 2, NO_EVENTS, PROCESS)
    for table in ("KERNEL", "MEMCPY", "RUNTIME"):
        del file.rows[f"CUPTI_ACTIVITY_KIND_{table}"]
    found = analyze([file.write(tmp_path / "t")])
    assert found.diagnosis.bottleneck == "Inconclusive"
    assert any("privileges" in one for one in found.traces[0].warnings)


def test_a_name_in_an_export_is_never_sql(tmp_path: Path) -> None:
    """A query without an end, for one: SELECT 1 FROM "a" , (WITH RECURSIVE …) --" would run it."""
    file = NsysFile()
    Loop(steps=4).record(file, 1)
    path = file.write(tmp_path / "t.sqlite")
    plain = analyze([path]).diagnosis
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "a"" , sqlite_no_such_table --" (x)')
        connection.execute('INSERT INTO "a"" , sqlite_no_such_table --" VALUES (1)')
    connection.close()
    assert analyze([path]).diagnosis == plain


def test_a_file_that_is_cut_before_its_device_activity_is_refused_for_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "rank0.json.gz"
    whole = Path("tests/data/traces/torchrec/sst_long_a2a_optimizer_2a/pid24049.pt.trace.json.gz")
    path.write_bytes(whole.read_bytes()[:30_000])
    with pytest.raises(Unreadable, match="the file is cut short"):
        analyze([path])

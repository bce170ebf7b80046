"""What every reader must cope with, one sentence of the requirement each. Streams and pieces: test_kineto_stream."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.errors import Unreadable
from mfu_operator.model.account import PARTS
from mfu_operator.model.trace import NONE, Trace
from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.read import formats
from tests.support.synthetic.kineto_file import VERSIONS, KinetoFile
from tests.support.synthetic.loop import Loop
from tests.support.synthetic.nsys_file import PROCESS, SCHEMAS, NsysFile

TRACES = Path("tests/data/traces")
BASE_US = 1_700_000_000_000_000
"""A time of 2023 in microseconds: what traces counted from before `baseTimeNanoseconds`."""


def read(path: Path) -> Trace:
    return formats.read(formats.TraceFile(path, path))


def account(path: Path) -> list[dict[str, int]]:
    return [dict(step.account_ns) for device in analyze([path]).devices for step in device.steps]


def one_loop(file: NsysFile | KinetoFile, path: Path) -> Path:
    Loop(steps=6).record(file, 1)
    return file.write(path)


# nsys


def test_every_nsys_schema_from_2022_4_to_2026_2_gives_the_same_account(tmp_path: Path) -> None:
    accounts = [account(one_loop(NsysFile(version), tmp_path / version)) for version in SCHEMAS]
    assert sorted(SCHEMAS) == ["2022.4.2.1", "2023.4.4.54", "2025.3.1.90", "2026.2.1.210"]
    assert all(one == accounts[0] for one in accounts)


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_producer_is_named_with_its_version(version: str, tmp_path: Path) -> None:
    assert read(one_loop(NsysFile(version), tmp_path / "t")).producer == f"nsys {version}"


def test_text_in_an_export_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
    connection.execute(
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('DeviceEnvironment', CAST(x'52414e4b3d33ff' AS TEXT))"
    )
    connection.execute("UPDATE StringIds SET value = CAST(x'73746570ff' AS TEXT) WHERE value LIKE 'aten%'")
    connection.commit()
    connection.close()
    assert len(account(path)) == 6


def test_an_export_without_process_ids_joins_by_correlation_alone() -> None:
    trace = read(TRACES / "nsys/healthy_1pct.sqlite")
    assert (trace.ops.launch >= 0).all()


@pytest.mark.parametrize(("kind", "part"), [(1, "h2d"), (2, "d2h"), (8, "d2d"), (10, "d2d"), (11, "h2d"), (12, "d2h")])
def test_every_kind_of_copy_goes_the_way_that_it_goes(kind: int, part: str, tmp_path: Path) -> None:
    file = NsysFile()
    file.range("step", 0, 10_000)
    file.copy(kind, 1_000, 4_000, None)
    assert PARTS[int(read(file.write(tmp_path / "t")).ops.part[0])] == part


def test_a_range_is_named_by_its_own_text_or_by_its_text_id(tmp_path: Path) -> None:
    file = NsysFile()
    file.add("NVTX_EVENTS", 0, 10, 59, None, None, None, "its own", PROCESS + 1, None, None, 0, None)
    file.range("by id", 20, 30)
    assert read(file.write(tmp_path / "t")).names == ("its own", "by id")


@pytest.mark.parametrize("kind", [59, 60, 70, 71], ids=["push/pop", "start/end", "imported p/p", "imported s/e"])
def test_every_kind_of_range_is_one_and_a_mark_is_none(kind: int, tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    before = read(path).ranges
    connection.execute("UPDATE NVTX_EVENTS SET eventType = ?", (kind,))
    connection.execute("INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (1, 9, 34, 'm', 1)")
    connection.commit()
    connection.close()
    assert len(read(path).ranges) == len(before)


def test_a_range_that_never_ended_is_left_out(tmp_path: Path) -> None:
    file = NsysFile()
    file.range("step", 0, 10)
    file.range("step", 20, None)
    assert len(read(file.write(tmp_path / "t")).ranges) == 1


def test_processes_that_count_their_devices_each_from_zero_are_different_gpus(tmp_path: Path) -> None:
    """One process per GPU, each with its own CUDA_VISIBLE_DEVICES."""
    file = NsysFile("2025.3.1.90")
    name = file.string("kernel")
    for rank in range(2):
        process = PROCESS + (rank << 24)
        file.add("TARGET_INFO_CUDA_DEVICE", rank, 0, 4711 + rank, None, 132)
        file.gpu(rank, f"GPU {rank}")
        file.add(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            *(1_000, 2_000 + rank, 0, 1, 7, 100, process, name, name, 1, 1, 1, 128, 1, 1, None),
        )
    found = analyze([file.write(tmp_path / "t")])
    assert [(one.device, one.gpu, one.steps[0].account_ns["compute"]) for one in found.devices] == [
        (0, "GPU 0", 1_000),
        (1, "GPU 1", 1_001),
    ]


def with_kernels_of(processes: int, variables: list[str], path: Path) -> Trace:
    """An export of one nsys around so many processes with kernels, each on its own device."""
    file = NsysFile("2025.3.1.90")
    file.environment(variables)
    name = file.string("kernel")
    for rank in range(processes):
        process = PROCESS + (rank << 24)
        file.add(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            *(1_000, 2_000, rank, 1, 7, 100, process, name, name, 1, 1, 1, 128, 1, 1, None),
        )
    return read(file.write(path))


def test_a_task_of_one_process_is_a_rank(tmp_path: Path) -> None:
    trace = with_kernels_of(1, ["SLURM_PROCID=3", "SLURM_NTASKS=16"], tmp_path / "t")
    assert (trace.rank, trace.world_size) == (3, 16)


def test_the_task_of_a_launcher_of_several_ranks_is_none_of_them(tmp_path: Path) -> None:
    """nsys around torchrun, once per node: SLURM_PROCID is the node's number, SLURM_NTASKS that of nodes."""
    trace = with_kernels_of(2, ["SLURM_PROCID=3", "SLURM_NTASKS=16"], tmp_path / "t")
    assert (trace.rank, trace.world_size) == (None, None)


def test_a_world_size_by_its_own_name_holds_for_several_ranks_in_one_export(tmp_path: Path) -> None:
    trace = with_kernels_of(2, ["RANK=0", "WORLD_SIZE=16"], tmp_path / "t")
    assert (trace.rank, trace.world_size) == (None, 16)


def test_what_an_export_leaves_open_of_its_devices_is_no_damage(tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)")
    connection.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, NULL), (NULL, 1, 4711)")
    connection.execute("UPDATE TARGET_INFO_GPU SET name = NULL")
    connection.commit()
    connection.close()
    assert read(path).gpus == {}


def test_an_export_without_its_names_says_so_and_blames_nothing(tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE StringIds")
    connection.close()
    found = analyze([path])
    assert any("StringIds" in said for said in found.traces[0].warnings)
    assert found.diagnosis.bottleneck == "Inconclusive"


def test_calls_and_kernels_without_a_correlation_are_not_joined(tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"):
        connection.execute(f"UPDATE {table} SET correlationId = 0")
    connection.commit()
    connection.close()
    assert set(read(path).ops.launch) == {NONE}


def test_each_kernel_is_joined_with_the_call_of_its_own_correlation_and_process(tmp_path: Path) -> None:
    file = NsysFile()
    for start in range(0, 5_000, 1_000):
        file.kernel("kernel", start + 500, start + 900, file.call("cudaLaunchKernel", start, start + 10))
    other = PROCESS + (1 << 24)
    text = file.string("cudaLaunchKernel")
    file.add("CUPTI_ACTIVITY_KIND_RUNTIME", 6_000, 6_010, 0, other + 1, file.correlation, text, 0, None)
    trace = read(file.write(tmp_path / "t"))
    assert trace.calls.start[trace.ops.launch].tolist() == [0, 1_000, 2_000, 3_000, 4_000]


def test_a_range_with_an_empty_text_is_named_by_its_text_id(tmp_path: Path) -> None:
    path = one_loop(NsysFile(), tmp_path / "t")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE NVTX_EVENTS SET text = ''")
    connection.commit()
    connection.close()
    assert "ProfilerStep#0" in read(path).names


# Kineto


@pytest.mark.parametrize("version", VERSIONS)
def test_every_spelling_of_categories_since_1_8_gives_the_same_account(version: str, tmp_path: Path) -> None:
    old = account(one_loop(KinetoFile("1.8"), tmp_path / "old"))
    assert account(one_loop(KinetoFile(version), tmp_path / version)) == old


def document(**more: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, **more}


def event(cat: str, name: str, ts: Any, dur: Any, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def timed(start: Any, length: Any) -> list[dict[str, Any]]:
    """A step of ten times `length` with one kernel at its beginning, as the numbers are spelled."""
    return [
        event("user_annotation", "ProfilerStep#3", start, length * 10),
        event("kernel", "k", start, length, device=0),
    ]


def written(path: Path, events: list[dict[str, Any]], **more: Any) -> Path:
    path.write_text(json.dumps(document(traceEvents=events, **more)))
    return path


def in_halves(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The event as Composer writes its own."""
    begin = {key: event[key] for key in ("name", "cat", "pid", "tid", "ts", "args")}
    return [begin | {"ph": "B"}, begin | {"ph": "E", "ts": event["ts"] + event["dur"]}]


def test_ranges_in_halves_are_ranges(tmp_path: Path) -> None:
    file = KinetoFile()
    Loop(steps=6, input_us=900.0).record(file, 1)
    whole = account(file.write(tmp_path / "whole"))
    file.events = [
        half
        for event in file.events
        for half in (in_halves(event | {"cat": "event"}) if event["cat"] == "user_annotation" else [event])
    ]
    assert account(file.write(tmp_path / "halves")) == whole
    assert whole[2]["idleInput"] > 0


def test_a_half_without_the_other_is_no_range(tmp_path: Path) -> None:
    file = KinetoFile()
    file.range("ProfilerStep#1", 0, 5_000_000)
    where = {"pid": 1, "tid": 1}
    file.events += [{"ph": "E", "ts": 1.0, **where}, {"ph": "B", "name": "data", "ts": 2.0, **where}]
    assert len(read(file.write(tmp_path / "t")).ranges) == 1


def test_an_end_without_a_name_closes_what_began_last(tmp_path: Path) -> None:
    file = KinetoFile()
    file.range("ProfilerStep#1", 0, 5_000_000)
    where = {"pid": 1, "tid": 1}
    for phase, name, ts in (("B", "outer", 1.0), ("B", "data", 2.0), ("E", "", 3.0), ("E", "", 5.0)):
        file.events.append({"ph": phase, "name": name, "ts": ts, **where})
    trace = read(file.write(tmp_path / "t"))
    length = {
        trace.names[name]: end - start
        for start, end, name in zip(trace.ranges.start, trace.ranges.end, trace.ranges.name, strict=True)
    }
    assert (length["data"], length["outer"]) == (1_000, 4_000)


def test_the_loaders_own_frames_are_input_and_no_others(tmp_path: Path) -> None:
    """Where stacks were recorded: workers are started in __iter__, outside the annotation of __next__."""
    file = KinetoFile()
    file.range("ProfilerStep#1", 0, 3_000_000)
    frames = {"torch/utils/data/dataloader.py(434): __iter__": 0, "train.py(20): augment": 1_000_000}
    for name, start in frames.items():
        file._event("python_function", name, start, start + 1_000_000, file.process, file.process + 1)
    file.kernel("gemm", 2_100_000, 2_200_000, file.call("cudaLaunchKernel", 2_000_000, 2_005_000))
    parts = account(file.write(tmp_path / "t"))[0]
    assert (parts["idleInput"], parts["idleHost"]) == (1_000_000, 1_000_000)


def test_integer_and_float_timestamps_are_the_same_time(tmp_path: Path) -> None:
    whole = account(written(tmp_path / "whole", timed(5_000, 20)))
    assert account(written(tmp_path / "float", timed(5_000.0, 20.0))) == whole
    assert whole[0]["compute"] == 20_000


def test_fractions_of_a_microsecond_are_nanoseconds(tmp_path: Path) -> None:
    path = written(tmp_path / "t", timed(5_000.123, 20.457), baseTimeNanoseconds=1_700_000_000_000_000_000)
    assert account(path)[0]["compute"] == 20_457
    assert read(path).ops.start[0] == 5_000_123


def test_times_since_1970_are_read_as_exactly_as_a_double_holds_them(tmp_path: Path) -> None:
    trace = read(written(tmp_path / "t", timed(BASE_US, 20.5)))
    assert (trace.ops.start[0], trace.ops.end[0] - trace.ops.start[0]) == (BASE_US * 1000, 20_500)


def test_times_that_no_column_can_hold_are_left_out_with_a_warning(tmp_path: Path) -> None:
    events = [*timed(5_000, 20), event("kernel", "k", 10**30, 5, device=0)]
    found = analyze([written(tmp_path / "t", events)])
    assert found.devices[0].steps[0].account_ns["compute"] == 20_000
    assert "1 events have impossible times and are left out" in found.traces[0].warnings


@pytest.mark.parametrize("version", SCHEMAS)
def test_impossible_times_of_an_export_are_left_out_with_a_warning(tmp_path: Path, version: str) -> None:
    file = NsysFile(version)
    file.kernel("late", 500, 10**18, None)
    (trace,) = analyze([one_loop(file, tmp_path / "t")]).traces
    assert any("1 records have impossible times and are left out" in said for said in trace.warnings)


def test_names_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(json.dumps(document(traceEvents=timed(5_000, 20))).encode().replace(b'"k"', b'"k\xff\xfe"'))
    assert account(path)[0]["compute"] == 20_000


@pytest.mark.parametrize(
    "name",
    [rb"C:\Users\me\main.py", rb"a\ud800b", b"two\nlines", rb"\x1b[31m", b"tab\tbed", rb"fine \ud83d\ude00 \u00e9"],
)
def test_names_that_are_badly_escaped_are_read(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(json.dumps(document(traceEvents=timed(5_000, 20))).encode().replace(b'"k"', b'"k' + name + b'"'))
    assert account(path)[0]["compute"] == 20_000
    assert all(one.isprintable() for one in read(path).names)


@pytest.mark.parametrize(
    "misfit",
    [{"name": None}, {"ts": None}, {"ts": "now"}, {"dur": []}, {"args": 3}, {"pid": {}}, {"cat": 7}],
    ids=lambda misfit: json.dumps(misfit),
)
def test_one_event_without_sense_costs_that_event_only(misfit: dict[str, Any], tmp_path: Path) -> None:
    events = [*timed(5_000, 20), {**event("kernel", "k", 5_100, 5, device=0), **misfit}]
    found = analyze([written(tmp_path / "t", events)])
    assert found.devices[0].steps[0].account_ns["compute"] == 20_000
    assert "1 events have impossible times and are left out" in found.traces[0].warnings


def test_numbers_in_quotes_are_numbers(tmp_path: Path) -> None:
    events = [*timed(5_000, 20), {**event("kernel", "k", "5100", "5.5", device="0")}]
    assert account(written(tmp_path / "t", events))[0]["compute"] == 25_500


NUMBERED = {"ops": ("X", "cpu_op"), "python": ("X", "python_function"), "memory": ("i", "cpu_instant_event")}
WITH_ALL = {"with_stack": 1, "profile_memory": 1}


def numbered(path: Path, recorded: str, kept: str, **settings: int) -> Trace:
    """A trace whose host events are numbered as they were recorded: one operator to four of each other kind."""
    order = [kind for kind in recorded.split() for _ in range(1 if kind == "ops" else 4)]
    events = [
        {**event(NUMBERED[kind][1], "e", 5_000 + index, 1, **{"Ev Idx": index}), "ph": NUMBERED[kind][0]}
        for index, kind in enumerate(order * 20)
        if kind in kept.split()
    ]
    return read(written(path, [*timed(5_000, 20), *events], **settings))


def test_events_of_memory_are_numbered_too_and_make_no_sample(tmp_path: Path) -> None:
    assert numbered(tmp_path / "t", "ops memory", "ops memory", profile_memory=1).incomplete is None


@pytest.mark.parametrize("kept", ["ops", "ops python", "ops memory"])
def test_a_trace_from_which_a_tool_took_whole_kinds_of_events_is_no_sample(kept: str, tmp_path: Path) -> None:
    assert numbered(tmp_path / "t", "ops python memory", kept, **WITH_ALL).incomplete is None


def test_a_trace_of_few_of_the_events_that_were_numbered_is_a_sample(tmp_path: Path) -> None:
    assert numbered(tmp_path / "t", "ops python", "ops").incomplete == "the trace was sampled"


def test_a_byte_order_mark_is_no_reason_to_refuse(tmp_path: Path) -> None:
    path = tmp_path / "t"
    text = json.dumps(document(deviceProperties=[{"id": 0, "name": "GPU"}], traceEvents=timed(5_000, 20)))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert (account(path)[0]["compute"], read(path).gpus) == (20_000, {0: "GPU"})


def test_events_whose_keys_stand_in_another_order_are_read_even_when_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "t"
    events = timed(5_000, 20) + [event("kernel", "k", 5_100, 5, device=0)] * 50
    text = json.dumps(document(traceEvents=events), sort_keys=True)
    path.write_text(text[:-100])
    trace = read(path)
    assert 40 < len(trace.ops) < 51
    assert trace.incomplete


def test_copies_on_rocm_go_the_way_that_they_go(tmp_path: Path) -> None:
    names = ("CopyHostToDevice", "CopyDeviceToHost", "CopyDeviceToDevice", "Memcpy HtoD (Host -> Device)")
    events = [event("gpu_memcpy", name, 10 * index, 5, device=0) for index, name in enumerate(names)]
    trace = read(written(tmp_path / "t", events))
    assert [PARTS[int(part)] for part in trace.ops.part] == ["h2d", "d2h", "d2d", "h2d"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", "h2d"),
        ("Memcpy H2D (HOST -> DEVICE)", "h2d"),
        ("Memcpy D2M (DEVICE -> MEMORY(Unknown))", "d2h"),
        ("Memcpy D2H (DEVICE -> HOST)", "d2h"),
        ("Memcpy D2D (DEVICE -> DEVICE)", "d2d"),
        ("Memcpy HtoA (Pinned -> Array)", "h2d"),
        ("Memcpy AtoH (Array -> Pinned)", "d2h"),
        ("Memcpy PtoP (Device -> Device)", "d2d"),
    ],
)
def test_copies_by_intels_and_by_cudas_rarer_names_go_the_way_that_they_go(
    name: str, part: str, tmp_path: Path
) -> None:
    trace = read(written(tmp_path / "t", [event("gpu_memcpy", name, 10, 5, device=0)]))
    assert PARTS[int(trace.ops.part[0])] == part


@pytest.mark.parametrize("category", ["xpu_runtime", "xpu_driver", "privateuse1_driver"])
def test_calls_of_other_makers_runtimes_and_drivers_launch_what_they_launch(category: str, tmp_path: Path) -> None:
    events = [
        event(category, "urEnqueueKernelLaunch", 5_000, 2, correlation=7),
        event("kernel", "gemm_kernel", 5_010, 5, device=0, correlation=7),
    ]
    trace = read(written(tmp_path / "t", events))
    assert list(trace.ops.launch) == [0]
    assert trace.device_expected


def test_a_correlation_of_zero_is_none(tmp_path: Path) -> None:
    events = [
        event("cuda_runtime", "cudaLaunchKernel", 5_000, 2, correlation=0),
        event("kernel", "k", 5_010, 5, device=0, correlation=0),
    ]
    assert list(read(written(tmp_path / "t", events)).ops.launch) == [NONE]


def test_a_rank_in_quotes_is_a_rank(tmp_path: Path) -> None:
    trace = read(written(tmp_path / "t", timed(5_000, 20), distributedInfo={"rank": "3", "world_size": "8"}))
    assert (trace.rank, trace.world_size) == (3, 8)


def test_a_real_rocm_trace_knows_its_rank_and_its_steps() -> None:
    found = analyze([TRACES / "tracelens/resnet_act_checkpoint_mi300_rank0.json.gz"])
    assert (found.traces[0].rank, found.traces[0].world_size, len(found.devices[0].steps)) == (0, 8, 3)
    assert found.devices[0].step.communication_total_ns > 0


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_truncated_trace_is_accounted_for_as_far_as_it_goes(packed: bool, tmp_path: Path) -> None:
    text = gzip.decompress((TRACES / "kineto/resnet50_workers4_a.json.gz").read_bytes())
    whole = gzip.compress(text, 1) if packed else text
    path = tmp_path / "t"
    path.write_bytes(whole[: len(whole) * 8 // 10])
    found = analyze([path])
    assert found.traces[0].warnings[0] == "the file is cut short: the events after the cut are missing"


def test_gzip_is_told_by_content_whatever_the_name(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_bytes(gzip.compress(json.dumps(document(traceEvents=timed(5_000, 20))).encode()))
    assert account(path)[0]["compute"] == 20_000


def test_a_folder_holds_one_file_per_rank_and_what_is_no_trace_is_passed_over(tmp_path: Path) -> None:
    for rank in range(2):
        written(tmp_path / f"rank{rank}.json", timed(5_000, 20), distributedInfo={"rank": rank, "world_size": 2})
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "metrics.json").write_text('[{"loss": 3.0}]')
    (tmp_path / "log.gz").write_bytes(gzip.compress(b"a line of a log\n" * 100))
    found = analyze([tmp_path])
    assert [trace.rank for trace in found.traces] == [0, 1]


def test_what_is_neither_is_refused_in_a_sentence_that_says_what_was_expected(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("hello")
    with pytest.raises(Unreadable, match="neither an nsys SQLite export nor a Kineto"):
        read(path)

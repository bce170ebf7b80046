"""What an nsys export says about itself, from a database in memory."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mfu_operator.trace.read.nsys.about import RECORDS_DROPPED, About, read_about

KERNEL, CALL = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"
Rows = Sequence[Mapping[str, Any]]


def about(**tables: Rows) -> About:
    """What is said of an export with these tables, whose columns are those of their first rows."""
    connection = sqlite3.connect(":memory:")
    columns = {}
    for table, rows in tables.items():
        names = list(rows[0])
        connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
        places = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", [list(row.values()) for row in rows])
        columns[table] = frozenset(names)
    return read_about(connection, columns)


def environment(*lines: str) -> dict[str, Rows]:
    return {"TARGET_INFO_SYSTEM_ENV": [{"name": "DeviceEnvironment", "value": "\x00".join(lines)}]}


def diagnostics(*texts: str, severity: int = 2, **more: Any) -> dict[str, Rows]:
    return {"DIAGNOSTIC_EVENT": [{"text": text, "severity": severity, **more} for text in texts]}


def kernels(*processes: int | None) -> dict[str, Rows]:
    return {KERNEL: [{"globalPid": one} for one in processes]}


def test_nothing_is_said_by_an_export_of_nothing() -> None:
    assert about() == About()


@pytest.mark.parametrize("table", ["META_DATA_EXPORT", "EXPORT_META_DATA"])
def test_the_producer_has_its_version_where_it_says_it(table: str) -> None:
    assert about(**{table: [{"name": "EXPORT_PRODUCT_VERSION", "value": "2025.3"}]}).producer == "nsys 2025.3"
    assert about(**{table: [{"name": "OTHER", "value": "x"}]}).producer == "nsys"
    assert about(**{table: [{"name": "OTHER"}]}).producer is None
    assert about(**{table: [{"value": "OTHER"}]}).producer is None


@pytest.mark.parametrize(
    ("lines", "rank", "world"),
    [
        (["RANK=3", "WORLD_SIZE=16"], 3, 16),
        (["SLURM_PROCID=5", "RANK=3", "SLURM_NTASKS=8"], 3, 8),
        (["OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2"], 1, 2),
        (["PMI_RANK=4", "PMI_SIZE=9"], 4, 9),
        (["SLURM_PROCID=5"], 5, None),
        (["RANK=x", "SLURM_PROCID=5"], 5, None),
        (["RANK=-1"], None, None),
        (["RANK=٣"], None, None),
        (["RANK="], None, None),
        (["MY_RANK=7", "RANKS=8"], None, None),
        (["RANK=1=2"], None, None),
        (["RANK=" + "9" * 10_000, "WORLD_SIZE=8"], None, 8),
    ],
)
def test_rank_and_world_size_are_plain_numbers_of_the_environment(
    lines: Sequence[str], rank: int | None, world: int | None
) -> None:
    for kept in ({}, kernels(1), kernels(1, 1)):
        found = about(**environment(*lines), **kept)
        assert (found.rank, found.world_size) == (rank, world)


def test_lines_may_be_parted_by_line_feeds_and_other_entries_do_not_count() -> None:
    rows = [{"name": "Other", "value": "RANK=1"}, {"name": "DeviceEnvironment", "value": "A=1\nRANK=2"}]
    assert about(TARGET_INFO_SYSTEM_ENV=rows).rank == 2
    assert about(TARGET_INFO_SYSTEM_ENV=[{"name": "DeviceEnvironment"}]).rank is None


def test_where_several_processes_ran_kernels_a_launchers_numbers_are_no_ranks() -> None:
    several = kernels(1, 2)
    found = about(**environment("RANK=3", "SLURM_NTASKS=4"), **several)
    assert (found.rank, found.world_size) == (None, None)
    assert about(**environment("RANK=3", "WORLD_SIZE=4"), **several).world_size == 4
    assert about(**environment("RANK=3"), **{KERNEL: [{"start": 1}]}).rank == 3


PRIVILEGES = "nsys could not record device activity (privileges or CUPTI); grant them to the profiled process"
IN_DOUBT = "nsys is not sure that it collected every record"


@pytest.mark.parametrize(
    ("text", "warnings", "failed", "incomplete"),
    [
        ("Insufficient privilege", (PRIVILEGES,), True, None),
        ("CUPTI_ERROR_UNKNOWN", (PRIVILEGES,), True, None),
        ("No CUDA events collected.", (PRIVILEGES,), True, None),
        ("1,000 events were dropped", (RECORDS_DROPPED,), False, RECORDS_DROPPED),
        ("Buffer overflowed: events lost", (RECORDS_DROPPED,), False, RECORDS_DROPPED),
        ("Collection might have been incomplete", (IN_DOUBT,), False, None),
        ("All is well", (), False, None),
        ("No droplets", (), False, None),
    ],
)
def test_what_nsys_warns_of_is_said_in_fixed_sentences(
    text: str, warnings: tuple[str, ...], failed: bool, incomplete: str | None
) -> None:
    found = about(**diagnostics("Fine", text))
    assert (found.warnings, found.device_tracing_failed, found.incomplete) == (warnings, failed, incomplete)


@pytest.mark.parametrize(("severity", "counts"), [(1, False), (2, True), (3, True)])
def test_warnings_and_errors_count(severity: int, counts: bool) -> None:
    assert bool(about(**diagnostics("events were dropped", severity=severity)).warnings) is counts


def test_diagnostics_need_a_text_and_a_severity() -> None:
    assert about(DIAGNOSTIC_EVENT=[{"text": "dropped"}]).warnings == ()
    assert about(DIAGNOSTIC_EVENT=[{"severity": 3}]).warnings == ()


NONE_COLLECTED = "No CUDA events collected. Does the process use CUDA?"
FIRST, SECOND = 1 << 24, 2 << 24


def calls(*threads: int | None) -> dict[str, Rows]:
    return {CALL: [{"globalTid": one} for one in threads]}


@pytest.mark.parametrize(
    ("process", "tables", "failed"),
    [
        (SECOND, {}, True),
        (SECOND, kernels(FIRST), False),
        (SECOND, {**kernels(FIRST), **calls(FIRST + 5)}, False),
        (SECOND, {**kernels(FIRST), **calls(FIRST + 5, SECOND + 7)}, True),
        (FIRST, {**kernels(FIRST), **calls(FIRST + 5)}, False),
        (FIRST, {**kernels(None), **calls(FIRST + 5, None)}, True),
        (None, {**kernels(FIRST), **calls(SECOND + 5)}, False),
        (SECOND, {KERNEL: [{"start": 1}], **calls(SECOND + 5)}, False),
        (SECOND, {**kernels(FIRST), CALL: [{"start": 1}]}, False),
    ],
)
def test_a_process_without_device_activity_failed_where_it_called_the_device_and_ran_nothing(
    process: int | None, tables: dict[str, Rows], failed: bool
) -> None:
    found = about(**diagnostics(NONE_COLLECTED, globalPid=process), **tables)
    assert found.device_tracing_failed is failed


def test_what_else_was_said_stays_beside_a_launchers_lack_of_events() -> None:
    found = about(**diagnostics(NONE_COLLECTED, "events were dropped", globalPid=SECOND), **kernels(FIRST))
    assert found.warnings == (RECORDS_DROPPED,)
    without = about(**diagnostics(NONE_COLLECTED, "events were dropped"), **kernels(FIRST), **calls(SECOND + 1))
    assert without.warnings == (RECORDS_DROPPED,)


GPUS: Rows = [{"id": 4, "name": "H100"}, {"id": 5, "name": "H200"}, {"id": 6, "name": None}]


def devices(*rows: tuple[int | None, int | None, int | None]) -> dict[str, Rows]:
    """By (GPU, CUDA's number, process)."""
    listed = [dict(zip(("gpuId", "cudaId", "pid"), row, strict=True)) for row in rows]
    return {"TARGET_INFO_GPU": GPUS, "TARGET_INFO_CUDA_DEVICE": listed}


@pytest.mark.parametrize(
    ("tables", "gpus", "own"),
    [
        ({}, {}, {}),
        ({"TARGET_INFO_GPU": GPUS}, {4: "H100", 5: "H200"}, {}),
        ({"TARGET_INFO_GPU": [{"id": 4}]}, {}, {}),
        (devices((4, 0, 1), (5, 1, 1)), {0: "H100", 1: "H200"}, {}),
        (devices((4, 0, 1), (4, 0, 2)), {0: "H100"}, {}),
        (devices((4, 0, 1), (5, 0, 2)), {4: "H100", 5: "H200"}, {(1, 0): 4, (2, 0): 5}),
        (devices((4, 0, None), (5, 0, 2)), {0: "H200"}, {}),
        (devices((9, 0, 1), (6, 1, 1)), {4: "H100", 5: "H200"}, {}),
        (devices((None, 0, 1), (5, None, 1), (4, 2, 1)), {2: "H100"}, {}),
        ({"TARGET_INFO_GPU": GPUS, "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 4, "cudaId": 0}]}, {0: "H100"}, {}),
        ({"TARGET_INFO_GPU": GPUS, "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 4, "pid": 1}]}, {4: "H100", 5: "H200"}, {}),
        ({"TARGET_INFO_CUDA_DEVICE": [{"gpuId": 4, "cudaId": 0, "pid": 1}]}, {}, {}),
    ],
)
def test_gpus_are_named_by_the_numbers_that_operations_carry(
    tables: dict[str, Rows], gpus: dict[int, str], own: dict[tuple[int, int], int]
) -> None:
    found = about(**tables)
    assert (found.gpus, found.own_gpus) == (gpus, own)

"""What an nsys export says about itself: who made it, on what, and what was lost.

The export also holds the whole environment in which nsys was started. Of it only the rank and the world size are read,
and only where they are plain numbers; nothing else of it leaves this module. Where several processes use devices, a
launcher (torchrun) stands between them and that environment: its numbers are the node's then, and no rank's.
"""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from mfu_operator.trace.read.nsys.device import CALLS, KERNELS
from mfu_operator.trace.read.nsys.tables import SERIAL_BITS

Tables = Mapping[str, frozenset[str]]

RANK_NAMES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
WORLD_SIZE = "WORLD_SIZE"
TASK_COUNTS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
"""The tasks that were started; ranks, where each is one process."""

PLAIN = re.compile(r"[0-9]{1,9}")
"""A rank or a world size."""

WORST_SEVERITY = 2
"""ENUM_DIAGNOSTIC_SEVERITY_LEVEL: 0 unknown, 1 information, 2 warning, 3 error."""

PRIVILEGES = r"(?i)insufficient.?privilege|CUPTI_ERROR|permission.*(CUDA|GPU)|no CUDA events collected"
NONE_COLLECTED = r"(?i)no CUDA events collected"
DROPPED = r"(?i)\b(drop(ped)?|lost|discarded|overflow\w*)\b"
IN_DOUBT = r"(?i)\b(incomplete|missing|might (not )?have)\b"
RECORDS_DROPPED = "nsys reports dropped records"


@dataclass(frozen=True, slots=True)
class About:
    """An export's origin.

    `own_gpus`: (process id, its CUDA device) → GPU, where processes count their devices each from zero
    (CUDA_VISIBLE_DEVICES); `gpus` are then named by GPU. `device_tracing_failed`: nsys itself says that device activity
    could not be recorded; `incomplete`: why records are missing, where it says so.
    """

    producer: str | None = None
    rank: int | None = None
    world_size: int | None = None
    gpus: Mapping[int, str] = field(default_factory=dict)
    own_gpus: Mapping[tuple[int, int], int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    device_tracing_failed: bool = False
    incomplete: str | None = None


def read_about(connection: sqlite3.Connection, tables: Tables) -> About:
    """Everything that is known of the export beside its events. Raises sqlite3.Error."""
    environment = _environment(connection, tables)
    diagnostics = _diagnostics(connection, tables)
    own = _own_gpus(connection, tables)
    one_rank = _processes_with_kernels(connection, tables) <= 1
    return About(
        producer=_producer(connection, tables),
        rank=_number(environment, RANK_NAMES) if one_rank else None,
        world_size=_number(environment, (WORLD_SIZE, *TASK_COUNTS) if one_rank else (WORLD_SIZE,)),
        gpus=_gpu_names(connection, tables) if own else _gpus(connection, tables),
        own_gpus=own,
        warnings=_warnings(diagnostics),
        device_tracing_failed=any(re.search(PRIVILEGES, text) for text in diagnostics),
        incomplete=RECORDS_DROPPED if any(re.search(DROPPED, text) for text in diagnostics) else None,
    )


def _producer(connection: sqlite3.Connection, tables: Tables) -> str | None:
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        if {"name", "value"} <= tables.get(table, frozenset()):
            facts = dict(connection.execute(f"SELECT name, value FROM {table}"))
            version = facts.get("EXPORT_PRODUCT_VERSION")
            return f"nsys {version}" if version else "nsys"
    return None


def _environment(connection: sqlite3.Connection, tables: Tables) -> list[str]:
    if not {"name", "value"} <= tables.get("TARGET_INFO_SYSTEM_ENV", frozenset()):
        return []
    rows = connection.execute("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'DeviceEnvironment'")
    return [line for (value,) in rows for line in re.split(r"[\x00\n]", str(value))]


def _number(environment: list[str], names: tuple[str, ...]) -> int | None:
    for name in names:
        for line in environment:
            key, _, value = line.partition("=")
            if key == name and PLAIN.fullmatch(value):
                return int(value)
    return None


def _processes_with_kernels(connection: sqlite3.Connection, tables: Tables) -> int:
    """How many processes ran kernels; 0 where the export does not say."""
    if "globalPid" not in tables.get(KERNELS, frozenset()):
        return 0
    (count,) = connection.execute(f"SELECT COUNT(DISTINCT globalPid) FROM {KERNELS}").fetchone()
    return int(count)


def _diagnostics(connection: sqlite3.Connection, tables: Tables) -> list[str]:
    """What nsys warns of. That a process has no CUDA events is said of each that makes none, a launcher among them:
    where another process ran kernels, it is left out for those that made no CUDA calls."""
    known = tables.get("DIAGNOSTIC_EVENT", frozenset())
    if not {"text", "severity"} <= known:
        return []
    process = "globalPid" if "globalPid" in known else "NULL"
    rows = connection.execute(f"SELECT text, {process} FROM DIAGNOSTIC_EVENT WHERE severity >= {WORST_SEVERITY}")
    told = [(str(text), pid) for text, pid in rows]
    if not any(re.search(NONE_COLLECTED, text) for text, _ in told) or KERNELS not in tables:
        return [text for text, _ in told]
    calling = _calling_processes(connection, tables)
    return [text for text, pid in told if not re.search(NONE_COLLECTED, text) or (pid is not None and pid in calling)]


def _calling_processes(connection: sqlite3.Connection, tables: Tables) -> frozenset[int]:
    """Processes that made CUDA calls and ran no kernel."""
    if "globalTid" not in tables.get(CALLS, frozenset()) or "globalPid" not in tables.get(KERNELS, frozenset()):
        return frozenset()
    low = (1 << SERIAL_BITS) - 1
    calls = connection.execute(f"SELECT DISTINCT globalTid & ~{low} FROM {CALLS}")
    ran = {
        int(pid) for (pid,) in connection.execute(f"SELECT DISTINCT globalPid FROM {KERNELS} WHERE globalPid NOT NULL")
    }
    return frozenset(int(pid) for (pid,) in calls if pid is not None) - ran


def _warnings(diagnostics: list[str]) -> tuple[str, ...]:
    """Fixed sentences: the messages' own text may hold paths and arguments."""
    found = []
    if any(re.search(PRIVILEGES, text) for text in diagnostics):
        found.append("nsys could not record device activity (privileges or CUPTI); grant them to the profiled process")
    if any(re.search(DROPPED, text) for text in diagnostics):
        found.append(RECORDS_DROPPED)
    if any(re.search(IN_DOUBT, text) for text in diagnostics):
        found.append("nsys is not sure that it collected every record")
    return tuple(found)


def _gpu_names(connection: sqlite3.Connection, tables: Tables) -> dict[int, str]:
    if not {"id", "name"} <= tables.get("TARGET_INFO_GPU", frozenset()):
        return {}
    return {
        int(key): str(name)
        for key, name in connection.execute("SELECT id, name FROM TARGET_INFO_GPU WHERE name NOT NULL")
    }


def _own_gpus(connection: sqlite3.Connection, tables: Tables) -> dict[tuple[int, int], int]:
    if not {"gpuId", "cudaId", "pid"} <= tables.get("TARGET_INFO_CUDA_DEVICE", frozenset()):
        return {}
    rows = connection.execute("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE")
    found = {(int(row[0]), int(row[1])): int(row[2]) for row in rows if None not in row}
    meant: dict[int, set[int]] = {}
    for (_, cuda), gpu in found.items():
        meant.setdefault(cuda, set()).add(gpu)
    return found if any(len(gpus) > 1 for gpus in meant.values()) else {}


def _gpus(connection: sqlite3.Connection, tables: Tables) -> dict[int, str]:
    """GPU names by the device ids that operations carry (CUDA's), where the export maps them."""
    names = _gpu_names(connection, tables)
    if not names or not {"gpuId", "cudaId"} <= tables.get("TARGET_INFO_CUDA_DEVICE", frozenset()):
        return names
    mapped = connection.execute(
        "SELECT cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE WHERE cudaId NOT NULL AND gpuId NOT NULL"
    )
    return {int(cuda): names[int(gpu)] for cuda, gpu in mapped if int(gpu) in names} or names

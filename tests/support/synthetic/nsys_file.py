"""Writes nsys SQLite exports in the real schemas of several versions."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.synthetic.loop import COMPUTE_STREAM

PROCESS = 0x1000000000000 | (4711 << 24)

SCHEMAS = {
    "2022.4.2.1": ("EXPORT_META_DATA", "3.0.0"),
    "2023.4.4.54": ("META_DATA_EXPORT", "3.7.1"),
    "2025.3.1.90": ("META_DATA_EXPORT", "3.20.4"),
    "2026.2.1.210": ("META_DATA_EXPORT", "3.25.2"),
}
"""nsys version → its metadata table and schema version."""

TABLES = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "NVTX_EVENTS": 'start INTEGER NOT NULL, "end" INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, '
    "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, "
    "domainId INTEGER, binaryData TEXT",
    "NVTX_PAYLOAD_SCHEMAS": "domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, "
    "numEntries INTEGER, payloadSize INTEGER, alignTo INTEGER",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL, "
    "flags INTEGER, type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER",
    "OSRT_API": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, '
    "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, eventClass INTEGER NOT NULL, '
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
    "callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, '
    "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER, "
    "blockX INTEGER, blockY INTEGER, blockZ INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, '
    "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, '
    "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "value INTEGER NOT NULL, bytes INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": 'start INTEGER NOT NULL, "end" INTEGER NOT NULL, deviceId INTEGER NOT NULL, '
    "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
    "graphId INTEGER NOT NULL",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, "
    "severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, "
    "numMultiprocessors INTEGER NOT NULL",
    "TARGET_INFO_GPU": "id INTEGER NOT NULL, name TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, "
    "nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
}


@dataclass
class NsysFile:
    """Collects rows, then writes one export. Times are integer nanoseconds, threads small numbers."""

    version: str = "2022.4.2.1"
    rows: dict[str, list[Sequence[object]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    correlation: int = 100

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table: str, *values: object) -> None:
        self.rows.setdefault(table, []).append(values)

    def range(self, name: str, start: int, end: int | None, thread: int = 1, payload: bytes | None = None) -> None:
        text = self.string(name)
        self.add("NVTX_EVENTS", start, end, 59, None, None, None, None, PROCESS + thread, None, text, 0, payload)

    def os_call(self, name: str, start: int, end: int, thread: int = 1) -> None:
        self.add("OSRT_API", start, end, 27, PROCESS + thread, self.string(name), 0, 0, 0)

    def host_op(self, name: str, start: int, end: int, thread: int = 1) -> None:
        """As torch.autograd.profiler.emit_nvtx marks operators."""
        self.range(f"{name}, op_id = 1", start, end, thread)

    def call(self, name: str, start: int, end: int, thread: int = 1) -> int:
        """An API call; returns its correlation id."""
        self.correlation += 1
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME", start, end, 0, PROCESS + thread, self.correlation, self.string(name), 0, None
        )
        return self.correlation

    def kernel(
        self, name: str, start: int, end: int, correlation: int | None, stream: int = 7, device: int = 0, grid: int = 1
    ) -> None:
        text = self.string(name)
        self.add(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            *(start, end, device, 1, stream, correlation, PROCESS, text, text, grid, 1, 1, 128, 1, 1, None),
        )

    def copy(
        self, kind: int, start: int, end: int, correlation: int | None, size: int = 4096, pageable: bool = False
    ) -> None:
        host = 0 if pageable else 1
        source, target = {1: (host, 2), 2: (2, host)}.get(kind, (2, 2))
        self.add(
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            *(start, end, 0, 1, COMPUTE_STREAM, correlation, PROCESS, size, kind, source, target),
        )

    def environment(self, variables: Iterable[str]) -> None:
        self.add("TARGET_INFO_SYSTEM_ENV", 1, "Local (CLI)", "DeviceEnvironment", 610, "\x00".join(variables))

    def gpu(self, device: int, name: str) -> None:
        self.add("TARGET_INFO_GPU", device, name)

    def write(self, path: Path) -> Path:
        metadata, schema = SCHEMAS[self.version]
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE TABLE {metadata} (name TEXT NOT NULL, value TEXT)")
        about = [("EXPORT_PRODUCT_VERSION", self.version), ("EXPORT_SCHEMA_VERSION", schema)]
        connection.executemany(f"INSERT INTO {metadata} VALUES (?, ?)", about)
        self.rows["StringIds"] = [(number, text) for text, number in self.strings.items()]
        for table, rows in self.rows.items():
            connection.execute(f"CREATE TABLE {table} ({TABLES[table]})")
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        connection.commit()
        connection.close()
        return path

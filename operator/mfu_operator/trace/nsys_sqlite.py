"""Reads an nsys SQLite export of any schema from 2022.4 on: tables and columns are probed, never assumed."""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Spans, Trace, column
from mfu_operator.trace.accounting import COMPUTE, D2D, D2H, H2D, MEMSET
from mfu_operator.trace.blind_spots import WHOLE_GRAPH
from mfu_operator.trace.distinct import used, with_places
from mfu_operator.trace.joins import join
from mfu_operator.trace.kernels import part_of
from mfu_operator.trace.limits import MOST_EVENTS, check_count
from mfu_operator.trace.nsys_about import About, read_about
from mfu_operator.trace.range_names import mean, select

FETCH_ROWS = 200_000
"""Rows turned into columns at a time: 25 MB for the widest query."""

LEAST_LIMIT_BYTES = 1 << 20
"""No text is longer than its file: a damaged one that claims so is refused before it fills the memory."""

PUSH_POP, START_END = 59, 60
"""Types of the NVTX events that are ranges: on a thread's stack, and from anywhere to anywhere."""

OF_ONE_CALL = (b"op_id = ", b"seq = ", b"sizes = ", b"input_op_ids = ")
"""After an operator's name and a comma in the ranges of torch.autograd.profiler.emit_nvtx."""

COPY_PARTS = {1: H2D, 3: H2D, 11: H2D, 2: D2H, 4: D2H, 12: D2H}
"""CUPTI copy kinds (ENUM_CUDA_MEMCPY_OPER) that cross to or from the host: plain, arrays, unified memory. The others
stay on devices and count as d2d."""

PAGEABLE_KIND = 0
"""The kind of memory of a copy's source or target that is the host's and not pinned."""

LONGEST_NS = 10**15
"""Eleven days: a record that claims to last longer is damage."""

LATEST_NS = 2**62
"""Beyond it differences of times do not fit a column. Times count from the capture's start; 1970 is far within."""

SERIAL_BITS = 24
"""The low bits of a globalTid hold the thread, the rest is its globalPid."""


def read_nsys(path: Path, shown: Path, most_events: int = MOST_EVENTS) -> Trace:
    """The recording in columns.

    Args:
        path: the export.
        shown: what a person calls it: the export, or the report that it was made from.
        most_events: one of more is refused.

    Raises:
        Unreadable: TooLarge; CorruptTrace, where SQLite or the values in it are not what an export holds.
    """
    try:
        with _connect(path) as connection:
            return _Reader(connection, shown).read(most_events)
    except (sqlite3.Error, OverflowError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise Unreadable(
            "CorruptTrace", f"{shown}: this nsys export is damaged or incomplete ({said}); export the .nsys-rep again"
        ) from error


class _connect:  # noqa: N801 - reads as the verb it is
    """A connection that cannot write, closed at the end of the block."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(path.stat().st_size, LEAST_LIMIT_BYTES))
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class _Reader:
    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._tables = _columns(connection)
        self._strings: Mapping[int, bytes] = {}
        self._names: dict[str, int] = {}
        self._spellings: dict[bytes, int] = {}
        self._threads: dict[int, int] = {}
        self._warnings: list[str] = []

    def read(self, most_events: int) -> Trace:
        if not self._tables.keys() & {"StringIds", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"}:
            raise Unreadable(
                "NotATrace", f"{self._path}: an SQLite file, but not an export of nsys (no StringIds, no NVTX_EVENTS)"
            )
        check_count(self._path, self._count(), most_events)
        self._strings = self._string_table()
        about = read_about(self._connection, self._tables)
        calls, call_keys = self._calls()
        ops = self._device_ops(calls, call_keys, about.own_gpus)
        ranges = self._ranges()
        os_calls = self._spans("OSRT_API")
        return Trace(
            path=str(self._path),
            format="nsys-sqlite",
            producer=about.producer,
            rank=about.rank,
            world_size=about.world_size,
            names=tuple(self._names),
            processes=column([key >> SERIAL_BITS for key in self._threads]),
            ops=ops,
            calls=calls,
            ranges=ranges,
            os_calls=os_calls,
            gpus=about.gpus,
            device_expected=self._device_expected(calls, about),
            warnings=(*about.warnings, *self._warnings),
            missing=tuple(sorted(WANTED - self._tables.keys())),
            incomplete=about.incomplete,
        )

    def _count(self) -> int:
        """The rows that are to be read."""
        listed = [table for table in EVENT_TABLES if table in self._tables]
        return sum(self._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in listed)

    def _string_table(self) -> Mapping[int, bytes]:
        """As bytes: the few that are used are decoded when they are."""
        if not {"id", "value"} <= self._tables.get("StringIds", frozenset()):
            return {}
        return dict(self._connection.execute("SELECT id, CAST(value AS BLOB) FROM StringIds"))

    def _string(self, key: int) -> bytes:
        """A string by its id; one that the string table lacks is named by its number."""
        found = self._strings.get(key)
        return b"string %d" % key if found is None else found

    def _integers(self, table: str, columns: Sequence[str], where: str = "") -> list[Ints]:
        """Columns as integers; one that the schema does not have, or a value that is absent, is NONE."""
        present = self._tables[table]
        listed = ", ".join(
            f'CAST(COALESCE("{name}", {NONE}) AS INTEGER)' if name in present else str(NONE) for name in columns
        )
        cursor = self._connection.execute(f'SELECT {listed} FROM "{table}" {where}')
        chunks = [np.empty((len(columns), 0), dtype=np.int64)]
        while len(flat := np.fromiter(chain.from_iterable(islice(cursor, FETCH_ROWS)), dtype=np.int64)):
            chunks.append(flat.reshape(-1, len(columns)).T)
        return list(np.concatenate(chunks, axis=1))

    def _name(self, text: bytes) -> int:
        """The index of a name."""
        known = self._spellings.get(text)
        if known is None:
            known = self._names.setdefault(text.decode("utf-8", "replace"), len(self._names))
            self._spellings[text] = known
        return known

    def _name_of_ids(self, ids: Ints) -> Ints:
        """The names of string ids."""
        once, place = with_places(ids)
        return column([self._name(self._string(int(one))) for one in once])[place]

    def _thread_index(self, global_tids: Ints) -> Ints:
        once, place = with_places(global_tids)
        return column([self._threads.setdefault(int(one), len(self._threads)) for one in once])[place]

    def _spans(self, table: str) -> Spans:
        if table not in self._tables:
            return Spans()
        start, end, thread, name = self._integers(table, ("start", "end", "globalTid", "nameId"))
        keep = self._sound(table, start, end)
        return Spans(start[keep], end[keep], self._thread_index(thread[keep]), self._name_of_ids(name[keep]))

    def _sound(self, table: str, start: Ints, end: Ints) -> Flags:
        keep = sound(start, end)
        if not keep.all():
            self._warnings.append(f"{table}: {int((~keep).sum())} records have impossible times and are left out")
        return keep

    def _calls(self) -> tuple[Spans, Ints]:
        """API calls and their keys (process, correlation) for the join with what they launched."""
        if "CUPTI_ACTIVITY_KIND_RUNTIME" not in self._tables:
            return Spans(), column()
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        start, end, thread, name, correlation = self._integers(
            table, ("start", "end", "globalTid", "nameId", "correlationId")
        )
        keep = self._sound(table, start, end)
        start, end, thread, name, correlation = (one[keep] for one in (start, end, thread, name, correlation))
        spans = Spans(start, end, self._thread_index(thread), self._name_of_ids(name))
        return spans, _key((thread >> SERIAL_BITS) << SERIAL_BITS, correlation)

    def _device_ops(self, calls: Spans, call_keys: Ints, own_gpus: Mapping[tuple[int, int], int]) -> DeviceOps:
        tables = [self._device_table(table, calls, call_keys, own_gpus) for table in OP_TABLES]
        return DeviceOps(*(np.concatenate([getattr(one, name) for one in tables]) for name in DeviceOps.__slots__))

    def _device_table(
        self, table: str, calls: Spans, call_keys: Ints, own_gpus: Mapping[tuple[int, int], int]
    ) -> DeviceOps:
        if table not in self._tables:
            return DeviceOps()
        start, end, device, stream, process, correlation, node, *own = self._integers(
            table, (*OP_COLUMNS, *OWN_COLUMNS.get(table, ()))
        )
        keep = self._sound(table, start, end)
        if own_gpus:
            device = _physical(device, process, own_gpus)
        if "globalPid" not in self._tables[table]:
            call_keys = _key(np.zeros(len(call_keys), dtype=np.int64), call_keys & CORRELATION_MASK)
            process = np.zeros(len(process), dtype=np.int64)
        launch = join(_key(process, correlation), call_keys)
        part, name, size, pageable, shape = self._particulars(table, len(start), own)
        graph = (node > 0) | self._is_graph_launch(calls, launch) | (table == "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
        columns = (start, end, device, stream, part, name, launch, size, pageable, shape, graph.astype(np.int64))
        return DeviceOps(*(one[keep] for one in columns))

    def _is_graph_launch(self, calls: Spans, launch: Ints) -> Flags:
        if not len(calls):
            return np.zeros(len(launch), dtype=np.bool_)
        graph = mean(calls, tuple(self._names), "cuda", "graph")
        by_graph: Flags = (launch != NONE) & graph[calls.name][launch]
        return by_graph

    def _particulars(self, table: str, rows: int, own: Sequence[Ints]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """(part, name, bytes, pageable, shape) of a table's rows, from its own columns."""
        zero = np.zeros(rows, dtype=np.int64)
        if table == "CUPTI_ACTIVITY_KIND_KERNEL":
            return self._kernel_particulars(*own)
        if table == "CUPTI_ACTIVITY_KIND_MEMCPY":
            kind, size, source, target = own
            part = np.full(rows, D2D, dtype=np.int64)
            for code, meant in COPY_PARTS.items():
                part[kind == code] = meant
            pageable = ((source == PAGEABLE_KIND) | (target == PAGEABLE_KIND)).astype(np.int64)
            return part, zero + self._name(b"memcpy"), np.maximum(size, 0), pageable, zero
        if table == "CUPTI_ACTIVITY_KIND_MEMSET":
            (size,) = own
            return zero + MEMSET, zero + self._name(b"memset"), np.maximum(size, 0), zero, zero
        return zero + COMPUTE, zero + self._name(WHOLE_GRAPH.encode()), zero, zero, zero

    def _kernel_particulars(self, long: Ints, short: Ints, *grid: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        name = self._name_of_ids(np.where(long != NONE, long, short))
        names = tuple(self._names)
        part_by_name = np.zeros(len(names), dtype=np.int64)
        for one in used(name):
            part_by_name[one] = part_of(names[one])
        zero = np.zeros(len(name), dtype=np.int64)
        return part_by_name[name], name, zero, zero, _blocks(grid)

    def _ranges(self) -> Spans:
        have = self._tables.get("NVTX_EVENTS", frozenset())
        if not have >= RANGE_COLUMNS:
            return Spans()
        where = f'WHERE eventType IN ({PUSH_POP}, {START_END}) AND "end" >= start AND globalTid NOT NULL'
        start, end, thread, string = self._integers("NVTX_EVENTS", ("start", "end", "globalTid", "textId"), where)
        name = self._range_names(string, where)
        keep = self._sound("NVTX_EVENTS", start, end)
        return Spans(start[keep], end[keep], self._thread_index(thread[keep]), name[keep])

    def _range_names(self, strings: Ints, where: str) -> Ints:
        """The names of ranges: the text where there is one, else that of the string id."""
        names = np.full(len(strings), NONE, dtype=np.int64)
        if self._has_texts():
            texts = self._connection.execute(f"SELECT CAST(text AS BLOB) FROM NVTX_EVENTS {where}")
            found = (NONE if text is None else self._range_name(text) for (text,) in texts)
            names = np.fromiter(found, dtype=np.int64)
        rest = names == NONE
        once, place = with_places(strings[rest])
        names[rest] = column([self._range_name(self._string(int(one))) for one in once])[place]
        return names

    def _has_texts(self) -> bool:
        """Whether any range has a text of its own: in many exports all have string ids."""
        if "text" not in self._tables["NVTX_EVENTS"]:
            return False
        found = self._connection.execute("SELECT EXISTS (SELECT 1 FROM NVTX_EVENTS WHERE text NOT NULL)")
        return bool(found.fetchone()[0])

    def _range_name(self, text: bytes) -> int:
        """The index of a range's name, without what makes each call's another one."""
        plain, comma, rest = text.partition(b", ")
        while comma and not rest.startswith(OF_ONE_CALL):
            more, comma, rest = rest.partition(b", ")
            plain += b", " + more
        return self._name(plain)

    def _device_expected(self, calls: Spans, about: About) -> bool:
        launched = select(calls, tuple(self._names), "cuda", "launch", "graph")
        return bool(len(launched)) or about.device_tracing_failed


OP_TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
)
OP_COLUMNS = ("start", "end", "deviceId", "streamId", "globalPid", "correlationId", "graphNodeId")
OWN_COLUMNS: Mapping[str, Sequence[str]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("demangledName", "shortName", "gridX", "gridY", "gridZ"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("copyKind", "bytes", "srcKind", "dstKind"),
    "CUPTI_ACTIVITY_KIND_MEMSET": ("bytes",),
}
EVENT_TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "NVTX_EVENTS",
    "OSRT_API",
)
RANGE_COLUMNS = frozenset({"start", "end", "eventType", "globalTid"})
WANTED = frozenset({"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"})
CORRELATION_MASK = (1 << 32) - 1
PID_MASK = (1 << 24) - 1


def sound(start: Ints, end: Ints) -> Flags:
    """Whether each record has times that can be true."""
    within: Flags = (start != NONE) & (start > -LATEST_NS) & (end >= start) & (end < LATEST_NS)
    return within & (np.where(within, end, 0) - np.where(within, start, 0) <= LONGEST_NS)


def _blocks(grid: Sequence[Ints]) -> Ints:
    """Blocks of each launch grid; 0 where unknown."""
    blocks = np.prod([np.maximum(one, 0).astype(np.float64) for one in grid], axis=0)
    return np.where(blocks < LATEST_NS, blocks, 0).astype(np.int64)


def _physical(device: Ints, process: Ints, own_gpus: Mapping[tuple[int, int], int]) -> Ints:
    """The GPUs behind processes' own device numbers."""
    found = device.copy()
    pid = (process >> SERIAL_BITS) & PID_MASK
    for (owner, number), gpu in own_gpus.items():
        found[(pid == owner) & (device == number)] = gpu
    return found


def _columns(connection: sqlite3.Connection) -> Mapping[str, frozenset[str]]:
    """The tables that hold rows, with their columns."""
    listed = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    present = [name for name in listed if connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()]
    return {name: frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')) for name in present}


def _key(process: Ints, correlation: Ints) -> Ints:
    """One integer for (process, correlation); the processes' global ids lose only bits that are zero."""
    return ((process >> SERIAL_BITS) << 32) ^ (correlation & CORRELATION_MASK)

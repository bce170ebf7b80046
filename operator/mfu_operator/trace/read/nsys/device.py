"""The CUDA calls of an nsys export, and what they made the devices do."""

from collections.abc import Mapping, Sequence

import numpy as np

from mfu_operator.model.trace import NONE, DeviceOps, Flags, Ints, Spans, column
from mfu_operator.trace.columns.distinct import used
from mfu_operator.trace.columns.joins import join
from mfu_operator.trace.columns.parts import COMPUTE, D2D, D2H, H2D, MEMSET, WHOLE_GRAPH
from mfu_operator.trace.names.kernels import part_of
from mfu_operator.trace.names.range_names import mean
from mfu_operator.trace.read.nsys.tables import LATEST_NS, SERIAL_BITS, Tables

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
OP_TABLES = (KERNELS, COPIES, MEMSETS, GRAPHS)
OP_COLUMNS = ("start", "end", "deviceId", "streamId", "globalPid", "correlationId", "graphNodeId")
OWN_COLUMNS: Mapping[str, Sequence[str]] = {
    KERNELS: ("demangledName", "shortName", "gridX", "gridY", "gridZ"),
    COPIES: ("copyKind", "bytes", "srcKind", "dstKind"),
    MEMSETS: ("bytes",),
}

COPY_PARTS = {1: H2D, 3: H2D, 11: H2D, 2: D2H, 4: D2H, 12: D2H}
"""CUPTI copy kinds (ENUM_CUDA_MEMCPY_OPER) that cross to or from the host: plain, arrays, unified memory. The others
stay on devices and count as d2d."""

PAGEABLE_KIND = 0
"""The kind of memory of a copy's source or target that is the host's and not pinned."""

CORRELATION_MASK = (1 << 32) - 1
PID_MASK = (1 << 24) - 1


def calls_of(tables: Tables) -> tuple[Spans, Ints]:
    """API calls and their keys (process, correlation) for the join with what they launched."""
    if CALLS not in tables.columns:
        return Spans(), column()
    start, end, thread, name, correlation = tables.integers(
        CALLS, ("start", "end", "globalTid", "nameId", "correlationId")
    )
    keep = tables.sound(CALLS, start, end)
    start, end, thread, name, correlation = (one[keep] for one in (start, end, thread, name, correlation))
    spans = Spans(start, end, tables.threads_of(thread), tables.names_of(name))
    return spans, _key((thread >> SERIAL_BITS) << SERIAL_BITS, correlation)


def device_ops_of(tables: Tables, calls: Spans, call_keys: Ints, own_gpus: Mapping[tuple[int, int], int]) -> DeviceOps:
    """What the devices did, each with the call that launched it.

    Args:
        tables: those of the export.
        calls: the API calls.
        call_keys: theirs.
        own_gpus: the GPU behind each (process, its own number for a device), where processes count their own.
    """
    found = [_table_ops(tables, table, calls, call_keys, own_gpus) for table in OP_TABLES]
    return DeviceOps(*(np.concatenate([getattr(one, name) for one in found]) for name in DeviceOps.__slots__))


def _table_ops(
    tables: Tables, table: str, calls: Spans, call_keys: Ints, own_gpus: Mapping[tuple[int, int], int]
) -> DeviceOps:
    if table not in tables.columns:
        return DeviceOps()
    start, end, device, stream, process, correlation, node, *own = tables.integers(
        table, (*OP_COLUMNS, *OWN_COLUMNS.get(table, ()))
    )
    keep = tables.sound(table, start, end)
    if own_gpus:
        device = _physical(device, process, own_gpus)
    if "globalPid" not in tables.columns[table]:
        call_keys = _key(np.zeros(len(call_keys), dtype=np.int64), call_keys & CORRELATION_MASK)
        process = np.zeros(len(process), dtype=np.int64)
    launch = np.where(correlation > 0, join(_key(process, correlation), call_keys), NONE)
    part, name, size, pageable, shape = _particulars(tables, table, len(start), own)
    graph = (node > 0) | _is_graph_launch(tables, calls, launch) | (table == GRAPHS)
    columns = (
        start,
        end,
        np.maximum(device, 0),
        stream,
        part,
        name,
        launch,
        size,
        pageable,
        shape,
        graph.astype(np.int64),
        np.full(len(start), NONE, dtype=np.int64),
    )
    return DeviceOps(*(one[keep] for one in columns))


def _is_graph_launch(tables: Tables, calls: Spans, launch: Ints) -> Flags:
    if not len(calls):
        return np.zeros(len(launch), dtype=np.bool_)
    graph = mean(calls, tables.names, "cuda", "graph")
    by_graph: Flags = (launch != NONE) & graph[calls.name][launch]
    return by_graph


def _particulars(tables: Tables, table: str, rows: int, own: Sequence[Ints]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """(part, name, bytes, pageable, shape) of a table's rows, from its own columns."""
    zero = np.zeros(rows, dtype=np.int64)
    if table == KERNELS:
        return _kernel_particulars(tables, *own)
    if table == COPIES:
        kind, size, source, target = own
        part = np.full(rows, D2D, dtype=np.int64)
        for code, meant in COPY_PARTS.items():
            part[kind == code] = meant
        pageable = ((source == PAGEABLE_KIND) | (target == PAGEABLE_KIND)).astype(np.int64)
        return part, zero + tables.name(b"memcpy"), np.maximum(size, 0), pageable, zero
    if table == MEMSETS:
        (size,) = own
        return zero + MEMSET, zero + tables.name(b"memset"), np.maximum(size, 0), zero, zero
    return zero + COMPUTE, zero + tables.name(WHOLE_GRAPH.encode()), zero, zero, zero


def _kernel_particulars(tables: Tables, long: Ints, short: Ints, *grid: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    name = tables.names_of(np.where(long != NONE, long, short))
    names = tables.names
    part_by_name = np.zeros(len(names), dtype=np.int64)
    for one in used(name):
        part_by_name[one] = part_of(names[one])
    zero = np.zeros(len(name), dtype=np.int64)
    return part_by_name[name], name, zero, zero, _blocks(grid)


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


def _key(process: Ints, correlation: Ints) -> Ints:
    """One integer for (process, correlation); the processes' global ids lose only bits that are zero."""
    return ((process >> SERIAL_BITS) << 32) ^ (correlation & CORRELATION_MASK)

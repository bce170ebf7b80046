"""A second opinion on a step's account: a brute-force sweep in plain Python, sharing no code with the operator.

It reads a trace with json or sqlite3 alone, and decides for every elementary interval of time, one after another, what
it counts as. Slow and simple on purpose.
"""

import gzip
import json
import re
import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

ORDER = ("compute", "communication", "h2d", "d2h", "d2d", "memset")
IDLE = ("idleInput", "idleSync", "idleAlloc", "idleHost", "idleLaunch", "idleUnknown")

COLLECTIVE = re.compile(
    r"nccl|rccl|nvshmem|deep_ep|msccl|cross_device_reduce|multimem_all_reduce|one_shot_all_reduce", re.I
)
SYNCHRONISES = re.compile(r"Synchronize")
ALLOCATES = re.compile(
    r"^(cuda|cu|hip)(Mem)?(Malloc|Alloc|Free|HostAlloc|HostRegister)|^cuMem(Create|Map|Unmap|Release)"
)
LOADS = re.compile(r"enumerate\(DataLoader\)|^## (wait_for_(training_)?batch|load_batch|data_load) ##$")
GRAPH = re.compile(r"GraphLaunch")


@dataclass(frozen=True)
class Op:
    """What a device did. `launch`: (start of the call, its thread), where there is one outside graphs."""

    start: int
    end: int
    part: str
    launch: tuple[int, object] | None


@dataclass
class Recording:
    """Operations by device, host intervals by thread and kind (input, sync, alloc), the marked steps."""

    ops: dict[int, list[Op]] = field(default_factory=lambda: defaultdict(list))
    host: dict[tuple[object, str], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    marks: list[tuple[int, int, str]] = field(default_factory=list)

    def doing(self, thread: object, kind: str, start: int, end: int) -> None:
        self.host[thread, kind].append((start, end))


@dataclass(frozen=True)
class Window:
    """A step's account."""

    start: int
    end: int
    parts: dict[str, int]
    communication_total: int


def recording(path: Path) -> Recording:
    """What a trace of either format holds."""
    return _sqlite(path) if path.read_bytes()[:6] == b"SQLite" else _kineto(path)


def windows_of_marks(marks: Iterable[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """From the start of a step to the start of the next; the last to its own end."""
    ordered = sorted(marks)
    starts = [start for start, _, _ in ordered]
    return list(zip(starts, [*starts[1:], ordered[-1][1]], strict=True))


def sweep(found: Recording, device: int, windows: Sequence[tuple[int, int]]) -> list[Window]:
    """The account of each window."""
    ops = sorted(found.ops[device], key=lambda op: op.start)
    return [_account(found, ops, start, end) for start, end in windows]


def _account(found: Recording, ops: Sequence[Op], low: int, high: int) -> Window:
    inside = [op for op in ops if op.end > low and op.start < high and op.end > op.start]
    edges = sorted({low, high, *(min(max(at, low), high) for op in inside for at in (op.start, op.end))})
    starting: dict[int, list[str]] = defaultdict(list)
    ending: dict[int, list[str]] = defaultdict(list)
    for op in inside:
        starting[max(op.start, low)].append(op.part)
        ending[min(op.end, high)].append(op.part)
    parts = dict.fromkeys((*ORDER, *IDLE), 0)
    running = dict.fromkeys(ORDER, 0)
    communication, gap = 0, None
    gaps: list[tuple[int, int]] = []
    for at, until in zip(edges, [*edges[1:], high], strict=True):
        for part in ending[at]:
            running[part] -= 1
        for part in starting[at]:
            running[part] += 1
        busy = next((part for part in ORDER if running[part]), None)
        if running["communication"]:
            communication += until - at
        if busy is not None:
            parts[busy] += until - at
        if busy is None and gap is None:
            gap = at
        if (busy is not None or until == high) and gap is not None:
            gaps.append((gap, at if busy is not None else until))
            gap = None
    for start, end in gaps:
        _explain(found, ops, start, end, parts)
    return Window(low, high, parts, communication)


def _explain(found: Recording, ops: Sequence[Op], start: int, end: int, parts: dict[str, int]) -> None:
    """A gap belongs to the operation that comes next, wherever that is."""
    first = bisect_left(ops, end, key=lambda op: op.start)
    following = next((op for op in ops[first:] if op.end > op.start), None)
    if following is None or following.launch is None:
        parts["idleUnknown"] += end - start
        return
    called, thread = following.launch
    issued = min(max(called, start), end)
    parts["idleLaunch"] += end - issued
    for at, until in _pieces(found, thread, start, issued):
        kinds = [kind for kind in ("input", "sync", "alloc") if _busy(found.host[thread, kind], at)]
        parts[{"input": "idleInput", "sync": "idleSync", "alloc": "idleAlloc"}.get("".join(kinds[:1]), "idleHost")] += (
            until - at
        )


def _pieces(found: Recording, thread: object, start: int, end: int) -> list[tuple[int, int]]:
    edges = {start, end}
    for kind in ("input", "sync", "alloc"):
        for low, high in found.host[thread, kind]:
            edges |= {at for at in (low, high) if start < at < end}
    ordered = sorted(edges)
    return list(pairwise(ordered))


def _busy(intervals: Sequence[tuple[int, int]], at: int) -> bool:
    return any(low <= at < high for low, high in intervals)


def _kineto(path: Path) -> Recording:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
    document = json.loads(re.sub(r"(?<=[:,\s])-?(nan|inf)(?=[,}\s])", "0", text), strict=False)
    events = document if isinstance(document, list) else document["traceEvents"]
    found = Recording()
    calls: dict[Any, tuple[int, object, str]] = {}
    device: list[dict[str, Any]] = []
    for event in events:
        kind = str(event.get("cat", "")).lower()
        if event.get("ph") != "X":
            continue
        start, end = _nanoseconds(event)
        thread = (str(event.get("pid")), str(event.get("tid")))
        if kind in ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime"):
            calls.setdefault(event["args"].get("correlation"), (start, thread, event["name"]))
            _note_call(found, thread, event["name"], start, end)
        elif kind in ("kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"):
            device.append(event)
        elif kind in ("user_annotation", "operator", "cpu_op"):
            if event["name"].startswith("ProfilerStep"):
                found.marks.append((start, end, event["name"]))
            if LOADS.search(event["name"]):
                found.doing(thread, "input", start, end)
    for event in device:
        arguments = event.get("args", {})
        start, end = _nanoseconds(event)
        call = calls.get(arguments.get("correlation"))
        launch = None if call is None or GRAPH.search(call[2]) else call[:2]
        found.ops[int(arguments.get("device", event["pid"]))].append(Op(start, end, _part(event), launch))
    return found


def _nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    start = round(float(event["ts"]) * 1000)
    return start, start + round(float(event.get("dur", 0)) * 1000)


def _part(event: dict[str, Any]) -> str:
    kind, name = event["cat"].lower(), event["name"]
    if "memset" in kind:
        return "memset"
    if "memcpy" in kind:
        return _copy(name)
    return "communication" if COLLECTIVE.search(name) else "compute"


def _copy(name: str) -> str:
    plain = name.lower().replace("hostto", "hto").replace("deviceto", "dto")
    return "h2d" if "htod" in plain else "d2h" if re.search("dtoh", plain) else "d2d"


def _note_call(found: Recording, thread: object, name: str, start: int, end: int) -> None:
    if SYNCHRONISES.search(name):
        found.doing(thread, "sync", start, end)
    elif ALLOCATES.search(name):
        found.doing(thread, "alloc", start, end)


def _sqlite(path: Path) -> Recording:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    strings = dict(connection.execute("SELECT id, value FROM StringIds"))
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found = Recording()
    calls: dict[tuple[int, int], tuple[int, object, str]] = {}
    with_process = "globalPid" in _columns(connection, "CUPTI_ACTIVITY_KIND_KERNEL")
    for start, end, tid, correlation, name in _rows(
        connection, tables, "CUPTI_ACTIVITY_KIND_RUNTIME", "start", "end", "globalTid", "correlationId", "nameId"
    ):
        process = (tid >> 24) << 24 if with_process else 0
        calls.setdefault((process, correlation), (start, tid, strings[name]))
        _note_call(found, tid, strings[name], start, end)
    for table, detail in (("KERNEL", "demangledName"), ("MEMCPY", "copyKind"), ("MEMSET", "bytes")):
        columns = ["start", "end", "deviceId", "correlationId", detail, *(["globalPid"] if with_process else [])]
        for start, end, device, correlation, what, *process_of in _rows(
            connection, tables, f"CUPTI_ACTIVITY_KIND_{table}", *columns
        ):
            if table == "KERNEL":
                part = "communication" if COLLECTIVE.search(strings[what]) else "compute"
            elif table == "MEMCPY":
                part = {1: "h2d", 2: "d2h"}.get(what, "d2d")
            else:
                part = "memset"
            call = calls.get((process_of[0] if process_of else 0, correlation))
            launch = None if call is None or GRAPH.search(call[2]) else call[:2]
            found.ops[device].append(Op(start, end, part, launch))
    for start, end, tid, text in _rows(connection, tables, "NVTX_EVENTS", "start", "end", "globalTid", "textId"):
        if end is not None and re.match(r"step( \d+)?$", str(strings.get(text))):
            found.marks.append((start, end, strings[text]))
            found.doing(tid, "step", start, end)
    connection.close()
    return found


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}


def _rows(connection: sqlite3.Connection, tables: set[str], table: str, *columns: str) -> list[tuple[Any, ...]]:
    if table not in tables or not set(columns) <= _columns(connection, table):
        return []
    return connection.execute(f"SELECT {', '.join(chr(34) + one + chr(34) for one in columns)} FROM {table}").fetchall()

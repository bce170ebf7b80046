"""A recording as torch.profiler writes it: no loader processes, no calls of the operating system."""

import json
from pathlib import Path
from typing import Any

from tests.accuracy.events.recording import AUTOGRAD, MAIN, Call, Recording, Work
from tests.accuracy.events.setup import Setup

COPIES = {
    "h2d": "Memcpy HtoD ({} -> Device)",
    "d2h": "Memcpy DtoH (Device -> {})",
    "d2d": "Memcpy DtoD (Device -> Device)",
    "p2p": "Memcpy PtoP (Device -> Device)",
}
THREADS = {MAIN: 0, AUTOGRAD: 611}
RANGES = ("ProfilerStep#", "Optimizer.step#", "nccl:")
"""Of what a script may mark, what torch marks itself."""

EPOCH_US = 4_458_676_000_000.0


def write(recording: Recording, setup: Setup, path: Path) -> None:
    """One file, as `export_chrome_trace` leaves it."""
    pid = 41_000 + recording.rank
    process = {"name": "process_name", "ph": "M", "ts": EPOCH_US, "pid": pid, "tid": 0}
    events: list[dict[str, Any]] = [{**process, "args": {"name": "python3"}}]
    events += [row for one in recording.calls if (row := _call(one, pid, setup)) is not None]
    for one in recording.works:
        events += _work(one, recording.rank, pid)
    whole = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": recording.gpu, "numSms": 108, "warpSize": 32}],
        "cuda_runtime_version": 12040,
        "traceEvents": events,
        "traceName": f"rank{recording.rank}.json",
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1711964646000000000,
    }
    if recording.world > 1:
        ranks = list(range(recording.world))
        group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": len(ranks), "ranks": ranks}
        whole["distributedInfo"] = {
            "backend": "nccl",
            "rank": recording.rank,
            "world_size": recording.world,
            "pg_count": 1,
            "pg_config": [group],
        }  # fmt: skip
    path.write_text(json.dumps(whole))


def _row(category: str, name: str, start: int, end: int, pid: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
        "ts": EPOCH_US + start / 1e3, "dur": (end - start) / 1e3, "args": args,
    }  # fmt: skip


def _call(call: Call, pid: int, setup: Setup) -> dict[str, Any] | None:
    if call.kind in ("os", "python") or call.thread not in THREADS:
        return None
    tid = pid + THREADS[call.thread]
    if call.kind == "cuda":
        name = call.name
        kind = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else "cuda_runtime"
        return _row(kind, name, call.start, call.end, pid, tid, {"cbid": 211, "correlation": call.correlation})
    if call.name == "next batch":
        which = "_MultiProcessingDataLoaderIter" if setup.workers else "_SingleProcessDataLoaderIter"
        return _row("user_annotation", f"enumerate(DataLoader)#{which}.__next__", call.start, call.end, pid, tid, {})
    if call.kind == "range":
        if not call.name.startswith(RANGES):
            return None
        return _row("user_annotation", call.name, call.start, call.end, pid, tid, {})
    return _row("cpu_op", call.name, call.start, call.end, pid, tid, {"Ev Idx": 1})


def _work(work: Work, rank: int, pid: int) -> list[dict[str, Any]]:
    args: dict[str, Any] = {"device": 0, "context": 1, "stream": work.stream, "correlation": work.correlation}
    if work.kind == "kernel":
        args |= {"grid": [work.blocks, 1, 1], "block": [256, 1, 1], "registers per thread": 64}
        kind, name = "kernel", work.name
    elif work.kind == "memset":
        kind, name = "gpu_memset", "Memset (Device)"
    else:
        kind, name = "gpu_memcpy", COPIES[work.kind].format("Pinned" if work.pinned else "Pageable")
        args |= {"bytes": work.size, "memory bandwidth (GB/s)": work.size / max(1, work.end - work.start)}
    if work.message is not None:
        args |= {
            "Collective name": work.message.collective, "In msg nelems": work.message.elements,
            "Out msg nelems": work.message.elements, "Group size": 4, "dtype": work.message.dtype,
            "Process Group Name": "0", "Process Group Description": "default_pg",
        }  # fmt: skip
    at = EPOCH_US + work.start / 1e3
    arrow = {"id": work.correlation, "cat": "ac2g", "name": "ac2g"}
    return [
        _row(kind, name, work.start, work.end, 0, work.stream, args),
        {**arrow, "ph": "s", "pid": pid, "tid": pid, "ts": at - 4},
        {**arrow, "ph": "f", "pid": 0, "tid": work.stream, "ts": at, "bp": "e"},
    ]

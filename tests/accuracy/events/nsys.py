"""A recording as `nsys export --type=sqlite` writes it, in three ways that scripts are marked and recorded."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tests.accuracy.events.recording import FIRST_WORKER, Call, Recording, Work
from tests.accuracy.events.setup import Setup

MARKED, EMITTED, BARE = 0, 1, 2
"""The script's own ranges and a loader of threads; emit_nvtx and traced worker processes; the step's range alone."""

TABLES = (Path(__file__).parent / "nsys.sql").read_text(encoding="utf-8")
COPY_KINDS = {"h2d": (1, 1, 2), "d2h": (2, 2, 1), "d2d": (8, 2, 2), "p2p": (10, 2, 2)}
WORDS = {"next batch": "data", "Optimizer.step#AdamW.step": "optimizer"}
SHORTEST_OS_NS = 1_000


def write(recording: Recording, setup: Setup, path: Path, style: int) -> None:
    """One export of one rank's report."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        _fill(connection, recording, setup, style)
    connection.close()


def _fill(connection: sqlite3.Connection, recording: Recording, setup: Setup, style: int) -> None:
    pid = 700 + recording.rank
    process = (1 << 48) | (pid << 24)
    strings: dict[str, int] = {}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings) + 1)

    def thread(number: int) -> int:
        if style == EMITTED and number >= FIRST_WORKER:
            worker = pid + 100 + number
            return (1 << 48) | (worker << 24) | worker
        return process | (pid + number - 1)

    connection.executescript(TABLES)
    connection.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 0, ?)", (recording.gpu,))
    connection.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, ?)", (pid,))
    connection.execute("INSERT INTO PROCESSES VALUES (?, ?, 'python3')", (process, pid))
    for one in recording.calls:
        if one.kind == "cuda":
            row = (one.start, one.end, 0, thread(one.thread), one.correlation, text(one.name + "_v7000"), 0, None)
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?,?,?)", row)
        elif one.kind == "os":
            if one.end - one.start >= SHORTEST_OS_NS and _seen(one, style):
                row = (one.start, one.end, 27, thread(one.thread), None, text(one.name), 0, None)
                connection.execute("INSERT INTO OSRT_API VALUES (?,?,?,?,?,?,?,?)", row)
        elif one.kind != "python":
            for name in _names(one, style):
                marked = (one.start, one.end, 59, name, thread(one.thread), 0)
                said = "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (?,?,?,?,?,?)"
                connection.execute(said, marked)
    for number, work in enumerate(recording.works):
        _device(connection, work, process, text, number)
    if recording.world > 1:
        connection.execute("CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT)")
        for key, value in (("RANK", recording.rank), ("WORLD_SIZE", recording.world)):
            told = ("ENVIRONMENT", f"{key}={value}")
            connection.execute("INSERT INTO META_DATA_CAPTURE VALUES (?, ?)", told)
    connection.executemany("INSERT INTO StringIds VALUES (?, ?)", [(key, value) for value, key in strings.items()])


def _seen(call: Call, style: int) -> bool:
    """Whether the recorder sees the thread: worker processes only where it follows them."""
    return style != BARE or call.thread < FIRST_WORKER


def _names(call: Call, style: int) -> Iterator[str]:
    if call.name.startswith("ProfilerStep#"):
        yield f"step {call.name.partition('#')[2]}" if style != MARKED else "step"
    elif call.name == "next batch":
        if style != BARE:
            yield "data" if style == MARKED else "dataloader"
    elif call.kind == "range" and not call.name.startswith("nccl:") and style == MARKED:
        yield WORDS.get(call.name, call.name)
    elif call.kind == "op" and style == EMITTED:
        yield f"{call.name}, op_id = {call.start % 100_000}"


def _device(connection: sqlite3.Connection, work: Work, process: int, text, number: int) -> None:  # type: ignore[no-untyped-def]
    if work.kind == "kernel":
        name = text(work.name)
        row = (
            work.start, work.end, 0, 1, None, work.stream, work.correlation, process, name, name, None, 1,
            work.blocks, 1, 1, 256, 1, 1, None,
        )  # fmt: skip
        connection.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * len(row))})", row)
        return
    kind, source, target = COPY_KINDS[work.kind]
    if not work.pinned:
        source, target = (0, 2) if work.kind == "h2d" else (2, 0)
    copy = (work.start, work.end, 0, 1, None, work.stream, work.correlation, process, work.size, kind, source, target)
    connection.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({','.join('?' * len(copy))})", copy)

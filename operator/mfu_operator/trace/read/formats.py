"""Which files to read and how: formats are told by content, never by name."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import Trace
from mfu_operator.trace.columns.limits import MOST_EVENTS
from mfu_operator.trace.read import foreign
from mfu_operator.trace.read.communication import recognised
from mfu_operator.trace.read.loader import with_starts

SQLITE_MAGIC = b"SQLite format 3\x00"
KINETO_MARKS = (
    b'"traceEvents"',
    b'"schemaVersion"',
    b'"deviceProperties"',
    b'"distributedInfo"',
    b'"ph"',
    b'"metadata"',
)
"""Keys near the beginning of a Kineto trace: other JSON beside it is none."""

STREAM_MARK = b"NVIDIA Nsight Systems Stream"
REPORT_MARKS = (STREAM_MARK, b"NVIDIA Tegra Profiler Report", b"NVIDIA Nsight Systems Report")
MARK_WITHIN = 64
"""Bytes at whose beginning nsys' own recordings say what they are (seen in 2022.4's)."""

GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEAD_BYTES = 4096
"""Of a file, decompressed: they tell what it is."""

TRACE_NAMES = (".json", ".json.gz", ".sqlite", ".nsys-rep")
REPORT_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A file to read, and what a person calls it: itself, or the recording that it was exported from.

    `listed`: it was found in a folder, which it does not end where it cannot be read. `refused`: why that is known
    already.
    """

    path: Path
    shown: Path
    listed: bool = False
    refused: Unreadable | None = None


def expand(paths: Sequence[Path]) -> tuple[TraceFile, ...]:
    """The files to read: a folder stands for the traces in it, by name.

    Raises:
        Unreadable: NoSuchFile, NoTrace (a folder without any).
    """
    return tuple(TraceFile(file, file, listed=path.is_dir()) for path in paths for file in _files(path))


def _files(path: Path) -> tuple[Path, ...]:
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise Unreadable("NoSuchFile", f"{path}: no such file; give a trace or a folder of traces")
    found = tuple(sorted(one for one in path.iterdir() if one.is_file() and (is_trace(one) or is_meant(one))))
    if not found:
        raise Unreadable(
            "NoTrace", f"{path}: no trace in this folder; expected an nsys SQLite export or a Kineto .json(.gz)"
        )
    return found


def is_trace(path: Path) -> bool:
    """Whether the file's content looks like a trace that can be read here."""
    head = head_of(path)
    return head.startswith(SQLITE_MAGIC) or any(mark in _unpacked(head) for mark in KINETO_MARKS)


def is_meant(path: Path) -> bool:
    """Whether the file stands for a trace that is not there: a pointer to one, or what is left of one, by its name."""
    head = head_of(path)
    if not path.name.endswith(TRACE_NAMES):
        return False
    return not head or head.startswith(foreign.LFS_POINTER) or (head.startswith(GZIP) and not _unpacked(head))


def _unpacked(head: bytes) -> bytes:
    """What a file's first bytes hold, where they are in gzip; else the bytes."""
    if not head.startswith(GZIP):
        return head
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def _may_be_kineto(head: bytes) -> bool:
    start = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if head.startswith(GZIP) or start.startswith(b"["):
        return True
    return start.startswith(b"{") and any(mark in head for mark in KINETO_MARKS)


def is_report(path: Path) -> bool:
    """Whether the file is nsys' own recording, which nsys has to export first."""
    if not path.is_file():
        return False
    begins = head_of(path)[:MARK_WITHIN]
    return any(mark in begins for mark in REPORT_MARKS) or (path.suffix in REPORT_SUFFIXES and not is_trace(path))


def is_stream(path: Path) -> bool:
    """Whether the recording is a raw stream, which nsys has to import before it can export it."""
    return STREAM_MARK in head_of(path)[:MARK_WITHIN] or path.suffix == ".qdstrm"


def read(file: TraceFile, most_events: int = MOST_EVENTS) -> Trace:
    """The trace in columns. One of more events is refused.

    Raises:
        Unreadable: NotATrace, NeedsExport, CorruptTrace, TooLarge: the message names the file, what is wrong and what
            to do.
    """
    path, shown = file.path, file.shown
    if file.refused is not None:
        raise file.refused
    head = head_of(path)
    if head.startswith(SQLITE_MAGIC):
        from mfu_operator.trace.read.nsys.reader import read_nsys  # a reader costs more to import than a small trace

        return with_starts(recognised(read_nsys(path, shown, most_events)))
    if foreign.file_of(_unpacked(head)) is None and _may_be_kineto(head):
        from mfu_operator.trace.read.kineto.reader import read_kineto

        return with_starts(recognised(read_kineto(path, most_events)))
    if is_report(path):
        raise Unreadable("NeedsExport", f"{path}: export it first: nsys export --type=sqlite {path.name}")
    said = "empty; copy or record it again" if not head else foreign.file_of(_unpacked(head))
    if said is not None:
        raise Unreadable("NotATrace", f"{path}: {said}")
    raise Unreadable(
        "NotATrace", f"{path}: neither an nsys SQLite export nor a Kineto (torch.profiler) JSON trace; check the file"
    )


def head_of(path: Path) -> bytes:
    """The file's first bytes. Raises Unreadable (NoSuchFile)."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable("NoSuchFile", f"{path}: cannot be opened ({error.strerror}); check path and rights") from error

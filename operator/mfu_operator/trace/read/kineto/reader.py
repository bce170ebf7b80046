"""Reads a Kineto (torch.profiler) Chrome trace, a piece at a time: bytes, then events, then columns."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.model.trace import Trace
from mfu_operator.trace.columns.limits import MOST_EVENTS, check_count
from mfu_operator.trace.read import foreign
from mfu_operator.trace.read.kineto.columns import Columns
from mfu_operator.trace.read.kineto.events import (
    Document,
    Event,
    document_of,
    events_of,
    header_of,
)
from mfu_operator.trace.read.kineto.stream import KinetoStream, last_boundary

UNCLOSED = re.compile(rb"\}\s*,?\s*\]?\s*$")
"""The end of a bare array of events, whose format allows to leave out the bracket, and whose writers leave a comma."""


def read_kineto(path: Path, most_events: int = MOST_EVENTS) -> Trace:
    """The recording in columns. A file of more events is refused.

    Raises:
        Unreadable: NotATrace, CorruptTrace, TooLarge.
    """
    stream = KinetoStream(path)
    columns = Columns()
    last = b""
    for piece in stream.pieces():
        if last:
            columns.add(events_of(last, path))
            check_count(path, columns.events, most_events)
        last = piece
    events, about = _last_piece(last, stream, path)
    columns.add(events)
    check_count(path, columns.events, most_events)
    if stream.truncated and not columns.events:
        raise Unreadable("CorruptTrace", f"{path}: cut short before the first event's end; copy or record it again")
    trace = columns.trace(path, about, truncated=stream.truncated)
    if len(trace.ops):
        return trace
    device = foreign.device_of(KinetoStream(path).blocks())
    return trace if device is None else replace(trace, unread=_of(device, trace.unread))


def _of(device: str, unread: str | None) -> str:
    return f"{unread or 'device activity that cannot be read'}, of {device}"


def _last_piece(text: bytes, stream: KinetoStream, path: Path) -> tuple[Sequence[Event], Document]:
    """The events of the last piece, and what the document says around the events."""
    document = b'{"traceEvents":' + text
    closed = document if stream.header else document.rstrip() + b"}"
    try:
        found = document_of(closed, path)
    except Unreadable:
        whole = None if stream.header else _unclosed(text, path)
        if whole is not None:
            return whole, Document()
        events = _cut_events(text, path)
        stream.truncated = True
        return events, header_of(stream.header)
    return found.traceEvents or [], _joined(header_of(stream.header), found)


def _unclosed(text: bytes, path: Path) -> list[Event] | None:
    """The events of a bare array that lacks only its own end; None where an event is cut."""
    try:
        return events_of(UNCLOSED.sub(b"}]", text), path) if UNCLOSED.search(text) else None
    except Unreadable:
        return None


def _cut_events(text: bytes, path: Path) -> list[Event]:
    """The whole events of a piece whose end is missing. Raises Unreadable where it is damaged before its end."""
    boundary = last_boundary(text)
    return [] if boundary is None else events_of(text[: boundary[0]] + b"]", path)


def _joined(header: Document, found: Document) -> Document:
    for name in ("deviceProperties", "distributedInfo", "with_stack", "record_shapes", "profile_memory"):
        if getattr(found, name) is None:
            setattr(found, name, getattr(header, name))
    return found

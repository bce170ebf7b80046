"""What collectives carry, from the payloads that NCCL gives its NVTX ranges (NCCL 2.26 and later, nsys 2025 and later).

A payload's layout stands in NVTX_PAYLOAD_SCHEMAS and NVTX_PAYLOAD_SCHEMA_ENTRIES; its bytes are the event's
`binaryData`: a header, then the fields. The communicator is NCCL's hash, which is the same on all of its ranks.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mfu_operator.model.trace import NONE, Messages, column
from mfu_operator.trace.names import collectives
from mfu_operator.trace.read.nsys.ranges import COLUMNS, EVENTS
from mfu_operator.trace.read.nsys.tables import Tables

SCHEMAS, ENTRIES = "NVTX_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_ENTRIES"
HEADER = struct.Struct("<IIIIQQ")
"""Domain, unused, schema, unused, the payload's size, that with the header (seen in exports of nsys 2026)."""

FIELDS: Mapping[int, struct.Struct] = {5: struct.Struct("<i"), 18: struct.Struct("<Q"), 22: struct.Struct("<Q")}
"""By the number of a field's type: int, uint64 and size_t (NVTX's nvToolsExtPayload.h)."""

COMMUNICATOR, SIZE, PEER, MEMBERS = "NCCL communicator ID", "Message size [bytes]", "Peer rank", "No. of ranks"
"""Labels of the fields in NCCL's nvtx_payload_schemas.h."""

LARGEST_BYTES = 1 << 50
"""Of one message: more is damage."""

SEND, GROUP_START, GROUP_END = b"ncclSend", b"ncclGroupStart", b"ncclGroupEnd"
EVERYBODY = 3
"""Ranks that one sends to in a group: a pipeline has two neighbours, an all-to-all has everybody."""

Layout = Mapping[str, tuple[int, struct.Struct]]
Fields = Mapping[str, int]


@dataclass(slots=True)
class _Message:
    start: int
    end: int
    thread: int
    text: bytes
    size: int
    communicator: int
    peers: set[int]


def messages_of(tables: Tables) -> Messages:
    """The messages that ranges of NCCL tell of; none where the export has no payloads."""
    columns = tables.columns.get(EVENTS, frozenset())
    if not columns >= {*COLUMNS, "binaryData", "textId"} or not tables.columns.keys() >= {SCHEMAS, ENTRIES}:
        return Messages()
    layouts = _layouts(tables)
    members: dict[int, int] = {}
    found: list[_Message] = []
    threads: dict[int, list[_Message]] = {}
    depth: dict[int, int] = {}
    for start, end, thread, string, data in _rows(tables):
        text, fields = tables.string(string), _fields(data, layouts)
        communicator = fields.get(COMMUNICATOR, NONE)
        if MEMBERS in fields:
            members[communicator] = max(0, fields[MEMBERS])
        if text == GROUP_START:
            depth[thread] = depth.get(thread, 0) + 1
        elif text == GROUP_END:
            depth[thread] = max(0, depth.get(thread, 0) - 1)
            if not depth[thread]:
                found += _together(threads.pop(thread, []), end)
        elif SIZE in fields:
            peers = {fields[PEER]} if PEER in fields and text == SEND else set()
            size = fields[SIZE] if fields[SIZE] < LARGEST_BYTES else 0
            one = _Message(start, end, thread, text, size, communicator, peers)
            (threads.setdefault(thread, []) if depth.get(thread) else found).append(one)
    return _columns(tables, [*found, *(one for rest in threads.values() for one in rest)], members)


def _rows(tables: Tables) -> Iterable[tuple[int, int, int, int, object]]:
    """The ranges of NCCL's domain in order of time; `binaryData` is absent of group marks in some versions."""
    where = '"end" >= start AND globalTid NOT NULL AND textId NOT NULL'
    wanted = "(binaryData NOT NULL OR textId IN (SELECT id FROM StringIds WHERE value LIKE 'ncclGroup%'))"
    rows: Iterable[tuple[int, int, int, int, object]] = tables.connection.execute(
        f'SELECT start, "end", globalTid, textId, binaryData FROM {EVENTS} WHERE {where} AND {wanted} ORDER BY start'
    )
    return rows


def _layouts(tables: Tables) -> Mapping[tuple[int, int], Layout]:
    """Domain and schema → the fields that are understood."""
    found: dict[tuple[int, int], dict[str, tuple[int, struct.Struct]]] = {}
    listed = tables.connection.execute(f'SELECT domainId, schemaId, "type", name, COALESCE("offset", 0) FROM {ENTRIES}')
    for domain, schema, kind, name, offset in listed:
        if kind in FIELDS and name in (COMMUNICATOR, SIZE, PEER, MEMBERS) and offset >= 0:
            found.setdefault((domain, schema), {})[name] = (HEADER.size + offset, FIELDS[kind])
    return found


def _fields(data: object, layouts: Mapping[tuple[int, int], Layout]) -> Fields:
    """The payload's fields; none where it is not what its schema says. Some exporters write bytes as digits."""
    try:
        raw = bytes.fromhex(data.removeprefix("0x")) if isinstance(data, str) else data
    except ValueError:
        return {}
    if not isinstance(raw, bytes) or len(raw) < HEADER.size:
        return {}
    domain, _, schema, *_ = HEADER.unpack_from(raw)
    layout = layouts.get((domain, schema), {})
    return {
        name: field.unpack_from(raw, offset)[0]
        for name, (offset, field) in layout.items()
        if offset + field.size <= len(raw)
    }


def _together(group: Sequence[_Message], end: int) -> Sequence[_Message]:
    """What is issued at the end of a group: one operation, whose kernel is launched there."""
    if not group:
        return ()
    first = group[0]
    peers = {peer for one in group for peer in one.peers}
    text = b"nccl:" + collectives.ALL_TO_ALL.encode() if len(peers) >= EVERYBODY else first.text
    sent = [one.size for one in group if one.peers] or [one.size for one in group]
    return (_Message(first.start, end, first.thread, text, sum(sent), first.communicator, peers),)


def _columns(tables: Tables, found: Sequence[_Message], members: Mapping[int, int]) -> Messages:
    if not found:
        return Messages()
    ordered = sorted(found, key=lambda one: one.start)
    return Messages(
        start=column([one.start for one in ordered]),
        end=column([one.end for one in ordered]),
        thread=tables.threads_of(column([one.thread for one in ordered])),
        kind=column([tables.name(one.text) for one in ordered]),
        size=column([one.size for one in ordered]),
        group=column([_group(tables, one.communicator) for one in ordered]),
        members=column([members.get(one.communicator, 0) for one in ordered]),
    )


def _group(tables: Tables, communicator: int) -> int:
    return NONE if communicator == NONE else tables.name(b"communicator %016x" % communicator)

"""The events of a Kineto trace from its JSON: the fields that are used and no others, and damage put right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mfu_operator.errors import Unreadable
from mfu_operator.trace.read.kineto.stream import cleaned

Found = TypeVar("Found")

UNSAID = msgspec.Raw()
"""Stands for JSON that an event does not hold."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

MISFIT = b'{"ph":"X","cat":"user_annotation","dur":-1}'
"""Stands for an event that is none, to be counted with those of impossible times."""


class Arguments(msgspec.Struct, gc=False, omit_defaults=True):
    """What an event says beside its name and times; values as the file spells them.

    The last ones are the shapes of an operator's inputs, as JSON, and what a collective carries (PyTorch's
    ParamCommsUtils; kernels carry it too). JSON that few events are asked for stays text, which costs next to nothing.
    """

    device: Any = None
    stream: Any = None
    correlation: Any = None
    bytes: Any = None
    grid: Any = None
    event: Any = msgspec.field(default=None, name="Ev Idx")
    shapes: msgspec.Raw = msgspec.field(default=UNSAID, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=UNSAID, name="Input type")
    collective: Any = msgspec.field(default=None, name="Collective name")
    elements_in: Any = msgspec.field(default=None, name="In msg nelems")
    elements_out: Any = msgspec.field(default=None, name="Out msg nelems")
    dtype: Any = None
    group: Any = msgspec.field(default=None, name="Process Group Name")
    ranks: Any = msgspec.field(default=None, name="Process Group Ranks")
    members: Any = msgspec.field(default=None, name="Group size")


class Event(msgspec.Struct, gc=False, omit_defaults=True):
    """One event; `ts` and `dur` in microseconds."""

    ph: str = ""
    cat: str | None = None
    name: str = ""
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments | None = None


class Document(msgspec.Struct):
    """The whole file, or its last events and what stands around them."""

    traceEvents: list[Event] | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the format's own spelling
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    with_stack: Any = None
    record_shapes: Any = None
    profile_memory: Any = None


_EVENTS = msgspec.json.Decoder(list[Event])
_DOCUMENT = msgspec.json.Decoder(Document)


def events_of(text: bytes, path: Path) -> list[Event]:
    """The events of a JSON array. Raises Unreadable: CorruptTrace."""
    return _decoded(_EVENTS.decode, text, path)


def document_of(text: bytes, path: Path) -> Document:
    """A document that begins with its events. Raises Unreadable: CorruptTrace."""
    return _decoded(_DOCUMENT.decode, text, path)


def header_of(text: bytes) -> Document:
    """What stood before the events; an empty document where that is nothing or damaged."""
    if not text:
        return Document()
    try:
        return _DOCUMENT.decode(text.removeprefix(BYTE_ORDER_MARK).rstrip() + b'"traceEvents":[]}')
    except (msgspec.DecodeError, RecursionError):
        return Document()


def _decoded(decode: Callable[[bytes], Found], text: bytes, path: Path) -> Found:
    try:
        return decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        clean = cleaned(text)
        try:
            return _decoded_clean(decode, clean)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Unreadable(
                "CorruptTrace", f"{path}: not the JSON of a trace ({error}); copy or record it again"
            ) from error


def _decoded_clean(decode: Callable[[bytes], Found], text: bytes) -> Found:
    try:
        return decode(text)
    except msgspec.ValidationError:
        return decode(_fitting(text))


def _fitting(text: bytes) -> bytes:
    """The text of an array of events, or of a document that begins with one, with only such events as can be read."""
    if not text.startswith(b"{"):
        return b"[" + b",".join(map(_fitting_event, msgspec.json.decode(text, type=list[msgspec.Raw]))) + b"]"
    document = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    document["traceEvents"] = msgspec.Raw(_fitting(bytes(document["traceEvents"])))
    return msgspec.json.encode(document)


def _fitting_event(text: msgspec.Raw) -> bytes:
    """The event, with numbers for texts that hold such; MISFIT where it has no sense."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text, type=Event, strict=False))
    except msgspec.ValidationError:
        return MISFIT

"""The events of a Kineto trace from its JSON: the fields that are used and no others, and damage put right."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mfu_operator.errors import Unreadable
from mfu_operator.trace.read.kineto.stream import cleaned

Found = TypeVar("Found")

NO_SHAPES = msgspec.Raw()

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

MISFIT = b'{"ph":"X","cat":"user_annotation","dur":-1}'
"""Stands for an event that is none, to be counted with those of impossible times."""


class Arguments(msgspec.Struct, gc=False):
    """What an event says beside its name and times; values as the file spells them."""

    device: Any = None
    stream: Any = None
    correlation: Any = None
    bytes: Any = None
    grid: Any = None
    event: Any = msgspec.field(default=None, name="Ev Idx")


class Event(msgspec.Struct, gc=False):
    """One event; `ts` and `dur` in microseconds."""

    ph: str = ""
    cat: str | None = None
    name: str = ""
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    ts: float = 0.0
    dur: float = 0.0
    args: Arguments | None = None


class ShapedArguments(Arguments, gc=False):
    """… with the shapes of an operator's inputs, as JSON; NO_SHAPES where they were not recorded."""

    shapes: msgspec.Raw = msgspec.field(default=NO_SHAPES, name="Input Dims")


class ShapedEvent(Event, gc=False):
    """An event read with input shapes."""

    args: ShapedArguments | None = None


class MessageArguments(ShapedArguments, gc=False):
    """… with what a collective carries (PyTorch's ParamCommsUtils; kernels carry it too), as the file spells it."""

    collective: Any = msgspec.field(default=None, name="Collective name")
    elements_in: Any = msgspec.field(default=None, name="In msg nelems")
    elements_out: Any = msgspec.field(default=None, name="Out msg nelems")
    dtype: Any = None
    group: Any = msgspec.field(default=None, name="Process Group Name")
    ranks: Any = msgspec.field(default=None, name="Process Group Ranks")
    members: Any = msgspec.field(default=None, name="Group size")
    types: Any = msgspec.field(default=None, name="Input type")


class MessageEvent(ShapedEvent, gc=False):
    """An event read with what a collective carries."""

    args: MessageArguments | None = None


class Document(msgspec.Struct):
    """The whole file, or its last events and what stands around them."""

    traceEvents: list[MessageEvent] | msgspec.UnsetType = msgspec.UNSET  # noqa: N815 - the format's own spelling
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    with_stack: Any = None
    record_shapes: Any = None
    profile_memory: Any = None


_EVENTS = msgspec.json.Decoder(list[Event])
_SHAPED_EVENTS = msgspec.json.Decoder(list[ShapedEvent])
_MESSAGE_EVENTS = msgspec.json.Decoder(list[MessageEvent])
_DOCUMENT = msgspec.json.Decoder(Document)


def events_of(text: bytes, path: Path) -> list[Event]:
    """The events of a JSON array. Raises Unreadable: CorruptTrace."""
    return _decoded(_EVENTS.decode, text, path)


def shaped_events_of(text: bytes, path: Path) -> list[ShapedEvent]:
    """The same with input shapes. Raises Unreadable: CorruptTrace."""
    return _decoded(_SHAPED_EVENTS.decode, text, path)


def message_events_of(text: bytes, path: Path) -> list[MessageEvent]:
    """The same with input shapes and what collectives carry. Raises Unreadable: CorruptTrace."""
    return _decoded(_MESSAGE_EVENTS.decode, text, path)


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

"""A TensorBoard event file: records of TFRecord, each a protobuf `Event` with scalars.

Read here because tensorboard brings 60 MB of packages for the five fields that are needed. Sources: TFRecord's format
(https://www.tensorflow.org/tutorials/load_data/tfrecord), tensorboard/compat/proto/{event,summary,tensor}.proto.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from mfu_operator.cli.replay.series.columns import Record
from mfu_operator.errors import Unreadable

_HEADER = struct.Struct("<QI")
_CHECKSUM = 4
_FIRST = (b"brain.Event:", 64)
"""The first event of each file holds its version, within its first bytes."""

Field = tuple[int, int | bytes]


def is_event_file(content: bytes) -> bool:
    """Whether this is a TensorBoard event file."""
    return _FIRST[0] in content[: _FIRST[1]]


def tensorboard_records(content: bytes, path: Path) -> list[Record]:
    """A record for each step: its scalars by tag, and the time of the last of them."""
    by_step: dict[int, dict[str, str]] = {}
    for number, event in enumerate(_events(content, path), 1):
        try:
            _note(event, by_step)
        except (IndexError, struct.error, UnicodeDecodeError):
            raise Unreadable("UnreadableSeries", f"{path}, record {number}: not an event of TensorBoard") from None
    return [Record(f"{path}, step {step}", {**cells, "step": str(step)}) for step, cells in sorted(by_step.items())]


def _note(event: bytes, by_step: dict[int, dict[str, str]]) -> None:
    fields = dict(_fields(event))
    summary = fields.get(5)
    scalars = dict(_scalars(summary)) if isinstance(summary, bytes) else {}
    wall = fields.get(1)
    if scalars and isinstance(wall, bytes):
        step = fields.get(2, 0)
        cells = by_step.setdefault(step if isinstance(step, int) else 0, {})
        cells.update({tag: repr(value) for tag, value in scalars.items()})
        cells["wall_time"] = repr(struct.unpack("<d", wall)[0])


def _events(content: bytes, path: Path) -> Iterator[bytes]:
    """Whole records; the last one of a file that is still written may be cut."""
    at = 0
    while at + _HEADER.size <= len(content):
        length, _ = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        if length > len(content):
            if at > 2 * _HEADER.size + len(_FIRST[0]):
                return
            raise Unreadable("UnreadableSeries", f"{path}: not an event file of TensorBoard")
        if at + length > len(content):
            return
        yield content[at : at + length]
        at += length + _CHECKSUM


def _scalars(summary: bytes) -> Iterator[tuple[str, float]]:
    for number, value in _fields(summary):
        if number != 1 or not isinstance(value, bytes):
            continue
        fields = dict(_fields(value))
        tag, simple, tensor = fields.get(1), fields.get(2), fields.get(8)
        if isinstance(simple, bytes):
            scalar: float | None = struct.unpack("<f", simple)[0]
        else:
            scalar = _of_tensor(tensor) if isinstance(tensor, bytes) else None
        if isinstance(tag, bytes) and scalar is not None:
            yield tag.decode(), scalar


def _of_tensor(tensor: bytes) -> float | None:
    """The one float of a tensor of float32, packed or as its content."""
    fields = dict(_fields(tensor))
    for number in (4, 5):
        packed = fields.get(number)
        if fields.get(1) == 1 and isinstance(packed, bytes) and len(packed) == 4:
            return float(struct.unpack("<f", packed)[0])
    return None


def _fields(message: bytes) -> Iterator[Field]:
    """Field number and value of a protobuf message: a whole number, or the bytes of what has a length."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            whole, at = _varint(message, at)
            yield number, whole
            continue
        if kind == 2:
            size, at = _varint(message, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise IndexError(kind)
        if at + size > len(message):
            raise IndexError(size)
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (2**64 - 1), at
    raise IndexError(at)

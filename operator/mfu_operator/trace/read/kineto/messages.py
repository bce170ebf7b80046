"""What collectives carry, from the events of a Kineto trace.

Newer versions of PyTorch (2.2 and later) say it of `record_param_comms` and of the kernel itself, in elements and by
the process group; older ones give their annotation ("nccl:all_to_all") the shapes and types of its inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from mfu_operator.trace.names.collectives import ISSUING, OF_THE_HOST
from mfu_operator.trace.read.kineto.events import UNSAID, Arguments, Event
from mfu_operator.trace.read.kineto.numbers import count_of

OPERATOR = "record_param_comms"

BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "unsigned char", "signed char", "uint8", "int8"), 1),
    **dict.fromkeys(("half", "bfloat16", "short", "short int", "float16", "int16"), 2),
    **dict.fromkeys(("float", "int", "float32", "int32"), 4),
    **dict.fromkeys(("double", "long", "long int", "complexfloat", "float64", "int64"), 8),
    "complexdouble": 16,
}
"""Of one element, by the type's names in lower case and without its namespace."""

LARGEST_BYTES = 1 << 50
"""Of one message: more is damage."""


_LIST = msgspec.json.Decoder(list[Any])


@dataclass(frozen=True, slots=True)
class Said:
    """What an event says of a message; 0 bytes and members where it does not say."""

    kind: str
    size: int
    group: str | None
    members: int


def speaking(events: Sequence[Event]) -> list[int]:
    """The places of those that may say what a collective carries."""
    names = {name for name in {event.name for event in events} if _issues(name)}
    return [
        place
        for place, event in enumerate(events)
        if event.name in names or (event.args is not None and event.args.collective is not None)
    ]


@cache
def _issues(name: str) -> bool:
    return ISSUING.match(name) is not None or OF_THE_HOST.match(name) is not None


def said_by(event: Event) -> Said | None:
    """What the event says of a collective's message; None where it is of none, or says nothing."""
    arguments = event.args
    if arguments is None:
        return None
    if arguments.collective is not None:
        elements = max(count_of(arguments.elements_in) or 0, count_of(arguments.elements_out) or 0)
        size = elements * _element_bytes(arguments.dtype)
        members = count_of(arguments.members) or 0
        return Said(str(arguments.collective), size if size < LARGEST_BYTES else 0, _group(arguments), members)
    if not _issues(event.name):
        return None
    size = _size_of_inputs(arguments)
    return Said(event.name, size, None, 0) if size else None


def _group(arguments: Arguments) -> str | None:
    """The process group, by its ranks where all are listed, else by its name."""
    ranks, name = arguments.ranks, arguments.group
    if isinstance(ranks, str) and ranks.strip("[] ") and "..." not in ranks:
        return f"ranks {ranks}"
    return str(name) if isinstance(name, str | int) and str(name) else None


def _element_bytes(dtype: Any) -> int:
    name = str(dtype).lower().removeprefix("c10::")
    return 1 if name.startswith("float8") else BYTES.get(name, 0)


def _size_of_inputs(arguments: Arguments) -> int:
    if arguments.shapes is UNSAID or arguments.types is UNSAID:
        return 0
    try:
        shapes, types = (_LIST.decode(one) for one in (arguments.shapes, arguments.types))
    except msgspec.DecodeError:
        return 0
    size = sum(_elements(shape) * _element_bytes(dtype) for shape, dtype in zip(shapes, types, strict=False))
    return size if size < LARGEST_BYTES else 0


def _elements(shape: Any) -> int:
    """Of a tensor, [] being none; of a list of tensors together."""
    if not isinstance(shape, Sequence) or isinstance(shape, str) or not shape:
        return 0
    if isinstance(shape[0], list):
        return sum(_elements(one) for one in shape)
    count = 1
    for one in shape:
        count *= one if isinstance(one, int) and 0 <= one < LARGEST_BYTES else 0
    return count

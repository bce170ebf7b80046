"""Frozen dataclasses ↔ plain dicts, by their type hints.

What a field's name ends in says its unit, and its key says it to a person:

    opened_at, time_s (see TIMES)   openedAt, time        RFC 3339, milliseconds
    evidence_s                      evidenceSeconds       seconds
    mean_ns                         meanMilliseconds      milliseconds, whole nanoseconds

None and empty containers are absent, never null. A pair of texts is {reason, message}.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from mfu_operator.api import quantities
from mfu_operator.errors import Unreadable
from mfu_operator.model.fact import Facts

T = TypeVar("T")

KEYS = {
    "throughput": "tokensPerSecondPerGpu",
    "time_s": "time",
    "onset_s": "onsetAt",
    "last_usable_s": "lastUsableAt",
    "parts_ns": "milliseconds",
}
"""Fields whose key does not follow from their name."""

TIMES = frozenset({"time_s", "onset_s", "last_usable_s", "last_transition_time"})
"""Unix times among the fields, beside all whose name ends in `_at`."""

SECONDS_ONLY = frozenset({"last_transition_time"})
"""Times that Kubernetes itself keeps in whole seconds."""


class UnreadableField(Unreadable):
    """A field that cannot be read, by its path ("status.history[0].id")."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__("StatusUnreadable", f"{path} {problem}; a newer operator or a person wrote it")
        self.path = path


class Codec(NamedTuple):
    """Both directions of one type. `decode` takes the path, for its complaints."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any, str], Any]


class _Member(NamedTuple):
    name: str
    key: str
    codec: Codec
    absent: Callable[[], Any] | None
    """What an absent key stands for; None: the key must be there."""


def encode(value: Any) -> dict[str, Any]:
    """The plain dict of a dataclass.

    Raises:
        ValueError: for a number that JSON does not have (NaN, infinity): a fault of whoever computed it.
    """
    return {
        member.key: member.codec.encode(content)
        for member in _members(type(value))
        if not _is_absent(content := getattr(value, member.name))
    }


def decode(kind: type[T], values: object, path: str) -> T:
    """The dataclass `kind` of a plain dict. Keys that it does not know are not its business.

    Raises:
        UnreadableField: (StatusUnreadable) naming the field.
    """
    if not isinstance(values, Mapping):
        raise _unreadable(path, f"is {values!r} where fields are expected")
    plain: type[Any] = kind
    return kind(**{member.name: _content(member, values, path) for member in _members(plain)})


def key_of(name: str) -> str:
    """The key of a field name."""
    if name in KEYS:
        return KEYS[name]
    for suffix, unit in (("_ns", "_milliseconds"), ("_s", "_seconds")):
        if name.endswith(suffix):
            name = name.removesuffix(suffix) + unit
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def _members(kind: type[Any]) -> tuple[_Member, ...]:
    return _analysed(kind)  # type: ignore[arg-type]  # a class can be hashed; mypy looks at its instances' __hash__


@cache
def _analysed(kind: type[Any]) -> tuple[_Member, ...]:
    hints = get_type_hints(kind)
    return tuple(
        _Member(field.name, key_of(field.name), _codec(hint := hints[field.name], field.name), _absent(field, hint))
        for field in fields(kind)
    )


def _absent(field: Field[Any], hint: Any) -> Callable[[], Any] | None:
    if field.default is not MISSING:
        return lambda: field.default
    if field.default_factory is not MISSING:
        return field.default_factory
    if NoneType in get_args(hint):
        return lambda: None
    return {tuple: tuple, Mapping: dict}.get(get_origin(hint))


def _content(member: _Member, values: Mapping[str, Any], path: str) -> Any:
    content = values.get(member.key)
    if content is not None:
        return member.codec.decode(content, f"{path}.{member.key}")
    if member.absent is None:
        raise _unreadable(f"{path}.{member.key}", "is missing")
    return member.absent()


def _is_absent(content: object) -> bool:
    return content is None or (isinstance(content, tuple | Mapping | Facts) and not content)


def _codec(hint: Any, name: str) -> Codec:
    if name in TIMES or name.endswith("_at"):
        return _WHOLE_SECONDS if name in SECONDS_ONLY else _TIME
    return _of_type(hint, _MILLISECONDS if name.endswith("_ns") else _NUMBER)


def _of_type(hint: Any, number: Codec) -> Codec:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kept = [argument for argument in arguments if argument is not NoneType]
        return _of_type(kept[0], number) if len(kept) == 1 else _SCALAR
    if origin is tuple:
        return _REASONED if Ellipsis not in arguments else _sequence(_of_type(arguments[0], number))
    if origin is Mapping:
        return _mapping(_of_type(arguments[1], number))
    if hint is Facts:
        named = _mapping(_SCALAR)
        return Codec(lambda value: named.encode(value.named), lambda value, path: Facts(named.decode(value, path)))
    if is_dataclass(hint) and isinstance(hint, type):
        return Codec(encode, lambda values, path: decode(hint, values, path))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _enumeration(hint)
    return {float: number, int: _WHOLE, str: _TEXT, bool: _FLAG}[hint]


def _sequence(item: Codec) -> Codec:
    def read(values: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(values, list | tuple):
            raise _unreadable(path, f"is {values!r} where a list is expected")
        return tuple(item.decode(value, f"{path}[{index}]") for index, value in enumerate(values))

    return Codec(lambda values: [item.encode(value) for value in values], read)


def _mapping(item: Codec) -> Codec:
    def read(values: Any, path: str) -> dict[str, Any]:
        if not values:
            return {}
        if not isinstance(values, Mapping):
            raise _unreadable(path, f"is {values!r} where fields are expected")
        return {key: item.decode(value, f"{path}.{key}") for key, value in values.items()}

    return Codec(lambda values: {key: item.encode(value) for key, value in values.items()}, read)


def _enumeration(kind: type[StrEnum]) -> Codec:
    def read(value: Any, path: str) -> StrEnum:
        try:
            return kind(value)
        except ValueError:
            raise _unreadable(path, f"is {value!r}, which this version of the operator does not know") from None

    return Codec(str, read)


def _read_as(kind: type | UnionType, convert: Callable[[Any], Any], expected: str) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise _unreadable(path, f"is {value!r} where {expected} is expected")
        try:
            return convert(value)
        except (ValueError, OverflowError) as error:
            raise _unreadable(path, str(error)) from error

    return read


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written into a status")
    return value


def _same(value: Any) -> Any:
    return value


def _pair(value: Any, path: str) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        raise _unreadable(path, f"is {value!r} where a reason and a message are expected")
    return str(value.get("reason", "")), str(value.get("message", ""))


def _unreadable(path: str, problem: str) -> UnreadableField:
    return UnreadableField(path, problem)


_NUMBER = Codec(lambda value: _finite(float(value)), _read_as(int | float, float, "a number"))
_WHOLE = Codec(_same, _read_as(int, int, "a whole number"))
_TEXT = Codec(_same, _read_as(str, str, "a text"))
_FLAG = Codec(_same, _read_as(bool, bool, "true or false"))
_SCALAR = Codec(
    lambda value: value if isinstance(value, str) else _finite(float(value)),
    _read_as(int | float | str, lambda value: value if isinstance(value, str) else float(value), "a number or a text"),
)
_TIME = Codec(quantities.rfc3339, _read_as(str, quantities.unix_s, "a time"))
_WHOLE_SECONDS = Codec(lambda value: quantities.rfc3339(float(math.floor(value))), _TIME.decode)
_MILLISECONDS = Codec(
    lambda value: quantities.milliseconds(_finite(value)), _read_as(int | float, quantities.nanoseconds, "a number")
)
_REASONED = Codec(lambda value: {"reason": value[0], "message": value[1]}, _pair)

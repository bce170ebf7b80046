"""Reads one section of a manifest, and names the field in every complaint."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from mfu_operator.api import quantities
from mfu_operator.errors import Stall

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

_EXPONENT = re.compile(r"[0-9]+([.][0-9]+)?[eE][0-9]+")
"""A number to the API server (YAML 1.2), a text to PyYAML (YAML 1.1, which wants a sign in the exponent)."""


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping inside a manifest and its path ("spec.profiling"). Absent fields give None (or an empty container).

    Every method raises Stall(InvalidSpec) where the field is there and cannot be read.
    """

    path: str
    values: Mapping[str, Any]

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Raise Stall(InvalidSpec) about the field `name`."""
        raise Stall("InvalidSpec", f"{self.path}.{name} {problem}")

    def has(self, name: str) -> bool:
        """Whether the field is there."""
        return self.values.get(name) is not None

    def section(self, name: str) -> "Section":
        """The section below; empty where it is absent."""
        return Section(f"{self.path}.{name}", self._mapping(name))

    def text(self, name: str) -> str | None:
        """A text that is not blank."""
        return self._read(name, _text)

    def required(self, name: str) -> str:
        """A text that must be there."""
        text = self.text(name)
        if text is None:
            self.refuse(name, "is missing; write it")
        return text

    def number(self, name: str) -> float | None:
        """A finite number."""
        return self._read(name, _number)

    def positive(self, name: str) -> float | None:
        """A number above zero."""
        value = self.number(name)
        if value is not None and value <= 0:
            self.refuse(name, f"is {value:g}; write a number above 0")
        return value

    def count(self, name: str) -> int | None:
        """A whole number of at least 1."""
        value = self.number(name)
        if value is not None and (value < 1 or value != int(value)):
            self.refuse(name, f"is {value:g}; write a whole number of at least 1")
        return None if value is None else int(value)

    def duration_s(self, name: str) -> float | None:
        """A duration ("10m"), in seconds."""
        return self._read(name, lambda value: quantities.duration_s(_text(value)))

    def ratio(self, name: str) -> float | None:
        """A percentage ("5%"), as a ratio."""
        return self._read(name, lambda value: quantities.ratio(_text(value)))

    def flag(self, name: str, default: bool = False) -> bool:
        """True or False."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, f"is {value!r}; write true or false")
        return default if value is None else value

    def choice(self, name: str, choices: type[E]) -> E | None:
        """One of the values of an enumeration."""

        def one_of(value: object) -> E:
            try:
                return choices(_text(value))
            except ValueError:
                raise ValueError(f"{value!r} is unknown; write one of {', '.join(choices)}") from None

        return self._read(name, one_of)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; absent is empty."""
        return self._read(name, _texts) or ()

    def items(self, name: str) -> tuple[object, ...]:
        """A list of anything; absent is empty."""
        return self._read(name, _list) or ()

    def text_map(self, name: str) -> Mapping[str, str]:
        """A mapping of texts, which may be blank; absent is empty."""
        section = self.section(name)
        for key, value in section.values.items():
            if not isinstance(value, str):
                section.refuse(key, f"is {value!r}; write a text, in quotes")
        return dict(section.values)

    def tally(self, name: str) -> int | None:
        """A whole number of at least 0."""
        value = self.number(name)
        if value is not None and (value < 0 or value != int(value)):
            self.refuse(name, f"is {value:g}; write a whole number of at least 0")
        return None if value is None else int(value)

    def count_map(self, name: str) -> Mapping[str, int]:
        """A mapping of whole numbers of at least 1; absent is empty."""
        section = self.section(name)
        return {key: section.count(key) or section.refuse(key, "is empty; write a number") for key in section.values}

    def _mapping(self, name: str) -> Mapping[str, Any]:
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.refuse(name, f"is {value!r}; write a mapping of fields")
        return value

    def _read(self, name: str, read: Callable[[object], T]) -> T | None:
        value = self.values.get(name)
        if value is None:
            return None
        try:
            return read(value)
        except (ValueError, OverflowError) as error:
            self.refuse(name, f"cannot be read: {error}")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not text; write one, in quotes")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _list(value: object) -> tuple[object, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list; write one, each item after a dash")
    return tuple(value)


def _number(value: object) -> float:
    if isinstance(value, str) and _EXPONENT.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ValueError(f"{value!r} is not a number; write one without quotes")
    return float(value)

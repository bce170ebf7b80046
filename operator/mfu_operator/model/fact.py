"""What a fact is, and the facts of one account as a value. The facts themselves stand in `facts.py`.

Code reads a fact by its constant (`account.facts.number(facts.SYNC_CALLS)`), so that one that does not exist is a type
error; JSON has the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar


class Unit(StrEnum):
    """What a fact's number counts; per mean counted step where it is a time, calls or bytes."""

    NS = "ns"
    CALLS = "calls"
    BYTES = "bytes"
    BLOCKS = "blocks"
    SHARE = "share"
    COUNT = "count"
    RANK = "rank"
    MARK = "mark"
    WORD = "text"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that may be observed; `name` is its key in JSON."""

    name: str
    unit: Unit
    meaning: str


class Number(Fact):
    """A fact whose value is a number."""

    __slots__ = ()


class Word(Fact):
    """A fact whose value is a text."""

    __slots__ = ()


class NumberOrWord(Number, Word):
    """A fact that is a mark (1), or says in words what there is."""

    __slots__ = ()


T = TypeVar("T", bound=Fact)

Observed = Mapping[Fact, float | str]
"""Values by fact."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one account. An absent one was not observed, which is not zero.

    `named` are the values under their names in JSON; names that this version does not know are kept and never read.
    """

    named: Mapping[str, float | str] = field(default_factory=dict)

    @staticmethod
    def of(observed: Observed) -> "Facts":
        """The facts with these values."""
        return Facts({fact.name: value for fact, value in observed.items()})

    def number(self, fact: Number) -> float | None:
        """The fact's number; None where it was not observed, or is a text."""
        value = self.named.get(fact.name)
        return None if value is None or isinstance(value, str) else value

    def word(self, fact: Word) -> str | None:
        """The fact's text; None where it was not observed, or is a number."""
        value = self.named.get(fact.name)
        return value if isinstance(value, str) else None

    def get(self, fact: Fact) -> float | str | None:
        """The fact's value, whichever it is; None where it was not observed."""
        return self.named.get(fact.name)

    def __contains__(self, fact: Fact) -> bool:
        return fact.name in self.named

    def __len__(self) -> int:
        return len(self.named)

    def __or__(self, more: Observed) -> "Facts":
        return Facts({**self.named, **Facts.of(more).named})


class Section:
    """A group of facts, in the order in which they are defined."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.facts: list[Fact] = []

    def number(self, name: str, unit: Unit, meaning: str) -> Number:
        """A new fact that is a number."""
        return self._added(Number(name, unit, meaning))

    def calls(self, name: str, meaning: str) -> Number:
        """A new fact that is a number of calls per mean counted step."""
        return self.number(name, Unit.CALLS, meaning)

    def ns(self, name: str, meaning: str) -> Number:
        """A new fact that is a time per mean counted step, in nanoseconds."""
        return self.number(name, Unit.NS, meaning)

    def mark(self, name: str, meaning: str) -> Number:
        """A new fact that is 1 where it holds; `meaning` says so where absence is not the other value."""
        return self.number(name, Unit.MARK, meaning)

    def word(self, name: str, meaning: str) -> Word:
        """A new fact that is a text."""
        return self._added(Word(name, Unit.WORD, meaning))

    def number_or_word(self, name: str, meaning: str) -> NumberOrWord:
        """A new fact that is a mark or a text."""
        return self._added(NumberOrWord(name, Unit.MARK, meaning))

    def _added(self, fact: T) -> T:
        self.facts.append(fact)
        return fact

"""Patterns of names. Where case does not matter, name and pattern are compared in lower case: re.IGNORECASE takes three
times as long, because it rules out the shortcuts of re.
"""

import re
from dataclasses import dataclass

ANY_CASE = "(?i)"
CHANGED_BY_LOWER = re.compile(r"\\[A-Z]")
"""Escapes that mean something else in lower case."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A compiled pattern; `folded`: of lower-case names."""

    regex: re.Pattern[str]
    folded: bool

    def matches(self, name: str) -> bool:
        """Whether it occurs in the name."""
        return self.regex.search(name.lower() if self.folded else name) is not None


def compiled(text: str) -> NamePattern:
    """The pattern of a table's cell; (?i) at its beginning says that case does not matter."""
    plain = text.removeprefix(ANY_CASE)
    if plain == text or CHANGED_BY_LOWER.search(plain):
        return NamePattern(re.compile(text), folded=False)
    return NamePattern(re.compile(plain.lower()), folded=True)

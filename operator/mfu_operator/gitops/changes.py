"""What a commit changes in a file, in meaning: which keys of the configuration have other values afterwards."""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mfu_operator.gitops.manifests import NotStructuredError, Place, leaves, same_program
from mfu_operator.model.commit import FileChange
from mfu_operator.model.masking import is_secret_key

ABSENT = "(absent)"

_ASSIGNMENT = re.compile(r"(?:- )?[\"']?([A-Za-z_][\w.-]*)[\"']?[ \t]?[:=](.+)", re.DOTALL)
_COMMENT = re.compile(r"^\s*(?:#|//|\{\{-?\s*/\*).*$")


class Sort(StrEnum):
    """VALUE: one key of structured configuration. TEXT: a program, script or template that is not read by meaning."""

    VALUE = "Value"
    TEXT = "Text"


@dataclass(frozen=True, slots=True)
class Change:
    """One key with another value. `before` or `after` None: the key was not, or is no longer, there."""

    place: Place
    before: Any
    after: Any
    sort: Sort = Sort.VALUE
    was_there: bool = True
    is_there: bool = True

    @property
    def name(self) -> str:
        """What the table of causes calls the key: an environment variable by its name."""
        key = self.place.inner or self.place.key
        variable = re.search(r"(?:^|\.)env\[([^\]]+)\]\.value$", key)
        return variable[1] if variable else key.replace(": ", ".")

    @property
    def old(self) -> Any:
        """The value before."""
        return self.before

    @property
    def new(self) -> Any:
        """The value after."""
        return self.after

    def __str__(self) -> str:
        if self.sort is Sort.TEXT:
            return f"{self.place} (text changed)"
        return f"{self.place} {self._shown(self.before, self.was_there)} → {self._shown(self.after, self.is_there)}"

    def _shown(self, value: Any, there: bool) -> str:
        if not there:
            return ABSENT
        if self.place.document.startswith("Secret/") or is_secret_key(self.place.leaf):
            return "(hidden)"
        text = " ".join(str(value).split())
        if value is None or isinstance(value, bool):
            text = {None: "null", True: "true", False: "false"}[value]
        return text if len(text) <= 60 else f"{text[:57]}…"


def changes(file: FileChange) -> tuple[Change, ...]:
    """Which keys of one file have other values afterwards."""
    try:
        before, after = (leaves(file.path, text) if text is not None else {} for text in (file.before, file.after))
    except NotStructuredError:
        found = _text(file)
    else:
        found = _compare(before, after)
    return tuple(sorted(found, key=str))


def _compare(before: Mapping[Place, Any], after: Mapping[Place, Any]) -> Iterator[Change]:
    for place in before.keys() | after.keys():
        there = (place in before, place in after)
        old, new = before.get(place), after.get(place)
        if all(there) and (old == new and type(old) is type(new)):
            continue
        if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
            yield from _text(FileChange(str(place), old, new))
        elif all(there) or not _moved(place, before, after):
            yield Change(place, old, new, Sort.VALUE, *there)


def _moved(place: Place, before: Mapping[Place, Any], after: Mapping[Place, Any]) -> bool:
    """An empty mapping that got its first key, or lost its last one: the key itself is told."""
    here, there = (before, after) if place in before else (after, before)
    return here[place] == {} and any(
        other.document == place.document and other.key.startswith(f"{place.key}.") for other in there
    )


def _text(file: FileChange) -> Iterator[Change]:
    old, new = file.before or "", file.after or ""
    if same_program(old, new) if file.path.endswith(".py") and old and new else _bare(old) == _bare(new):
        return
    pairs = _assignments(_bare(old), _bare(new))
    if pairs is None:
        yield Change(Place(file.path, ""), None, None, Sort.TEXT)
        return
    for key, before, after in pairs:
        yield Change(Place(file.path, key), before, after)


def _bare(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not _COMMENT.match(line)]


def _value(text: str) -> str:
    return text.strip().removesuffix(",").rstrip()


def _assignments(before: list[str], after: list[str]) -> list[tuple[str, str, str]] | None:
    """(key, before, after) where every changed line only gives a key another value; None where the text itself did."""
    found: list[tuple[str, str, str]] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if j - i != m - k:
            return None
        for old, new in zip(before[i:j], after[k:m], strict=True):
            was, now = _ASSIGNMENT.match(old), _ASSIGNMENT.match(new)
            if not was or not now or was[1] != now[1]:
                return None
            found.append((was[1], _value(was[2]), _value(now[2])))
    return found

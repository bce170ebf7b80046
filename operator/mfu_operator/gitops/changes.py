"""What a commit changes in meaning: which keys of the configuration have other values afterwards."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mfu_operator.gitops.manifests import Leaves, NotStructuredError, Place, leaves, same_program
from mfu_operator.model.commit import Commit, FileChange
from mfu_operator.model.masking import is_secret_key

ABSENT = "(absent)"

_DOCUMENTS = re.compile(
    r"(?:^|/)(?:docs?/.*|README[^/]*|CHANGELOG[^/]*|LICEN[CS]E[^/]*|CODEOWNERS|OWNERS|\.gitignore|\.gitattributes|"
    r"\.editorconfig|NOTES\.txt|[^/]*\.(?:md|rst|adoc|png|svg|jpe?g|gif|drawio))$",
    re.IGNORECASE,
)
_PIPELINES = re.compile(
    r"(?:^|/)(?:\.github|\.gitlab|\.gitea|\.circleci)/|(?:^|/)\.(?:gitlab-ci|pre-commit-config)\.ya?ml$"
)
_ASSIGNMENT = re.compile(r"\s*-?\s*[\"']?([A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*(.+?)\s*,?\s*$")
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


@dataclass(frozen=True, slots=True)
class Meaning:
    """A commit in meaning: what it changes for the application, and what of it has no effect and why."""

    changes: tuple[Change, ...]
    without_effect: tuple[str, ...]


def meaning(commit: Commit, path: str) -> Meaning:
    """What a commit changes for an application at `path`.

    Documents are compared wherever they stand, so that moving one from file to file is no change.
    """
    concerned = [change for change in commit.changes if change.read or under(change.path, path)]
    if not concerned:
        return Meaning((), (f"touches nothing under {path or 'the repository'}",))
    dropped = [reason for reason in map(_no_configuration, concerned) if reason]
    rest = [change for change in concerned if not _no_configuration(change)]
    texts, before, after = _read(rest)
    changes = [*_compare(before, after), *texts]
    if rest and not changes:
        dropped.append("changes only comments, layout or order")
    return Meaning(tuple(sorted(changes, key=str)), tuple(dict.fromkeys(dropped)))


def under(file: str, path: str) -> bool:
    """Whether a file lies in a folder of the repository ("" and "." are its root)."""
    folder = path.strip("/").removeprefix("./")
    return folder in ("", ".") or file == folder or file.startswith(f"{folder}/")


def _no_configuration(change: FileChange) -> str | None:
    if _DOCUMENTS.search(change.path):
        return "changes only documents"
    if _PIPELINES.search(change.path):
        return "changes only pipelines of the forge"
    return None


def _read(files: Iterable[FileChange]) -> tuple[list[Change], dict[Place, Any], dict[Place, Any]]:
    texts: list[Change] = []
    sides: tuple[dict[Place, Any], dict[Place, Any]] = ({}, {})
    for file in files:
        try:
            read = [leaves(file.path, text) if text is not None else {} for text in (file.before, file.after)]
        except NotStructuredError:
            texts.extend(_text(file))
            continue
        if file.binary:
            texts.extend(_text(file))
        for side, found in zip(sides, read, strict=True):
            _merge(side, found, file.path)
    return texts, *sides


def _merge(side: dict[Place, Any], found: Leaves, path: str) -> None:
    taken = {place.document for place in found} & {place.document for place in side}
    for place, value in found.items():
        document = f"{path}#{place.document}" if place.document in taken else place.document
        side[replace(place, document=document)] = value


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
    if file.binary:
        yield Change(Place(file.path, ""), None, None, Sort.TEXT)
        return
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
            found.append((was[1], was[2], now[2]))
    return found

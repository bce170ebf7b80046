"""A commit's changes to a text in the smallest pieces, each to be undone alone; every other byte stays as it is."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_LINES = 20_000
MAX_HUNKS = 60
"""Pieces of one file; more is no change of a few keys."""

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `start` to `end` of the text after the commit, what they were before, and for one changed line the words.

    `words` are (word number, its text before the commit) of a line of which only some words changed.
    """

    start: int
    end: int
    before: tuple[str, ...]
    words: tuple[tuple[int, str], ...] = ()


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The pieces; none where the texts are too large to be compared."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(old), len(new)) > MAX_LINES:
        return ()
    found: list[Hunk] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if tag == "replace" and j - i == m - k:
            for offset in range(m - k):
                found.extend(_line(old[i + offset], new[k + offset], k + offset))
        else:
            found.append(Hunk(k, m, tuple(old[i:j])))
    return tuple(found[:MAX_HUNKS])


def _line(old: str, new: str, number: int) -> Iterator[Hunk]:
    """One changed line, word by word where it has as many words as before."""
    was, now = _TOKEN.findall(old), _TOKEN.findall(new)
    if len(was) == len(now):
        for index, (one, other) in enumerate(zip(was, now, strict=True)):
            if one != other:
                yield Hunk(number, number + 1, (old,), ((index, one),))
    else:
        yield Hunk(number, number + 1, (old,))


def undone(after: str, head: str, taken: Sequence[Hunk]) -> str | None:
    """The head's text with pieces of a commit undone; None where later commits changed the same words.

    Args:
        after: the text that the commit left.
        head: the text as it is now.
        taken: the pieces.
    """
    new, now = after.splitlines(keepends=True), head.splitlines(keepends=True)
    places = _places(new, now)
    edits: dict[int, list[tuple[int, str]]] = {}
    blocks: list[tuple[int, int, tuple[str, ...]]] = []
    for hunk in taken:
        if hunk.words:
            line = places.get(hunk.start)
            if line is None:
                return None
            was, is_now = _TOKEN.findall(new[hunk.start]), _TOKEN.findall(now[line])
            moved = _places(was, is_now)
            if any(index not in moved or is_now[moved[index]] != was[index] for index, _ in hunk.words):
                return None
            edits.setdefault(line, []).extend((moved[index], text) for index, text in hunk.words)
            continue
        span = _span(hunk, new, now, places)
        if span is None:
            return None
        blocks.append((*span, hunk.before))
    for line, words in edits.items():
        tokens = _TOKEN.findall(now[line])
        for index, text in words:
            tokens[index] = text
        now[line] = "".join(tokens)
    for start, end, lines in sorted(blocks, reverse=True):
        now[start:end] = lines
    return "".join(now)


def _places(new: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """By line (or word) after the commit, that of the head; one that changed since keeps its place in its block."""
    found: dict[int, int] = {}
    for tag, i, j, k, m in difflib.SequenceMatcher(None, list(new), list(now), autojunk=False).get_opcodes():
        if tag == "equal" or j - i == m - k:
            found.update(zip(range(i, j), range(k, m), strict=True))
    return found


def _span(hunk: Hunk, new: Sequence[str], now: Sequence[str], places: dict[int, int]) -> tuple[int, int] | None:
    """The head's lines that a block stands in, unchanged; for one taken out, the place between its neighbours."""
    if hunk.start < hunk.end:
        lines = [places.get(number) for number in range(hunk.start, hunk.end)]
        same = all(line is not None and now[line] == new[number]
                   for line, number in zip(lines, range(hunk.start, hunk.end), strict=True))  # fmt: skip
        first, last = lines[0], lines[-1]
        if not same or first is None or last is None or last - first != hunk.end - hunk.start - 1:
            return None
        return first, last + 1
    previous, following = places.get(hunk.start - 1), places.get(hunk.start)
    if hunk.start == 0:
        return 0, 0
    if previous is not None and (now[previous] == new[hunk.start - 1]):
        return previous + 1, previous + 1
    if following is not None and now[following] == new[hunk.start]:
        return following, following
    return None

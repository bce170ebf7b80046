"""A commit's changes to a text in the smallest pieces, each to be undone alone; every other byte stays as it is."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_LINES = 20_000
MAX_HUNKS = 60
"""Pieces of one file; more is not a change of a few keys."""

MAX_WORDS = 400
"""Words of one line that are compared and undone apart."""

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
        if j - i == m - k:
            for offset in range(m - k):
                found.extend(_line(old[i + offset], new[k + offset], k + offset))
        else:
            found.append(Hunk(k, m, tuple(old[i:j])))
    return tuple(found[:MAX_HUNKS])


def _line(old: str, new: str, number: int) -> Iterator[Hunk]:
    """One changed line in the values that changed, each with all of its words."""
    was, now = _TOKEN.findall(old), _TOKEN.findall(new)
    parts = [_words("".join(was[i:j]), now, k, m) for i, j, k, m in _changed(was, now)]
    if not all(parts) or sum(map(len, parts)) > MAX_WORDS:
        yield Hunk(number, number + 1, (old,))
        return
    groups: list[list[tuple[int, str]]] = []
    for words in parts:
        if groups and _one_value(now[groups[-1][-1][0] + 1 : words[0][0]]):
            groups[-1].extend(words)
        else:
            groups.append(words)
    for group in groups:
        yield Hunk(number, number + 1, (old,), tuple(group))


def _changed(was: Sequence[str], now: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """The words of a line that changed, as ranges before and after; all of it where it is long and grew or shrank."""
    if len(was) == len(now):
        yield from ((index, index + 1, index, index + 1) for index, word in enumerate(was) if word != now[index])
    elif max(len(was), len(now)) > MAX_WORDS:
        yield 0, len(was), 0, len(now)
    else:
        for tag, i, j, k, m in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            if tag != "equal":
                yield i, j, k, m


def _words(before: str, now: Sequence[str], start: int, end: int) -> list[tuple[int, str]]:
    """What the words `start` to `end` are set to, for the text before; where there are none, beside their neighbour.

    None where the line's first words went: no word stands before them.
    """
    if start < end:
        return [(start, before), *((index, "") for index in range(start + 1, end))]
    return [(start - 1, now[start - 1] + before)] if start else []


def _one_value(between: Sequence[str]) -> bool:
    """Whether what stands between two changed words holds them together: `bf16-mixed`, and not `a, b`."""
    return all(word in "-._:/+" for word in between)


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
    for _, i, j, k, m in difflib.SequenceMatcher(None, list(new), list(now), autojunk=False).get_opcodes():
        if j - i == m - k:
            found.update(zip(range(i, j), range(k, m), strict=True))
    return found


def _span(hunk: Hunk, new: Sequence[str], now: Sequence[str], places: dict[int, int]) -> tuple[int, int] | None:
    """The head's lines that a block stands in, unchanged; for one taken out, the place between its neighbours."""
    if hunk.start < hunk.end:
        first, last = places.get(hunk.start), places.get(hunk.end - 1)
        if first is None or last is None or now[first : last + 1] != new[hunk.start : hunk.end]:
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

"""Text of others inside our Markdown: it can neither format, nor link, nor call people, nor end what it stands in."""

import re
import unicodedata
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~$^>])")
_SAFE = re.compile(r"[^\w .,:;()/+=%→×−–-]")


def code(text: str) -> str:
    """An inline code span; safe in table cells too."""
    inner = visible(text).replace("`", "'").replace("|", "¦").replace("<!--", "<! --")
    return f"`{inner or '(empty)'}`"


def escape(text: str) -> str:
    """A sentence that shows as it is written: no markup, no HTML, no mention, no reference."""
    safe = visible(text).replace("&", "&amp;").replace("<", "&lt;")
    safe = _SPECIAL.sub(r"\\\1", safe)
    return re.sub(r"@(?=\w)", "@\u200b", re.sub(r"(?i)\b(https?|ftp)://|\bwww\.", _defused, safe))


def plain(text: str, limit: int) -> str:
    """One line for titles and commit messages: letters, digits and quiet punctuation only, so that no `#12`, `@name`
    or `[skip ci]` in it means anything to a forge."""
    kept = " ".join(_SAFE.sub("", visible(text)).split())
    return kept if len(kept) <= limit else f"{kept[: limit - 1].rstrip()}…"


def visible(text: str) -> str:
    """The text in one line, without control, format and direction characters."""
    spaced = "".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join("".join(char for char in spaced if unicodedata.category(char) not in ("Cf", "Cs", "Co")).split())


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table, first column left, the others right; cells are Markdown already."""
    lines = [head, tuple(":--" if index == 0 else "--:" for index in range(len(head))), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _defused(match: re.Match[str]) -> str:
    return match[0].replace(":", ":\u200b").replace(".", ".\u200b")

"""Versions of tags and charts, and the ranges in which delivery tools ask for them."""

import re
from collections.abc import Iterable, Sequence

Number = tuple[int, int, int]


def highest(wanted: str, names: Iterable[str]) -> str | None:
    """The highest version that meets a range of the usual forms: `1.2.*`, `~1.2`, `^1`, `>=1.2.0 <2`, `*`."""
    fitting = [(number, name) for name in names if (number := version(name)) and meets(number, wanted)]
    return max(fitting)[1] if fitting else None


def is_range(wanted: str) -> bool:
    """Whether a text asks for any of several versions, and not for one."""
    return version(wanted) is None and bool(re.fullmatch(r"[\s\dvx*.,<>=~^|-]+", wanted, re.IGNORECASE))


def version(name: str) -> Number | None:
    """The number of a version that is released; None for other names and pre-releases."""
    found = re.fullmatch(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:\+[\w.-]{1,100})?", name)
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0)) if found else None


def meets(number: Number, wanted: str) -> bool:
    """Whether a version lies in a range."""
    return any(_meets(number, each) for each in wanted.split("||"))


def _meets(number: Number, wanted: str) -> bool:
    for term in re.split(r"[\s,]+", re.sub(r"([<>=~^])\s+", r"\1", wanted.strip())):
        found = re.fullmatch(r"(>=|<=|>|<|=|~|\^)?v?(\d{1,9}|[*xX])(?:\.(\d{1,9}|[*xX]))?(?:\.(\d{1,9}|[*xX]))?", term)
        if not found:
            return False
        parts = [int(part) for part in found.groups()[1:] if part and part.isdigit()]
        base = (*parts, 0, 0, 0)[:3]
        sign = found[1] or "="
        fixed = {"=": len(parts), "~": min(len(parts), 2), "^": _caret(base, len(parts))}.get(sign)
        if fixed is not None:
            fits = number[:fixed] == base[:fixed] and number >= base
        else:
            part, of = number[: len(parts)], base[: len(parts)]  # nothing of 1.2 is above 1.2
            fits = {">=": number >= base, "<=": part <= of, ">": part > of, "<": number < base}[sign]
        if not fits:
            return False
    return True


def _caret(base: Sequence[int], given: int) -> int:
    """How many parts `^` holds fast: up to the first that is not zero."""
    return next((index + 1 for index, part in enumerate(base[:given]) if part), given)

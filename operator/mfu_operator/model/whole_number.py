"""Whole numbers as people and programs write them."""

import re

_DIGITS = re.compile(r"[0-9]{1,18}")
"""ASCII alone: "²" is a digit to `str.isdigit` and no number to `int`, and so are more than 4,300 digits."""


def whole_number(text: str) -> int | None:
    """The number that a text of 1 to 18 digits is; None where it is anything else."""
    return int(text) if _DIGITS.fullmatch(text) else None

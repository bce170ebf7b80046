"""Whole numbers and times from what a Kineto trace's JSON holds, in columns.

Times are microseconds in JSON numbers, which are IEEE doubles: start = rint(ts · 1000) and end = start +
rint(dur · 1000) in double arithmetic. Traces without `baseTimeNanoseconds` count from 1970, where a double resolves
256 ns; equal texts still give equal times.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfu_operator.model.trace import NONE, Flags, Ints
from mfu_operator.trace.read.kineto.events import Event

LONGEST_US = 1e12
LATEST_US = 2.0**62 / 1000
"""Eleven days: an event that claims to last longer, or a time beyond 2⁶² ns, is damage."""

LARGEST = 1 << 62
"""Beyond it a number is none: sums of two such would not fit into a column."""

DIGITS = re.compile(r"[0-9]{1,19}")
"""Of such a number: Python refuses to read thousands of them."""


def times(rows: Sequence[Event]) -> tuple[Ints, Ints, Flags]:
    """(start, end, whether they can be true) of events, in nanoseconds; 0 where they cannot."""
    begin = np.fromiter([row.ts for row in rows], dtype=np.float64, count=len(rows))
    length = np.fromiter([row.dur for row in rows], dtype=np.float64, count=len(rows))
    sound = (length >= 0) & (length < LONGEST_US) & (np.abs(begin) < LATEST_US)
    start = np.rint(np.where(sound, begin, 0.0) * 1000).astype(np.int64)
    return start, start + np.rint(np.where(sound, length, 0.0) * 1000).astype(np.int64), sound


def integers(values: Sequence[Any]) -> Ints:
    """Each value as `integer` has it; quicker where all are numbers that a column can hold, or nothing."""
    if set(map(type, values)) <= {int, type(None)}:
        with contextlib.suppress(OverflowError):
            plain = [NONE if value is None else value for value in values]
            numbers = np.fromiter(plain, dtype=np.int64, count=len(plain))
            return np.where((numbers >= -1) & (numbers < LARGEST), numbers, NONE)
    return np.fromiter(map(integer, values), dtype=np.int64, count=len(values))


def integer(value: Any) -> int:
    """The number, also from text; NONE where it is none or no column can hold it."""
    if isinstance(value, str):
        value = int(value) if DIGITS.fullmatch(value) else NONE
    return value if isinstance(value, int) and -1 <= value < LARGEST else NONE


def count_of(value: Any) -> int | None:
    """The number, also from text; None where it is none or below zero."""
    number = NONE if isinstance(value, bool) else integer(value)
    return None if number < 0 else number

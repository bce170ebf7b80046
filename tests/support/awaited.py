"""Waiting for what a real server comes to."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

EVERY_S = 0.1


def awaited(look: Callable[[], Found], holds: Callable[[Found], bool], patience_s: float) -> Found:
    """The first look that holds; the last one where none does in time."""
    ends_s = time.monotonic() + patience_s
    while not holds(found := look()) and time.monotonic() < ends_s:
        time.sleep(EVERY_S)
    return found

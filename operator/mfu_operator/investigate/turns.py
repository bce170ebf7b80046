"""One rendering at a time: the chart gives the operator memory for itself and one engine beside it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mfu_operator.adapters.git.protocol import FETCHED, TURN

_ASKED_EVERY_S = 0.02


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Say that everything is fetched, and wait until the operator, which started this process, lets it render. It ends
    a process that waits too long."""
    (folder / FETCHED).touch()
    while not (folder / TURN).exists():
        time.sleep(_ASKED_EVERY_S)
    yield

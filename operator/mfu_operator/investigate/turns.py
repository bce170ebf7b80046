"""One rendering at a time on a machine: the chart gives the operator memory for itself and one engine beside it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(folder: Path, waits: Path) -> Iterator[None]:
    """Wait until no other process of this user renders. A process that dies gives its turn to the next.

    Args:
        folder: of temporary files, which all of them share.
        waits: a file that is made when waiting begins, for whoever watches.
    """
    waits.touch()
    path = folder / f"mfu-render-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

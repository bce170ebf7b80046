"""What is made once and kept: a key of its content, and a lock while it is made."""

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file, so that two programs do not do the same work at once; waits for the other one."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def content_key(*parts: str) -> str:
    """Return a short name that differs where any of the parts differs."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:16]

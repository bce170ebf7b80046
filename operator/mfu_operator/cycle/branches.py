"""One tick at a time with each branch: one commit may slow several jobs down, whose ticks come to open its pull request
at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from mfu_operator.errors import Wait


class Branches:
    """Kept for the whole operator. Safe to call from several threads."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._lock = Lock()

    @contextmanager
    def alone(self, branch: str) -> Iterator[None]:
        """Look for the pull request of a branch and open it while nobody else does.

        Raises:
            Wait: (PullRequestShared) another tick does.
        """
        with self._lock:
            if branch in self._taken:
                told = f"another baseline opens the pull request of {branch} just now, and this one joins it"
                raise Wait("PullRequestShared", told)
            self._taken.add(branch)
        try:
            yield
        finally:
            with self._lock:
                self._taken.discard(branch)

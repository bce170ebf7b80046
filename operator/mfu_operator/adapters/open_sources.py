"""Sources that are open: one for equal declarations, and none that nobody holds, so that its secrets go with it."""

import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

SourceT = TypeVar("SourceT")


class OpenSources(Generic[SourceT]):
    """Sources by what they were opened with. Safe to call from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakValueDictionary[object, SourceT] = weakref.WeakValueDictionary()

    def one(self, key: object, make: Callable[[], SourceT]) -> SourceT:
        """The source that is open for the key, made where there is none. Raises what `make` raises."""
        with self._lock:
            opened = self._open.get(key)
            if opened is None:
                opened = self._open[key] = make()
            return opened

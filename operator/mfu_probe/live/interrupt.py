"""Running a function on the script's main thread while the script is at work, as Python runs its signal handlers."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any, Callable

_PENDING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_waiting: list[Any] = []
"""What C was told to call, until it does."""


def on_main_thread(act: Callable[[], None]) -> None:
    """Run `act` on the main thread before its next bytecode; nothing where this Python cannot (it is not CPython). A
    call into C, such as a wait for the device, ends first. What `act` raises is lost."""

    def called(_: object) -> int:
        _waiting.remove(pending)
        with suppress(Exception):
            act()
        return 0

    pending = _PENDING(called)
    _waiting.append(pending)
    api = getattr(ctypes, "pythonapi", None)
    if api is None or api.Py_AddPendingCall(pending, None) != 0:
        _waiting.remove(pending)

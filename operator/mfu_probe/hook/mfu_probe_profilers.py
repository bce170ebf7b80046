"""The script's own torch.profiler comes before a capture: Kineto has one session, and a later one cancels it.

Seen with torch 2.15: a capture that starts while the script profiles ends the script's profile without a word, and
exporting a profile that was cancelled ends the process (signal 11); a script whose profiler is told to record while a
capture does gets a RuntimeError. So who profiles is noted, and a capture gives way before it matters. Like
`mfu_probe_start_up` this imports neither torch nor mfu_probe.
"""

from __future__ import annotations

import functools
import threading
import weakref
from types import ModuleType
from typing import Any, Callable

active: weakref.WeakSet[Any] = weakref.WeakSet()
"""Profilers of the script that are prepared or recording."""

give_way: Callable[[], None] | None = None
"""Called before a profiler of the script begins, on its thread, while a capture records."""

_own_thread: int | None = None
_watched = False


class Own:
    """What a capture's own profiler begins and ends inside of this block is not the script's."""

    def __enter__(self) -> None:
        global _own_thread
        _own_thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        global _own_thread
        _own_thread = None


def watch(module: ModuleType) -> None:
    """Note the profilers that begin from now on. `module` is torch.autograd.profiler; without these methods (a torch
    before 2.0) nothing is noted. Doing it twice does it once."""
    global _watched
    profile = getattr(module, "profile", None)
    if profile is None or _watched:
        return
    _watched = True
    for name in ("_prepare_trace", "_start_trace"):
        if hasattr(profile, name):
            setattr(profile, name, _before(getattr(profile, name)))
    profile.__exit__ = _after(profile.__exit__)


def _before(begin: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(begin)
    def begins(profiler: Any, *args: Any, **kwargs: Any) -> Any:
        if _own_thread != threading.get_ident():
            active.add(profiler)
            if give_way is not None:
                give_way()
        return begin(profiler, *args, **kwargs)

    return begins


def _after(end: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(end)
    def ends(profiler: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return end(profiler, *args, **kwargs)
        finally:
            active.discard(profiler)

    return ends

"""What happened in one process and on its device, before any profiler's format. Integer nanoseconds."""

from dataclasses import dataclass, field

MAIN, AUTOGRAD, PINNING, FIRST_WORKER = 1, 2, 3, 10
"""Threads; workers of the loader count up from the last."""


@dataclass(frozen=True, slots=True)
class Call:
    """Something on a host thread. `kind`: range, op, cuda, os, python (seen with stacks only)."""

    thread: int
    name: str
    start: int
    end: int
    kind: str
    correlation: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What a collective carries, in elements of two or four bytes."""

    collective: str
    elements: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Work:
    """Something on the device. `kind`: kernel, h2d, d2h, d2d, p2p, memset."""

    stream: int
    name: str
    start: int
    end: int
    correlation: int
    kind: str = "kernel"
    blocks: int = 0
    size: int = 0
    pinned: bool = True
    message: Message | None = None


@dataclass(slots=True)
class Recording:
    """One rank's."""

    rank: int
    world: int
    gpu: str
    calls: list[Call] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    """Number, start and end of each recorded step."""

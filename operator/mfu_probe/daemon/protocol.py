"""What libkineto asks of a daemon, and what it is answered (dynolog's protocol, over a Unix datagram socket).

A message is a header, `u64 size, char type[32]`, and `size` bytes. Every process that has imported torch asks every
5 s: type `req`, then `i32 kind, i32 n, i64 job, i32 pids[n]`, its own process first and then its ancestors. The answer
has the same header and the text of a configuration, or none. `ctxt` registers a process and is answered by a number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

SOCKET = "dynolog"
LONGEST_MESSAGE = 4096
MOST_ANCESTORS = 64
POLL_SECONDS = 5.0
"""How often libkineto asks."""

_HEADER = struct.Struct("=Q32s")
_REQUEST = struct.Struct("=iiq")
_PID = struct.Struct("=i")
_ACTIVITIES = 2


class NotUnderstood(Exception):
    """No message of this protocol; the message says what is wrong with it."""


@dataclass(frozen=True)
class Poll:
    """A process asks for work. `pid` and `ancestors` are process ids as the process itself sees them."""

    pid: int
    ancestors: tuple[int, ...]


@dataclass(frozen=True)
class Registered:
    """A process says that it is there; it is answered by how many there are."""


def decoded(message: bytes) -> Poll | Registered:
    """A message of libkineto. Raises NotUnderstood."""
    if len(message) < _HEADER.size:
        raise NotUnderstood(f"{len(message)} bytes are not a header")
    size, raw = _HEADER.unpack_from(message)
    kind = raw.partition(b"\0")[0]
    if size != len(message) - _HEADER.size:
        raise NotUnderstood(f"{size} bytes are announced and {len(message) - _HEADER.size} came")
    if kind == b"ctxt":
        return Registered()
    if kind != b"req":
        raise NotUnderstood("neither req nor ctxt")
    return _poll(message[_HEADER.size :])


def _poll(body: bytes) -> Poll:
    if len(body) < _REQUEST.size:
        raise NotUnderstood(f"{len(body)} bytes are not a request")
    kinds, count, _ = _REQUEST.unpack_from(body)
    if not kinds & _ACTIVITIES:
        raise NotUnderstood(f"a request for {kinds}, which is not activities")
    if not 1 <= count <= MOST_ANCESTORS or len(body) != _REQUEST.size + count * _PID.size:
        raise NotUnderstood(f"{count} processes in {len(body)} bytes")
    pids = [pid for (pid,) in _PID.iter_unpack(body[_REQUEST.size :])]
    if any(pid <= 0 for pid in pids):
        raise NotUnderstood("a process id that is not positive")
    return Poll(pids[0], tuple(pids[1:]))


def answer(configuration: str) -> bytes:
    """The answer to a poll; an empty text says that there is no work."""
    body = configuration.encode()
    return _HEADER.pack(len(body), b"req") + body


def registered(processes: int) -> bytes:
    """The answer to a registration."""
    return _HEADER.pack(_PID.size, b"ctxt") + _PID.pack(processes)


def configuration(log: Path, first_step: int | None, round_up: int | None, steps: int) -> str:
    """Record `steps` steps of the optimizer from `first_step` on, or from the next multiple of `round_up`.

    Kineto puts the process id into the file's name. ACTIVITIES_DURATION_MSECS=0 keeps a request that comes before the
    first step from becoming a trace of 500 ms that begins anywhere.
    """
    lines = {
        "ACTIVITIES_LOG_FILE": str(log),
        "PROFILE_START_ITERATION": str(first_step or 0),
        **({} if round_up is None else {"PROFILE_START_ITERATION_ROUNDUP": str(round_up)}),
        "ACTIVITIES_WARMUP_ITERATIONS": "1",
        "ACTIVITIES_ITERATIONS": str(steps),
        "ACTIVITIES_DURATION_MSECS": "0",
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def written(log: Path, pid: int) -> Path:
    """Where Kineto of process `pid` writes what was to be written to `log`."""
    return log.with_name(f"{log.stem}_{pid}{log.suffix}")

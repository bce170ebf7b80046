"""Runs a program to its end: with a deadline, a bounded answer, and nothing of it left."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

_CHUNK = 64 * 1024
_LAST_WORDS = 16 * 1024
"""Bytes of standard error that are kept: the end says why."""

WATCHED_S = 0.1
"""Nobody notices so short a pause, and a dozen programs cost nothing by it."""

_under_way: set[subprocess.Popen[bytes]] = set()


class TooMuch(Exception):
    """The program said more than it may."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program said; `err` is the end of it."""

    out: bytes
    err: str
    status: int


def run(
    command: Sequence[str],
    given: bytes,
    env: Mapping[str, str],
    folder: str,
    deadline_s: float,
    most_bytes: int,
    watch: Callable[[int], None] = lambda process: None,
) -> Ended:
    """Run the command in a session of its own, which is ended with all of its processes.

    Args:
        given: its standard input.
        env: all of its environment.
        deadline_s: seconds that it may take.
        most_bytes: of its standard output.
        watch: called with its process' number every now and then while it runs, WATCHED_S apart at most; what it
            raises ends the program.

    Raises:
        TimeoutError: it did not end in time.
        TooMuch: its answer is longer.
    """
    with os.fdopen(os.memfd_create("question"), "w+b") as question:  # it may hold a key, which belongs on no disk
        question.write(given)
        question.seek(0)
        process = subprocess.Popen(
            list(command),
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=folder,
            start_new_session=True,
        )
    _under_way.add(process)
    ends_s = time.monotonic() + deadline_s
    try:
        out, err = _heard(process, ends_s, most_bytes, watch)
        return Ended(out, err.decode(errors="replace"), process.wait(max(0.0, ends_s - time.monotonic())))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        _under_way.discard(process)
        _end(process)


def end_all() -> None:
    """End every program that is under way, with all of its processes: whoever waits for one hears that it was ended."""
    for process in tuple(_under_way):
        _kill(process)


def _heard(
    process: subprocess.Popen[bytes], ends_s: float, most_bytes: int, watch: Callable[[int], None]
) -> tuple[bytes, bytes]:
    assert process.stdout is not None and process.stderr is not None
    out, err = bytearray(), bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ, out)
        waiting.register(process.stderr, selectors.EVENT_READ, err)
        while waiting.get_map():
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            watch(process.pid)
            for key, _ in waiting.select(min(left_s, WATCHED_S)):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    waiting.unregister(key.fileobj)
            del err[:-_LAST_WORDS]
            if len(out) > most_bytes:
                raise TooMuch
    return bytes(out), bytes(err)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and every one that it started, and let go of what it holds."""
    _kill(process)
    process.wait()
    streams: tuple[IO[bytes] | None, ...] = (process.stdout, process.stderr)
    for stream in streams:
        if stream is not None:
            stream.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Nothing where somebody waited for it: its number may be another's by now. Until then it is the number of the
    group of those that it left behind, too."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)

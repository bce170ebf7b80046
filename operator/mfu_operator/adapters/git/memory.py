"""The memory of the operator's container, which it shares with the Git processes that it starts.

Each process is held to a limit of its own (`limits.py`), and a dozen that reach it together are more than the container
has: the kernel would end all of it. So while memory is short a process that takes much of it is ended first.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SHORT = 0.6
"""Of the container's limit: from here on no fetch takes more than MUCH_BYTES."""

SCARCE = 0.85
"""From here on no rendering does either. What is left is filled within a second at the fastest."""

MUCH_BYTES = 96 * 1024 * 1024
"""Of one request with all of its processes; one that fetches an ordinary repository takes 50 to 80 MiB. Eleven of these
and the operator fit into the limit of the chart."""

CGROUP = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def share(cgroup: Path = CGROUP) -> float:
    """What of the container's limit is taken; 0 where nothing limits it. Files that it could drop do not count."""
    for limit, statistics, name in (
        (cgroup / "memory.max", cgroup / "memory.stat", "anon"),
        (cgroup / "memory/memory.limit_in_bytes", cgroup / "memory/memory.stat", "total_rss"),
    ):
        with suppress(OSError, ValueError):
            most = int(limit.read_text())  # "max" where nothing limits it
            counted = dict(line.split(" ", 1) for line in statistics.read_text().splitlines())
            return int(counted.get(name, "0")) / most
    return 0.0


def taken(process: int) -> int:
    """Bytes of a process and all that it started, directly or not; 0 where it ended."""
    return sum(map(_resident, _family(process)))


def _family(process: int) -> Iterator[int]:
    yield process
    with suppress(OSError):
        for thread in (_PROC / str(process) / "task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))


def _resident(process: int) -> int:
    with suppress(OSError, IndexError):
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    return 0

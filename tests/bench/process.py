"""Runs a command as a whole process and measures it."""

import os
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Cost:
    """Of one process and its children: wall and CPU seconds, and the most memory held, in MiB."""

    wall_s: float
    cpu_s: float
    memory_mib: float


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run to the end. Raises RuntimeError where it fails."""
    begin = time.perf_counter()
    child = os.posix_spawn(
        command[0],
        list(command),
        dict(os.environ) | dict(environment or {}),
        file_actions=[(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)],
    )
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return _cost(time.perf_counter() - begin, usage)


def _cost(wall_s: float, usage: resource.struct_rusage) -> Cost:
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def typical(command: Sequence[str], times: int, environment: Mapping[str, str] | None = None) -> Cost:
    """The median of several runs, each figure by itself."""
    costs = [run(command, environment) for _ in range(times)]
    return Cost(*(median(getattr(one, name) for one in costs) for name in ("wall_s", "cpu_s", "memory_mib")))

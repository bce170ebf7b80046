"""Runs commands as whole processes, side by side, and measures them."""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

LAST_WORDS = 1_000


@dataclass(frozen=True)
class Cost:
    """Of one process and its children: wall and CPU seconds, and the most memory that one of them held, in MiB."""

    wall_s: float
    cpu_s: float
    memory_mib: float


@dataclass(frozen=True)
class Contender:
    """A command under a name. `prepare` is called before each of its runs."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None


def side_by_side(contenders: Sequence[Contender], times: int) -> dict[str, Cost]:
    """The median of each figure, by name. They take turns, so that a busy machine is busy for all of them."""
    costs: dict[str, list[Cost]] = {one.name: [] for one in contenders}
    for _ in range(times):
        for one in contenders:
            one.prepare()
            costs[one.name].append(run(one.command, one.environment))
    return {name: _typical(each) for name, each in costs.items()}


def run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run to the end. Raises RuntimeError, with what it said last, where it fails."""
    with tempfile.TemporaryFile() as said:
        begin = time.perf_counter()
        child = os.posix_spawn(
            command[0],
            list(command),
            dict(os.environ) | dict(environment),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, said.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(child, 0)
        wall_s = time.perf_counter() - begin
        if os.waitstatus_to_exitcode(status):
            said.seek(0)
            last = said.read()[-LAST_WORDS:].decode("utf-8", "replace")
            raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}: {last}")
    return _cost(wall_s, usage)


def _cost(wall_s: float, usage: resource.struct_rusage) -> Cost:
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _typical(costs: Sequence[Cost]) -> Cost:
    return Cost(*(median(getattr(one, name) for one in costs) for name in ("wall_s", "cpu_s", "memory_mib")))

"""Several ranks that a tool wrote into one file.

Each rank may call its GPU 0 and number its calls from one. What tells them apart are the processes, to which such tools
give new names: a device's events stand under a process of their own ("[TP01] 0", 1000000), or under their rank with the
host's (Composer's merger), and the device's number in their arguments stays as it was.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from mfu_operator.model.trace import NONE, Ints, column
from mfu_operator.trace.columns.distinct import distinct, used

NUMBER = re.compile(r"\d+(?=\D*$)")
"""The process's own, after what the tool put before it."""

CORRELATION_BITS = 32
"""Of a key: CUPTI's correlations have as many."""


def ranks_of(owners: Sequence[Any], processes: Sequence[str]) -> tuple[Ints, Ints]:
    """The rank of each owner of device operations and of each process: by their names, or what these have in common.

    All are of one rank where the owners' names have nothing in common with those of processes.
    """
    labels, of_processes = [str(one) for one in owners], list(processes)
    if not set(labels) <= set(of_processes):
        labels, of_processes = [_label(one) for one in labels], [_label(one) for one in of_processes]
    if not set(labels) <= set(of_processes):
        return np.zeros(len(owners), dtype=np.int64), np.zeros(len(processes), dtype=np.int64)
    numbers = {label: number for number, label in enumerate(dict.fromkeys(of_processes))}
    return column([numbers[one] for one in labels]), column([numbers[one] for one in of_processes])


def _label(process: str) -> str:
    """What a tool put around a process's number to tell its rank; empty where it is a number alone."""
    return NUMBER.sub("", process)


def _numbers(process: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d{1,18}", process)]


def by_rank(correlation: Ints, rank: Ints) -> Ints:
    """Correlations as keys that are equal only within one rank; NONE stays."""
    return np.where(correlation == NONE, NONE, correlation ^ (rank << CORRELATION_BITS))


def told_apart(device: Ints, owner: Ints, owners: Sequence[Any]) -> tuple[Ints, dict[int, int]]:
    """The devices' numbers, and what those new ones stood for that are given where several owners use the same.

    `owner` is an index into `owners`. New numbers are given in the order of the owners' own.
    """
    met = sorted((int(one) for one in used(owner)), key=lambda one: _numbers(str(owners[one])))
    if len(met) < 2:
        return device, {}
    found, taken, renumbered = device.copy(), set[int](), dict[int, int]()
    free = int(device.max()) + 1
    for one in met:
        mine = owner == one
        for number in (int(each) for each in distinct(device[mine])):
            if number in taken:
                found[mine & (device == number)] = free
                renumbered[free] = number
                free += 1
            taken.add(number)
    return found, renumbered

"""Who is late in real traces of several ranks, computed from the raw events alone.

It shares no code with the product and takes another way: it knows nothing of steps, launches or kinds. The ends of
collectives are the same instants on every rank, so that one clock's offset is the shift at which most ends of one rank
coincide with some end of another; events whose ends coincide are one collective.
"""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]
COINCIDE_US = 150.0
"""The ends of most collectives."""

SAME_US = 500.0
"""The ends of any: of those nearer than this the first that no other is the same as."""


@dataclass(frozen=True)
class Truth:
    """`late`: the rank that is waited for; `waits_us`: what each rank waits in all collectives that all ranks shared;
    `idle_us`: what each rank's device idles in all."""

    late: int
    waits_us: dict[int, float]
    idle_us: dict[int, float]


def documents(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.iterdir())]


def rank_of(document: dict[str, Any]) -> int:
    return int(document["distributedInfo"]["rank"])


def kernels(document: dict[str, Any]) -> list[Event]:
    return [one for one in document["traceEvents"] if one.get("cat") == "kernel"]


def _end(event: Event) -> float:
    return float(event["ts"] + event["dur"])


def is_nccl(event: Event) -> bool:
    return "nccl" in event["name"].lower()


def truth(ranks: Sequence[dict[str, Any]], of_all: Callable[[Event], bool] = is_nccl) -> Truth:
    """What is true of the ranks; `of_all` tells the kernels in which all of them take part."""
    numbers = sorted(map(rank_of, ranks))
    waits, caused = dict.fromkeys(numbers, 0.0), dict.fromkeys(numbers, 0.0)
    for same in shared(ranks, of_all):
        last = min(same, key=lambda rank: same[rank]["dur"])
        for rank, one in same.items():
            waits[rank] += one["dur"] - same[last]["dur"]
            caused[last] += one["dur"] - same[last]["dur"]
    return Truth(max(numbers, key=lambda rank: caused[rank]), waits, {rank_of(one): _idle(one) for one in ranks})


def shared(ranks: Sequence[dict[str, Any]], of_all: Callable[[Event], bool] = is_nccl) -> list[dict[int, Event]]:
    """The collectives in which all ranks take part, in order: each rank's kernel of it."""
    taken = {rank_of(one): sorted(filter(of_all, kernels(one)), key=_end) for one in ranks}
    numbers = sorted(taken)
    first = numbers[0]
    ends = {rank: [_end(one) for one in events] for rank, events in taken.items()}
    shift = {rank: _shift(ends[first], ends[rank]) for rank in numbers}
    used = dict.fromkeys(numbers, -1)
    found = []
    for event, end in zip(taken[first], ends[first], strict=True):
        same = {first: event}
        for rank in numbers[1:]:
            near = (place for place, at in enumerate(ends[rank]) if abs(at - shift[rank] - end) <= SAME_US)
            place = next((one for one in near if one > used[rank]), None)
            if place is not None:
                same[rank], used[rank] = taken[rank][place], place
        if len(same) == len(numbers):
            found.append(same)
    return found


def _shift(reference: list[float], ends: list[float]) -> float:
    """The difference that most pairs of ends have in common, to COINCIDE_US."""
    differences = sorted(other - one for one in reference for other in ends)
    votes = Counter(round(one / COINCIDE_US) for one in differences)
    place = max(votes, key=lambda one: votes[one] + votes[one - 1] + votes[one + 1])
    near = [one for one in differences if abs(one / COINCIDE_US - place) <= 1.5]
    return near[len(near) // 2]


def _idle(document: dict[str, Any]) -> float:
    """Device time in which nothing runs, from the first operation to the last, microseconds."""
    spans = sorted(
        (one["ts"], one["ts"] + one["dur"])
        for one in document["traceEvents"]
        if one.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
    )
    idle, reach = 0.0, spans[0][0]
    for start, end in spans:
        idle += max(0.0, start - reach)
        reach = max(reach, end)
    return idle


def write(documents: Sequence[dict[str, Any]], folder: Path) -> Path:
    """The documents as a folder of traces."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, one in enumerate(documents):
        (folder / f"{place}.json.gz").write_bytes(gzip.compress(json.dumps(one).encode(), 1))
    return folder

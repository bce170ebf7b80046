"""Changes to a run that was recorded: what it would have recorded, had a part of it taken longer.

The structure, the names, the noise and the gaps stay those of the real run; only time is put in, where the named part
would have put it.
"""

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

from tests.accuracy.real import raw
from tests.accuracy.real.raw import JUST, Delay, Document, Event
from tests.support import rank_oracle

Documents = Sequence[Document]
Change = Callable[[Documents, float, random.Random], Documents]
"""The ranks, by how much of a step each step takes longer, dice → the ranks of the changed run."""

POINTS = 6
"""Moments of a step at which a slow host is slow."""


def nothing(ranks: Documents, _size: float, _dice: random.Random) -> Documents:
    return ranks


def network(ranks: Documents, size: float, _dice: random.Random) -> Documents:
    """Every collective of all ranks takes longer, by as much on each."""
    shared = rank_oracle.shared(ranks) if len(ranks) > 1 else [{0: one} for one in _collectives(ranks[0])]
    first = rank_oracle.rank_of(ranks[0]) if len(ranks) > 1 else 0
    low, high = raw.windows(ranks[0])[0][0], raw.windows(ranks[0])[-1][1]
    number = sum(low <= one[first]["ts"] < high for one in shared) / len(raw.steps(ranks[0]))
    us = size * raw.step_us(ranks[0]) / number
    return [
        raw.delayed(one, [(raw.end(meeting[_rank(one, ranks)]) - JUST, us) for meeting in shared], raw.is_collective)
        for one in ranks
    ]


def kernels(ranks: Documents, size: float, _dice: random.Random) -> Documents:
    """The device's clock is lower: all that computes takes longer, by the same share."""
    return [raw.delayed(one, _of_kernels(one, size), raw.computes) for one in ranks]


def host(ranks: Documents, size: float, dice: random.Random) -> Documents:
    """Each step, the host does more between some of its launches."""
    return [raw.delayed(one, _of_host(one, size, dice), raw.of_host) for one in ranks]


def inputs(ranks: Documents, size: float, _dice: random.Random) -> Documents:
    """Each step, the batch comes later."""
    return [raw.delayed(one, _of_input(one, size), raw.of_host) for one in ranks]


def copies(ranks: Documents, size: float, _dice: random.Random) -> Documents:
    """The copies to the device take longer, with as many bytes."""
    changed = []
    for one in ranks:
        taken = [event for event in raw.on_device(one) if "memcpy" in raw.category(event) and "HtoD" in event["name"]]
        whole = sum(event["dur"] for event in taken)
        us = size * raw.step_us(one) * len(raw.steps(one))
        delays = [(event["ts"] + event["dur"] / 2, us * event["dur"] / whole) for event in taken]
        changed.append(raw.delayed(one, delays, lambda event: "HtoD" in event["name"]))
    return changed


def allocation(ranks: Documents, size: float, dice: random.Random) -> Documents:
    """Each step frees and takes memory, while the device waits."""
    return [_with_calls(one, _of_host(one, size, dice), ("cudaFree", "cudaMalloc")) for one in ranks]


def new_kernel(ranks: Documents, size: float, dice: random.Random) -> Documents:
    """Each step, a kernel runs that the run before did not have."""
    changed = []
    for one in ranks:
        delays = _of_host(one, size, dice, points=1)
        longer = raw.delayed(one, delays, raw.of_host)
        pattern = next(event for event in raw.on_device(one) if raw.computes(event))
        call = raw.launches(one)[pattern["args"]["correlation"]]
        added, later = [], 0.0
        for place, (at, us) in enumerate(sorted(delays)):
            launched = 900_000_000 + place
            moment = at + later
            added += [
                {**call, "ts": moment + 1, "dur": 4, "args": {**call["args"], "correlation": launched}},
                {
                    **pattern,
                    "name": "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>()",
                    "ts": moment + 8,
                    "dur": us - 9,
                    "args": {**pattern["args"], "correlation": launched},
                },
            ]
            later += us
        changed.append(raw.with_events(longer, [*raw.events(longer), *added]))
    return changed


def late_host(ranks: Documents, size: float, dice: random.Random) -> Documents:
    """The host of one rank is slow; the others wait for it in the next collective."""
    return _late(ranks, dice, lambda one: _of_host(one, size, dice))


def late_kernels(ranks: Documents, size: float, dice: random.Random) -> Documents:
    """The device of one rank is slow; the others wait for it in the next collective."""
    return _late(ranks, dice, lambda one: _of_kernels_by(one, size), raw.computes)


def _late(
    ranks: Documents,
    dice: random.Random,
    delays_of: Callable[[Document], list[Delay]],
    stretch: Callable[[Event], bool] = raw.of_host,
) -> Documents:
    """The rank for which the others wait anyway is later, and is another one by number."""
    meetings = rank_oracle.shared(ranks)
    number = rank_oracle.truth(ranks).late
    late = next(one for one in ranks if rank_oracle.rank_of(one) == number)
    busy = [(float(one[number]["ts"]), raw.end(one[number])) for one in meetings]
    own = [
        (at, us) for at, us in delays_of(late) if at < busy[-1][0] and not any(low <= at < high for low, high in busy)
    ]
    between = pairwise([0.0, *(high for _, high in busy)])
    lost = [sum(us for at, us in own if low <= at < high) for low, high in between]
    waited = list(zip(meetings, lost, strict=True))
    changed = [
        raw.delayed(one, own, stretch)
        if one is late
        else raw.delayed(
            one, [(raw.end(meeting[rank_oracle.rank_of(one)]) - JUST, us) for meeting, us in waited], raw.is_collective
        )
        for one in ranks
    ]
    return _numbered(changed, dice.sample(range(len(ranks)), len(ranks)))


def _numbered(ranks: Documents, numbers: Sequence[int]) -> Documents:
    return [
        {**one, "distributedInfo": {**one["distributedInfo"], "rank": number}}
        for one, number in zip(ranks, numbers, strict=True)
    ]


def _of_kernels(one: Document, share: float) -> list[Delay]:
    taken = [event for event in raw.on_device(one) if raw.computes(event)]
    return [(event["ts"] + event["dur"] / 2, share * event["dur"]) for event in taken]


def _of_kernels_by(one: Document, size: float) -> list[Delay]:
    """So much longer that a step takes `size` of itself longer."""
    delays = _of_kernels(one, 1.0)
    low, high = raw.windows(one)[0][0], raw.windows(one)[-1][1]
    whole = sum(us for at, us in delays if low <= at < high)
    share = size * (high - low) / whole
    return [(at, share * us) for at, us in delays]


def _of_host(one: Document, size: float, dice: random.Random, points: int = POINTS) -> list[Delay]:
    us = size * raw.step_us(one)
    waited = raw.host_gaps(one)
    found = []
    for low, high in raw.windows(one):
        calls = [call for call in waited if low < call["ts"] < high]
        taken = dice.sample(calls, min(points, len(calls)))
        found += [(call["ts"] - JUST, us / len(taken)) for call in taken]
    return found


def _of_input(one: Document, size: float) -> list[Delay]:
    ranges = [event for event in raw.events(one) if str(event.get("name")).startswith("enumerate(DataLoader)")]
    return [(raw.end(event) - JUST, size * raw.step_us(one)) for event in ranges]


def _with_calls(one: Document, delays: Sequence[Delay], names: Sequence[str]) -> Document:
    """The run stands still in calls of these names, of the thread that makes the next launch."""
    longer = raw.delayed(one, delays, raw.of_host)
    next_call = {call["ts"] - JUST: call for call in raw.launches(one).values()}
    added, later = [], 0.0
    for place, (at, us) in enumerate(sorted(delays)):
        call = next_call[at]
        arguments = {**call["args"], "correlation": 910_000_000 + place}
        name = names[place % len(names)]
        added.append({**call, "name": name, "ts": at + later, "dur": us - JUST, "args": arguments})
        later += us
    return raw.with_events(longer, [*raw.events(longer), *added])


def _collectives(one: Document) -> list[Event]:
    return sorted(filter(raw.is_collective, raw.events(one)), key=raw.end)


def _rank(one: Document, ranks: Documents) -> int:
    return rank_oracle.rank_of(one) if len(ranks) > 1 else 0

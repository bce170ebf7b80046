"""How a run was recorded: whole, or with something missing or strange, as happens to people."""

import random
from collections.abc import Callable, Mapping, Sequence

from tests.accuracy.real import raw
from tests.accuracy.real.raw import Document
from tests.support import rank_oracle

Documents = Sequence[Document]
Recording = Callable[[Documents, random.Random], Documents]


def whole(ranks: Documents, _dice: random.Random) -> Documents:
    return ranks


def renamed(ranks: Documents, _dice: random.Random) -> Documents:
    """NCCL's own name for kernels that it did not specialise."""
    generic = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
    return [
        raw.with_events(
            one, [event | ({"name": generic} if raw.is_collective(event) else {}) for event in raw.events(one)]
        )
        for one in ranks
    ]


def clock_off(ranks: Documents, dice: random.Random) -> Documents:
    """One rank's clock is 50 ms ahead of the others'."""
    place = dice.randrange(len(ranks))
    moved = [{**event, "ts": event["ts"] + 50_000} if "ts" in event else event for event in raw.events(ranks[place])]
    return [raw.with_events(one, moved) if index == place else one for index, one in enumerate(ranks)]


def launch_missing(ranks: Documents, dice: random.Random) -> Documents:
    """The ring of the recorder had gone over the first calls, and a kernel's row is lost in the middle."""
    changed = []
    for one in ranks:
        calls = sorted(
            (event for event in raw.events(one) if raw.category(event) in raw.CALLS), key=lambda event: event["ts"]
        )
        gone = {id(event) for event in (*calls[:3], dice.choice(calls), dice.choice(raw.on_device(one)))}
        changed.append(raw.with_events(one, [event for event in raw.events(one) if id(event) not in gone]))
    return changed


def collective_missing(ranks: Documents, dice: random.Random) -> Documents:
    """The first collective began before one rank's recording did."""
    place = dice.randrange(len(ranks))
    first = min(filter(raw.is_collective, raw.events(ranks[place])), key=lambda event: event["ts"])
    kept = [event for event in raw.events(ranks[place]) if event is not first]
    return [raw.with_events(one, kept) if index == place else one for index, one in enumerate(ranks)]


def numbers_missing(ranks: Documents, dice: random.Random) -> Documents:
    """One rank's script does not call the profiler's step()."""
    place = dice.randrange(len(ranks))
    return [_unmarked(one) if index == place else one for index, one in enumerate(ranks)]


def unmarked(ranks: Documents, _dice: random.Random) -> Documents:
    """No step is marked anywhere."""
    return [_unmarked(one) for one in ranks]


def _unmarked(one: Document) -> Document:
    return raw.with_events(
        one, [event for event in raw.events(one) if not str(event.get("name")).startswith("ProfilerStep")]
    )


def one_rank(ranks: Documents, dice: random.Random) -> Documents:
    """Only one rank that is not late was recorded."""
    late = rank_oracle.truth(ranks).late
    return [dice.choice([one for one in ranks if rank_oracle.rank_of(one) != late])]


def late_rank_missing(ranks: Documents, _dice: random.Random) -> Documents:
    late = rank_oracle.truth(ranks).late
    return [one for one in ranks if rank_oracle.rank_of(one) != late]


def other_rank_missing(ranks: Documents, dice: random.Random) -> Documents:
    """One of those that are not late was not recorded."""
    late = rank_oracle.truth(ranks).late
    gone = dice.choice([one for one in ranks if rank_oracle.rank_of(one) != late])
    return [one for one in ranks if one is not gone]


def three_steps(ranks: Documents, _dice: random.Random) -> Documents:
    """active=3, the tutorial's schedule."""
    changed = []
    for one in ranks:
        high = raw.windows(one)[2][1]
        changed.append(raw.with_events(one, [event for event in raw.events(one) if float(event.get("ts", 0)) < high]))
    return changed


def no_job_named(ranks: Documents, _dice: random.Random) -> Documents:
    """The document does not say which rank of how many it is of."""
    return [{key: value for key, value in one.items() if key != "distributedInfo"} for one in ranks]


def shuffled(ranks: Documents, dice: random.Random) -> Documents:
    """The events stand in no order."""
    return [raw.with_events(one, dice.sample(raw.events(one), len(raw.events(one)))) for one in ranks]


OF_ONE: Mapping[str, Recording] = {
    "whole": whole,
    "launches missing": launch_missing,
    "three steps": three_steps,
    "steps unmarked": unmarked,
    "events in no order": shuffled,
}
OF_SEVERAL: Mapping[str, Recording] = {
    "whole": whole,
    "collectives renamed": renamed,
    "a clock 50 ms off": clock_off,
    "launches missing": launch_missing,
    "a collective missing on one rank": collective_missing,
    "one rank's steps unmarked": numbers_missing,
    "a rank missing": other_rank_missing,
}
"""What may be missing, and does not change what is right to say."""

HIDES_THE_LATE: Mapping[str, Recording] = {
    "the late rank missing": late_rank_missing,
    "one rank of several": one_rank,
}
"""What is missing decides: the right answer is a doubt."""

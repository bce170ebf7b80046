"""Several ranks of one modelled loop that wait for each other in every collective."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.support.synthetic.loop import Loop, Recorder, Run

PATIENCE_S = 60.0


@dataclass
class Meetings:
    """Where the ranks meet: `arrivals` are the true times at which each was ready, by collective and rank, ns."""

    ranks: int
    arrivals: list[tuple[int, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ready: dict[int, list[int]] = {rank: [] for rank in range(self.ranks)}
        self._barrier = threading.Barrier(self.ranks, self._all_here, PATIENCE_S)

    def meet(self, rank: int, ready: int) -> int:
        """Wait for the others; when the last of them was ready."""
        self._ready[rank].append(ready)
        place = len(self._ready[rank]) - 1
        self._barrier.wait()
        return max(self.arrivals[place])

    def give_up(self) -> None:
        self._barrier.abort()

    def _all_here(self) -> None:
        self.arrivals.append(tuple(self._ready[rank][-1] for rank in range(self.ranks)))


def record_ranks(loops: Sequence[Loop], files: Sequence[Recorder], seed: int) -> tuple[list[Run], Meetings]:
    """Run one loop per rank into one file each; they must issue the same collectives."""
    meetings = Meetings(len(loops))

    def one(rank: int) -> Run:
        try:
            return loops[rank].record(files[rank], seed + rank, lambda ready: meetings.meet(rank, ready))
        except BaseException:
            meetings.give_up()
            raise

    with ThreadPoolExecutor(len(loops)) as pool:
        return list(pool.map(one, range(len(loops)))), meetings

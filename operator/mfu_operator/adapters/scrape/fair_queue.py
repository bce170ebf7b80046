"""Many pages at once, so that the slow pages of one workload hold up no other's."""

import heapq
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from typing import TypeVar

from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.model.baseline import WorkloadRef

AT_ONCE = 32
"""Pages that are asked for at the same time: 10 ms a page is 3,000 pages a second, from 32 sockets."""

OF_ONE_WORKLOAD = 8
"""Of them: a quarter, so that three other workloads go on where all pods of one are silent."""

T = TypeVar("T")


def read_in_turns(
    targets: Sequence[Target], read: Callable[[Target], T], deadline_s: float
) -> Mapping[Target, Future[T]]:
    """What came of the pages that were read in time, at most so many at once; those first in `targets` are read first.

    Pages that are being read when the time is over go on being read, and are left out.
    """
    if not targets:
        return {}
    turns, running, found = _Turns(targets), dict[Future[T], Target](), dict[Target, Future[T]]()
    ends_s = time.monotonic() + deadline_s
    pool = ThreadPoolExecutor(min(AT_ONCE, len(targets)), thread_name_prefix="scrape")
    try:
        while True:
            for target in turns.take(AT_ONCE - len(running)):
                running[pool.submit(read, target)] = target
            done, _ = wait(running, max(0.0, ends_s - time.monotonic()), FIRST_COMPLETED)
            if not done:
                return found
            for future in done:
                target = running.pop(future)
                turns.end(target)
                found[target] = future
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _Turns:
    """Whose page is next: of the namespace that has the fewest under way, each of its workloads in its turn. A turn
    stands for the right to one more page at the same time."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self._waiting: dict[WorkloadRef, deque[Target]] = {}
        for target in targets:
            self._waiting.setdefault(target.workload, deque()).append(target)
        self._turns: dict[str, deque[WorkloadRef]] = {}
        for place in range(OF_ONE_WORKLOAD):
            for workload, mine in self._waiting.items():
                if len(mine) > place:
                    self._turns.setdefault(workload.namespace, deque()).append(workload)
        self._running = Counter[str]()
        self._numbers = count()
        self._next: list[tuple[int, int, str]] = []
        """A heap of namespaces by what they have under way; an entry whose number is no longer true is passed over."""
        for namespace in self._turns:
            self._may_come(namespace)

    def take(self, most: int) -> Iterator[Target]:
        """So many targets, or as many as may be read now."""
        while most > 0 and self._next:
            running, _, namespace = heapq.heappop(self._next)
            turns = self._turns[namespace]
            while turns and not self._waiting[turns[0]]:
                turns.popleft()
            if not turns or running != self._running[namespace]:
                continue
            most -= 1
            self._running[namespace] += 1
            self._may_come(namespace)
            yield self._waiting[turns.popleft()].popleft()

    def end(self, target: Target) -> None:
        """A page was read: its workload has another turn."""
        namespace = target.workload.namespace
        self._running[namespace] -= 1
        if self._waiting[target.workload]:
            self._turns[namespace].append(target.workload)
        self._may_come(namespace)

    def _may_come(self, namespace: str) -> None:
        heapq.heappush(self._next, (self._running[namespace], next(self._numbers), namespace))

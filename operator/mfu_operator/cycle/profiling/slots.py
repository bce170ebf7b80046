"""Which nodes our own profiling Jobs share with the runs, and when.

Readings taken meanwhile say nothing about a run, be it the one that is profiled or another one on the same node. What
is in memory here comes from the Jobs as they are seen and, after a restart, from the statuses of the baselines.
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from threading import Lock

from mfu_operator.cycle.fair_share import Share
from mfu_operator.errors import Wait
from mfu_operator.model.series import TimeSpan

KEPT_S = 7 * 86400.0
"""As far back as a baseline's readings are ever read again."""

MOST_AT_ONCE = 10
"""Each Job takes the devices of one pod for minutes: an operator that is installed over a thousand jobs must not ask
for a thousand pods' devices at once. Jobs of incidents are counted and never wait."""

MOST_OF_A_NAMESPACE = 6
"""The rest is for the others."""

_SHARE = Share(MOST_OF_A_NAMESPACE, MOST_AT_ONCE, of_firsts=None)
"""Beyond those, one for each namespace of which none is under way: however many use up all places, they delay no other,
and there are fewer namespaces than jobs."""

ASK_AGAIN_S = 30.0
"""A profile takes minutes; a Job that was launched is seen by then."""


@dataclass(frozen=True, slots=True)
class ProfilingSlot:
    """One Job on a node; `owner` names the baseline (its uid). With the node unknown, only the owner is disturbed."""

    owner: str
    node: str | None
    from_s: float
    to_s: float

    @property
    def disturbs(self) -> tuple[str, str]:
        """Whom: all on a node, or a baseline."""
        return ("baseline", self.owner) if self.node is None else ("node", self.node)


class ProfilingSlots:
    """The stays of the whole operator's Jobs. Ticks of several baselines ask at the same time.

    Every sweep asks for the spans of every baseline: what that costs depends on the Jobs of its nodes, not on all.
    """

    def __init__(self) -> None:
        self._stays: dict[str, ProfilingSlot] = {}
        self._of: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._ends: list[tuple[float, str]] = []
        self._launched: dict[str, float] = {}
        self._lock = Lock()

    def note(self, job: str, stay: ProfilingSlot, now_s: float) -> None:
        """Note where a Job is, in place of what was known of it; what nobody will read again is forgotten.

        A node that was seen stays known: a pod that is gone does not tell it any more.
        """
        with self._lock:
            known = self._stays.get(job)
            found = replace(stay, node=known.node) if known is not None and stay.node is None else stay
            if found != known:
                self._remove(job)
                self._stays[job] = found
                self._of[found.disturbs].add(job)
                if known is None or found.to_s != known.to_s:
                    heappush(self._ends, (found.to_s, job))
            self._forget(now_s - KEPT_S)

    def _remove(self, job: str) -> None:
        stay = self._stays.pop(job, None)
        if stay is not None:
            self._of[stay.disturbs].discard(job)
            if not self._of[stay.disturbs]:
                del self._of[stay.disturbs]

    def _forget(self, before_s: float) -> None:
        """Forget what ended before. A Job has an entry for each end that was known of it: its last one counts."""
        while self._ends and self._ends[0][0] < before_s:
            to_s, job = heappop(self._ends)
            if job in self._stays and self._stays[job].to_s == to_s:
                self._remove(job)

    def admit(self, job: str, now_s: float) -> None:
        """Count a Job (namespace/name) that is about to be launched, unless enough are under way for one that may wait.

        Raises:
            Wait: (ProfilingQueued) until when to ask again. What is known already is never refused.
        """
        with self._lock:
            self._launched = {each: at_s for each, at_s in self._launched.items() if now_s < at_s + ASK_AGAIN_S}
            if job in self._stays or job in self._launched:
                return
            seen = {name for name, each in self._stays.items() if each.from_s <= now_s < each.to_s}
            under_way = seen | (self._launched.keys() - self._stays.keys())
            namespace = job.partition("/")[0]
            taken = Counter(each.partition("/")[0] for each in under_way)
            if not _SHARE.left_for(namespace, taken):
                raise Wait(
                    "ProfilingQueued",
                    f"{len(under_way)} profiling Jobs of the operator are under way, {taken[namespace]} of them in "
                    f"namespace {namespace}, and the healthy job's may wait: it is launched once there are fewer than "
                    f"{MOST_AT_ONCE} and fewer than {MOST_OF_A_NAMESPACE} in the namespace, or none in the namespace",
                    now_s + ASK_AGAIN_S,
                )
            self._launched[job] = now_s

    def knows(self, job: str) -> bool:
        """Whether anything was noted of a Job."""
        with self._lock:
            return job in self._stays

    def spans(self, owner: str, nodes: Collection[str]) -> tuple[TimeSpan, ...]:
        """When a Job was on one of a baseline's nodes, oldest first."""
        places = [("baseline", owner), *(("node", each) for each in set(nodes))]
        with self._lock:
            stays = [self._stays[job] for place in places for job in self._of.get(place, ())]
        return tuple(sorted((each.from_s, each.to_s) for each in stays))

"""Which nodes our own profiling Jobs share with the runs, and when.

Readings taken meanwhile say nothing about a run, be it the one that is profiled or another one on the same node. What
is in memory here comes from the Jobs as they are seen and, after a restart, from the statuses of the baselines.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from threading import Lock

from mfu_operator.cycle.fair_share import Share
from mfu_operator.errors import Wait
from mfu_operator.model.baseline import Budget
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


DAY_S = 86_400.0
UNLIMITED = Budget()


@dataclass(frozen=True, slots=True)
class ProfilingSlot:
    """One Job on a node; `owner` names the baseline (its uid). With the node unknown, only the owner is disturbed."""

    owner: str
    node: str | None
    from_s: float
    to_s: float


class ProfilingSlots:
    """The stays of the whole operator's Jobs. Ticks of several baselines ask at the same time.

    Args:
        budget: of all baselines together.
    """

    def __init__(self, budget: Budget = UNLIMITED) -> None:
        self._budget = budget
        self._gpus: dict[str, int] = {}
        self._stays: dict[str, ProfilingSlot] = {}
        self._launched: dict[str, float] = {}
        self._lock = Lock()

    def note(self, job: str, stay: ProfilingSlot, now_s: float) -> None:
        """Note where a Job is, in place of what was known of it; what nobody will read again is forgotten.

        A node that was seen stays known: a pod that is gone does not tell it any more.
        """
        with self._lock:
            known = self._stays.get(job)
            self._stays[job] = replace(stay, node=known.node) if known is not None and stay.node is None else stay
            old = [name for name, each in self._stays.items() if each.to_s < now_s - KEPT_S]
            for name in old:
                del self._stays[name]
                self._gpus.pop(name, None)

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

    def charge(self, job: str, stay: ProfilingSlot, gpus: int, budget: Budget) -> None:
        """Count a Job that is about to be launched against what its baseline and all of them may cost in a day.

        After a restart Jobs count as captures, and their accelerators do not any more.

        Args:
            job: namespace/name.
            stay: whose it is, from now until its deadline.
            gpus: accelerators that it asks for; 0 for one that asks a running job.
            budget: of its baseline.

        Raises:
            Wait: (BudgetSpent) until when to ask again. What is known already is never refused.
        """
        with self._lock:
            if job in self._stays:
                return
            today = {name: each for name, each in self._stays.items() if each.from_s > stay.from_s - DAY_S}
            own = {name: each for name, each in today.items() if each.owner == stay.owner}
            for whose, limit, those in (("this baseline", budget, own), ("the fleet", self._budget, today)):
                self._require_left(whose, limit, those, stay, gpus)
            self._stays[job], self._gpus[job] = stay, gpus

    def _require_left(
        self, whose: str, limit: Budget, those: Mapping[str, ProfilingSlot], stay: ProfilingSlot, gpus: int
    ) -> None:
        spent = sum(_gpu_minutes(each, self._gpus.get(name, 0)) for name, each in those.items())
        asked = _gpu_minutes(stay, gpus)
        if limit.captures is not None and len(those) >= limit.captures:
            told = f"{len(those)} of {limit.captures} captures a day"
        elif limit.gpu_minutes is not None and asked > 0 and spent + asked > limit.gpu_minutes:
            told = f"{spent:.0f} of {limit.gpu_minutes} GPU-minutes a day, and this copy may take {asked:.0f}"
        else:
            return
        oldest_s = min((each.from_s for each in those.values()), default=stay.from_s)
        raise Wait("BudgetSpent", f"the profiling budget of {whose} is spent: {told}", oldest_s + DAY_S)

    def knows(self, job: str) -> bool:
        """Whether anything was noted of a Job."""
        with self._lock:
            return job in self._stays

    def spans(self, owner: str, nodes: Collection[str]) -> tuple[TimeSpan, ...]:
        """When a Job was on one of a baseline's nodes, oldest first."""
        with self._lock:
            found = [
                (each.from_s, each.to_s)
                for each in self._stays.values()
                if each.node in nodes or (each.node is None and each.owner == owner)
            ]
        return tuple(sorted(found))


def _gpu_minutes(stay: ProfilingSlot, gpus: int) -> float:
    return gpus * max(0.0, stay.to_s - stay.from_s) / 60.0

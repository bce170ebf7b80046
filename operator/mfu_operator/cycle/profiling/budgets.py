"""What profiling costs, against what it may cost in any 24 hours: of each baseline and of the whole operator.

The count outlives the process. The status of each baseline tells what was launched for it within the day
(`Status.launches`), and a process that takes over reads them all before it spends of the fleet's budget.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from threading import Lock

from mfu_operator.detect.formatting import duration
from mfu_operator.errors import Wait
from mfu_operator.model.baseline import Budget
from mfu_operator.model.incident import Launch

DAY_S = 86_400.0

MOST_LAUNCHES = 64
"""Of a baseline in a day, the newest: three times what the growing pause between attempts leaves room for."""

MOST_ACCELERATORS = 1024
"""Of one pod. No node has so many: a status that says more was not written by an operator."""

CLOCKS_APART_S = 60.0
"""What was launched later than this after now was not launched."""

RECALL_S = 90.0
"""After a start the statuses of the fleet are read; by then every one was."""

UNLIMITED = Budget()


class Budgets:
    """What was launched within the day. Ticks of several baselines ask at the same time.

    Args:
        fleet: what all baselines together may cost.
    """

    def __init__(self, fleet: Budget = UNLIMITED) -> None:
        self._fleet = fleet
        self._launches: dict[str, dict[str, Launch]] = {}
        """By owner (a baseline's uid) and Job."""
        self._recalled_s = -math.inf
        self._lock = Lock()

    def begin(self, steady_s: float) -> None:
        """Note that the process begins to act: what was spent before it is not known yet.

        Args:
            steady_s: seconds on a clock that nobody sets.
        """
        self._recalled_s = steady_s + RECALL_S

    def recall(self, owner: str, launches: Iterable[Launch], now_s: float) -> None:
        """Count what a baseline's status says was launched for it. What ended by either account has ended."""
        sound = [each for each in launches if _is_sound(each, now_s)]
        if not sound:
            return
        with self._lock:
            own = self._launches.setdefault(owner, {})
            for each in _newest(sound):
                known = own.get(each.job, each)
                own[each.job] = replace(known, ends_at=min(known.ends_at, each.ends_at))

    def charge(self, owner: str, launch: Launch, budget: Budget, steady_s: float) -> None:
        """Count a Job that is about to be launched.

        Args:
            owner: the uid of its baseline.
            launch: the Job, until its deadline.
            budget: of its baseline.
            steady_s: seconds on a clock that nobody sets.

        Raises:
            Wait: (BudgetSpent, or ProfilingQueued while the fleet's costs are not known) until when to ask again. What
                is counted already is never refused.
        """
        with self._lock:
            if launch.job in self._launches.get(owner, {}):
                return
            self._forget_old(launch.launched_at)
            own = self._launches.get(owner, {}).values()
            _require_left("this baseline", budget, own, launch)
            if self._fleet != UNLIMITED:
                self._require_recalled(launch, steady_s)
                every = [each for known in self._launches.values() for each in known.values()]
                _require_left("the fleet", self._fleet, every, launch)
            self._launches.setdefault(owner, {})[launch.job] = _in_milliseconds(launch)

    def until(self, owner: str, job: str, ends_s: float) -> None:
        """Note until when a Job has what it was charged with; of one that was never charged nothing."""
        with self._lock:
            known = self._launches.get(owner, {}).get(job)
            if known is not None:
                self._launches[owner][job] = _in_milliseconds(replace(known, ends_at=ends_s))

    def launched(self, owner: str, now_s: float) -> tuple[Launch, ...]:
        """What was launched for a baseline within the day before now, the oldest first: what its status is to say."""
        with self._lock:
            own = self._launches.get(owner, {}).values()
            return _newest([each for each in own if _is_of_the_day(each, now_s)])

    def _require_recalled(self, launch: Launch, steady_s: float) -> None:
        if steady_s < self._recalled_s:
            raise Wait(
                "ProfilingQueued",
                f"the operator started less than {duration(RECALL_S)} ago and first reads what was launched before it, "
                "which counts against the fleet's profiling budget",
                launch.launched_at + self._recalled_s - steady_s,
            )

    def _forget_old(self, now_s: float) -> None:
        kept = {
            owner: {job: each for job, each in own.items() if _is_of_the_day(each, now_s)}
            for owner, own in self._launches.items()
        }
        self._launches = {owner: own for owner, own in kept.items() if own}


def _require_left(whose: str, limit: Budget, spent: Collection[Launch], asked: Launch) -> None:
    minutes, more = sum(map(_gpu_minutes, spent)), _gpu_minutes(asked)
    if limit.captures is not None and len(spent) >= limit.captures:
        told = f"{len(spent)} of {limit.captures} captures a day"
    elif limit.gpu_minutes is not None and more > 0 and minutes + more > limit.gpu_minutes:
        told = f"{minutes:.0f} of {limit.gpu_minutes} GPU-minutes a day, and this copy may take {more:.0f}"
    else:
        return
    oldest_s = min((each.launched_at for each in spent), default=asked.launched_at)
    raise Wait("BudgetSpent", f"the profiling budget of {whose} is spent: {told}", oldest_s + DAY_S)


def _gpu_minutes(launch: Launch) -> float:
    return launch.accelerators * max(0.0, launch.ends_at - launch.launched_at) / 60.0


def _is_of_the_day(launch: Launch, now_s: float) -> bool:
    return launch.launched_at > now_s - DAY_S


def _is_sound(launch: Launch, now_s: float) -> bool:
    """Whether an operator wrote it, as far as its numbers tell: a budget that all share must not hang on one status."""
    timely = _is_of_the_day(launch, now_s) and launch.launched_at <= now_s + CLOCKS_APART_S
    return timely and launch.ends_at <= launch.launched_at + DAY_S and 0 <= launch.accelerators <= MOST_ACCELERATORS


def _newest(launches: Collection[Launch]) -> tuple[Launch, ...]:
    return tuple(sorted(launches, key=lambda each: (each.launched_at, each.job))[-MOST_LAUNCHES:])


def _in_milliseconds(launch: Launch) -> Launch:
    """As the status keeps times: what was read back is what was written."""
    return replace(launch, launched_at=round(launch.launched_at, 3), ends_at=round(launch.ends_at, 3))

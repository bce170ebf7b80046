"""No more pull requests within an hour than people can weigh: a cause that all jobs share must not open fifty.

A driver, a storage outage or a slow network makes every job slow at once, and each job's history may hold a commit that
looks guilty. The count is of each namespace and of the whole operator. A process that takes over counts what the
statuses say was opened.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock

from mfu_operator.cycle.fair_share import Share
from mfu_operator.detect.formatting import clock, duration
from mfu_operator.errors import Wait
from mfu_operator.model.incident import Status

MOST = 3
"""Of a namespace. Independent regressions of a fleet come hours apart; one change may well slow two jobs, seldom
three. A fourth within the hour says that something else than a commit is common to them."""

MOST_OF_ALL = 6
"""Of the whole operator: a namespace that uses up its own share leaves as many for the others."""

MOST_OF_FIRSTS = 6
"""Beyond those, one for each namespace that has none within the hour: two that use up their shares delay no other. A
cause that the whole fleet shares opens a dozen in an hour, and not one for each job."""

_SHARE = Share(MOST, MOST_OF_ALL, MOST_OF_FIRSTS)

WINDOW_S = 3600.0
"""Long enough for a person to see three pull requests with the same story and stop the rest (remediation.mode)."""

RECALL_S = 90.0
"""After a start the statuses of the fleet are read, and a pull request whose opening the last process did not live to
write down is found by its branch: by then every baseline with something in progress was ticked."""


class Breaker:
    """Counts what was opened, by namespace and branch. Ticks of several baselines ask at the same time.

    Everywhere `steady_s` are seconds on a clock that nobody sets, by which the hour is measured; `now_s` are Unix
    seconds, for what people read.
    """

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str], float] = {}
        """When, by namespace and branch."""
        self._recalled_s = -math.inf
        self._lock = Lock()

    def begin(self, steady_s: float) -> None:
        """Note that the process begins to act: nothing is opened before what was opened earlier is recalled."""
        self._recalled_s = steady_s + RECALL_S

    def recall(self, namespace: str, status: Status, now_s: float, steady_s: float) -> None:
        """Count what a status says was opened within the hour."""
        for incident in (status.incident, *status.history):
            proposal = incident.proposal if incident is not None else None
            if incident is None or proposal is None or proposal.dry_run:
                continue
            at_s = proposal.opened_at or incident.confirmed_at or incident.opened_at
            self.found(namespace, proposal.branch, steady_s - max(0.0, now_s - at_s))

    @contextmanager
    def opening(self, namespace: str, branch: str, now_s: float, steady_s: float) -> Iterator[None]:
        """Count a branch while its pull request is being opened, and from then on unless opening it fails.

        Raises:
            Wait: (FleetBreaker) until when there is room again. What is counted already is never refused.
        """
        with self._lock:
            self._forget_old(steady_s)
            one = (namespace, branch)
            known = one in self._opened
            if not known:
                self._require_room(namespace, now_s, steady_s)
                self._opened[one] = steady_s
        with ExitStack() as on_failure:
            if not known:
                on_failure.callback(self._give_back, one)
            yield
            on_failure.pop_all()

    def found(self, namespace: str, branch: str, steady_s: float) -> None:
        """Count a pull request that turned out to be open already: it was opened, and the answer was lost."""
        with self._lock:
            self._opened.setdefault((namespace, branch), steady_s)

    def _give_back(self, one: tuple[str, str]) -> None:
        with self._lock:
            self._opened.pop(one, None)

    def _forget_old(self, steady_s: float) -> None:
        self._opened = {one: at_s for one, at_s in self._opened.items() if steady_s < at_s + WINDOW_S}

    def _require_room(self, namespace: str, now_s: float, steady_s: float) -> None:
        if steady_s < self._recalled_s:
            raise Wait(
                "FleetBreaker",
                f"the operator started less than {duration(RECALL_S)} ago and first reads what was opened before it",
                now_s + self._recalled_s - steady_s,
            )
        if _SHARE.left_for(namespace, Counter(opened_for for opened_for, _ in self._opened)):
            return
        own = [at_s for (opened_for, _), at_s in self._opened.items() if opened_for == namespace]
        most_of_all = MOST_OF_ALL if own else MOST_OF_ALL + MOST_OF_FIRSTS
        every = list(self._opened.values())
        opened, most, whose = (
            (own, MOST, f"in namespace {namespace} ") if len(own) >= MOST else (every, most_of_all, "")
        )
        until_s = now_s + sorted(opened)[-most] + WINDOW_S - steady_s
        raise Wait(
            "FleetBreaker",
            f"the operator opened {most} pull requests {whose}within {duration(WINDOW_S)} and opens the next "
            f"at {clock(until_s)}: see first whether the jobs share a cause that no commit has (driver, "
            "storage, network)",
            until_s,
        )

"""No more pull requests within an hour than people can weigh: a cause that all jobs share must not open fifty.

A driver, a storage outage or a slow network makes every job slow at once, and each job's history may hold a commit that
looks guilty. The count is of each namespace and of the whole operator. A process that takes over counts what the
statuses say was opened.
"""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
"""Beyond those, one for each namespace that has none within the hour, of those that propose to the same organisation of
a forge: its people are who weighs them. However many namespaces use up their shares, they delay none that proposes to
other people, and a cause that all jobs of an organisation share opens a dozen in an hour, and not one for each job."""

_SHARE = Share(MOST, MOST_OF_ALL, MOST_OF_FIRSTS)

WINDOW_S = 3600.0
"""Long enough for a person to see three pull requests with the same story and stop the rest (remediation.mode)."""

RECALL_S = 90.0
"""After a start the statuses of the fleet are read, and a pull request whose opening the last process did not live to
write down is found by its branch: by then every baseline with something in progress was ticked."""


@dataclass(frozen=True, slots=True)
class _Opened:
    at_s: float
    organisation: str


class Breaker:
    """Counts what was opened, by namespace and branch. Ticks of several baselines ask at the same time.

    Everywhere `steady_s` are seconds on a clock that nobody sets, by which the hour is measured; `now_s` are Unix
    seconds, for what people read.
    """

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str], _Opened] = {}
        """By namespace and branch."""
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
            at_s = steady_s - max(0.0, now_s - at_s)
            self.found(namespace, proposal.branch, proposal.url or "", at_s)

    @contextmanager
    def opening(self, namespace: str, branch: str, where: str, now_s: float, steady_s: float) -> Iterator[None]:
        """Count a branch while its pull request is being opened, and from then on unless opening it fails.

        Args:
            where: the address of the repository.

        Raises:
            Wait: (FleetBreaker) until when there is room again. What is counted already is never refused.
        """
        with self._lock:
            self._forget_old(steady_s)
            one, opened = (namespace, branch), _Opened(steady_s, organisation(where))
            known = one in self._opened
            if not known:
                self._require_room(namespace, opened.organisation, now_s, steady_s)
                self._opened[one] = opened
        with ExitStack() as on_failure:
            if not known:
                on_failure.callback(self._give_back, one)
            yield
            on_failure.pop_all()

    def found(self, namespace: str, branch: str, where: str, steady_s: float) -> None:
        """Count a pull request that turned out to be open already: it was opened, and the answer was lost."""
        with self._lock:
            self._opened.setdefault((namespace, branch), _Opened(steady_s, organisation(where)))

    def _give_back(self, one: tuple[str, str]) -> None:
        with self._lock:
            self._opened.pop(one, None)

    def _forget_old(self, steady_s: float) -> None:
        self._opened = {one: each for one, each in self._opened.items() if steady_s < each.at_s + WINDOW_S}

    def _require_room(self, namespace: str, of: str, now_s: float, steady_s: float) -> None:
        if steady_s < self._recalled_s:
            raise Wait(
                "FleetBreaker",
                f"the operator started less than {duration(RECALL_S)} ago and first reads what was opened before it",
                now_s + self._recalled_s - steady_s,
            )
        own = [each.at_s for (opened_for, _), each in self._opened.items() if opened_for == namespace]
        every = {one: each for one, each in self._opened.items() if own or each.organisation == of}
        if _SHARE.left_for(namespace, Counter(opened_for for opened_for, _ in every)):
            return
        opened, most, whose = [each.at_s for each in every.values()], MOST_OF_ALL, ""
        if len(own) >= MOST:
            opened, most, whose = own, MOST, f"in namespace {namespace} "
        elif not own:
            most, whose = MOST_OF_ALL + MOST_OF_FIRSTS, f"in {of} "
        until_s = now_s + sorted(opened)[-most] + WINDOW_S - steady_s
        raise Wait(
            "FleetBreaker",
            f"the operator opened {most} pull requests {whose}within {duration(WINDOW_S)} and opens the next "
            f"at {clock(until_s)}: see first whether the jobs share a cause that no commit has (driver, "
            "storage, network)",
            until_s,
        )


def organisation(address: str) -> str:
    """Whose repository it is, by its address or by that of one of its pull requests: the host and the first part of the
    path. Of an address that is none, the text itself."""
    scheme, separator, rest = address.partition("://")
    host, _, path = (rest if separator else scheme.replace(":", "/", 1)).partition("/")
    owner = path.lstrip("/").partition("/")[0]
    return f"{host.rpartition('@')[2].partition(':')[0]}/{owner}".lower() if owner else address

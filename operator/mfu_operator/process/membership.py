"""Who is measured: what the watch and the API server tell of baselines, and what follows from it for the sweep."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.backoff import Backoff
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import Fleet, Member, News, spread
from mfu_operator.process.listening import take_up

HISTORIES_S = 60.0
"""After a restart the histories of ten thousand baselines are read within this; ticks of what was in progress wait for
theirs, because they could conclude nothing before and would take the processor from them."""


@dataclass(slots=True)
class Membership:
    """The fleet, and what is kept and measured of each of its members.

    Args:
        adapters: the adapters.
        fleet: the baselines.
        clock: the time now, Unix seconds, for facts alone.
        steady: seconds on a clock that nobody sets.
        interval_s: seconds between two ticks of a baseline that is not at rest.
        rest_s: seconds between two ticks of one that is.
    """

    adapters: Adapters
    fleet: Fleet
    clock: Callable[[], float]
    steady: Callable[[], float]
    interval_s: float
    rest_s: float
    acting: bool = False
    """Whether this replica acts: what does not is told of baselines, and measures none."""
    backoffs: dict[str, Backoff] = field(default_factory=dict)

    def saw(self, body: Mapping[str, Any]) -> None:
        """An object as the watch tells of it."""
        steady_s = self.steady()
        member, news = self.fleet.saw(body, steady_s)
        if news is not News.NOTHING:
            self.fleet.call(member, steady_s)
        self.heed(member, news)

    def gone(self, uid: str) -> None:
        """An object was deleted: it is measured no longer. Its Jobs go with it by their owner reference."""
        self.fleet.gone(uid)
        self.let_go(uid)

    def begin(self) -> None:
        """Measure everything that was heard of, from the moment that this replica acts."""
        self.acting = True
        for member in self.fleet.members():
            self._take_up(member)

    def end(self) -> None:
        """Show nothing any more: this replica acts no longer."""
        self.acting = False
        telemetry.forget_all()

    def read(self, member: Member) -> None:
        """Note the object as it is stored now, in place of what was known of it; let it go where it is gone."""
        before = member.seen
        found = self.adapters.cluster.baseline(before.identity.namespace, before.identity.name)
        if found is None or found["metadata"]["uid"] != before.identity.uid:
            self.gone(before.identity.uid)
        else:
            self.heed(member, self.fleet.read(member, before, found, self.steady()))

    def answered(self, member: Member, body: Mapping[str, Any]) -> None:
        """Note the object that the API server sent in answer to our own write; a spec that is new in it calls for a
        tick."""
        steady_s = self.steady()
        news = self.fleet.answered(member, body, steady_s)
        if news is News.SPEC:
            self.fleet.call(member, steady_s)
        self.heed(member, news)

    def heed(self, member: Member, news: News) -> None:
        """Measure what another spec asks for."""
        if news is News.SPEC and self.acting:
            self._take_up(member)

    def let_go(self, uid: str) -> None:
        """Neither sweep nor export a baseline that is gone; its last tick may have begun to do both again."""
        self.backoffs.pop(uid, None)
        self.adapters.sweep.forget(uid)
        telemetry.forget(uid)

    def backoff(self, uid: str) -> Backoff:
        """What keeps a baseline waiting."""
        return self.backoffs.setdefault(uid, Backoff(first_s=self.interval_s))

    def _take_up(self, member: Member) -> None:
        steady_s = self.steady()
        rest_s = spread(member.identity.uid, self.rest_s)
        now_s, until_s = self.clock(), (lambda rests: steady_s + (rest_s if rests else HISTORIES_S))
        take_up(self.adapters, member, now_s, steady_s, until_s)

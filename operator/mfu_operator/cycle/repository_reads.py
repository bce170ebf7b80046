"""Reads of repositories under way, of which memory takes a dozen: whose gives way to a namespace that has none, and
which one renders.

A read that hangs or renders without end keeps what it has while nobody needs it. Who needs it is a namespace that took
much less: a host that hangs, or a chart that never ends, costs its own namespace most, and so its reads go first.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from mfu_operator.ports import PLACE

PLACE_SURE_S = 10.0
"""What a namespace may take before its reads give way: most reads take less. Time in which one waits for its turn to
render is not counted."""

RENDER_SURE_S = 5.0
"""What it may render before who renders for it gives way: a window of some twenty commits takes less. Of thirty that
begin at once the last waits for so much of each of the others."""

TIMES = 8.0
"""How much more than the one that waits. Of several that all take long, each goes on for about eight times as long as
the others took, until one after the other is done: what is ended begins anew, so the slices grow fast."""

_HALVED_AFTER_S = 3600.0
_FORGOTTEN_S = 0.5


class Taken:
    """Seconds that each namespace took; an hour later half of them are left."""

    def __init__(self) -> None:
        self._until_s = 0.0
        self._taken: dict[str, float] = {}

    def at(self, steady_s: float) -> Mapping[str, float]:
        """What each namespace took."""
        left = 0.5 ** ((steady_s - self._until_s) / _HALVED_AFTER_S)
        return {each: taken * left for each, taken in self._taken.items() if taken * left > _FORGOTTEN_S}

    def add(self, namespace: str, seconds: float, steady_s: float) -> None:
        """Note what ended now."""
        found = self.at(steady_s)
        self._taken, self._until_s = {**found, namespace: found.get(namespace, 0.0) + seconds}, steady_s


@dataclass(eq=False, slots=True)
class RepositoryRead:
    """One read: the place that its adapter asks (`ports.Place`)."""

    _reads: "RepositoryReads"
    namespace: str
    began_s: float
    waits_since_s: float | None = None
    renders_since_s: float | None = None
    waited_s: float = 0.0
    needed: bool = False

    def taken_s(self, steady_s: float) -> float:
        """For how long it has its place, but for what it waited for its turn."""
        until_s = steady_s if self.waits_since_s is None else self.waits_since_s
        return until_s - self.began_s - self.waited_s

    def rendered_s(self, steady_s: float) -> float:
        """For how long it has been rendering."""
        return 0.0 if self.renders_since_s is None else steady_s - self.renders_since_s

    def may_render(self) -> bool:
        """Whether it renders now."""
        return self._reads.may_render(self)


class RepositoryReads:
    """All reads that are under way. Any thread may call."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._lock = Lock()
        self._all: list[RepositoryRead] = []
        self._placed, self._rendered = Taken(), Taken()

    @contextmanager
    def one(self, namespace: str) -> Iterator[None]:
        """One more, for what the caller does within: it finds its place in `PLACE`."""
        read = RepositoryRead(self, namespace, self._steady())
        with self._lock:
            self._all.append(read)
        before = PLACE.set(read)
        try:
            yield
        finally:
            PLACE.reset(before)
            with self._lock:
                self._all.remove(read)
                steady_s = self._steady()
                self._placed.add(namespace, read.taken_s(steady_s), steady_s)
                self._rendered.add(namespace, read.rendered_s(steady_s), steady_s)

    def make_room(self, namespace: str, wanted: float) -> None:
        """Let a read of others give way to a namespace that has none, unless as many as are wanted do so already."""
        with self._lock:
            taken = self._taken(self._placed, RepositoryRead.taken_s)
            staying = [each for each in self._all if not each.needed]
            if staying and wanted > len(self._all) - len(staying):
                _give_way(max(staying, key=lambda each: taken[each.namespace]), namespace, taken, PLACE_SURE_S)

    def may_render(self, read: RepositoryRead) -> bool:
        """Whether a read renders: one at a time does. Of those that wait the one whose namespace rendered least is
        next, and who renders gives way to it."""
        with self._lock:
            if read.renders_since_s is not None:
                return True
            steady_s, taken = self._steady(), self._taken(self._rendered, RepositoryRead.rendered_s)
            if read.waits_since_s is None:
                read.waits_since_s = steady_s
            waiting = [each for each in self._all if each.waits_since_s is not None]
            following = min(waiting, key=lambda each: taken[each.namespace])
            renders = [each for each in self._all if each.renders_since_s is not None]
            for each in renders:
                _give_way(each, following.namespace, taken, RENDER_SURE_S)
            if following is not read or renders:
                return False
            read.waited_s, read.waits_since_s, read.renders_since_s = steady_s - read.waits_since_s, None, steady_s
            return True

    def _taken(self, ended: Taken, by: Callable[[RepositoryRead, float], float]) -> Mapping[str, float]:
        steady_s = self._steady()
        found = dict(ended.at(steady_s))
        for each in self._all:
            found[each.namespace] = found.get(each.namespace, 0.0) + by(each, steady_s)
        return found


def _give_way(read: RepositoryRead, namespace: str, taken: Mapping[str, float], sure_s: float) -> None:
    """Let a read give way to a namespace that took much less than its own."""
    if read.namespace != namespace and taken[read.namespace] >= sure_s + TIMES * taken.get(namespace, 0.0):
        read.needed = True

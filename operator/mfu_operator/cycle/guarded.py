"""What stands between the ticks and the world: one place that asks "may I act" immediately before each effect, and one
that bounds what a host which hangs may take."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from mfu_operator.cycle.adapters import Adapters, Exchange, ForgeFactory
from mfu_operator.cycle.bulkheads import NAMESPACE, Dependency, HostSlots, TickSlots
from mfu_operator.errors import Abandoned
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Cluster, Credentials, Forge, Repository, is_effect

MayAct = Callable[[], bool]


def guarded(adapters: Adapters, may_act: MayAct, slots: TickSlots) -> Adapters:
    """The adapters behind both guards.

    Args:
        adapters: what reaches into the world.
        may_act: whether this replica may do an effect now.
        slots: the slots of ticks; one that waits for a host lends its own.
    """
    hosts = HostSlots()

    def permitted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if not may_act():
                raise Abandoned("this replica may not act any more: another one takes over, or it is about to end")
            return method(*arguments, **named)

        return call

    def outside(dependency: Dependency, host_of: Callable[..., str]) -> Callable[[Callable[..., Any]], Any]:
        def guard(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                with hosts.of(dependency, host_of(*arguments), NAMESPACE.get()), slots.lent():
                    return method(*arguments)

            return call

        return guard

    def forge(*of: Any) -> Forge:
        found = _Before(
            Forge, adapters.forge(*of), permitted, outside(Dependency.FORGE, lambda *_: _host(of[2] or of[1]))
        )
        return cast(Forge, found)

    asked = outside(Dependency.FORGE, lambda *of: _host(of[2] or of[1]))(adapters.exchange)

    def exchange(*of: Any) -> Credentials | None:
        """A key is exchanged at the forge; credentials that are sent as they are ask nobody."""
        given = of[3]
        return cast("Credentials | None", asked(*of)) if given is not None and given.app is not None else given

    git = outside(Dependency.GIT, lambda asked, *_: _host(_source(asked).repository))
    return replace(
        adapters,
        cluster=cast(Cluster, _Before(Cluster, adapters.cluster, permitted)),
        repository=cast(Repository, _Before(Repository, adapters.repository, permitted, git)),
        forge=cast(ForgeFactory, forge),
        exchange=cast(Exchange, exchange),
    )


class _Before:
    """Stands before the adapter of a port. `permitted` guards its effects, `outside` every call; the permit is asked
    for last, because a slot may be long in coming."""

    def __init__(
        self,
        port: type,
        inner: object,
        permitted: Callable[[Callable[..., Any]], Callable[..., Any]],
        outside: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda method: method,
    ) -> None:
        self._port, self._inner, self._permitted, self._outside = port, inner, permitted, outside

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        return self._outside(self._permitted(method) if is_effect(self._port, name) else method)


def _source(asked: Question | Source) -> Source:
    return asked.source if isinstance(asked, Question) else asked


def _host(address: str) -> str:
    """The host of a repository's or a forge's address; of one that is none, the text itself."""
    return urlsplit(address).hostname or address

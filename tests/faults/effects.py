"""Everything the operator does to the world, found in its ports, so that a new effect is tested by itself."""

import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Protocol

from mfu_operator import ports
from mfu_operator.errors import Retry
from mfu_operator.process import leader

READS = frozenset(
    {
        "Cluster.workload",
        "Cluster.endpoints",
        "Cluster.profiling_job",
        "Cluster.secret",
        "Cluster.baseline",
        "Delivery.application_of",
        "Delivery.source",
        "Repository.investigate",
        "Repository.preview",
        "Forge.commit_message",
        "Forge.find",
        "Forge.get",
        "Place.may_render",
        "Metrics.latest",
        "Metrics.history",
        "Metrics.hardware",
        "Metrics.vitals",
        "Metrics.vitals_history",
        "Metrics.absence",
        "MetricsSources.open",
    }
)
"""Methods that leave the world as it is: a new one is put here by a person, or it carries the mark of an effect."""


def ports_with_methods() -> Iterator[tuple[type, str]]:
    """Every method of every port."""
    for module in (ports, leader):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__ and Protocol in kind.__bases__:
                for name, _ in inspect.getmembers(kind, inspect.isfunction):
                    if not name.startswith("_"):
                        yield kind, name


METHODS = frozenset(f"{port.__name__}.{name}" for port, name in ports_with_methods())
"""As "Port.method"."""

WRITES = frozenset(f"{port.__name__}.{name}" for port, name in ports_with_methods() if ports.is_effect(port, name))
"""Methods after which the world is another one, by their mark."""


class Moment(StrEnum):
    """Where in an effect the fault comes."""

    BEFORE = "killed before"
    AFTER = "killed after"
    LOST = "answer lost"


ANSWER_LOST = "AnswerLost"
"""The reason of the error that stands for an answer that does not arrive."""


class Killed(BaseException):
    """The process dies here: nothing of it runs any more."""


Hook = Callable[[str, Callable[[], Any]], Any]
"""Given "Port.method" and the call itself; makes the call or does not."""


class Interposed:
    """Stands before the adapter of a port and hands each of its effects to a hook."""

    def __init__(self, port: str, inner: object, hook: Hook) -> None:
        self._port, self._inner, self._hook = port, inner, hook

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        method = f"{self._port}.{name}"
        if method not in WRITES:
            return found
        return lambda *arguments, **named: self._hook(method, lambda: found(*arguments, **named))


class Fault:
    """A hook that counts every effect and strikes once, at one occurrence of one of them; never without a moment."""

    def __init__(self, method: str = "", occurrence: int = 0, moment: Moment = Moment.BEFORE) -> None:
        self._method, self._occurrence, self._moment = method, occurrence, moment
        self.counts: dict[str, int] = {}
        self.struck = False

    def __call__(self, method: str, call: Callable[[], Any]) -> Any:
        """Make the call, unless this is where the fault comes."""
        self.counts[method] = self.counts.get(method, 0) + 1
        if method != self._method or self.counts[method] != self._occurrence:
            return call()
        self.struck = True
        if self._moment is Moment.BEFORE:
            raise Killed
        call()
        if self._moment is Moment.AFTER:
            raise Killed
        raise Retry(ANSWER_LOST, "the answer was lost")

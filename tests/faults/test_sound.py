"""One dependency of some baselines fails behind a proxy: the others are served within a minute, again and again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.api import status as codec
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.measure.sweep import Sweep
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import MetricsSource, Signal
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.series import Reading
from mfu_operator.ports import Credentials, Metrics
from mfu_operator.process.reconciler import Reconciler
from tests.faults.dependencies import DEPENDENCIES
from tests.faults.proxy import Fault
from tests.faults.table import Row
from tests.support import worlds
from tests.support.adapters_double import Stage, SweepDouble
from tests.support.awaited import awaited
from tests.support.metrics_double import MetricsDouble
from tests.support.replica import REMEDIATION
from tests.support.stored_object import stored_object

FAILING, SOUND = 40, 20
"""More fail than ticks are done at once."""

TOKEN = Credentials(None, "t")
SERVED_S = 60.0
ROUNDS = 3
CONFIRMED = worlds.regressed(confirmed=True)
AILING = replace(worlds.SETTLED, judgement=CONFIRMED, observed_generation=0, configuration=None)
NEEDING = {
    "git": replace(AILING, incident=worlds.explained()),
    "forge": replace(AILING, incident=worlds.explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)),
    "prometheus": AILING,
}
"""The next step reads the commits of the repository, or asks for the pull request."""


class SomeSlow(SweepDouble):
    """Says that the baselines whose dependency fails are slow."""

    def view(self, key: str, now_s: float) -> SweepView:
        said = CONFIRMED if key.startswith("fails") else worlds.judgement()
        return replace(SweepDouble.view(self, key, now_s), judgement=said)


class WellNow(MetricsDouble):
    """Every job holds its baseline."""

    def latest(self, workloads: Any, now_s: float) -> Any:
        return {each: (Reading(now_s, {Signal.MFU: 0.46}, incarnation="a"),) for each in workloads}

    def history(self, workloads: Any, start_s: float, end_s: float, step_s: float) -> Any:
        return {}


class SomeAt:
    """Opens the real source for baselines that name an address, the double for others."""

    def __init__(self) -> None:
        self._real, self._double = PrometheusSources(MetricsSource()), WellNow()

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        return self._real.open(source, credentials) if source.address else self._double


class Anonymous(GitRepository):
    """Asks without the credentials, which are another host's."""

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        return super().investigate(question, None)


def behind(dependency: str, address: str, stage: Stage) -> Adapters:
    """The stage's adapters, the dependency's one real and at that address."""
    doubles = replace(stage.adapters, sweep=SomeSlow())
    match dependency:
        case "git":
            for application, source in stage.delivery.sources.items():
                stage.delivery.sources[application] = replace(source, repository=f"{address}/models.git")
            return replace(doubles, repository=Anonymous(deadline_s=20.0))
        case "forge":
            return replace(doubles, forge=lambda kind, *_: forge(kind, f"{address}/a/b.git", address, TOKEN, Web()))
        case _:
            return replace(doubles, sweep=Sweep(SomeAt(), time.time, 1.0, time.monotonic))


class Fleet:
    """A loop over real threads, of baselines that need the dependency and of others."""

    def __init__(self, dependency: str, address: str) -> None:
        self.stage = Stage()
        self.adapters = behind(dependency, address, self.stage)
        self.metrics = {"metrics": {"prometheus": {"address": address}}} if dependency == "prometheus" else {}
        self.loop = Reconciler(self.adapters, worlds.DEFAULTS, lambda: True, 1.0)
        for number in range(FAILING):
            self._put(f"fails-{number}", self.metrics, codec.encode(NEEDING[dependency]))
        for number in range(SOUND):
            self._put(f"sound-{number}", {}, {})

    def _put(self, name: str, spec: dict[str, Any], status: dict[str, Any]) -> None:
        body = stored_object(profiling={"mode": "Never"}, remediation=REMEDIATION, **spec)
        body["metadata"] |= {"name": name, "uid": name}
        self.loop.saw(self.stage.cluster.create({**body, "status": status}))

    @contextmanager
    def running(self) -> Iterator[None]:
        self.adapters.sweep.start()
        self.loop.start()
        try:
            yield
        finally:
            self.loop.stop(0.0)
            self.adapters.sweep.stop(0.0)

    def edit_sound(self) -> float:
        """A person edits every sound baseline; seconds until the last of them is acted upon and judged again."""
        begun_s = time.monotonic()
        for number in range(SOUND):
            stored = self.stage.cluster.baselines["team-a", f"sound-{number}"]
            spec = {**stored["spec"], "comparable": {"model": f"gpt-{time.monotonic_ns()}"}}
            self.loop.saw(self.stage.cluster.edit("team-a", f"sound-{number}", spec=spec))
        awaited(self._served, lambda served: served == SOUND, SERVED_S)
        return time.monotonic() - begun_s

    def _served(self) -> int:
        stored = [each for (_, name), each in self.stage.cluster.baselines.items() if name.startswith("sound")]
        return sum(
            each.get("status", {}).get("observedGeneration") == each["metadata"]["generation"]
            and "judgement" in each["status"]
            for each in stored
        )


FAULTS = [
    pytest.param(each, id=str(each.value), marks=[] if each is Fault.BLACK_HOLE else [pytest.mark.faults])
    for each in Fault
    if each is not Fault.NONE
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dependency", ["git", "forge", "prometheus"])
def test_baselines_that_do_not_need_what_fails_are_served_within_a_minute_throughout(
    dependency: str, fault: Fault, tmp_path: Path, row: Row
) -> None:
    with DEPENDENCIES[dependency](tmp_path) as (proxy, _):
        proxy.become(fault)
        fleet = Fleet(dependency, f"http://127.0.0.1:{proxy.port}")
        with fleet.running():
            assert awaited(lambda: proxy.asked, bool, SERVED_S), "the dependency is needed"
            longest_s = max(fleet.edit_sound() for _ in range(ROUNDS))
        row.note(cases=1, longest_s=round(longest_s, 1))
        assert longest_s < SERVED_S

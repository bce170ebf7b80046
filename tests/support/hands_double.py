"""The operator's hands in memory, and a stage on which a whole story runs without a cluster."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from mfu_operator.api import status as codec
from mfu_operator.detect.hardware import Ruling
from mfu_operator.errors import MfuError
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import ApplicationRef, BaselineSpec, ForgeKind
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.model.workload import JobPhase
from mfu_operator.ports import Credentials, Forge
from mfu_operator.runtime.backoff import Backoff
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.occupancy import Occupancy
from mfu_operator.runtime.sweep import Sweep
from mfu_operator.runtime.tick import Ticked, tick
from mfu_operator.trace import compact
from tests.support import worlds
from tests.support.cluster_double import ClusterDouble
from tests.support.delivery_double import MARK, DeliveryDouble
from tests.support.forge_double import ForgeDouble
from tests.support.repository_double import RepositoryDouble

APPLICATION = ApplicationRef("Application", "argocd", "gpt")
INTERVAL_S = 15.0


@dataclass(slots=True)
class SweepDouble:
    """Says the judgement that it was told to say."""

    says: Judgement | None = None
    problem: MfuError | None = None
    fills: bool = True
    held: tuple[Reading, ...] = ()
    registered: dict[str, dict[str, Any]] = field(default_factory=dict)
    gates: dict[Gate, tuple[float, float | None]] = field(default_factory=dict)
    finished_s: float | None = None
    started_s: float | None = None
    alive: bool = True
    runs: object = "a"
    rules: Ruling = field(default_factory=Ruling)
    ails: tuple[Symptom, ...] | None = ()
    remembers: tuple[Reading, ...] | None = ()

    def register(self, key: str, *what: Any, **more: Any) -> None:
        self.registered[key] = {"what": what, **more}

    def forget(self, key: str) -> None:
        self.registered.pop(key, None)

    def gate(self, key: str, gate: Gate, from_s: float, to_s: float | None = None) -> None:
        self.gates[gate] = (from_s, to_s)

    def judgement(self, key: str, now_s: float, differences: tuple[str, ...] = ()) -> Judgement | None:
        return self.says

    def readings(self, key: str) -> tuple[Reading, ...]:
        return self.held

    def latest(self, key: str) -> Reading | None:
        return self.held[-1] if self.held else None

    def past(self, key: str, span: tuple[float, float]) -> tuple[Reading, ...] | None:
        return self.remembers

    def ruling(self, key: str, node_of: Mapping[str, str] | None = None, usual_nodes: Collection[str] = ()) -> Ruling:
        return self.rules

    def symptoms(self, key: str, now_s: float) -> tuple[Symptom, ...] | None:
        return self.ails

    def run(self, key: str) -> object:
        return self.runs

    def filled(self, key: str) -> bool:
        return self.fills

    def source_problem(self, key: str) -> MfuError | None:
        return self.problem


class Stage:
    """One baseline with everything around it. `tick` keeps nothing but the status, as JSON, and the back-off."""

    def __init__(self, spec: BaselineSpec | None = None) -> None:
        self.now_s = worlds.NOW_S
        self.spec = spec or worlds.spec()
        self.identity = worlds.IDENTITY
        self.stored: dict[str, Any] = {}
        self.told: list[Event] = []
        self.cluster, self.sweep = ClusterDouble(), SweepDouble(worlds.judgement())
        self.repository, self.forge, self.delivery = RepositoryDouble(), ForgeDouble(), DeliveryDouble()
        self.asked_with: list[Credentials | None] = []
        self.hands = Hands(
            self.cluster, cast(Sweep, self.sweep), {"Application": self.delivery}, self.repository, self._open
        )
        self.backoff = Backoff(INTERVAL_S)
        self.cluster.secrets["team-a", "forge"] = {"token": "t0ken"}
        self.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Begin")
        self.deploy(worlds.STARTED_S)

    def _open(self, kind: ForgeKind | None, url: str, address: str | None, credentials: Credentials | None) -> Forge:
        self.asked_with.append(credentials)
        return self.forge

    def deploy(self, at_s: float | None = None) -> None:
        """The GitOps tool syncs the branch's head, and the pod is replaced."""
        at_s = self.now_s if at_s is None else at_s
        before = self.delivery.sources[APPLICATION].deployed if self.delivery.sources else ()
        head = self.repository.line[-1].sha
        self.delivery.sources[APPLICATION] = Source(
            worlds.REPOSITORY, "main", worlds.PATH, (*before, Deployed(head, at_s)), head, replaces_immutable=True
        )
        found = worlds.workload(at_s + 5, annotations={MARK: "gpt"})
        self.cluster.workloads["Job", "team-a", "gpt-small"] = found

    def tick(self, after_s: float = INTERVAL_S) -> Ticked:
        """One tick, from the stored status to the stored status."""
        self.now_s += after_s
        self.cluster.now_s = self.now_s
        if self.sweep.says is not None:
            self.sweep.says = replace(self.sweep.says, last_usable_s=self.now_s)
        ticked = tick(
            self.hands, worlds.DEFAULTS, self.identity, self.spec, self.status, self.backoff, self.now_s
        )  # fmt: skip
        self.stored = json.loads(json.dumps(codec.encode(ticked.status)))
        self.told += ticked.events
        return ticked

    def ticks(self, count: int) -> None:
        """That many ticks."""
        for _ in range(count):
            self.tick()

    def restart(self) -> None:
        """The operator dies: only the stored status is left."""
        self.backoff = Backoff(INTERVAL_S)
        self.hands = replace(self.hands, occupancy=Occupancy())

    def edit(self, change: Callable[[BaselineSpec], BaselineSpec]) -> None:
        """A person edits the spec: a new generation."""
        self.spec = change(self.spec)
        self.identity = replace(self.identity, generation=self.identity.generation + 1)

    def finish(self, name: str, account: StepAccount) -> None:
        """A profiling Job brings its account."""
        self.cluster.becomes(
            name, phase=JobPhase.SUCCEEDED, result=compact.encode(account), finished_at=self.now_s, node="node-1"
        )

    def settle(self) -> None:
        """The healthy job is known and profiled."""
        self.tick()
        self.finish(self.job, worlds.FAST_STEP)
        self.tick()

    def slow_down(self) -> str:
        """A person takes the workers, two harmless commits follow, all are deployed, and the loss is sustained."""
        sha = self.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, "Save memory")
        self.repository.commit({"apps/gpt/README.md": f"Thanks, {len(self.repository.line)}.\n"}, "Say thanks")
        self.repository.commit({"apps/gpt/notes.md": f"None, {len(self.repository.line)}.\n"}, "Take notes")
        self.now_s += 600
        self.deploy()
        self.sweep.says = worlds.regressed(onset_s=self.now_s + 20)
        return sha

    def explain(self, account: StepAccount = worlds.SLOW_STEP) -> None:
        """The incident opens and is profiled."""
        self.tick()
        self.finish(self.job, account)
        self.tick()

    def confirm(self) -> None:
        """The loss has lasted as long as a proposal needs it to."""
        assert self.sweep.says is not None
        self.sweep.says = replace(self.sweep.says, confirmed=True)

    def regress(self) -> str:
        """Everything up to where the next tick proposes; the sha of the commit that did it."""
        self.settle()
        sha = self.slow_down()
        self.explain()
        self.confirm()
        return sha

    def merge(self) -> None:
        """A person merges, the tool syncs, and the readings hold the baseline again."""
        self.forge.merge(len(self.forge.pulls), at_s=self.now_s)
        self.tick()
        self.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Revert Save memory")
        self.now_s += 3600
        self.deploy()
        self.sweep.says = worlds.judgement(value=0.458, recovered=True)

    @property
    def job(self) -> str:
        """The name of the newest profiling Job."""
        return list(self.cluster.jobs)[-1][1]

    @property
    def incident(self) -> Incident:
        """The open incident."""
        assert self.status.incident is not None
        return self.status.incident

    @property
    def status(self) -> Status:
        """What is stored."""
        return codec.decode(self.stored)

    def condition(self, kind: str) -> Condition | None:
        """A condition by its type; None while it does not hold."""
        return next((each for each in self.status.conditions if each.type == kind), None)

    def holding(self, kind: str) -> Condition:
        """A condition that must hold."""
        found = self.condition(kind)
        assert found is not None, [each.type for each in self.status.conditions]
        return found

    def reasons(self) -> list[str]:
        """What was told, in order."""
        return [event.reason for event in self.told]

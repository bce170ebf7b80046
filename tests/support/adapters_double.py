"""The operator's hands in memory, and a stage on which a whole story runs without a cluster."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from mfu_operator.api import status as codec
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.backoff import Backoff
from mfu_operator.cycle.profiling.budgets import Budgets
from mfu_operator.cycle.profiling.slots import ProfilingSlots
from mfu_operator.cycle.tick import Ticked, tick
from mfu_operator.detect.comparable import differences
from mfu_operator.detect.hardware import Ruling
from mfu_operator.errors import MfuError
from mfu_operator.measure.trail import NO_TRAIL, Trail
from mfu_operator.measure.view import RunMark, SweepView
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import ApplicationRef, Baseline, BaselineSpec, ForgeKind
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.condition import Condition, Event
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.series import Reading, TimeSpan
from mfu_operator.model.verdict import Gate, Judgement
from mfu_operator.model.vitals import Symptom
from mfu_operator.model.workload import JobPhase
from mfu_operator.ports import Credentials, Forge
from mfu_operator.reconcile.requested import obeyed
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.cluster_double import ClusterDouble
from tests.support.delivery_double import MARK, DeliveryDouble
from tests.support.forge_double import ForgeDouble
from tests.support.repository_double import RepositoryDouble

APPLICATION = ApplicationRef("Application", "argocd", "gpt")
INTERVAL_S = 15.0


class Registered(TypedDict):
    """What a baseline was registered with."""

    spec: BaselineSpec
    baseline: Baseline | None
    credentials: Credentials | None
    incident_since_s: float | None
    recording_since_s: float | None
    gated: Mapping[Gate, Sequence[TimeSpan]] | None
    facts: Mapping[str, str] | None


@dataclass(slots=True)
class SweepDouble:
    """Says the judgement that it was told to say, of whatever is registered."""

    says: Judgement | None = None
    problem: MfuError | None = None
    fills: bool = True
    held: tuple[Reading, ...] = ()
    registered: dict[str, Registered] = field(default_factory=dict)
    gates: dict[Gate, tuple[float, float | None]] = field(default_factory=dict)
    finished_s: float | None = None
    started_s: float | None = None
    alive: bool = True
    runs: str = "a"
    rules: Ruling = field(default_factory=Ruling)
    ails: tuple[Symptom, ...] | None = ()
    trail: Trail = NO_TRAIL

    def register(
        self,
        key: str,
        spec: BaselineSpec,
        baseline: Baseline | None,
        *,
        credentials: Credentials | None = None,
        incident_since_s: float | None = None,
        recording_since_s: float | None = None,
        gated: Mapping[Gate, Sequence[TimeSpan]] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        self.registered[key] = {
            "spec": spec,
            "baseline": baseline,
            "credentials": credentials,
            "incident_since_s": incident_since_s,
            "recording_since_s": recording_since_s,
            "gated": gated,
            "facts": facts,
        }

    def forget(self, key: str) -> None:
        self.registered.pop(key, None)

    def gate(self, key: str, gate: Gate, from_s: float, to_s: float | None = None) -> None:
        self.gates[gate] = (from_s, to_s)

    def view(self, key: str, now_s: float) -> SweepView:
        known = self.registered.get(key)
        if known is None:
            return SweepView()
        if not self.fills:
            return SweepView(problem=self.problem)
        latest = self.held[-1] if self.held else None
        info = latest.info if latest is not None else {}
        return ViewDouble(
            filled=True,
            judgement=self.says,
            mismatches=differences(known["spec"].comparable, info, known["facts"] or {}),
            symptoms=self.ails,
            readings=self.held,
            latest=latest,
            run=RunMark(self.runs, 0, info),
            problem=self.problem,
            rules=self.rules,
            trail=self.trail,
        )

    def start(self) -> None:
        self.started_s = 0.0

    def stop(self, timeout_s: float = 30.0) -> None:
        self.alive = False


@dataclass(frozen=True, slots=True)
class ViewDouble(SweepView):
    """Rules out what it was told to rule out."""

    rules: Ruling = field(default_factory=Ruling)

    def ruling(self, node_of: Mapping[str, str] | None = None, usual_nodes: Collection[str] = ()) -> Ruling:
        return self.rules


class Stage:
    """One baseline with everything around it. `tick` keeps nothing but the status, as JSON, and the back-off. The wall
    clock is off by `set_by_s`, which no pause may notice."""

    def __init__(self, spec: BaselineSpec | None = None) -> None:
        self.now_s, self.set_by_s = worlds.NOW_S, 0.0
        self.spec = spec or worlds.spec()
        self.identity = worlds.IDENTITY
        self.defaults = worlds.DEFAULTS
        self.stored: dict[str, Any] = {}
        self.told: list[Event] = []
        self.cluster, self.sweep = ClusterDouble(), SweepDouble(worlds.judgement())
        self.repository, self.delivery = RepositoryDouble(), DeliveryDouble()
        self.forge = ForgeDouble(self.repository.branches)
        self.asked_with: list[Credentials | None] = []
        self.adapters = Adapters(
            self.cluster, self.sweep, {"Application": self.delivery}, self.repository, self.open_forge
        )
        self.backoff = Backoff(INTERVAL_S)
        self.cluster.secrets["team-a", "forge"] = {"token": "t0ken", "address": "https://git.example"}
        self.repository.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Begin")
        self.deploy(worlds.STARTED_S)

    def open_forge(
        self, kind: ForgeKind | None, url: str, address: str | None, credentials: Credentials | None
    ) -> Forge:
        """The forge, and note what it was opened with."""
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
            self.adapters,
            self.defaults,
            self.identity,
            self.spec,
            self.status,
            self.backoff,
            self.now_s + self.set_by_s,
            self.now_s,
        )
        self.stored = json.loads(json.dumps(codec.encode(ticked.status)))
        self.told += ticked.events
        return ticked

    def ticks(self, count: int) -> None:
        """That many ticks."""
        for _ in range(count):
            self.tick()

    def take_note(self, annotation: str, value: str) -> None:
        """A person asks for something by command, and the operator takes note of it."""
        status, told = obeyed(self.status, ((annotation, value),), self.spec, self.now_s)
        self.stored = json.loads(json.dumps(codec.encode(status)))
        self.told += told

    def restart(self) -> None:
        """The operator dies: only the stored status is left."""
        self.backoff = Backoff(INTERVAL_S)
        self.adapters = replace(self.adapters, slots=ProfilingSlots(), budgets=Budgets())

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
        """The incident opens, is stored, and is profiled."""
        self.ticks(2)
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

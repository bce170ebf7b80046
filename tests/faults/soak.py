"""Thousands of incidents in one process, on a clock that goes as fast as the machine: `make soak`.

Simulated days pass in steps of a minute. In each hour and a half every job is made slow by a commit of its own and well
by another, at moments of its own; three times a day a quarter of the baselines is deleted and as many are made. Loop,
ticks, sweep, detection and their threads are the real ones; so is, now and then, Git. People merge what is proposed,
and the Git host deletes what was merged. What is held after eight days (profiling Jobs are remembered for seven) is
compared with what is held at the end.
"""

import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from prometheus_client import REGISTRY

from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.cycle.breaker import Breaker
from mfu_operator.cycle.profiling.budgets import Budgets
from mfu_operator.cycle.profiling.slots import ProfilingSlots
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import ApplicationRef, Signal, WorkloadRef
from mfu_operator.model.commit import Deployed, Source
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.series import Reading
from mfu_operator.ports import Credentials
from mfu_operator.process import telemetry
from mfu_operator.process.reconciler import Reconciler
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.delivery_double import MARK
from tests.support.git_repository import GitUpstream
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.replica import REMEDIATION
from tests.support.repository_double import RepositoryDouble
from tests.support.stored_object import stored_object

BASELINES = 12
STEP_S = 60.0
CYCLE_S, SLOW_S = 5400.0, 1800.0
DAY_S = 86400.0
CHURN_S = DAY_S / 3
SETTLED_DAYS, DAYS = 8, 14
MOST_DEPLOYED = 10
RULE = {"sustain": "3m", "confirm": "6m", "recover": "3m", "warmup": "1m"}
WELL, SLOW = 0.46, 0.38
LOOKS_PER_REAL_ONE = 200
OBJECTS_OF_A_COMMIT = 3
"""The commit, what it changed, and the tuple around that: the doubles of repository and forge forget nothing, as the
real ones, and what they hold is not the operator's."""
OF_INCIDENTS = tuple(
    f"mfu_operator_incident_{each}" for each in ("info", "drop_ratio", "gpu_hours_lost", "gpu_hours_per_hour")
)
"""Series that are there while an incident is open: how many are, differs."""

MOST_MEMORY = 1.10
"""Of the resident memory, end to middle: what an allocator leaves in pieces."""


class Tides(MetricsDouble):
    """Each job is well for an hour, then slow for half of one."""

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        return {each: (_reading(each, now_s),) for each in workloads}

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        times = [start_s + nth * step_s for nth in range(int((end_s - start_s) / step_s) + 1)]
        return {each: tuple(_reading(each, at_s) for at_s in times) for each in workloads}


def is_slow(name: str, at_s: float) -> bool:
    """Whether a job is slow at a time."""
    return (at_s + crc32(name.encode()) % CYCLE_S) % CYCLE_S > CYCLE_S - SLOW_S


def _reading(workload: WorkloadRef, at_s: float) -> Reading:
    return Reading(at_s, {Signal.MFU: SLOW if is_slow(workload.name, at_s) else WELL}, incarnation="a")


class NowAndThenReal(RepositoryDouble):
    """A repository in memory; of every so many looks at it one is at a real one, too, by a process of Git's."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        upstream = GitUpstream(folder)
        self._revisions = upstream.commit({"a": "1\n"}, "Begin"), upstream.commit({"a": "2\n"}, "Go on")
        self._source = Source(f"file://{upstream.bare}", "main", "", (), None)
        self._git = GitRepository(transports=("file",))
        self.looks = self.real_looks = 0

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        self.looks += 1
        if self.looks % LOOKS_PER_REAL_ONE == 1:
            asked = replace(question, source=self._source, good=self._revisions[0], bad=self._revisions[1])
            self.real_looks += bool(self._git.investigate(asked, None).ranking)
        return super().investigate(question, credentials)

    def forget(self, branch: str) -> None:
        """It was merged, and the host deletes it."""
        del self.branches[branch], self._made[branch]


@dataclass(frozen=True)
class Held:
    """What the process holds, and what it left in the world."""

    memory_mb: float
    objects: int
    threads: int
    descriptors: int
    files: int
    series: int
    members: int
    branches: int


class Soak:
    """The loop, its world, and the churn. Real repositories lie below `folder`."""

    def __init__(self, folder: Path, baselines: int = BASELINES) -> None:
        self.now_s, self.made, self.incidents, self.ticks = worlds.NOW_S, 0, 0, 0
        self.baselines = baselines
        self.stage = Stage()
        self.repository = self.stage.repository = NowAndThenReal(folder)
        self.proposals = 0
        self._slow: dict[str, bool] = {}
        self.sweep = Sweep(SourcesDouble(Tides()), lambda: self.now_s, STEP_S)
        adapters = replace(
            self.stage.adapters,
            sweep=self.sweep,
            repository=self.repository,
            slots=ProfilingSlots(),
            budgets=Budgets(),
            breaker=Breaker(),
        )
        telemetry.forget_all()
        self.loop = Reconciler(adapters, worlds.DEFAULTS, lambda: True, STEP_S, lambda: self.now_s, lambda: self.now_s)
        _begin_threads(self.loop, baselines)
        for _ in range(baselines):
            self.make()

    def make(self) -> None:
        """A person applies another baseline."""
        self.made += 1
        name = f"gpt-{self.made}"
        workload = {"apiVersion": "batch/v1", "kind": "Job", "name": name}
        body = stored_object(workload=workload, detection=RULE, remediation=REMEDIATION)
        body["metadata"] |= {"name": name, "uid": f"3f2a91c0-1111-2222-3333-{self.made:012d}"}
        self._deploy(name, is_slow(name, self.now_s))
        self.loop.saw(self.stage.cluster.create(body))

    def _deploy(self, name: str, slow: bool) -> None:
        """A commit takes the workers of a job, or gives them back, and the GitOps tool syncs it."""
        self._slow[name] = slow
        text, subject = ("num_workers: 0\n", "Save memory") if slow else ("num_workers: 4\n", "Be fast")
        head = self.repository.commit({f"apps/{name}/train.yaml": text}, subject)
        sources, application = self.stage.delivery.sources, ApplicationRef("Application", "argocd", name)
        before = sources[application].deployed[-MOST_DEPLOYED:] if application in sources else ()
        deployed = (*before, Deployed(head, self.now_s))
        sources[application] = Source(
            worlds.REPOSITORY, "main", f"apps/{name}", deployed, head, replaces_immutable=True
        )
        self.stage.cluster.workloads["Job", "team-a", name] = worlds.workload(self.now_s + 5, annotations={MARK: name})

    def churn(self) -> None:
        """A quarter goes, and as many come."""
        for namespace, name in list(self.stage.cluster.baselines)[: self.baselines // 4]:
            uid = self.stage.cluster.baselines[namespace, name]["metadata"]["uid"]
            self.stage.cluster.delete(namespace, name)
            del self.stage.cluster.workloads["Job", namespace, name], self._slow[name]
            del self.stage.delivery.sources[ApplicationRef("Application", "argocd", name)]
            self.loop.gone(uid)
            self.make()

    def step(self) -> None:
        """A minute passes; every Job under way ends, every pull request is merged."""
        self.now_s += STEP_S
        self.stage.now_s = self.stage.cluster.now_s = self.now_s
        for (_, name), job in list(self.stage.cluster.jobs.items()):
            if job.result is None:
                self.stage.finish(name, worlds.FAST_STEP if "-healthy-" in name else worlds.SLOW_STEP)
        for name, slow in list(self._slow.items()):
            if is_slow(name, self.now_s) != slow:
                self._deploy(name, not slow)
        for pull in self.stage.forge.pulls:
            if pull.branch in self.repository.branches:
                self.stage.forge.merge(pull.number, at_s=self.now_s)
                self.repository.forget(pull.branch)
                del self.stage.forge.proposals[pull.number]
                self.proposals += 1
        self.sweep.run_once()
        self.loop._listened_s = None
        while self.loop.beat():
            wait(set(self.loop._under_way))
            for body in self.stage.cluster.baselines.values():
                self.loop.saw(body)
        self._forget()

    def _forget(self) -> None:
        """The world forgets what nobody will read again."""
        cluster = self.stage.cluster
        for place, job in list(cluster.jobs.items()):
            if self.now_s > job.created_at + DAY_S:
                del cluster.jobs[place]
                cluster.manifests.pop(place, None)
        self.incidents += sum(event.reason == "Recovered" for _, event in cluster.events)
        for told in (cluster.events, cluster.written, cluster.watch, cluster._posted, self.stage.asked_with):
            told.clear()

    def held(self) -> Held:
        """What is held now."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return Held(
            round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
            len(gc.get_objects()) - OBJECTS_OF_A_COMMIT * len(self.repository.line) - len(self.stage.forge.pulls),
            threading.active_count(),
            len(list(Path("/proc/self/fd").iterdir())),
            len(list(Path(tempfile.gettempdir()).iterdir())),
            sum(len(family.samples) for family in REGISTRY.collect() if family.name not in OF_INCIDENTS),
            len(self.loop.fleet) + len(self.loop.members.backoffs) + len(self.sweep._watched),
            len(self.repository.branches),
        )


def _begin_threads(loop: Reconciler, count: int) -> None:
    """As many as ticks come at once: an executor begins them one by one, as they are needed."""
    together = threading.Barrier(count)
    wait([loop._ticks.submit(together.wait) for _ in range(count)])


def grown(before: Held, after: Held) -> dict[str, tuple[Any, Any]]:
    """What is more at the end than it was when settled: memory and objects by a share, all else at all."""
    found: dict[str, tuple[Any, Any]] = {}
    for each in fields(Held):
        was, now = getattr(before, each.name), getattr(after, each.name)
        if now > was * (MOST_MEMORY if each.name in ("memory_mb", "objects") else 1.0):
            found[each.name] = (was, now)
    return found


def run(folder: Path, settled_days: float = SETTLED_DAYS, days: float = DAYS) -> tuple[Soak, Held, Held]:
    """The soak, and what was held when settled and at the end."""
    soak = Soak(folder)
    before = soak.held()
    steps, settled = int(days * DAY_S / STEP_S), int(settled_days * DAY_S / STEP_S)
    for nth in range(1, steps + 1):
        soak.step()
        if nth % int(CHURN_S / STEP_S) == 0:
            soak.churn()
        if nth == settled:
            before = soak.held()
        if nth % int(DAY_S / STEP_S) == 0:
            day = nth * STEP_S / DAY_S
            print(f"  day {day:.0f}: {soak.incidents} incidents, {soak.held().objects} objects", flush=True)  # noqa: T201
    return soak, before, soak.held()


def main() -> int:
    """Say what grew; 0 where nothing did."""
    begun_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mfu-soak-") as folder:
        tempfile.tempdir = folder
        soak, before, after = run(Path(folder))
    faster = DAYS * DAY_S / (time.monotonic() - begun_s)
    print(f"{soak.incidents} incidents of {soak.made} baselines, {BASELINES} at a time, in {DAYS} simulated days")  # noqa: T201
    print(f"{soak.proposals} pull requests")  # noqa: T201
    print(f"the clock {faster:.0f} times as fast; {soak.repository.real_looks} looks at a real repository")  # noqa: T201
    for each in fields(Held):
        print(f"  {each.name:<12} {getattr(before, each.name):>9} → {getattr(after, each.name):>9}")  # noqa: T201
    found = grown(before, after)
    if found:
        print(f"grown: {found}")  # noqa: T201
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

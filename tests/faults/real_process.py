"""A process of the operator before a real API server and a real Git host, which stops at each of its effects and asks:
whoever drives the story lets it go on, or kills it there."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from kubernetes import client, config

from mfu_operator.adapters.cluster import KubernetesCluster, Leadership
from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import ApplicationRef, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import PullRequest
from mfu_operator.model.verdict import Judgement
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import Forge
from mfu_operator.process.wiring import adapters_of
from mfu_operator.settings import Settings
from tests.faults.control_plane import NAMESPACE, TEAM
from tests.faults.effects import ANSWER_LOST, Hook, Killed
from tests.faults.real_world import RealCluster, RealForge, RealStage
from tests.faults.replica import Clocks, Replica
from tests.support.adapters_double import SweepDouble
from tests.support.delivery_double import DeliveryDouble

PATIENCE_S = 120.0
"""Longer than anything that a tick waits for."""

LEASE_LOST = 70
"""The exit status of a process that ends itself because it lost the Lease."""

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__])


@dataclass(frozen=True)
class Played:
    """What is not the operator's to do, at one moment of the story."""

    wall_s: float
    elapsed_s: float
    says: Judgement | None
    workloads: Mapping[tuple[str, str, str], Workload]
    jobs: Mapping[str, ProfilingJob]
    sources: dict[ApplicationRef, Source]
    merged_at: Mapping[int, float]


class Process:
    """What drives one: the same as `Replica` to a story. `hook` is given each effect, and may raise `Killed` at it."""

    def __init__(self, name: str, stage: RealStage, hook: Hook, clocks: Clocks) -> None:
        self.name, self.stage, self.clocks, self._hook = name, stage, clocks, hook
        self._line, theirs = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=live, args=(theirs, name, stage.kubeconfig), daemon=True)
        self._process.start()
        theirs.close()

    def hear(self, objects: object) -> None:
        """It asks the API server itself."""

    def beat(self) -> None:
        """One interval."""
        self._ask("beat")

    def terminate(self) -> None:
        """SIGTERM: an orderly end."""
        self._ask("terminate")
        self._end()

    def _ask(self, what: str) -> None:
        cluster, forge = cast(RealCluster, self.stage.cluster), cast(RealForge, self.stage.forge)
        played = Played(
            self.clocks.wall_s,
            self.clocks.elapsed_s,
            self.stage.sweep.says,
            cluster.workloads,
            {job.name: job for job in cluster.jobs.values()},
            self.stage.delivery.sources,
            forge.merged_at,
        )
        try:
            self._line.send((what, played))
            while (said := self._told()) != "done":
                self._answer(said)
        except Killed:
            self._end()
            raise

    def _answer(self, method: str) -> None:
        """The hook decides what becomes of an effect; its answer is lost where the hook raises what stands for that."""
        try:
            self._hook(method, lambda: self._let(method))
        except Retry:
            self._line.send("lost")
        else:
            self._line.send("found")

    def _let(self, method: str) -> None:
        """The effect is done."""
        self._line.send("go")
        said = self._told()
        assert said == "did", said
        if method.startswith("Cluster."):
            cast(RealCluster, self.stage.cluster).changed()

    def _told(self) -> str:
        assert self._line.poll(PATIENCE_S), f"{self.name} says nothing"
        try:
            said: str = self._line.recv()
        except EOFError:
            self._process.join()
            assert self._process.exitcode == LEASE_LOST, f"{self.name} ended with {self._process.exitcode}"
            raise Killed from None
        return said

    def _end(self) -> None:
        """SIGKILL; nothing where it has ended."""
        self._process.kill()
        self._process.join()
        self._line.close()


class PlayedCluster:
    """The API server, and on it what a kubelet would have made of the workload and of the profiling Jobs."""

    def __init__(self, real: KubernetesCluster) -> None:
        self._real = real
        self.workloads: Mapping[tuple[str, str, str], Workload] = {}
        self.jobs: Mapping[str, ProfilingJob] = {}
        self.now_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def workload(self, ref: WorkloadRef) -> Workload | None:
        return self.workloads.get((ref.kind, ref.namespace, ref.name))

    def endpoints(self, refs: object) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        return {}

    def profiling_job(self, namespace: str, name: str) -> ProfilingJob | None:
        found = self._real.profiling_job(namespace, name)
        if found is None:
            return None
        played = self.jobs.get(name) or replace(found, created_at=self.now_s)
        return replace(played, owner=found.owner, subject=found.subject)


class PlayedForge:
    """The forge, whose pull requests were merged on the story's clock."""

    def __init__(self, real: Forge, merged_at: Mapping[int, float]) -> None:
        self._real, self._merged_at = real, merged_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def get(self, number: int) -> PullRequest:
        return self._on_time(self._real.get(number))

    def find(self, branch: str) -> PullRequest | None:
        found = self._real.find(branch)
        return None if found is None else self._on_time(found)

    def _on_time(self, pull: PullRequest) -> PullRequest:
        return replace(pull, merged_at=self._merged_at.get(pull.number, pull.merged_at))


class Inside:
    """The stage as the process sees it."""

    def __init__(self, api: client.ApiClient) -> None:
        wired = adapters_of(Settings(laboratory=True), api)
        self.api = api
        self.cluster = PlayedCluster(cast(KubernetesCluster, wired.cluster))
        self.repository, self._forge = wired.repository, wired.forge
        self.delivery, self.sweep = DeliveryDouble(), SweepDouble()
        self.merged_at: Mapping[int, float] = {}
        self._names: list[str] | None = None

    def open_forge(self, *of: Any) -> PlayedForge:
        return PlayedForge(self._forge(*of), self.merged_at)

    def of(self, identity: str, steady: Callable[[], float]) -> Leadership:
        """The Lease of a process."""
        return Leadership(self.api, NAMESPACE, "mfu-operator", identity, steady)

    def take(self, played: Played) -> None:
        """It is later."""
        self.cluster.workloads, self.cluster.jobs, self.cluster.now_s = played.workloads, played.jobs, played.wall_s
        self.delivery.sources, self.sweep.says, self.merged_at = played.sources, played.says, played.merged_at

    def objects(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What a watch would tell: all objects at first, then these, each as it is stored. A list takes a tenth of a
        second longer than that."""
        custom: Any = client.CustomObjectsApi(self.api)
        if self._names is None:
            found = custom.list_cluster_custom_object(GROUP, VERSION, PLURAL)["items"]
            self._names = [each["metadata"]["name"] for each in found]
        else:
            found = [custom.get_namespaced_custom_object(GROUP, VERSION, TEAM, PLURAL, name) for name in self._names]
        return {(TEAM, each["metadata"]["name"]): each for each in found}


def live(line: Connection, name: str, kubeconfig: Path) -> None:
    """The life of the process: it does what the line asks for, until the line ends."""
    os.environ["NO_PROXY"] = "*"
    inside = Inside(_client(kubeconfig))

    def asks(method: str, call: Callable[[], Any]) -> Any:
        line.send(method)
        line.recv()
        try:
            return call()
        finally:
            line.send("did")
            if line.recv() == "lost":
                raise Retry(ANSWER_LOST, "the answer was lost")

    clocks = Clocks(0.0)
    replica: Replica | None = None
    while True:
        what, played = line.recv()
        inside.take(played)
        clocks.wall_s, clocks.elapsed_s = played.wall_s, played.elapsed_s
        if replica is None:
            replica = Replica(name, cast(Any, inside), cast(Any, inside), asks, clocks)
        try:
            if what == "terminate":
                replica.terminate()
            else:
                replica.hear(inside.objects())
                replica.beat()
        except Killed:
            os._exit(LEASE_LOST)
        line.send("done")


def _client(kubeconfig: Path) -> client.ApiClient:
    unproxied: Any = client.Configuration(proxy="")
    load: Any = config.load_kube_config
    load(str(kubeconfig), client_configuration=unproxied)
    return client.ApiClient(unproxied)

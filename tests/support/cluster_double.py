"""A cluster in memory, held to the same contract as the real one."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import JobPhase, PodEndpoint, ProfilingJob, Workload

KINDS = ("Job", "JobSet", "PyTorchJob", "MPIJob", "RayJob")


class ClusterDouble:
    """Holds `workloads` by (kind, namespace, name), their `running` pods' addresses,
    `jobs` and their `manifests` by (namespace, name), `secrets`
    (`unfit`: the types of those that are no credentials), and
    the `events` that were posted. `fails` is raised instead of every answer while it is set; `now_s` stamps Jobs."""

    def __init__(self) -> None:
        self.workloads: dict[tuple[str, str, str], Workload] = {}
        self.jobs: dict[tuple[str, str], ProfilingJob] = {}
        self.manifests: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.secrets: dict[tuple[str, str], Mapping[str, str]] = {}
        self.unfit: dict[tuple[str, str], str] = {}
        self.events: list[tuple[Mapping[str, Any], Event]] = []
        self.running: dict[WorkloadRef, tuple[PodEndpoint, ...]] = {}
        self.fails: MfuError | None = None
        self.now_s = 0.0

    def workload(self, ref: WorkloadRef) -> Workload | None:
        self._fail()
        if ref.kind not in KINDS:
            raise Stall("UnknownKind", f"spec.workload.kind {ref.kind!r} is not one of {', '.join(KINDS)}")
        return self.workloads.get((ref.kind, ref.namespace, ref.name))

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        self._fail()
        return {ref: self.running[ref] for ref in refs if self.running.get(ref)}

    def profiling_job(self, namespace: str, name: str) -> ProfilingJob | None:
        self._fail()
        return self.jobs.get((namespace, name))

    def ensure_job(self, manifest: Mapping[str, Any]) -> None:
        self._fail()
        key = (manifest["metadata"]["namespace"], manifest["metadata"]["name"])
        if key not in self.jobs:
            self.manifests[key] = deepcopy(dict(manifest))
            self.jobs[key] = ProfilingJob(key[1], JobPhase.WAITING, self.now_s)

    def secret(self, namespace: str, name: str) -> Mapping[str, str]:
        self._fail()
        if (namespace, name) not in self.secrets:
            raise Stall("CredentialsMissing", f"there is no Secret {name!r} in namespace {namespace!r}; create it")
        if self.unfit.get((namespace, name)):
            raise Stall("CredentialsUnfit", f"Secret {name!r} is of type {self.unfit[namespace, name]}; make another")
        return self.secrets[namespace, name]

    def post(self, regarding: Mapping[str, Any], event: Event) -> None:
        self._fail()
        self.events.append((dict(regarding), event))

    def becomes(self, name: str, **changes: Any) -> None:
        """What the cluster did with a profiling Job: `phase`, `result`, `reason`, `message`, `node`, `finished_at`."""
        for key, job in self.jobs.items():
            if key[1] == name:
                self.jobs[key] = replace(job, **changes)

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

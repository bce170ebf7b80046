"""A cluster in memory, held to the same contract as the real one."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import JobPhase, PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import SecretUse


def merged(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What a JSON merge patch leaves."""
    kept = {key: value for key, value in before.items() if key not in patch}
    nested = {
        key: merged(before.get(key) or {}, value) if isinstance(value, dict) else value
        for key, value in patch.items()
        if value is not None
    }
    return kept | nested


KINDS = ("Job", "JobSet", "PyTorchJob", "MPIJob", "RayJob")


class ClusterDouble:
    """Holds `workloads` by (kind, namespace, name), their `running` pods' addresses,
    `jobs` and their `manifests` by (namespace, name), `secrets`
    (`secret_types`: the types of those that are not Opaque), and
    `baselines` by (namespace, name) with the changes `written` to their statuses, and
    the `events` that were posted. `fails` is raised instead of every answer while it is set; `now_s` stamps Jobs."""

    def __init__(self) -> None:
        self.workloads: dict[tuple[str, str, str], Workload] = {}
        self.jobs: dict[tuple[str, str], ProfilingJob] = {}
        self.manifests: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.secrets: dict[tuple[str, str], Mapping[str, str | bytes]] = {}
        self.secret_types: dict[tuple[str, str], str] = {}
        self.events: list[tuple[Mapping[str, Any], Event]] = []
        self.running: dict[WorkloadRef, tuple[PodEndpoint, ...]] = {}
        self.baselines: dict[tuple[str, str], dict[str, Any]] = {}
        self.written: list[dict[str, Any]] = []
        self.fails: MfuError | None = None
        self.now_s = 0.0

    def workload(self, ref: WorkloadRef) -> Workload | None:
        self._fail()
        if ref.kind not in KINDS:
            raise Stall("UnknownKind", f"spec.workload.kind {ref.kind!r} is not one of {', '.join(KINDS)}")
        return self.workloads.get((ref.kind, ref.namespace, ref.name))

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
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

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        self._fail()
        where = f"Secret {name!r} in namespace {namespace!r}"
        if (namespace, name) not in self.secrets:
            raise Stall("CredentialsMissing", f"there is no {where}; create it with {use.wanted}")
        kind = self.secret_types.get((namespace, name), "Opaque")
        if kind not in use.types:
            raise Stall("CredentialsUnfit", f"{where} is of type {kind}; make another")
        data = self.secrets[namespace, name]
        texts = {key: data[key] for key in use.keys if key in data}
        unfit = next((key for key, value in texts.items() if not isinstance(value, str)), None)
        if unfit is not None:
            raise Stall("CredentialsUnfit", f"key {unfit} of {where} is no text; write it anew")
        return {key: value for key, value in texts.items() if isinstance(value, str)}

    def exists(self, namespace: str, name: str, uid: str) -> bool:
        self._fail()
        found = self.baselines.get((namespace, name))
        return found is not None and found["metadata"]["uid"] == uid

    def write_status(self, namespace: str, name: str, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        self._fail()
        found = self.baselines.get((namespace, name))
        if found is None:
            return None
        self.written.append(deepcopy(dict(changes)))
        found["status"] = merged(found.get("status", {}), json.loads(json.dumps(changes)))
        metadata = found["metadata"]
        metadata["resourceVersion"] = str(int(metadata.get("resourceVersion", "0")) + 1)
        return deepcopy(found)

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

"""A cluster in memory, held to the same contract as the real one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import msgspec

from mfu_operator.api.bound_address import ADDRESS, unlabelled
from mfu_operator.api.group import INCIDENT_LABEL, KIND
from mfu_operator.errors import Conflict, MfuError, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import JobPhase, PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import ObjectVersion, SecretUse

Json = TypeVar("Json")


def copied(value: Json) -> Json:
    """A JSON value again: many times as fast as `deepcopy`, and stories copy objects all the time."""
    copy: Json = msgspec.json.decode(msgspec.json.encode(value))
    return copy


def merged(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What a JSON merge patch leaves."""
    kept = {key: value for key, value in before.items() if key not in patch}
    nested = {
        key: merged(was if isinstance(was := before.get(key), dict) else {}, value)
        if isinstance(value, dict)
        else value
        for key, value in patch.items()
        if value is not None
    }
    return kept | nested


KINDS = ("Job", "JobSet", "PyTorchJob", "MPIJob", "RayJob")


class ClusterDouble:
    """Holds `workloads` by (kind, namespace, name), those that labels have `followed`, the newest first, their
    `running` pods' addresses, `jobs` and their `manifests` by (namespace, name), `secrets` (`secret_types`: the types
    of those that are not Opaque; `unlabelled`: those that nobody made for baselines), `baselines` by (namespace, name)
    with the changes `written` to their statuses, and the `events` that were posted. `watch` is what a watch tells of
    the baselines, oldest first; `meanwhile` happens once, between a tick and the write of its status. `fails` is raised
    instead of every answer while it is set; `now_s` stamps Jobs."""

    def __init__(self) -> None:
        self.workloads: dict[tuple[str, str, str], Workload] = {}
        self.followed: dict[tuple[tuple[str, str], ...], Sequence[Workload]] = {}
        self.jobs: dict[tuple[str, str], ProfilingJob] = {}
        self.manifests: dict[tuple[str, str], Mapping[str, Any]] = {}
        self.secrets: dict[tuple[str, str], Mapping[str, str | bytes]] = {}
        self.secret_types: dict[tuple[str, str], str] = {}
        self.unlabelled: set[tuple[str, str]] = set()
        self.events: list[tuple[Mapping[str, Any], Event]] = []
        self.running: dict[WorkloadRef, tuple[PodEndpoint, ...]] = {}
        self.baselines: dict[tuple[str, str], dict[str, Any]] = {}
        self.written: list[dict[str, Any]] = []
        self.fails: MfuError | None = None
        self.now_s = 0.0
        self._posted: set[str] = set()
        self.watch: list[tuple[str, dict[str, Any]]] = []
        self.meanwhile: Callable[[], object] | None = None
        self._version = 0
        self._writing = Lock()

    def workload(self, ref: WorkloadRef) -> Workload | None:
        self._fail()
        if ref.kind not in KINDS:
            raise Stall("UnknownKind", f"spec.workload.kind {ref.kind!r} is not one of {', '.join(KINDS)}")
        if ref.selector:
            runs = self.followed.get(ref.selector, ())
            return replace(runs[0], active_runs=tuple(run.name for run in runs)) if runs else None
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
            self.manifests[key] = copied(manifest)
            metadata = manifest["metadata"]
            owner = next((each["uid"] for each in metadata.get("ownerReferences", ()) if each["kind"] == KIND), None)
            subject = metadata.get("labels", {}).get(INCIDENT_LABEL)
            self.jobs[key] = ProfilingJob(key[1], JobPhase.WAITING, self.now_s, owner=owner, subject=subject)

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        self._fail()
        where = f"Secret {name!r} in namespace {namespace!r}"
        if (namespace, name) not in self.secrets:
            raise Stall("CredentialsMissing", f"there is no {where}; create it with {use.wanted}")
        kind = self.secret_types.get((namespace, name), "Opaque")
        if kind not in use.types:
            raise Stall("CredentialsUnfit", f"{where} is of type {kind}; make another")
        if (namespace, name) in self.unlabelled:
            raise unlabelled(namespace, name)
        data = self.secrets[namespace, name]
        texts = {key: data[key] for key in (*use.keys, ADDRESS) if key in data}
        unfit = next((key for key, value in texts.items() if not isinstance(value, str)), None)
        if unfit is not None:
            raise Stall("CredentialsUnfit", f"key {unfit} of {where} is not text; write it again")
        return {key: value for key, value in texts.items() if isinstance(value, str)}

    def baseline(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        self._fail()
        return copied(self.baselines.get((namespace, name)))

    def write_status(self, read: ObjectVersion, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        self._fail()
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        with self._writing:
            found = self.baselines.get((read.namespace, read.name))
            if found is None:
                return None
            if found["metadata"]["resourceVersion"] != read.resource_version:
                raise Conflict("ObjectChanged", f"{read.name} has been modified; read it again and repeat the change")
            self.written.append(copied(dict(changes)))
            self._store(found, status=merged(found.get("status", {}), copied(dict(changes))))
            return copied(found)

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A person applies a baseline; as the API server stores it."""
        metadata = {**body["metadata"], "generation": 1, "resourceVersion": self._next_version()}
        stored = {**copied(body), "metadata": {"uid": str(uuid4()), **metadata}}
        self.baselines[metadata["namespace"], metadata["name"]] = stored
        self.watch.append(("ADDED", copied(stored)))
        return copied(stored)

    def edit(self, namespace: str, name: str, **parts: Any) -> dict[str, Any]:
        """Somebody puts another `spec`, `status` or `annotations` in place of the stored one."""
        found = self.baselines[namespace, name]
        annotations = parts.pop("annotations", None)
        if annotations is not None:
            parts["metadata"] = {**found["metadata"], "annotations": annotations}
        self._store(found, **parts)
        return copied(found)

    def delete(self, namespace: str, name: str) -> None:
        """A person deletes a baseline, and with it what it owns."""
        gone = self.baselines.pop((namespace, name))
        self.watch.append(("DELETED", gone))
        for key, manifest in list(self.manifests.items()):
            if any(owner["uid"] == gone["metadata"]["uid"] for owner in manifest["metadata"]["ownerReferences"]):
                del self.manifests[key], self.jobs[key]

    def _store(self, found: dict[str, Any], **parts: Any) -> None:
        """Another spec is another generation, and what changes anything is another version."""
        before = copied(found)
        found.update(copied(parts))
        found["metadata"]["generation"] += found["spec"] != before["spec"]
        if found != before:
            found["metadata"]["resourceVersion"] = self._next_version()
            self.watch.append(("MODIFIED", copied(found)))

    def _next_version(self) -> str:
        """One count for all objects, as etcd's."""
        known = (int(each["metadata"]["resourceVersion"]) for each in self.baselines.values())
        self._version = 1 + max(self._version, *known, 0)
        return str(self._version)

    def remove_annotation(self, read: ObjectVersion, name: str, value: str) -> None:
        self._fail()
        found = self.baselines.get((read.namespace, read.name))
        if found is None or found["metadata"]["uid"] != read.uid:
            return
        annotations = found["metadata"].get("annotations") or {}
        if annotations.get(name) == value:
            self.edit(read.namespace, read.name, annotations={k: v for k, v in annotations.items() if k != name})

    def post(self, regarding: Mapping[str, Any], event: Event, name: str) -> None:
        self._fail()
        if name not in self._posted:
            self._posted.add(name)
            self.events.append((dict(regarding), event))

    def becomes(self, name: str, **changes: Any) -> None:
        """What the cluster did with a profiling Job: `phase`, `result`, `reason`, `message`, `node`, `finished_at`."""
        for key, job in self.jobs.items():
            if key[1] == name:
                self.jobs[key] = replace(job, **changes)

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails

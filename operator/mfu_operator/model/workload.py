"""A training workload as the cluster has it, and the Jobs that profile it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the run. images are the digests of its containers (spec `image@sha256:` first, else imageID).
    `manifest` is the pod as the cluster has it: read, never aliased, and not kept beyond the tick."""

    name: str
    node: str | None
    phase: str
    ready: bool
    started_at: float | None
    restarts: int
    images: tuple[str, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PodEndpoint:
    """Where a running pod can be reached. `ports` are its containers' named ports."""

    name: str
    ip: str
    ports: Mapping[str, int] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workload:
    """The job and its pods. `template` is its pod template (metadata and spec) as plain dicts: read, never aliased.

    `pod_count` is how many pods that train its spec asks for, None where it does not say. `finished`: its controller
    will run none any more. `owners` are the objects that made it, by API group, kind and name. `documents` are the
    object itself and what its pods are made from (a TrainJob's runtime).
    `name` is the object's; `active_runs` and `earlier_runs` are names, newest first, where labels follow runs that are
    submitted again and again: this one is the first that is active, or the last that was.
    """

    uid: str
    created_at: float
    template: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pods: tuple[Pod, ...] = ()
    pod_count: int | None = None
    finished: bool = False
    owners: tuple[tuple[str, str, str], ...] = ()
    documents: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, compare=False)
    name: str = ""
    active_runs: tuple[str, ...] = ()
    earlier_runs: tuple[str, ...] = ()

    @property
    def template_digest(self) -> str:
        """A digest of what the pods are made of. Labels are left out: a Job's controller writes the Job's uid there."""
        marks = (self.template.get("metadata") or {}).get("annotations")
        said = json.dumps([self.template.get("spec"), marks], sort_keys=True, default=str)
        return sha256(said.encode()).hexdigest()[:12]


class JobPhase(StrEnum):
    """Where a profiling Job stands. WAITING: no pod of it runs yet (not scheduled, pulling)."""

    WAITING = "Waiting"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class ProfilingJob:
    """A profiling Job as observed. `result` is its termination message; `reason` and `message` say why it failed or
    waits (Evicted, Unschedulable, ImagePullBackOff, DeadlineExceeded, …). `owner` is the uid of the TrainingBaseline
    that asked for it, `subject` the id of what it was launched to record; None: it has no such mark."""

    name: str
    phase: JobPhase
    created_at: float
    finished_at: float | None = None
    node: str | None = None
    result: str | None = None
    reason: str | None = None
    message: str | None = None
    owner: str | None = None
    subject: str | None = None

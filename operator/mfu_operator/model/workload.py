"""A training workload as the cluster has it, and the Jobs that profile it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of the run. images are the digests of its containers (spec `image@sha256:` first, else imageID)."""

    name: str
    node: str | None
    phase: str
    ready: bool
    started_at: float | None
    restarts: int
    images: tuple[str, ...] = ()


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

    `pod_count` is how many pods that train its spec asks for, None where it does not say.
    """

    uid: str
    created_at: float
    template: Mapping[str, Any]
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    pods: tuple[Pod, ...] = ()
    pod_count: int | None = None

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
    waits (Evicted, Unschedulable, ImagePullBackOff, DeadlineExceeded, …)."""

    name: str
    phase: JobPhase
    created_at: float
    finished_at: float | None = None
    node: str | None = None
    result: str | None = None
    reason: str | None = None
    message: str | None = None

"""Workloads of every kind with their pods, and where those can be reached."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import REFUSED, translated
from mfu_operator.adapters.cluster.kinds import KINDS, PodsBy, WorkloadKind, has_finished, kind_of, selected_by
from mfu_operator.adapters.cluster.listing import Group, groups_of
from mfu_operator.adapters.cluster.objects import Objects
from mfu_operator.adapters.cluster.pods import endpoint_of, pod_of
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.workload import PodEndpoint, Workload
from mfu_operator.profiling.plan import training_in
from mfu_operator.profiling.plan.kinds import roles_of
from mfu_operator.profiling.plan.runs import ACTIVE, Run, controller_name, name_of_bare, runs_of
from mfu_operator.profiling.plan.training import Training

Manifest = Mapping[str, Any]

MOST_OWNERS = 4
"""From a pod up to the workload: AppWrapper, JobSet, Job, pod are three."""

MOST_RUNS = 8
"""Active at once that are compared by when they were submitted."""


class Workloads:
    """Reads workloads and lists their pods. Safe to call from several threads.

    Args:
        objects: reads one object, lists pods.
        listing_deadline_s: for the pods of all workloads of a source; no request is begun after it.
    """

    def __init__(self, objects: Objects, listing_deadline_s: float) -> None:
        self._objects = objects
        self._listing_deadline_s = listing_deadline_s

    def one(self, ref: WorkloadRef) -> Workload | None:
        """The workload and its pods, None where there is no such object, or no run that its labels follow."""
        with translated(f"reading {ref.title} in {ref.namespace}"):
            kind = self._kind(ref.api_version, ref.kind)
            if ref.selector:
                return self._followed(ref, kind)
            manifest = self._objects.one(ref, kind)
            if manifest is None:
                return None
            return self._made(ref, manifest, self._pods_of(ref, kind, manifest))

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
        """The running pods of many workloads, or why a workload's cannot be listed: one request for a hundred of a
        namespace and kind that have a label, and none after the deadline for all."""
        ends_s = time.monotonic() + self._listing_deadline_s
        found: dict[WorkloadRef, tuple[PodEndpoint, ...] | MfuError] = {}
        labelled = []
        for ref in refs:
            try:
                kind = kind_of(ref.api_version, ref.kind)
                if kind is None or kind.pods_by is not PodsBy.LABEL:
                    found.update(self._alone(ref, ends_s))
                else:
                    labelled += self._labelled(ref, kind, ends_s)
            except MfuError as problem:
                found[ref] = problem
        for group in groups_of(labelled):
            try:
                found.update(self._running(group, ends_s))
            except MfuError as problem:
                found.update(dict.fromkeys(group.workloads, problem))
        return found

    def _kind(self, api_version: str, kind: str) -> WorkloadKind:
        known = kind_of(api_version, kind)
        if known is not None:
            return known
        plural = self._objects.plural(api_version, kind)
        if plural is None:
            raise Stall(
                "UnknownKind",
                f"spec.workload.kind {kind!r} of {api_version} is not a kind that the cluster serves; correct it, or "
                f"use one of {', '.join(KINDS)} (VolcanoJob: Volcano's Job)",
            )
        return WorkloadKind(api_version.rpartition("/")[0], plural, pods_by=PodsBy.OWNER)

    def _made(self, ref: WorkloadRef, manifest: Manifest, pods: Sequence[Manifest]) -> Workload:
        documents = ({"apiVersion": ref.api_version, "kind": ref.kind, **manifest}, *self._made_from(ref, manifest))
        metadata, training = manifest["metadata"], training_in(documents, ref.container)
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") in ACTIVE]
        return Workload(
            uid=metadata["uid"],
            created_at=unix_time(metadata["creationTimestamp"]) or 0.0,
            template=_template(documents, training),
            labels=metadata.get("labels") or {},
            annotations=metadata.get("annotations") or {},
            pods=tuple(pod_of(pod) for pod in alive),
            pod_count=None if training is None else training.pods,
            finished=has_finished(manifest),
            owners=tuple(
                (each["apiVersion"].rpartition("/")[0], each["kind"], each["name"])
                for each in metadata.get("ownerReferences") or ()
            ),
            documents=documents,
            name=metadata["name"],
        )

    def _made_from(self, ref: WorkloadRef, manifest: Manifest) -> tuple[Manifest, ...]:
        return self._objects.made_from(ref, manifest)

    def _pods_of(self, ref: WorkloadRef, kind: WorkloadKind, manifest: Manifest) -> Sequence[Manifest]:
        """All pods of an object, as its kind has them found."""
        match kind.pods_by:
            case PodsBy.ITSELF:
                return [manifest]
            case PodsBy.LABEL:
                value = kind.pod_label_value(manifest)
                return self._objects.pods(ref.namespace, f"{kind.pod_label}={value}") if value else []
            case PodsBy.SELECTOR:
                selector = selected_by((manifest.get("spec") or {}).get("selector") or {})
                return self._objects.pods(ref.namespace, selector) if selector else []
            case PodsBy.OWNER:
                maker = self._maker(ref)
                return [pod for pod in self._objects.pods(ref.namespace, "") if maker(pod) == ref.name]

    def _maker(self, ref: WorkloadRef) -> Callable[[Manifest], str | None]:
        """Finds the object of the workload's kind that made a pod, by its name: the owner, or its owner, and so on.
        Each owner is read once; one that may not be read ends the search."""
        known: dict[tuple[str, str, str], Manifest | None] = {}

        def owner_of(thing: Manifest) -> Manifest | None:
            owners = thing.get("metadata", {}).get("ownerReferences") or ()
            owner = next((each for each in owners if each.get("controller")), None)
            if owner is None:
                return None
            key = (owner["apiVersion"], owner["kind"], owner["name"])
            if key not in known:
                known[key] = self._owner(ref, *key)
            return known[key]

        def name_of(pod: Manifest) -> str | None:
            thing: Manifest | None = pod
            for _ in range(MOST_OWNERS):
                if thing is None:
                    return None
                named = controller_name(thing, ref.kind)
                if named is not None:
                    return named
                thing = owner_of(thing)
            return None

        return name_of

    def _owner(self, ref: WorkloadRef, api_version: str, kind: str, name: str) -> Manifest | None:
        known = kind_of(api_version, kind)
        if known is None:
            return None
        try:
            return self._objects.one(WorkloadRef(api_version, kind, ref.namespace, name), known)
        except ApiException as error:
            if error.status in REFUSED:
                return None
            raise

    def _followed(self, ref: WorkloadRef, kind: WorkloadKind) -> Workload | None:
        """The newest active run of those that the labels find, or the newest that ended."""
        pods = self._objects.pods(ref.namespace, ",".join(f"{key}={value}" for key, value in ref.selector))
        if kind.pods_by is PodsBy.ITSELF:
            return self._bare(ref, [pod for pod in pods if not pod["metadata"].get("ownerReferences")])
        runs = runs_of(pods, self._name_of(ref, kind))
        active = [run for run in runs if run.active]
        manifests = {run.name: self._objects.one(replace(ref, name=run.name), kind) for run in active[:MOST_RUNS]}
        active = [run for run in active if manifests.get(run.name) is not None]
        active.sort(key=lambda run: _submitted(manifests[run.name]), reverse=True)
        ended = [run for run in runs if not run.active]
        for run in (*active, *ended):
            manifest = manifests.get(run.name) or self._objects.one(replace(ref, name=run.name), kind)
            if manifest is not None:
                found = self._made(replace(ref, name=run.name), manifest, run.pods)
                return _among(found, active, [each for each in ended if each is not run])
        return None

    def _name_of(self, ref: WorkloadRef, kind: WorkloadKind) -> Callable[[Manifest], str | None]:
        if kind.labels_name:
            return lambda pod: (pod["metadata"].get("labels") or {}).get(kind.pod_label)
        return self._maker(ref)

    def _bare(self, ref: WorkloadRef, pods: Sequence[Manifest]) -> Workload | None:
        """Pods that nothing made are one run, under what their names begin with."""
        if not pods:
            return None
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") in ACTIVE] or pods
        first = min(alive, key=lambda pod: str(pod["metadata"]["name"]))
        name = name_of_bare(alive)
        found = self._made(replace(ref, name=name), {"apiVersion": "v1", "kind": "Pod", **first}, alive)
        return replace(found, name=name, active_runs=(name,), pod_count=len(alive))

    def _alone(self, ref: WorkloadRef, ends_s: float) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        """The endpoints of a workload whose pods no label tells."""
        found = self.one(ref)
        if found is None or time.monotonic() >= ends_s:
            return {}
        reached = (endpoint_of(pod.manifest) for pod in found.pods if pod.phase == "Running")
        endpoints = tuple(each for each in reached if each is not None)
        return {ref: endpoints} if endpoints else {}

    def _running(self, group: Group, ends_s: float) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        found: dict[WorkloadRef, list[PodEndpoint]] = {}
        with translated(f"listing the pods of workloads in namespace {group.namespace}"):
            for pod in self._objects.pods(group.namespace, group.selector, "status.phase=Running", ends_s):
                endpoint = endpoint_of(pod)
                if endpoint is not None:
                    for owner in group.owners_of(pod):
                        found.setdefault(owner, []).append(endpoint)
        return {owner: tuple(endpoints) for owner, endpoints in found.items()}

    def _labelled(self, ref: WorkloadRef, kind: WorkloadKind, ends_s: float) -> list[tuple[WorkloadRef, str, str]]:
        """The workload with the label of its pods and the label's value: known by name alone where the kind has it so,
        read off the object where its status says it."""
        value = kind.pod_label_value({"metadata": {"name": ref.name}})
        if value is None and ref.name:
            with translated(f"reading {ref.kind} {ref.namespace}/{ref.name}"):
                manifest = self._objects.one(ref, kind, ends_s)
            value = None if manifest is None else kind.pod_label_value(manifest)
        return [(ref, kind.pod_label, value)] if value else []


def _among(found: Workload, active: Sequence[Run], ended: Sequence[Run]) -> Workload:
    return replace(
        found, active_runs=tuple(run.name for run in active), earlier_runs=tuple(run.name for run in ended)[:MOST_RUNS]
    )


def _submitted(manifest: Manifest | None) -> str:
    """When an object was made, as the API writes it: such texts sort as times do."""
    return str(((manifest or {}).get("metadata") or {}).get("creationTimestamp", ""))


def _template(documents: Sequence[Manifest], training: Training | None) -> Manifest:
    """The template of the pods that train; the first one where it cannot be told which do."""
    if training is not None:
        return training.role.template
    return next((role.template for role in roles_of(documents[0])), {})

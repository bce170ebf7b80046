"""The `Cluster` port on the real API, through the official client."""

import base64
import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException

from mfu_operator.adapters.cluster.failures import REFUSED, translated
from mfu_operator.adapters.cluster.kinds import KINDS, RUNTIMES, has_finished, kind_of
from mfu_operator.adapters.cluster.listing import Group, groups_of
from mfu_operator.adapters.cluster.pods import endpoint_of, micro_time, pod_of, profiling_job_of
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.api.bound_address import ADDRESS, unlabelled
from mfu_operator.api.group import CREDENTIALS_LABEL, GROUP, PLURAL, VERSION
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import ObjectVersion, SecretUse
from mfu_operator.profiling.plan import training_in
from mfu_operator.profiling.plan.kinds import roles_of
from mfu_operator.profiling.plan.training import Training

REQUEST_TIMEOUT_S = 15.0
"""An API server that does not answer in this time is as good as unreachable; the next tick asks again."""

CONNECTIONS = 24
"""Kept open: as many as ticks run at once, and some for the Lease and the command line."""

RETRIES = 1
"""A kept connection that the server had closed is made anew. More, and a server that hangs costs as many timeouts."""

COMPONENT = "mfu-operator"

LISTING_DEADLINE_S = 20.0
"""For the pods of all workloads of a source together, shorter than a sweep; the next one lists them anew."""

PODS_IN_A_PAGE = 500
"""As kubectl asks for them: a list of ten thousand pods is a hundred megabytes."""

MERGE_PATCH = "application/merge-patch+json"

JSON_PATCH = "application/json-patch+json"

MESSAGE_LIMIT = 1024
"""What the API allows for an Event's note."""


def connect() -> client.ApiClient:
    """A client from the pod's own service account, or from the kubeconfig outside a cluster.

    Raises:
        Stall: NoCluster, where there is neither.
    """
    try:
        config.load_incluster_config()  # type: ignore[no-untyped-call]
    except ConfigException:
        try:
            config.load_kube_config()  # type: ignore[no-untyped-call]
        except ConfigException as error:
            raise Stall("NoCluster", f"no cluster to talk to: {error}; set KUBECONFIG") from error
    configuration = client.Configuration.get_default_copy()
    configuration.connection_pool_maxsize = CONNECTIONS
    configuration.retries = RETRIES
    return client.ApiClient(configuration)


class KubernetesCluster:
    """The Kubernetes API, narrowed to what is used. Safe to call from several threads.

    Args:
        api: the client.
        listing_deadline_s: for the pods of all workloads of a source; no request is begun after it.
    """

    def __init__(self, api: client.ApiClient, listing_deadline_s: float = LISTING_DEADLINE_S) -> None:
        self._api = api
        self._listing_deadline_s = listing_deadline_s
        self._core = client.CoreV1Api(api)
        self._batch = client.BatchV1Api(api)
        self._events = client.EventsV1Api(api)
        self._custom = client.CustomObjectsApi(api)

    def workload(self, ref: WorkloadRef) -> Workload | None:
        """The workload and its pods, None where there is no such object."""
        kind = kind_of(ref.api_version, ref.kind)
        if kind is None:
            raise Stall(
                "UnknownKind",
                f"spec.workload.kind {ref.kind!r} is not a kind whose pods the operator can find; "
                f"use {', '.join(KINDS)} (VolcanoJob: Volcano's Job)",
            )
        with translated(f"reading {ref.kind} {ref.namespace}/{ref.name}"):
            manifest = self._object(ref, kind.group, kind.plural)
            if manifest is None:
                return None
            documents = (manifest, *self._made_from(ref, manifest))
            value = kind.pod_label_value(manifest)
            selector = f"{kind.pod_label}={value}"
            pods = self._pods(ref.namespace, selector) if value else []
        metadata, training = manifest["metadata"], training_in(documents, ref.container)
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") in ("Pending", "Running")]
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
        )

    def _made_from(self, ref: WorkloadRef, manifest: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """The runtime of a TrainJob; nothing where it has none, or it is not there."""
        said = (manifest.get("spec") or {}).get("runtimeRef") or {}
        kind = said.get("kind") or next(iter(RUNTIMES))
        if ref.kind != "TrainJob" or kind not in RUNTIMES or not isinstance(said.get("name"), str):
            return ()
        version = ref.api_version.rpartition("/")[2]
        place = ("trainer.kubeflow.org", version)
        try:
            if kind == next(iter(RUNTIMES)):
                found: Any = self._custom.get_cluster_custom_object(
                    *place, RUNTIMES[kind], said["name"], _request_timeout=REQUEST_TIMEOUT_S
                )
            else:
                found = self._custom.get_namespaced_custom_object(
                    *place, ref.namespace, RUNTIMES[kind], said["name"], _request_timeout=REQUEST_TIMEOUT_S
                )
        except ApiException as error:
            if error.status == 404:
                return ()
            raise
        return ({"apiVersion": ref.api_version, "kind": kind, **found},)

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
        """The running pods of many workloads, or why a workload's cannot be listed: one request for a hundred of a
        namespace and kind, and none after the deadline for all."""
        ends_s = time.monotonic() + self._listing_deadline_s
        found: dict[WorkloadRef, tuple[PodEndpoint, ...] | MfuError] = {}
        labelled = []
        for ref in refs:
            try:
                labelled += self._labelled(ref, ends_s)
            except MfuError as problem:
                found[ref] = problem
        for group in groups_of(labelled):
            try:
                found.update(self._running(group, ends_s))
            except MfuError as problem:
                found.update(dict.fromkeys(group.workloads, problem))
        return found

    def _running(self, group: Group, ends_s: float) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        found: dict[WorkloadRef, list[PodEndpoint]] = {}
        with translated(f"listing the pods of workloads in namespace {group.namespace}"):
            for pod in self._pods(group.namespace, group.selector, "status.phase=Running", ends_s):
                endpoint = endpoint_of(pod)
                if endpoint is not None:
                    for owner in group.owners_of(pod):
                        found.setdefault(owner, []).append(endpoint)
        return {owner: tuple(endpoints) for owner, endpoints in found.items()}

    def _labelled(self, ref: WorkloadRef, ends_s: float) -> list[tuple[WorkloadRef, str, str]]:
        """The workload with the label of its pods and the label's value: known by name alone where the kind has it so,
        read off the object where its status says it."""
        kind = kind_of(ref.api_version, ref.kind)
        if kind is None:
            return []
        value = kind.pod_label_value({"metadata": {"name": ref.name}})
        if value is None:
            with translated(f"reading {ref.kind} {ref.namespace}/{ref.name}"):
                manifest = self._object(ref, kind.group, kind.plural, ends_s)
            value = None if manifest is None else kind.pod_label_value(manifest)
        return [(ref, kind.pod_label, value)] if value else []

    def pod_page(self, namespace: str, pod: str, port: int, path: str) -> tuple[str, str]:
        """(content type, text) of a page that a pod serves, through the API server: for people outside the cluster.

        The operator itself asks pods directly and may not do this.
        """
        doing = f"asking pod {namespace}/{pod} for port {port} through the API server"
        with translated(doing):
            try:
                answer: Any = self._core.connect_get_namespaced_pod_proxy_with_path(
                    f"{pod}:{port}",
                    namespace,
                    path.lstrip("/"),
                    _preload_content=False,
                    _request_timeout=REQUEST_TIMEOUT_S,
                )
            except ApiException as error:
                if error.status in REFUSED:
                    raise
                raise Retry(
                    "PodUnreachable",
                    f"{doing}: {error.status} {error.reason}: does the training process listen there, at {path}?",
                ) from None
        return answer.headers.get("content-type", ""), answer.data.decode(errors="replace")

    def _object(self, ref: WorkloadRef, group: str, plural: str, ends_s: float = math.inf) -> dict[str, Any] | None:
        version = ref.api_version.rpartition("/")[2]
        try:
            found: Any = self._custom.get_namespaced_custom_object(
                group, version, ref.namespace, plural, ref.name, _request_timeout=_left_s(ends_s)
            )
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        return dict(found)

    def _pods(self, namespace: str, labels: str, fields: str = "", ends_s: float = math.inf) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        more = None
        while True:
            answer: Any = self._core.list_namespaced_pod(
                namespace,
                label_selector=labels,
                field_selector=fields,
                limit=PODS_IN_A_PAGE,
                _preload_content=False,
                _request_timeout=_left_s(ends_s),
                **({} if more is None else {"_continue": more}),
            )
            page = json.loads(answer.data)
            items += page["items"]
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return items

    def profiling_job(self, namespace: str, name: str) -> ProfilingJob | None:
        """A profiling Job as it stands."""
        with translated(f"reading profiling Job {namespace}/{name}"):
            try:
                answer: Any = self._batch.read_namespaced_job(
                    name, namespace, _preload_content=False, _request_timeout=REQUEST_TIMEOUT_S
                )
            except ApiException as error:
                if error.status == 404:
                    return None
                raise
            pods = self._pods(namespace, f"batch.kubernetes.io/job-name={name}")
        return profiling_job_of(json.loads(answer.data), pods, time.time())

    def ensure_job(self, manifest: Mapping[str, Any]) -> None:
        """Create the Job unless one of its name exists."""
        metadata, body = manifest["metadata"], cast(Any, dict(manifest))
        with translated(f"creating profiling Job {metadata['namespace']}/{metadata['name']}"):
            try:
                self._batch.create_namespaced_job(metadata["namespace"], body, _request_timeout=REQUEST_TIMEOUT_S)
            except ApiException as error:
                if error.status != 409:
                    raise

    def secret(self, namespace: str, name: str, use: SecretUse) -> Mapping[str, str]:
        """Those of the use's keys and of `address` that one Secret has, which a person made for it.

        Whoever writes a baseline also says where they are sent, so a ServiceAccount's token, say, is none of them.
        """
        with translated(f"reading Secret {namespace}/{name}"):
            try:
                found = self._core.read_namespaced_secret(name, namespace, _request_timeout=REQUEST_TIMEOUT_S)
            except ApiException as error:
                if error.status == 404:
                    raise Stall(
                        "CredentialsMissing",
                        f"there is no Secret {name!r} in namespace {namespace!r}; create it with {use.wanted}",
                    ) from None
                raise
        if found.type not in use.types:
            raise Stall(
                "CredentialsUnfit",
                f"Secret {name!r} in namespace {namespace!r} is of type {found.type}, which is not read for this; make "
                f"one of type {' or '.join(use.types)} with {use.wanted}",
            )
        data = found.data or {}
        labels = found.metadata.labels if found.metadata is not None else None
        if (labels or {}).get(CREDENTIALS_LABEL) != "true":
            raise unlabelled(namespace, name)
        keys = (*use.keys, ADDRESS)
        return {key: _text(base64.b64decode(data[key]), key, namespace, name) for key in keys if key in data}

    def baseline(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """A TrainingBaseline as it is stored, None where there is none of this name."""
        with translated(f"reading TrainingBaseline {namespace}/{name}"):
            try:
                answer: Any = self._custom.get_namespaced_custom_object(
                    GROUP, VERSION, namespace, PLURAL, name, _request_timeout=REQUEST_TIMEOUT_S
                )
            except ApiException as error:
                if error.status == 404:
                    return None
                raise
        return dict(answer)

    def write_status(self, read: ObjectVersion, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Merge changes into a TrainingBaseline's status; the object as it is stored then, None where it is gone. The
        API server compares the version, which no two objects share, and does not look at the uid of a status.

        Raises:
            Conflict: (ObjectChanged) what is stored is no longer the version that was read.
        """
        rests_on = {"uid": read.uid, "resourceVersion": read.resource_version}
        with translated(f"writing the status of TrainingBaseline {read.namespace}/{read.name}"):
            try:
                answer: Any = self._custom.patch_namespaced_custom_object_status(
                    GROUP,
                    VERSION,
                    read.namespace,
                    PLURAL,
                    read.name,
                    {"metadata": rests_on, "status": dict(changes)},
                    _content_type=MERGE_PATCH,
                    _request_timeout=REQUEST_TIMEOUT_S,
                )
            except ApiException as error:
                if error.status == 404:
                    return None
                raise
        return dict(answer)

    def remove_annotation(self, read: ObjectVersion, name: str, value: str) -> None:
        """Remove an annotation from a TrainingBaseline, unless it has another value by now, or the object is gone."""
        at = f"/metadata/annotations/{name.replace('~', '~0').replace('/', '~1')}"
        change: Any = [
            {"op": "test", "path": "/metadata/uid", "value": read.uid},
            {"op": "test", "path": at, "value": value},
            {"op": "remove", "path": at},
        ]
        with translated(f"removing annotation {name} from TrainingBaseline {read.namespace}/{read.name}"):
            try:
                self._custom.patch_namespaced_custom_object(
                    GROUP,
                    VERSION,
                    read.namespace,
                    PLURAL,
                    read.name,
                    change,
                    _content_type=JSON_PATCH,
                    _request_timeout=REQUEST_TIMEOUT_S,
                )
            except ApiException as error:
                if error.status not in (404, 422):
                    raise

    def post(self, regarding: Mapping[str, Any], event: Event, name: str) -> None:
        """Post an Event on an object (apiVersion, kind, namespace, name, uid) unless there is one of this name."""
        body: Any = {
            "metadata": {"name": name, "namespace": regarding["namespace"]},
            "eventTime": micro_time(time.time()),
            "reportingController": COMPONENT,
            "reportingInstance": COMPONENT,
            "action": "Reconcile",
            "reason": event.reason,
            "type": event.kind,
            "note": event.message[:MESSAGE_LIMIT],
            "regarding": dict(regarding),
        }
        with translated(f"posting Event {event.reason}"):
            try:
                self._events.create_namespaced_event(regarding["namespace"], body, _request_timeout=REQUEST_TIMEOUT_S)
            except ApiException as error:
                if error.status != 409:
                    raise


def _template(documents: Sequence[Mapping[str, Any]], training: Training | None) -> Mapping[str, Any]:
    """The template of the pods that train; the first one where it cannot be told which do."""
    if training is not None:
        return training.role.template
    return next((role.template for role in roles_of(documents[0])), {})


def _text(content: bytes, key: str, namespace: str, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Stall(
            "CredentialsUnfit",
            f"key {key} of Secret {name!r} in namespace {namespace!r} is no text in UTF-8; write it anew",
        ) from None


def _left_s(ends_s: float) -> float:
    """What is left for one request. Raises Retry(ClusterUnreachable) where nothing is."""
    left_s = ends_s - time.monotonic()
    if left_s <= 0:
        raise Retry("ClusterUnreachable", "the API server was too slow to list the pods of all workloads in one sweep")
    return min(REQUEST_TIMEOUT_S, left_s)

"""The `Cluster` port on the real API, through the official client."""

import base64
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException

from mfu_operator.adapters.cluster.bounded import bounded
from mfu_operator.adapters.cluster.failures import REFUSED, translated
from mfu_operator.adapters.cluster.objects import REQUEST_TIMEOUT_S, Objects
from mfu_operator.adapters.cluster.pods import micro_time, profiling_job_of
from mfu_operator.adapters.cluster.workloads import Workloads
from mfu_operator.api.bound_address import ADDRESS, unlabelled
from mfu_operator.api.group import CREDENTIALS_LABEL, GROUP, PLURAL, VERSION
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import NOTE_BYTES, Event, within
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import ObjectVersion, SecretUse

CONNECTIONS = 24
"""Kept open: as many as ticks run at once, and some for the Lease and the command line."""

RETRIES = 1
"""A kept connection that the server had closed is made again, within the same deadline."""

COMPONENT = "mfu-operator"

LISTING_DEADLINE_S = 20.0
"""For the pods of all workloads of a source together, shorter than a sweep; the next one lists them again."""

MERGE_PATCH = "application/merge-patch+json"

JSON_PATCH = "application/json-patch+json"


def connect(kubeconfig: str | None = None, context: str | None = None) -> client.ApiClient:
    """A client from the pod's own service account, or from the kubeconfig outside a cluster.

    Args:
        kubeconfig: the file; None: where kubectl looks for it.
        context: the context in it; None: the current one. With either, the pod's own account is not used.

    Raises:
        Stall: NoCluster, where there is neither, or no such context.
    """
    try:
        if kubeconfig is not None or context is not None:
            raise ConfigException("asked for by name")
        config.load_incluster_config()  # type: ignore[no-untyped-call]
    except ConfigException:
        try:
            config.load_kube_config(kubeconfig, context)  # type: ignore[no-untyped-call]
        except ConfigException as error:
            raise Stall(
                "NoCluster", f"no cluster to talk to: {error}; set KUBECONFIG, or see kubectl config get-contexts"
            ) from error
    configuration = client.Configuration.get_default_copy()
    configuration.connection_pool_maxsize = CONNECTIONS
    configuration.retries = RETRIES
    return bounded(configuration, REQUEST_TIMEOUT_S)


class KubernetesCluster:
    """The Kubernetes API, narrowed to what is used. Safe to call from several threads.

    Args:
        api: the client.
        listing_deadline_s: for the pods of all workloads of a source; no request is begun after it.
    """

    def __init__(self, api: client.ApiClient, listing_deadline_s: float = LISTING_DEADLINE_S) -> None:
        self._api = api
        self._objects = Objects(api)
        self._workloads = Workloads(self._objects, listing_deadline_s)
        self._core = client.CoreV1Api(api)
        self._batch = client.BatchV1Api(api)
        self._events = client.EventsV1Api(api)
        self._custom = client.CustomObjectsApi(api)

    def workload(self, ref: WorkloadRef) -> Workload | None:
        """The workload and its pods, None where there is no such object, or no run that its labels follow."""
        return self._workloads.one(ref)

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...] | MfuError]:
        """The running pods of many workloads, or why a workload's cannot be listed: one request for a hundred of a
        namespace and kind, and none after the deadline for all."""
        return self._workloads.endpoints(refs)

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
            pods = self._objects.pods(namespace, f"batch.kubernetes.io/job-name={name}")
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
        """A TrainingBaseline as it is stored, None where none has this name."""
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
            "note": within(event.message, NOTE_BYTES),
            "regarding": dict(regarding),
        }
        with translated(f"posting Event {event.reason}"):
            try:
                self._events.create_namespaced_event(regarding["namespace"], body, _request_timeout=REQUEST_TIMEOUT_S)
            except ApiException as error:
                if error.status != 409:
                    raise


def _text(content: bytes, key: str, namespace: str, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Stall(
            "CredentialsUnfit",
            f"key {key} of Secret {name!r} in namespace {namespace!r} is not text in UTF-8; write it again",
        ) from None

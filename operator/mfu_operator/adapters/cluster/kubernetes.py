"""The `Cluster` port on the real API, through the official client."""

import base64
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException

from mfu_operator.adapters.cluster.failures import REFUSED, translated
from mfu_operator.adapters.cluster.kinds import WorkloadKind, kind_of
from mfu_operator.adapters.cluster.pods import endpoint_of, micro_time, pod_of, profiling_job_of, unix_time
from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.condition import Event
from mfu_operator.model.workload import PodEndpoint, ProfilingJob, Workload
from mfu_operator.ports import SecretUse

REQUEST_TIMEOUT_S = 15.0
"""An API server that does not answer in this time is as good as unreachable; the next tick asks again."""

CONNECTIONS = 24
"""Kept open: as many as ticks run at once, and some for the Lease and the command line."""

COMPONENT = "mfu-operator"

NAMES_IN_A_SELECTOR = 100
"""Label values in one selector: a request's address may hold 8 KB."""

MERGE_PATCH = "application/merge-patch+json"

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
    return client.ApiClient(configuration)


class KubernetesCluster:
    """The Kubernetes API, narrowed to what is used. Safe to call from several threads."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
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
                "use Job, JobSet, PyTorchJob, MPIJob, RayJob or Volcano's Job",
            )
        with translated(f"reading {ref.kind} {ref.namespace}/{ref.name}"):
            manifest = self._object(ref, kind.group, kind.plural)
            if manifest is None:
                return None
            value = kind.label_value(manifest)
            selector = f"{kind.pod_label}={value}"
            pods = self._pods(ref.namespace, selector) if value else []
        metadata = manifest["metadata"]
        alive = [pod for pod in pods if pod.get("status", {}).get("phase") in ("Pending", "Running")]
        return Workload(
            uid=metadata["uid"],
            created_at=unix_time(metadata["creationTimestamp"]) or 0.0,
            template=kind.template(manifest) or {},
            labels=metadata.get("labels") or {},
            annotations=metadata.get("annotations") or {},
            pods=tuple(pod_of(pod) for pod in alive),
            pod_count=kind.pod_count(manifest),
        )

    def endpoints(self, refs: Sequence[WorkloadRef]) -> Mapping[WorkloadRef, tuple[PodEndpoint, ...]]:
        """The running pods of many workloads: one request for a hundred of a namespace and kind."""
        found: dict[WorkloadRef, list[PodEndpoint]] = {}
        with translated("listing the pods of workloads"):
            for namespace, label, owners in self._by_label(refs):
                selector = f"{label} in ({','.join(sorted(owners))})"
                for pod in self._pods(namespace, selector, "status.phase=Running"):
                    endpoint = endpoint_of(pod)
                    owner = owners.get(pod["metadata"]["labels"].get(label, ""))
                    if endpoint is not None and owner is not None:
                        found.setdefault(owner, []).append(endpoint)
        return {ref: tuple(endpoints) for ref, endpoints in found.items()}

    def _by_label(self, refs: Sequence[WorkloadRef]) -> Iterator[tuple[str, str, Mapping[str, WorkloadRef]]]:
        """(namespace, label of the pods, workload by the label's value), in groups that fit into one request."""
        groups: dict[tuple[str, str], dict[str, WorkloadRef]] = {}
        for ref in refs:
            kind = kind_of(ref.api_version, ref.kind)
            value = self._label_value(ref, kind) if kind is not None else None
            if kind is not None and value:
                groups.setdefault((ref.namespace, kind.pod_label), {})[value] = ref
        for (namespace, label), owners in groups.items():
            values = list(owners.items())
            for start in range(0, len(values), NAMES_IN_A_SELECTOR):
                yield namespace, label, dict(values[start : start + NAMES_IN_A_SELECTOR])

    def _label_value(self, ref: WorkloadRef, kind: WorkloadKind) -> str | None:
        """The value by name alone where the kind has it so; the object is read where its status says it."""
        by_name = kind.label_value({"metadata": {"name": ref.name}})
        if by_name is not None:
            return by_name
        manifest = self._object(ref, kind.group, kind.plural)
        return None if manifest is None else kind.label_value(manifest)

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

    def _object(self, ref: WorkloadRef, group: str, plural: str) -> dict[str, Any] | None:
        version = ref.api_version.rpartition("/")[2]
        try:
            found: Any = self._custom.get_namespaced_custom_object(
                group, version, ref.namespace, plural, ref.name, _request_timeout=REQUEST_TIMEOUT_S
            )
        except ApiException as error:
            if error.status == 404:
                return None
            raise
        return dict(found)

    def _pods(self, namespace: str, labels: str, fields: str = "") -> list[dict[str, Any]]:
        answer: Any = self._core.list_namespaced_pod(
            namespace,
            label_selector=labels,
            field_selector=fields,
            _preload_content=False,
            _request_timeout=REQUEST_TIMEOUT_S,
        )
        items: list[dict[str, Any]] = json.loads(answer.data)["items"]
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
        """Those of the use's keys that one Secret has, which a person made for it.

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
        return {key: _text(base64.b64decode(data[key]), key, namespace, name) for key in use.keys if key in data}

    def exists(self, namespace: str, name: str, uid: str) -> bool:
        """Whether there still is this TrainingBaseline."""
        with translated(f"reading TrainingBaseline {namespace}/{name}"):
            try:
                answer: Any = self._custom.get_namespaced_custom_object(
                    GROUP, VERSION, namespace, PLURAL, name, _request_timeout=REQUEST_TIMEOUT_S
                )
            except ApiException as error:
                if error.status == 404:
                    return False
                raise
        return bool(answer["metadata"]["uid"] == uid)

    def write_status(self, namespace: str, name: str, changes: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Merge changes into a TrainingBaseline's status; the object as it is stored then, None where it is gone."""
        with translated(f"writing the status of TrainingBaseline {namespace}/{name}"):
            try:
                answer: Any = self._custom.patch_namespaced_custom_object_status(
                    GROUP,
                    VERSION,
                    namespace,
                    PLURAL,
                    name,
                    {"status": dict(changes)},
                    _content_type=MERGE_PATCH,
                    _request_timeout=REQUEST_TIMEOUT_S,
                )
            except ApiException as error:
                if error.status == 404:
                    return None
                raise
        return dict(answer)

    def post(self, regarding: Mapping[str, Any], event: Event) -> None:
        """Post an Event on an object (apiVersion, kind, namespace, name, uid)."""
        body: Any = {
            "metadata": {
                "name": f"{regarding['name'][:40]}.{uuid.uuid4().hex[:16]}",
                "namespace": regarding["namespace"],
            },
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
            self._events.create_namespaced_event(regarding["namespace"], body, _request_timeout=REQUEST_TIMEOUT_S)


def _text(content: bytes, key: str, namespace: str, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Stall(
            "CredentialsUnfit",
            f"key {key} of Secret {name!r} in namespace {namespace!r} is no text in UTF-8; write it anew",
        ) from None

"""Clusters in which a person makes objects: the double, and a real API server with a kubelet behind it."""

import base64
import json
import time
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4

from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.cluster.kubernetes import MERGE_PATCH
from mfu_operator.api.group import CREDENTIALS_LABEL, GROUP, GROUP_VERSION, KIND, PLURAL, VERSION
from mfu_operator.model.workload import Pod, Workload
from mfu_operator.ports import Cluster, ObjectVersion
from tests.support.awaited import awaited
from tests.support.cluster_double import ClusterDouble

IMAGE = "registry.invalid/nobody@sha256:" + "0" * 64
PATIENCE_S = 180.0


class Arena(Protocol):
    """A cluster with one namespace, in which a person makes objects."""

    namespace: str

    @property
    def cluster(self) -> Cluster: ...
    def run(self, name: str) -> None: ...
    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None: ...
    def unlabel_secret(self, name: str) -> None: ...
    def jobs(self) -> list[str]: ...
    def events(self) -> list[tuple[str, str, str]]: ...
    def apply(self, name: str) -> ObjectVersion: ...
    def suspend(self, name: str, value: bool) -> None: ...
    def delete(self, name: str) -> None: ...
    def annotate(self, name: str, annotations: dict[str, str]) -> None: ...


def baseline(namespace: str, name: str) -> dict[str, Any]:
    """A TrainingBaseline of a job that does not exist, suspended: an operator that runs writes its status once."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "nobody"},
            "comparable": {"model": "gpt-small"},
            "baseline": {"values": {"mfu": 0.46}},
            "suspend": True,
        },
    }


def version_of(body: Mapping[str, Any]) -> ObjectVersion:
    """What a write rests on that was decided by this object."""
    metadata = body["metadata"]
    return ObjectVersion(metadata["namespace"], metadata["name"], metadata["uid"], metadata["resourceVersion"])


def job(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """A Job whose image nobody can pull."""
    container = {"name": "train", "image": IMAGE, "imagePullPolicy": "Never", "command": ["true"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "a"}, "annotations": {"note": "mine"}},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {"app": "gpt"}},
                "spec": {"restartPolicy": "Never", "containers": [container], **spec},
            },
        },
    }


class DoubleArena:
    namespace = "contract-double"

    def __init__(self) -> None:
        self.cluster = ClusterDouble()

    def run(self, name: str) -> None:
        manifest = job(self.namespace, name)
        self.cluster.workloads["Job", self.namespace, name] = Workload(
            uuid4().hex,
            time.time(),
            manifest["spec"]["template"],
            manifest["metadata"]["labels"],
            manifest["metadata"]["annotations"],
            (Pod(f"{name}-x", "node", "Pending", False, None, 0, (IMAGE,)),),
            pod_count=1,
        )

    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None:
        self.cluster.secrets[self.namespace, name] = data
        self.cluster.secret_types[self.namespace, name] = kind

    def unlabel_secret(self, name: str) -> None:
        self.cluster.unlabelled.add((self.namespace, name))

    def jobs(self) -> list[str]:
        return [name for _, name in self.cluster.jobs]

    def events(self) -> list[tuple[str, str, str]]:
        return [(event.kind, event.reason, event.message) for _, event in self.cluster.events]

    def apply(self, name: str) -> ObjectVersion:
        return version_of(self.cluster.create(baseline(self.namespace, name)))

    def suspend(self, name: str, value: bool) -> None:
        spec = self.cluster.baselines[self.namespace, name]["spec"]
        self.cluster.edit(self.namespace, name, spec={**spec, "suspend": value})

    def delete(self, name: str) -> None:
        self.cluster.delete(self.namespace, name)

    def annotate(self, name: str, annotations: dict[str, str]) -> None:
        self.cluster.edit(self.namespace, name, annotations=annotations)


class RealArena:
    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self.namespace = namespace
        self.cluster = KubernetesCluster(api)
        # The client takes plain dicts and answers with raw responses where it is asked to; its type hints know neither.
        self._core: Any = client.CoreV1Api(api)
        self._batch: Any = client.BatchV1Api(api)
        self._events: Any = client.EventsV1Api(api)
        self._custom = client.CustomObjectsApi(api)
        self._baselines = (GROUP, VERSION, namespace, PLURAL)

    def run(self, name: str) -> None:
        self._batch.create_namespaced_job(self.namespace, job(self.namespace, name))

    def keep_secret(self, name: str, data: dict[str, str | bytes], kind: str = "Opaque") -> None:
        raw = {key: value.encode() if isinstance(value, str) else value for key, value in data.items()}
        encoded = {key: base64.b64encode(value).decode() for key, value in raw.items()}
        body = {"metadata": {"name": name, "labels": {CREDENTIALS_LABEL: "true"}}, "type": kind, "data": encoded}
        self._core.create_namespaced_secret(self.namespace, body)

    def unlabel_secret(self, name: str) -> None:
        body = {"metadata": {"labels": {CREDENTIALS_LABEL: None}}}
        self._core.patch_namespaced_secret(name, self.namespace, body)

    def jobs(self) -> list[str]:
        return [each.metadata.name for each in self._batch.list_namespaced_job(self.namespace).items]

    def events(self) -> list[tuple[str, str, str]]:
        answer = self._events.list_namespaced_event(self.namespace, _preload_content=False)
        found = json.loads(answer.data)["items"]
        ours = [each for each in found if each["reportingController"] == "mfu-operator"]
        return [(each["type"], each["reason"], each["note"]) for each in ours]

    def apply(self, name: str) -> ObjectVersion:
        self._custom.create_namespaced_custom_object(*self._baselines, baseline(self.namespace, name))
        found = awaited(lambda: self.cluster.baseline(self.namespace, name), _noticed, PATIENCE_S)
        return version_of(found or {})

    def suspend(self, name: str, value: bool) -> None:
        self._custom.patch_namespaced_custom_object(
            *self._baselines, name, {"spec": {"suspend": value}}, _content_type=MERGE_PATCH
        )

    def annotate(self, name: str, annotations: dict[str, str]) -> None:
        self._custom.patch_namespaced_custom_object(
            *self._baselines, name, {"metadata": {"annotations": annotations}}, _content_type=MERGE_PATCH
        )

    def delete(self, name: str) -> None:
        self._custom.delete_namespaced_custom_object(*self._baselines, name)
        awaited(lambda: self.cluster.baseline(self.namespace, name), lambda it: it is None, PATIENCE_S)


def _noticed(found: Mapping[str, Any] | None) -> bool:
    """Whether the operator that runs there has said what it has to say of a suspended baseline."""
    return bool(found and (found.get("status") or {}).get("observedGeneration") == found["metadata"]["generation"])


def unique(stem: str) -> str:
    return f"{stem}-{uuid4().hex[:6]}"

"""Objects of any kind and lists of pods, as plain dictionaries."""

import json
import math
import time
from collections.abc import Mapping
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.kinds import RUNTIMES, WorkloadKind
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import WorkloadRef

REQUEST_TIMEOUT_S = 15.0
"""An API server that does not answer in this time is as good as unreachable; the next tick asks again."""

PODS_IN_A_PAGE = 500
"""As kubectl asks for them: a list of ten thousand pods is a hundred megabytes."""

_ABSENT = 404


class Objects:
    """Reads objects and lists pods. Safe to call from several threads. Every method raises ApiException.

    Args:
        api: the client.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._core = client.CoreV1Api(api)
        self._custom = client.CustomObjectsApi(api)

    def one(self, ref: WorkloadRef, kind: WorkloadKind, ends_s: float = math.inf) -> dict[str, Any] | None:
        """An object; None where there is none, or no such kind. A pod is listed: that right is there anyway."""
        if kind.group == "":
            found = self.pods(ref.namespace, "", f"metadata.name={ref.name}", ends_s)
            return {"apiVersion": "v1", "kind": "Pod", **found[0]} if found else None
        version = ref.api_version.rpartition("/")[2]
        try:
            answer: Any = self._custom.get_namespaced_custom_object(
                kind.group, version, ref.namespace, kind.plural, ref.name, _request_timeout=left_s(ends_s)
            )
        except ApiException as error:
            if error.status == _ABSENT:
                return None
            raise
        return dict(answer)

    def plural(self, api_version: str, kind: str) -> str | None:
        """What the API server calls objects of a kind; None where it knows none."""
        group, _, version = api_version.rpartition("/")
        if not group:
            return None
        try:
            answer: Any = self._custom.get_api_resources(group, version, _request_timeout=REQUEST_TIMEOUT_S)
        except ApiException as error:
            if error.status == _ABSENT:
                return None
            raise
        served = ((each.kind, each.name) for each in answer.resources or () if "/" not in each.name)
        return next((name for served_kind, name in served if served_kind == kind), None)

    def made_from(self, ref: WorkloadRef, manifest: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
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
            if error.status == _ABSENT:
                return ()
            raise
        return ({"apiVersion": ref.api_version, "kind": kind, **found},)

    def pods(self, namespace: str, labels: str, fields: str = "", ends_s: float = math.inf) -> list[dict[str, Any]]:
        """All pods that the selectors match, page by page."""
        items: list[dict[str, Any]] = []
        more = None
        while True:
            answer: Any = self._core.list_namespaced_pod(
                namespace,
                label_selector=labels,
                field_selector=fields,
                limit=PODS_IN_A_PAGE,
                _preload_content=False,
                _request_timeout=left_s(ends_s),
                **({} if more is None else {"_continue": more}),
            )
            page = json.loads(answer.data)
            items += page["items"]
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return items


def left_s(ends_s: float) -> float:
    """What is left for one request. Raises Retry(ClusterUnreachable) where nothing is."""
    left = ends_s - time.monotonic()
    if left <= 0:
        raise Retry("ClusterUnreachable", "the API server was too slow to list the pods of all workloads in one sweep")
    return min(REQUEST_TIMEOUT_S, left)

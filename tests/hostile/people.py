"""Who writes TrainingBaselines, before a real API server with the chart's roles and policies."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.api.group import GROUP, GROUP_VERSION, KIND, PLURAL, VERSION
from tests.faults.control_plane import ACCOUNT, ControlPlane

READER, AUTHOR, LEAD, STRANGER = "reader", "author", "lead", "stranger"
GRANTED = "team-b"
"""The namespace to which an administrator granted what a delivery tool may write."""
DELIVERER = "system:serviceaccount:argocd:argocd-application-controller"
VIEWER_ROLE, OBSERVER_ROLE, PROPOSER_ROLE = (
    f"mfu-system-mfu-operator-{role}" for role in ("viewer", "observer", "proposer")
)
PROMETHEUS = {"address": "https://mimir.example"}
APPLICATION = {"kind": "Application", "namespace": "argocd", "name": "gpt"}
SPEC: Mapping[str, Any] = {
    "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt"},
    "comparable": {"model": "gpt-small"},
    "baseline": {"values": {"mfu": 0.46}},
}
FREEZE = [{"days": ["Sat", "Sun"], "reason": "weekend"}]
EVERYTHING: Mapping[str, Any] = {
    "profiling": {"command": ["python", "train.py"], "env": {"A": "b"}},
    "remediation": {
        "mode": "PullRequest",
        "forge": {"secretRef": {"name": "forge"}},
        "application": APPLICATION,
        "freeze": FREEZE,
    },
    "metrics": {"prometheus": {**PROMETHEUS, "secretRef": {"name": "mimir"}}},
}


def bindings(namespace: str) -> list[dict[str, Any]]:
    """The author may write baselines and nothing else; the lead may also propose; the delivery tool may do all."""
    return [
        _bound("readers", namespace, VIEWER_ROLE, (READER,)),
        _bound("authors", namespace, OBSERVER_ROLE, (AUTHOR, LEAD)),
        _bound("leads", namespace, PROPOSER_ROLE, (LEAD,)),
        _bound("deliverers", namespace, "cluster-admin", (DELIVERER,)),
    ]


def _bound(name: str, namespace: str, role: str, users: Sequence[str]) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "User", "apiGroup": group, "name": each} for each in users],
    }


def api_of(plane: ControlPlane, name: str) -> client.ApiClient:
    """The API server as somebody meets it."""
    if name == ACCOUNT:
        return plane.operator
    return client.ApiClient(plane.administrator.configuration, "Impersonate-User", name)


class Person:
    """Somebody who writes baselines of one namespace, with his own rights."""

    def __init__(self, plane: ControlPlane, name: str, namespace: str) -> None:
        self._api = api_of(plane, name)
        self._namespace = namespace
        self._custom = client.CustomObjectsApi(self._api)

    def creates(self, name: str, spec: Mapping[str, Any], annotations: Mapping[str, str] | None = None) -> str:
        """What the API server says of a new object: "" where it is taken. Nothing is stored."""
        metadata = {"name": name, "namespace": self._namespace, "annotations": dict(annotations or {})}
        body = {"apiVersion": GROUP_VERSION, "kind": KIND, "metadata": metadata, "spec": dict(spec)}
        return self._said(lambda: self._custom.create_namespaced_custom_object(
            GROUP, VERSION, self._namespace, PLURAL, body, dry_run="All"
        ))  # fmt: skip

    def changes(self, name: str, change: Mapping[str, Any]) -> str:
        """What it says of a change to an object (a merge patch): "" where it is taken. Nothing is stored."""
        return self._said(lambda: self._custom.patch_namespaced_custom_object(
            GROUP, VERSION, self._namespace, PLURAL, name, dict(change), dry_run="All",
            _content_type="application/merge-patch+json",
        ))  # fmt: skip

    @contextmanager
    def status(self, name: str, fields: Mapping[str, Any]) -> Iterator[None]:
        """Its status holds these fields for a while, and none of them before and afterwards."""

        def write(written: Mapping[str, Any]) -> None:
            self._custom.patch_namespaced_custom_object_status(
                GROUP, VERSION, self._namespace, PLURAL, name, {"status": dict(written)},
                _content_type="application/merge-patch+json",
            )  # fmt: skip

        write(fields)
        try:
            yield
        finally:
            write(dict.fromkeys(fields))

    def _said(self, deed: Any) -> str:
        try:
            deed()
        except ApiException as refused:
            return str(refused.body)
        return ""

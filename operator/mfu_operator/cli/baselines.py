"""TrainingBaselines for the command line, with the caller's own rights."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.kubernetes import MERGE_PATCH
from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.cli.connection import connected, current_namespace
from mfu_operator.errors import Stall
from mfu_operator.model.terminal_text import for_terminal

TIMEOUT_S = 15.0
"""For one request, for which a person waits."""


def one(namespace: str | None, name: str) -> Mapping[str, Any]:
    """One TrainingBaseline.

    Raises:
        Stall: BaselineNotFound, NoCluster, ClusterAccessDenied.
        Retry: ClusterUnreachable.
    """
    api = client.CustomObjectsApi(connected())
    where = namespace or current_namespace()
    with translated(f"reading TrainingBaseline {where}/{name}"):
        try:
            found: Any = api.get_namespaced_custom_object(
                GROUP, VERSION, where, PLURAL, name, _request_timeout=TIMEOUT_S
            )
        except ApiException as error:
            if error.status != 404:
                raise
            raise Stall(
                "BaselineNotFound", f"no TrainingBaseline {name!r} in namespace {where!r}; kubectl get tb -A lists them"
            ) from None
    return dict(_for_terminal(found))


def several(namespace: str | None, everywhere: bool) -> Sequence[Mapping[str, Any]]:
    """The TrainingBaselines of a namespace, or of all."""
    api = client.CustomObjectsApi(connected())
    with translated("listing TrainingBaselines"):
        found: Any = (
            api.list_cluster_custom_object(GROUP, VERSION, PLURAL, _request_timeout=TIMEOUT_S)
            if everywhere
            else api.list_namespaced_custom_object(
                GROUP, VERSION, namespace or current_namespace(), PLURAL, _request_timeout=TIMEOUT_S
            )
        )
    items: list[Mapping[str, Any]] = _for_terminal(found["items"])
    return items


def _for_terminal(value: Any) -> Any:
    """An object whose texts may all be shown: of its status, servers and committers wrote the half."""
    if isinstance(value, str):
        return for_terminal(value)
    if isinstance(value, Mapping):
        return {name: _for_terminal(each) for name, each in value.items()}
    return [_for_terminal(each) for each in value] if isinstance(value, list) else value


def patch(metadata: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Change a TrainingBaseline that was read, unless it was changed since.

    Args:
        metadata: its own, as it was read.
        change: a JSON merge patch.

    Raises:
        Stall: ClusterAccessDenied, ClusterRefused.
        Retry: ClusterUnreachable.
        Conflict: ObjectChanged, where somebody else was quicker.
    """
    api = client.CustomObjectsApi(connected())
    namespace, name = metadata["namespace"], metadata["name"]
    guarded = {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": metadata.get("resourceVersion")}}
    with translated(f"changing TrainingBaseline {namespace}/{name}"):
        api.patch_namespaced_custom_object(
            GROUP,
            VERSION,
            namespace,
            PLURAL,
            name,
            guarded,
            _content_type=MERGE_PATCH,
            _request_timeout=TIMEOUT_S,
        )

"""TrainingBaselines for the command line, with the caller's own rights."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.kubernetes import MERGE_PATCH
from mfu_operator.api.group import GROUP, PLURAL, VERSION
from mfu_operator.cli.connection import connected, current_namespace
from mfu_operator.errors import MfuError, Retry, Stall
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
    with _for_a_person(where), translated(f"reading TrainingBaseline {where}/{name}"):
        try:
            found: Any = api.get_namespaced_custom_object(
                GROUP, VERSION, where, PLURAL, name, _request_timeout=TIMEOUT_S
            )
        except ApiException as error:
            if error.status != 404:
                raise
            if _is_of_a_kind(error):
                raise _not_found(where, name) from None
            raise _no_definition() from None
    return dict(_for_terminal(found))


def several(namespace: str | None, everywhere: bool) -> Sequence[Mapping[str, Any]]:
    """The TrainingBaselines of a namespace, or of all."""
    api = client.CustomObjectsApi(connected())
    where = None if everywhere else namespace or current_namespace()
    with _for_a_person(where), translated("listing TrainingBaselines"):
        try:
            found: Any = (
                api.list_cluster_custom_object(GROUP, VERSION, PLURAL, _request_timeout=TIMEOUT_S)
                if where is None
                else api.list_namespaced_custom_object(GROUP, VERSION, where, PLURAL, _request_timeout=TIMEOUT_S)
            )
        except ApiException as error:
            if error.status != 404:
                raise
            raise _no_definition() from None
    items: list[Mapping[str, Any]] = _for_terminal(found["items"])
    return items


@contextmanager
def _for_a_person(namespace: str | None) -> Iterator[None]:
    """Say of a refusal or of silence what the person at the command line can look at: the rights are theirs."""
    where = "-A" if namespace is None else f"-n {namespace}"
    try:
        yield
    except Stall as error:
        if error.reason != "ClusterAccessDenied":
            raise
        told = (
            f"{error.message.partition('; where a right')[0]}. It is your own user that is refused, not the operator: "
            f"kubectl auth can-i list {PLURAL}.{GROUP} {where}. The chart's ClusterRole …-viewer has the right, and "
            "`view` has it too"
        )
        raise Stall("ClusterAccessDenied", told) from None
    except Retry as error:
        told = f"{error.message}. Is it the cluster that you mean? kubectl config get-contexts; kubectl cluster-info"
        raise Retry(error.reason, told) from None


def _is_of_a_kind(error: ApiException) -> bool:
    """Whether the API server knows the kind of what it does not find: only then is its answer a Status."""
    try:
        return isinstance(json.loads(error.body or ""), dict)
    except ValueError:
        return False


def _no_definition() -> Stall:
    return Stall(
        "DefinitionMissing",
        "this cluster has no definition (CRD) of TrainingBaseline: the chart is not installed, or it is another "
        "cluster. "
        "kubectl config current-context; then: kubectl apply --server-side -f charts/mfu-operator/crds/",
    )


def _not_found(namespace: str, name: str) -> Stall:
    """Where it is instead, if the caller may look there."""
    told = f"no TrainingBaseline {name!r} in namespace {namespace!r}"
    with suppress(MfuError):
        elsewhere = [
            str(each["metadata"]["namespace"]) for each in several(None, True) if each["metadata"]["name"] == name
        ]
        if elsewhere:
            told += f", but in {', '.join(elsewhere[:3])}: kubectl mfu status {name} -n {elsewhere[0]}"
            return Stall("BaselineNotFound", told)
    return Stall("BaselineNotFound", f"{told}; kubectl get tb -A lists them")


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

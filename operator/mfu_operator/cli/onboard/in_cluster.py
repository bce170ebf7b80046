"""A workload as the cluster has it, and what stands around it, with the caller's own rights."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.adapters.cluster.kinds import KINDS
from mfu_operator.cli.baselines import TIMEOUT_S
from mfu_operator.cli.connection import connected
from mfu_operator.cli.onboard.subject import Surroundings
from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.profiling.plan.manifest import Manifest

MOST_POLICIES = 500


def documents_of(kind: str, name: str, namespace: str) -> tuple[Manifest, ...]:
    """The workload, and a TrainJob's runtime.

    Args:
        kind: as kubectl takes it, with the API group where several have the kind ("job.batch.volcano.sh").
        name: of the object.
        namespace: its namespace.

    Raises:
        AskPerson: WorkloadNotFound, UnknownKind.
        Stall: ClusterAccessDenied. Retry: ClusterUnreachable.
    """
    api_version, exact = _served(kind)
    found = KubernetesCluster(connected()).workload(WorkloadRef(api_version, exact, namespace, name))
    if found is None:
        raise AskPerson(
            "WorkloadNotFound",
            f"there is no {exact} {name!r} in namespace {namespace!r}: kubectl get {kind} -n {namespace}; or give its "
            "manifest with -f FILE",
        )
    return found.documents


def _served(kind: str) -> tuple[str, str]:
    """The API version and the kind as the API server spells it."""
    word, _, group = kind.lower().partition(".")
    with translated("listing the kinds that the cluster serves"):
        groups: Any = client.ApisApi(connected()).get_api_versions(_request_timeout=TIMEOUT_S)
    served = {each.name: each.preferred_version.group_version for each in groups.groups}
    for exact, known in KINDS.items():
        if word in (exact.lower(), known.plural) and group in ("", known.group):
            if known.group == "":
                return "v1", exact
            if known.group in served:
                return served[known.group], "Job" if exact == "VolcanoJob" else exact
    wanted = {name: version for name, version in served.items() if group in ("", name)}
    exact_kind = next(_of_any_group(word, wanted), None)
    if exact_kind is None:
        raise AskPerson(
            "UnknownKind",
            f"the cluster serves no kind {kind!r}: kubectl api-resources; or give a manifest with -f FILE",
        )
    return exact_kind


def _of_any_group(word: str, served: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    custom = client.CustomObjectsApi(connected())
    for group, group_version in served.items():
        version = group_version.rpartition("/")[2]
        with suppress(MfuError), translated(f"listing the kinds of {group}"):  # an aggregated API may be down
            found: Any = custom.get_api_resources(group, version, _request_timeout=TIMEOUT_S)
            for each in found.resources or ():
                if "/" not in each.name and word in (each.kind.lower(), each.name, each.singular_name):
                    yield group_version, str(each.kind)


def surroundings(namespace: str) -> Surroundings:
    """The namespace and its NetworkPolicies, as far as they may be read."""
    return Surroundings(_namespace(namespace), _policies(namespace))


def _namespace(namespace: str) -> Mapping[str, Any] | None:
    with suppress(MfuError), translated(f"reading namespace {namespace}"):
        answer: Any = client.CoreV1Api(connected()).read_namespace(
            namespace, _preload_content=False, _request_timeout=TIMEOUT_S
        )
        return dict(json.loads(answer.data))
    return None


def _policies(namespace: str) -> Sequence[Manifest] | None:
    with suppress(MfuError), translated(f"listing the network policies of {namespace}"):
        answer: Any = client.NetworkingV1Api(connected()).list_namespaced_network_policy(
            namespace, limit=MOST_POLICIES, _preload_content=False, _request_timeout=TIMEOUT_S
        )
        return tuple(json.loads(answer.data).get("items") or ())
    return None

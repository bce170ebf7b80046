"""The admission policy that guards TrainingBaselines, as the API server has it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.api.group import GUARDS_ANNOTATION
from mfu_operator.api.guarded import EVERYWHERE, Guard

REQUEST_TIMEOUT_S = 15.0


def guards(api: client.ApiClient, names: Sequence[str], namespaces: Collection[str]) -> Mapping[str, tuple[Guard, ...]]:
    """The bindings by namespace, where they deny what the policy refuses: for each that is served, or for all.

    Args:
        names: of the bindings for every namespace; those for one have the namespace behind it.
        namespaces: those that are served; empty: every one.

    Raises:
        Retry, Stall: the API server could not be asked, or refused.
    """
    places = {each: f"-{each}" for each in namespaces} or {EVERYWHERE: ""}
    return {
        namespace: tuple(found for name in names if (found := guard(api, name + behind)) is not None)
        for namespace, behind in places.items()
    }


def guard(api: client.ApiClient, name: str) -> Guard | None:
    """The binding of this name, where it denies what the policy refuses; None where there is none.

    Raises:
        Retry, Stall: the API server could not be asked, or refused.
    """
    with translated(f"reading ValidatingAdmissionPolicyBinding {name}"):
        try:
            found: Any = client.AdmissionregistrationV1Api(api).read_validating_admission_policy_binding(
                name, _request_timeout=REQUEST_TIMEOUT_S
            )
        except ApiException as error:
            if error.status == 404:
                return None
            raise
    if "Deny" not in (found.spec.validation_actions or ()):
        return None
    metadata = found.metadata
    fields = (metadata.annotations or {}).get(GUARDS_ANNOTATION, "")
    return Guard(metadata.uid, metadata.creation_timestamp.timestamp(), frozenset(fields.split(",")))

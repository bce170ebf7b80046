"""The admission policy that guards TrainingBaselines, as the API server has it."""

from collections.abc import Collection, Mapping
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.api.guarded import EVERYWHERE, Guard

REQUEST_TIMEOUT_S = 15.0


def guards(api: client.ApiClient, name: str, namespaces: Collection[str]) -> Mapping[str, Guard]:
    """The bindings by namespace, where they deny what the policy refuses: one for each that is served, or for all.

    Args:
        name: of the binding for every namespace; that for one has the namespace behind it.
        namespaces: those that are served; empty: every one.

    Raises:
        Retry, Stall: the API server could not be asked, or refused.
    """
    names = {each: f"{name}-{each}" for each in namespaces} or {EVERYWHERE: name}
    found = ((namespace, guard(api, binding)) for namespace, binding in names.items())
    return {namespace: each for namespace, each in found if each is not None}


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
    return Guard(found.metadata.uid, found.metadata.creation_timestamp.timestamp())

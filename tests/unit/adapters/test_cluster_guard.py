"""Which admission policy guards the baselines of a namespace."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.guard import guards
from mfu_operator.api.guarded import EVERYWHERE, Guard

ACTIONS = {"p": ["Deny"], "p-a": ["Deny", "Audit"], "p-b": ["Audit"]}


class Bindings:
    """An API server that has some bindings."""

    def __init__(self, api: object) -> None:
        pass

    def read_validating_admission_policy_binding(self, name: str, _request_timeout: float) -> Any:
        if name not in ACTIONS:
            raise ApiException(status=404)
        metadata = SimpleNamespace(uid=f"uid of {name}", creation_timestamp=datetime.fromtimestamp(7.0, UTC))
        return SimpleNamespace(metadata=metadata, spec=SimpleNamespace(validation_actions=ACTIONS[name]))


@pytest.mark.parametrize(
    ("namespaces", "found"),
    [
        ((), {EVERYWHERE: Guard("uid of p", 7.0)}),
        (("a", "b", "c"), {"a": Guard("uid of p-a", 7.0)}),
        (("c",), {}),
    ],
    ids=["everywhere", "one that only audits and one that is not there", "none"],
)
def test_a_binding_guards_where_it_denies(
    monkeypatch: pytest.MonkeyPatch, namespaces: tuple[str, ...], found: dict[str, Guard]
) -> None:
    monkeypatch.setattr(client, "AdmissionregistrationV1Api", Bindings)
    assert guards(client.ApiClient(), "p", namespaces) == found

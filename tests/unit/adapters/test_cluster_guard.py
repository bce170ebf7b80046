"""Which admission policy guards the baselines of a namespace."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from mfu_operator.adapters.cluster.guard import guards
from mfu_operator.api.group import GUARDS_ANNOTATION
from mfu_operator.api.guarded import EVERYWHERE, Guard

ACTIONS = {"p": ["Deny"], "p.2": ["Deny"], "p-a": ["Deny", "Audit"], "p.2-a": ["Deny"], "p-b": ["Audit"]}
FIELDS = {"p.2": "spec.a,spec.b"}


def found_as(name: str) -> Guard:
    return Guard(f"uid of {name}", 7.0, frozenset(FIELDS[name].split(",") if name in FIELDS else ["spec.a"]))


class Bindings:
    """An API server that has some bindings."""

    def __init__(self, api: object) -> None:
        pass

    def read_validating_admission_policy_binding(self, name: str, _request_timeout: float) -> Any:
        if name not in ACTIONS:
            raise ApiException(status=404)
        annotations = {GUARDS_ANNOTATION: FIELDS.get(name, "spec.a")}
        made = datetime.fromtimestamp(7.0, UTC)
        metadata = SimpleNamespace(uid=f"uid of {name}", creation_timestamp=made, annotations=annotations)
        return SimpleNamespace(metadata=metadata, spec=SimpleNamespace(validation_actions=ACTIONS[name]))


@pytest.mark.parametrize(
    ("namespaces", "found"),
    [
        ((), {EVERYWHERE: (found_as("p"), found_as("p.2"))}),
        (("a", "b", "c"), {"a": (found_as("p-a"), found_as("p.2-a")), "b": (), "c": ()}),
    ],
    ids=["everywhere", "one that only audits and one that is not there"],
)
def test_a_binding_guards_where_it_denies(
    monkeypatch: pytest.MonkeyPatch, namespaces: tuple[str, ...], found: dict[str, tuple[Guard, ...]]
) -> None:
    monkeypatch.setattr(client, "AdmissionregistrationV1Api", Bindings)
    assert guards(client.ApiClient(), ("p", "p.2"), namespaces) == found

"""The network policies that a live capture needs where policies are enforced: templates for a person to apply, because
a chart cannot write into the namespaces of others."""

from typing import Any

from mfu_operator.profiling.live.job import COORDINATOR, PURPOSE_LABEL

FIRST_PORT, LAST_PORT = 9400, 9463
"""Port of the first rank of a pod, and of the 64th."""

_PORTS = [{"protocol": "TCP", "port": FIRST_PORT, "endPort": LAST_PORT}]
_COORDINATOR = {"podSelector": {"matchLabels": {PURPOSE_LABEL: COORDINATOR}}}


def policies(namespace: str) -> tuple[dict[str, Any], ...]:
    """The coordinator speaks to training pods alone, and training pods let it in.

    The second selects every pod of the namespace. A pod that no policy selected before would then accept nothing else,
    so it is for namespaces whose pods are isolated already.
    """
    return (
        _policy("mfu-capture-coordinator", namespace, _COORDINATOR["podSelector"], {
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [],
            "egress": [{"to": [{"podSelector": {}}], "ports": _PORTS}],
        }),
        _policy("mfu-capture-ranks", namespace, {}, {
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [_COORDINATOR], "ports": _PORTS}],
        }),
    )  # fmt: skip


def _policy(name: str, namespace: str, selector: dict[str, Any], rules: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSelector": selector, **rules},
    }

"""What view, edit and admin may do with baselines once the chart is installed: asked of a real API server, whose
controllers put the chart's roles into Kubernetes' own."""

import json
from typing import Any

import pytest

from tests.cluster.process import await_condition
from tests.demo.environment import Environment

pytestmark = pytest.mark.cluster

NAMESPACE = "people"
READS, WRITES, ACTS = ("get", "list", "watch"), ("create", "update", "patch", "delete"), ("customize", "propose")
MAY = {"view": READS, "edit": (*READS, *WRITES), "admin": (*READS, *WRITES, *ACTS)}


def test_view_reads_edit_writes_and_admin_acts_too(environment: Environment) -> None:
    kubectl = environment.kubectl
    group = "rbac.authorization.k8s.io"
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    kubectl.apply(space, *(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": NAMESPACE},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": group, "name": f"a-person-of-{role}"}],
        }
        for role in MAY
    ))  # fmt: skip

    def may(role: str, verb: str, resource: str = "trainingbaselines", of: str = "mfu-operator.io") -> bool:
        asked = {"namespace": NAMESPACE, "verb": verb, "group": of, "resource": resource}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": f"a-person-of-{role}", "resourceAttributes": asked},
        }
        answer = kubectl.run("create", "--filename=-", "--output=json", stdin_text=json.dumps(review))
        return bool(json.loads(answer)["status"]["allowed"])

    try:
        await_condition("the aggregation of the roles", lambda: may("admin", "propose"), timeout_s=60)
        verbs = (*READS, *WRITES, *ACTS)
        assert {role: tuple(verb for verb in verbs if may(role, verb)) for role in MAY} == MAY
        assert {role: may(role, "use", "secrets", "") for role in MAY} == {"view": False, "edit": False, "admin": True}
        assert not any(may(role, "patch", "trainingbaselines/status") for role in MAY), "a status is the operator's"
    finally:
        kubectl.delete("namespace", NAMESPACE)

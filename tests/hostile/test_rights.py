"""What every identity of the chart may do, as the API server itself lists it (kubectl auth can-i --list)."""

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest
from kubernetes import client

from tests.faults.control_plane import ACCOUNT, NAMESPACE, TEAM, ControlPlane
from tests.hostile.people import AUTHOR, LEAD, READER, STRANGER, api_of

pytestmark = pytest.mark.cluster

GOLDEN = Path(__file__).parent / "rights.txt"
ELSEWHERE = "kube-public"
PROFILING_POD = f"system:serviceaccount:{TEAM}:default"
ASKED = [
    *((ACCOUNT, namespace) for namespace in (NAMESPACE, TEAM, ELSEWHERE)),
    *((each, TEAM) for each in (READER, AUTHOR, LEAD, PROFILING_POD)),
    *((each, ELSEWHERE) for each in (AUTHOR, LEAD)),
]


def rules(plane: ControlPlane, name: str, namespace: str) -> Iterator[str]:
    review = client.AuthorizationV1Api(api_of(plane, name)).create_self_subject_rules_review(
        client.V1SelfSubjectRulesReview(spec=client.V1SelfSubjectRulesReviewSpec(namespace=namespace))
    )
    assert review.status is not None
    for rule in review.status.resource_rules:
        for group in rule.api_groups or ():
            for resource in rule.resources or ():
                names = ",".join(sorted(rule.resource_names or ())) or "*"
                yield f"{group or 'core'}/{resource} {names} {','.join(sorted(rule.verbs))}"
    for beside in review.status.non_resource_rules:
        for url in beside.non_resource_urls or ():
            yield f"{url} {','.join(sorted(beside.verbs))}"


def test_every_identity_may_do_what_the_golden_file_says_and_no_more(plane: ControlPlane) -> None:
    everybody = set(rules(plane, STRANGER, ELSEWHERE))
    lines = []
    for name, namespace in ASKED:
        lines.append(f"{name} in {namespace}")
        lines += [f"  {each}" for each in sorted(set(rules(plane, name, namespace)) - everybody)] or ["  nothing"]
    assert list(unified_diff(GOLDEN.read_text().splitlines(), lines, n=1, lineterm="")) == []

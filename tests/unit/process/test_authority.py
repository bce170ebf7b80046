"""What the loop follows of an object depends on whether the admission policy saw it."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.group import GUARDED_ANNOTATION
from mfu_operator.api.guarded import EVERYWHERE, Guard
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.process.authority import Authority
from mfu_operator.process.fleet import Fleet, News

POLICY = Guard("a-uid", 1_700_000_000.0, frozenset({"spec.profiling.command"}))
BODY: Mapping[str, Any] = {
    "metadata": {
        "namespace": "team-a",
        "name": "gpt",
        "uid": "u",
        "generation": 1,
        "resourceVersion": "7",
        "creationTimestamp": "2023-01-01T00:00:00Z",
    },
    "spec": {
        "workload": {"apiVersion": "batch/v1", "kind": "Job", "name": "gpt"},
        "comparable": {"model": "gpt-small"},
        "baseline": {"values": {"mfu": 0.46}},
        "profiling": {"command": ["id"]},
    },
}


def looked(guard: Guard | None) -> Authority:
    authority = Authority(lambda: {EVERYWHERE: (guard,)} if guard else {})
    authority.look()
    return authority


def test_an_older_object_stalls_and_is_followed_once_it_was_written_under_the_policy() -> None:
    fleet = Fleet(looked(POLICY).judged)
    member, _ = fleet.saw(BODY, 0.0)
    assert isinstance(member.spec, Stall) and member.spec.reason == "Unguarded"
    marked = deepcopy(dict(BODY))
    marked["metadata"] |= {"resourceVersion": "8", "annotations": {GUARDED_ANNOTATION: "a-uid"}}
    assert fleet.saw(marked, 1.0) == (member, News.SPEC)
    assert not isinstance(member.spec, Stall)


MODES = {"team-a": RemediationMode.DRY_RUN, "*": RemediationMode.OBSERVE}


@pytest.mark.parametrize(
    ("namespace", "written", "followed"),
    [
        ("team-a", None, RemediationMode.DRY_RUN),
        ("team-a", "Observe", RemediationMode.OBSERVE),
        ("team-b", None, RemediationMode.OBSERVE),
        ("team-b", "DryRun", RemediationMode.DRY_RUN),
    ],
)
def test_a_baseline_that_names_no_mode_has_its_namespaces(
    namespace: str, written: str | None, followed: RemediationMode
) -> None:
    body = deepcopy(dict(BODY))
    body["metadata"]["namespace"] = namespace
    body["spec"] |= {"profiling": {}, "remediation": {"mode": written} if written else {}}
    for accepted in (True, False):
        member, _ = Fleet(Authority(dict, accepted, MODES).judged).saw(body, 0.0)
        assert not isinstance(member.spec, Stall) and member.spec.remediation.mode is followed


def test_another_word_about_an_object_that_is_not_followed_is_no_other_spec() -> None:
    fleet = Fleet(looked(None).judged)
    member, _ = fleet.saw(BODY, 0.0)
    again = deepcopy(dict(BODY))
    again["metadata"] |= {"resourceVersion": "8"}
    assert fleet.saw(again, 1.0) == (member, News.STATUS)


def test_without_a_policy_it_is_followed_where_an_administrator_accepts_it() -> None:
    fleet = Fleet(Authority(dict, accepted=True).judged)
    assert not isinstance(fleet.saw(BODY, 0.0)[0].spec, Stall)


def test_another_policy_lets_every_object_be_read_again() -> None:
    found: list[dict[str, tuple[Guard, ...]]] = [{}]
    authority = Authority(lambda: found[-1])
    assert not authority.look()
    fleet = Fleet(authority.judged)
    member, _ = fleet.saw(BODY, 0.0)
    fleet.end(member, 600.0)
    member.due_s = 600.0
    found.append({EVERYWHERE: (replace(POLICY, uid="young", made_s=0.0),)})
    assert authority.look() and not authority.look()
    fleet.read_again(5.0)
    assert fleet.begin(5.0, 1, 1) == [member]
    assert fleet.read(member, member.seen, BODY, 5.0) is News.SPEC and not isinstance(member.spec, Stall)


def test_where_the_api_server_cannot_be_asked_what_was_seen_last_stands(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([POLICY])

    def guards() -> dict[str, tuple[Guard, ...]]:
        for each in answers:
            return {EVERYWHERE: (each,)}
        raise Retry("ClusterUnreachable", "it is gone")

    authority = Authority(guards)
    assert authority.look() and not authority.look()
    member, _ = Fleet(authority.judged).saw(BODY, 0.0)
    assert isinstance(member.spec, Stall) and "a-uid" in member.spec.message
    assert "ClusterUnreachable" in caplog.text


def test_what_was_written_in_a_namespace_before_it_was_served_the_policy_did_not_see() -> None:
    young = replace(POLICY, uid="young", made_s=POLICY.made_s + 3600)
    authority = Authority(lambda: {"team-a": (POLICY,), "team-b": (young,)})
    authority.look()
    body = deepcopy(dict(BODY))
    body["metadata"]["creationTimestamp"] = "2023-11-14T22:43:20Z"  # half an hour after the first, before the second
    followed = {}
    for namespace in ("team-a", "team-b", "team-c"):
        body["metadata"] |= {"namespace": namespace, "uid": namespace}
        followed[namespace] = not isinstance(Fleet(authority.judged).saw(deepcopy(body), 0.0)[0].spec, Stall)
    assert followed == {"team-a": True, "team-b": False, "team-c": False}

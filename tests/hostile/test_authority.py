"""Whoever may create TrainingBaselines gains nothing that he could not do himself: asked of a real API server."""

from collections.abc import Mapping
from typing import Any

import pytest

from mfu_operator.adapters.cluster.guard import guard, guards
from mfu_operator.api.group import GUARDED_ANNOTATION
from mfu_operator.api.guarded import EVERYWHERE
from tests.faults.control_plane import ACCOUNT, TEAM, ControlPlane
from tests.hostile.people import APPLICATION, AUTHOR, DELIVERER, GRANTED, LEAD, PROMETHEUS, SPEC, STRANGER, Person
from tests.unit.api.test_guarded import FIELDS

pytestmark = pytest.mark.cluster

REFUSED = "Forbidden"

GUARDED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a command of his own": ({"profiling": {"command": ["sh", "-c", "id"]}}, "the verb customize"),
    "an image of his own": ({"profiling": {"image": "evil.example/x"}}, "the verb customize"),
    "variables of his own": ({"profiling": {"env": {"LD_PRELOAD": "/x"}}}, "the verb customize"),
    "volumes to write to": ({"profiling": {"writableVolumes": ["checkpoints"]}}, "the verb customize"),
    "a priority": ({"profiling": {"priorityClassName": "high"}}, "the verb customize"),
    "another repository": ({"remediation": {"repository": "https://git.example/a/b"}}, "the verb propose"),
    "another branch": ({"remediation": {"branch": "release"}}, "the verb propose"),
    "another forge": ({"remediation": {"forge": {"address": "https://git.example"}}}, "the verb propose"),
    "a pull request": (
        {"remediation": {"mode": "PullRequest", "forge": {"secretRef": {"name": "forge"}}}},
        "the verb propose",
    ),
    "a Secret of the forge": (
        {"remediation": {"forge": {"secretRef": {"name": "forge"}}}},
        "the verb use on Secret forge",
    ),
    "a Secret of another host": (
        {"remediation": {"credentials": [{"secretRef": {"name": "forge"}}, {"secretRef": {"name": "charts"}}]}},
        "the verb use on Secret forge and on Secret charts",
    ),
    "a Secret of a Prometheus": (
        {"metrics": {"prometheus": {**PROMETHEUS, "secretRef": {"name": "mimir"}}}},
        "the verb use on Secret mimir",
    ),
    "an authority": (
        {"metrics": {"prometheus": {**PROMETHEUS, "caSecretRef": {"name": "ca"}}}},
        "the verb use on Secret ca",
    ),
    "a client certificate": (
        {"metrics": {"prometheus": {**PROMETHEUS, "certificateSecretRef": {"name": "pair"}}}},
        "the verb use on Secret pair",
    ),
    "whose series are ours": (
        {"metrics": {"prometheus": PROMETHEUS, "labels": {"namespace": ""}}},
        "the verb customize",
    ),
    "a Secret of the capture API": (
        {"profiling": {"capture": {"secretRef": {"name": "payroll"}}}},
        "the verb use on Secret payroll",
    ),
    "an application": ({"remediation": {"application": APPLICATION}}, "the verb get on Application argocd/gpt"),
    "a Kustomization": (
        {"remediation": {"application": {**APPLICATION, "kind": "Kustomization"}}},
        "the verb get on Kustomization argocd/gpt",
    ),
}


def test_the_author_may_write_what_asks_for_nothing(plane: ControlPlane) -> None:
    author = Person(plane, AUTHOR, TEAM)
    assert author.creates("x", SPEC) == ""
    assert author.changes("plain", {"spec": {"detection": {"tolerance": "10%"}}}) == ""
    assert author.creates("x", {**SPEC, "profiling": {"steps": 12}, "remediation": {"mode": "DryRun"}}) == ""
    capture = {"secretRef": {"name": "mfu-capture"}}
    assert author.creates("x", {**SPEC, "profiling": {"capture": capture}}) == "", "the default, written out"


@pytest.mark.parametrize(("asked", "verb"), GUARDED.values(), ids=GUARDED)
def test_a_guarded_field_needs_its_verb(plane: ControlPlane, asked: Mapping[str, Any], verb: str) -> None:
    author = Person(plane, AUTHOR, TEAM)
    for said in (author.creates("x", {**SPEC, **asked}), author.changes("plain", {"spec": asked})):
        assert verb in said and "author does not have" in said


@pytest.mark.parametrize("what", [each for each in GUARDED if each not in ("an application", "a Kustomization")])
def test_who_has_the_verb_may_write_it(plane: ControlPlane, what: str) -> None:
    lead, asked = Person(plane, LEAD, TEAM), GUARDED[what][0]
    assert lead.creates("x", {**SPEC, **asked}) == ""
    assert lead.changes("plain", {"spec": asked}) == ""


def test_an_application_is_named_by_who_may_read_it(plane: ControlPlane) -> None:
    asked = GUARDED["an application"][0]
    lead = Person(plane, LEAD, TEAM)
    assert "the verb get on Application argocd/gpt" in lead.creates("x", {**SPEC, **asked})
    assert Person(plane, "kubernetes-admin", TEAM).creates("x", SPEC) != "", "somebody without any right writes"


@pytest.mark.parametrize("what", GUARDED)
def test_a_delivery_tool_proves_nothing_of_the_author(plane: ControlPlane, what: str) -> None:
    asked = {**SPEC, **GUARDED[what][0]}
    assert "authority.grants" in Person(plane, DELIVERER, TEAM).creates("x", asked)
    assert Person(plane, DELIVERER, GRANTED).creates("x", asked) == ""


def test_what_was_written_by_somebody_who_may_stays_when_others_write_beside_it(plane: ControlPlane) -> None:
    author = Person(plane, AUTHOR, TEAM)
    assert author.changes("rich", {"spec": {"watch": {"memory": {"enabled": False}}, "suspend": True}}) == ""
    anew = {"generation": 2, "reason": "another cluster"}
    assert author.changes("learning", {"spec": {"baseline": {"record": anew}}}) == "", "it learns its level anew"
    assert author.changes("rich", {"metadata": {"labels": {"team": "a"}}}) == ""
    assert author.changes("rich", {"spec": {"profiling": {"command": None, "env": None}}}) == ""


@pytest.mark.parametrize(
    ("change", "verb"),
    [
        ({"workload": {"name": "another"}, "baseline": {"values": {"mfu": 0.4}}}, "the verb customize"),
        ({"profiling": {"command": ["id"]}}, "the verb customize"),
        ({"profiling": {"env": None}}, "the verb customize"),
        ({"remediation": {"path": "elsewhere"}}, "the verb propose"),
        ({"remediation": {"coolDown": "1m"}}, "the verb propose"),
        ({"remediation": {"freeze": None}}, "the verb propose"),
        ({"remediation": {"application": {"name": "others"}}}, "the verb propose"),
        ({"metrics": {"prometheus": {"address": "https://evil.example"}}}, "the verb propose"),
        ({"remediation": {"forge": {"address": "https://evil.example"}}}, "the verb propose"),
        ({"metrics": {"prometheus": None}}, "the verb propose"),
        ({"metrics": {"modelFlopsPerToken": 1}}, "the verb propose"),
        ({"baseline": {"values": {"mfu": 0.99}}}, "the verb propose"),
        ({"detection": {"tolerance": "1%"}}, "the verb propose"),
        ({"comparable": {"gpuCount": 1}, "baseline": {"values": {"mfu": 0.99}}}, "the verb propose"),
    ],
)
def test_what_a_guarded_field_acts_on_is_not_changed_without_the_verb(
    plane: ControlPlane, change: Mapping[str, Any], verb: str
) -> None:
    assert verb in Person(plane, AUTHOR, TEAM).changes("rich", {"spec": change})


@pytest.mark.parametrize(
    "change",
    [
        {"prometheus": {"address": "https://evil.example"}},
        {"labels": {"pod": "elsewhere"}},
        {"names": {"mfu": "salary"}},
    ],
)
def test_what_a_secret_is_used_for_is_not_changed_without_the_verb(
    plane: ControlPlane, change: Mapping[str, Any]
) -> None:
    said = Person(plane, AUTHOR, TEAM).changes("keyed", {"spec": {"metrics": change}})
    assert "the verb use on Secret mimir" in said


@pytest.mark.parametrize("value", ["go on", '{"incident": "i", "reason": "go on"}'])
def test_a_pull_request_is_approved_by_somebody_who_may_propose_it(plane: ControlPlane, value: str) -> None:
    approved = {"metadata": {"annotations": {"mfu-operator.io/approve": value}}}
    assert "approve needs the verb propose" in Person(plane, AUTHOR, TEAM).changes("rich", approved)
    assert Person(plane, LEAD, TEAM).changes("rich", approved) == ""
    assert Person(plane, AUTHOR, TEAM).changes("plain", approved) == "", "it proposes nothing"
    rejected = {"metadata": {"annotations": {"mfu-operator.io/reject": value}}}
    assert Person(plane, AUTHOR, TEAM).changes("rich", rejected) == ""


@pytest.mark.parametrize("word", ["snooze", "reset"])
@pytest.mark.parametrize(
    "held",
    [
        {"snooze": {"untilAt": "2099-01-01T00:00:00Z", "reason": "release"}},
        {"refused": [{"sha": "a" * 40, "subject": "s", "reason": "on purpose", "refusedAt": "2026-01-01T00:00:00Z"}]},
    ],
    ids=["snoozed", "refused"],
)
def test_what_a_person_held_back_is_let_go_by_somebody_who_may_propose_it(
    plane: ControlPlane, word: str, held: Mapping[str, Any]
) -> None:
    written = {"metadata": {"annotations": {f"mfu-operator.io/{word}": "1s"}}}
    author = Person(plane, AUTHOR, TEAM)
    assert author.changes("rich", written) == "", "nothing is held back"
    operator = Person(plane, ACCOUNT, TEAM)
    with operator.status("rich", held), operator.status("plain", held):
        assert "where a person snoozed or refused a pull request, need the verb propose" in author.changes(
            "rich", written
        )
        assert Person(plane, LEAD, TEAM).changes("rich", written) == ""
        assert author.changes("plain", written) == "", "it proposes nothing"
        assert author.changes("rich", {"spec": {"suspend": True}}) == ""


def test_an_object_is_not_declared_seen_by_somebody_who_may_not_write_it(plane: ControlPlane) -> None:
    found = guard(plane.operator, "mfu-system-mfu-operator-authority")
    assert found is not None
    mark = {"metadata": {"annotations": {GUARDED_ANNOTATION: found.uid}}}
    assert "the verb customize" in Person(plane, AUTHOR, TEAM).changes("rich", mark)
    assert Person(plane, AUTHOR, TEAM).changes("plain", mark) == ""
    assert "the verb get on Application" in Person(plane, LEAD, TEAM).changes("rich", mark)


def test_a_binding_is_read_with_the_fields_that_it_vouches_for(plane: ControlPlane) -> None:
    names = ("mfu-system-mfu-operator-authority", "mfu-system-mfu-operator-authority.2")
    first, second = guards(plane.operator, names, ())[EVERYWHERE]
    assert first.fields < second.fields == {path for path, _ in FIELDS}
    assert first.uid != second.uid


def test_a_stranger_writes_nothing(plane: ControlPlane) -> None:
    assert "cannot create resource" in Person(plane, STRANGER, TEAM).creates("x", SPEC)


def test_a_stolen_account_of_the_operator_writes_no_guarded_field(plane: ControlPlane) -> None:
    stolen = Person(plane, ACCOUNT, TEAM)
    for asked, verb in GUARDED.values():
        if "Application" not in verb and "Kustomization" not in verb:
            assert REFUSED in stolen.changes("plain", {"spec": asked})
    assert "cannot create resource" in stolen.creates("x", SPEC)
    assert stolen.changes("rich", {"metadata": {"finalizers": []}}) == ""

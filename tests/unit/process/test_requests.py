"""What a person asks for by command is an annotation: done once, noted, removed."""

import json

import pytest

from mfu_operator.api.group import CLOSE_ANNOTATION, RESET_ANNOTATION
from mfu_operator.api.requests import asked_value
from mfu_operator.errors import Stall
from tests.support import worlds
from tests.support.replica import NAME, NAMESPACE, Realm, Replica


@pytest.fixture
def realm() -> Realm:
    return Realm(profiling={"mode": "Never"})


@pytest.fixture
def replica(realm: Realm) -> Replica:
    """With an incident open."""
    replica = Replica(realm)
    replica.go_on(3)
    realm.stage.sweep.says = worlds.regressed()
    replica.go_on()
    assert realm.status.incident is not None
    return replica


def ask(realm: Realm, name: str, value: str) -> None:
    realm.cluster.edit(NAMESPACE, NAME, annotations={"note": "mine", name: value})


def asked(realm: Realm) -> dict[str, str]:
    found: dict[str, str] = realm.object["metadata"]["annotations"]
    return found


def test_an_incident_that_a_person_closes_is_in_the_history_with_the_reason_and_what_it_cost(
    realm: Realm, replica: Replica
) -> None:
    incident = realm.status.incident
    assert incident is not None
    ask(realm, CLOSE_ANNOTATION, asked_value(incident.id, "the input changed on purpose"))
    replica.hear()
    assert replica.tick() == 1, "at once"
    assert asked(realm) == {"note": "mine"}
    (closed,) = realm.status.history
    assert closed.closed == ("ClosedByPerson", "the input changed on purpose")
    assert closed.gpu_hours_lost is not None and closed.gpu_hours_lost > 0


def test_the_same_loss_opens_no_other_incident_and_the_next_one_does(realm: Realm, replica: Replica) -> None:
    ask(realm, CLOSE_ANNOTATION, "by hand")
    replica.go_on(5)
    assert realm.status.incident is None
    assert realm.status.noted == ()
    realm.stage.sweep.says = worlds.judgement(recovered=True)
    replica.go_on(2)
    realm.stage.sweep.says = worlds.regressed(onset_s=realm.now_s)
    replica.go_on()
    assert realm.status.incident is not None
    assert realm.status.incidents == 2


def test_a_request_to_close_one_incident_closes_no_other(realm: Realm, replica: Replica) -> None:
    ask(realm, CLOSE_ANNOTATION, asked_value("gpt-small-3f2a91c0-0", "late"))
    replica.go_on(2)
    assert realm.status.incident is not None
    assert asked(realm) == {"note": "mine"}


def test_a_reset_starts_over_and_keeps_what_happened(realm: Realm, replica: Replica) -> None:
    incident = realm.status.incident
    assert incident is not None
    realm.stage.sweep.says = worlds.judgement()
    ask(realm, RESET_ANNOTATION, "2026-11-22T03:00:00Z")
    replica.go_on()
    assert realm.status.incident is None
    assert [each.id for each in realm.status.history] == [incident.id]
    assert realm.status.judgement is not None, "and it is measured again"
    assert asked(realm) == {"note": "mine"}


def test_a_request_that_cannot_be_removed_is_fulfilled_once(realm: Realm, replica: Replica) -> None:
    def denied(*_: object) -> None:
        raise Stall("ClusterAccessDenied", "may not patch")

    realm.cluster.remove_annotation = denied  # type: ignore[method-assign, assignment]
    ask(realm, CLOSE_ANNOTATION, "by hand")
    replica.go_on(2)
    realm.stage.sweep.says = worlds.judgement(recovered=True)
    replica.go_on()
    realm.stage.sweep.says = worlds.regressed(onset_s=realm.now_s)
    replica.go_on(3)
    assert realm.status.incident is not None, "the next one is not closed too"


def test_a_request_that_was_changed_meanwhile_is_not_removed(realm: Realm, replica: Replica) -> None:
    ask(realm, RESET_ANNOTATION, "first")
    realm.cluster.meanwhile = lambda: ask(realm, RESET_ANNOTATION, "second")
    replica.hear()
    replica.tick()
    assert asked(realm)[RESET_ANNOTATION] == "second"
    replica.go_on(2)
    assert asked(realm) == {"note": "mine"}


def test_a_request_that_is_no_json_object_is_the_reason_itself(realm: Realm, replica: Replica) -> None:
    ask(realm, CLOSE_ANNOTATION, json.dumps(["moved"]))
    replica.go_on()
    assert realm.status.history[0].closed == ("ClosedByPerson", '["moved"]')

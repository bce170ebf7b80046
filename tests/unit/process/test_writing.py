"""Others write too: nobody's write is lost, and nothing of an old decision reaches what is stored since."""

from typing import Any
from unittest.mock import Mock

import pytest

from mfu_operator.api import status as codec
from mfu_operator.process import telemetry
from mfu_operator.process.fleet import CONFIRM_S
from mfu_operator.process.telemetry import BASELINES
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S
from tests.support.replica import NAME, NAMESPACE, Realm, Replica
from tests.support.stored_object import stored_object


@pytest.fixture(autouse=True)
def nothing_is_exported_yet() -> None:
    """The registry belongs to the process: what tests before this one exported is not this one's."""
    telemetry.forget_all()


@pytest.fixture
def realm() -> Realm:
    return Realm(profiling={"mode": "Never"})


@pytest.fixture
def replica(realm: Realm) -> Replica:
    return Replica(realm)


def test_an_edit_that_comes_before_our_own_write_is_heard_without_the_watch(realm: Realm, replica: Replica) -> None:
    realm.cluster.meanwhile = lambda: realm.edit(suspend=True)
    replica.tick()
    assert replica.tick() == 1, "at once"
    assert realm.object["status"]["observedGeneration"] == 2
    assert realm.object["status"]["conditions"][0]["reason"] == "Suspended"


def test_a_status_that_nothing_changes_is_compared_with_what_is_stored_once(
    realm: Realm, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing a status as it is stored costs more than the rest of a tick, of which most change nothing."""
    replica.go_on(4)
    compared = Mock(wraps=codec.patch)
    monkeypatch.setattr(codec, "patch", compared)
    replica.go_on(4)
    assert compared.call_count == 0
    realm.overwrite({**realm.object["status"], "conditions": []})
    replica.go_on()
    assert realm.object["status"]["conditions"][0]["type"] == "Ready"
    assert compared.call_count >= 1


def test_an_edit_after_our_own_write_is_heard_from_the_watch(realm: Realm, replica: Replica) -> None:
    replica.tick()
    realm.edit(suspend=True)
    replica.hear()
    assert replica.tick() == 1
    assert realm.object["status"]["observedGeneration"] == 2


def test_a_status_that_is_lost_while_a_tick_runs_gets_nothing_of_what_the_tick_decided(
    realm: Realm, replica: Replica
) -> None:
    replica.go_on(2)
    realm.stage.sweep.says = worlds.regressed()
    replica.go_on()
    incident = realm.status.incident
    assert incident is not None
    realm.stage.sweep.says = worlds.regressed(confirmed=True)
    realm.cluster.meanwhile = lambda: realm.overwrite({})
    replica.go_on()
    assert realm.object["status"] == {}, "the late write was refused"
    replica.tick()
    assert realm.status.incident is not None, "and what is true is written again"


def test_an_object_that_was_made_anew_gets_nothing_of_the_one_before(realm: Realm, replica: Replica) -> None:
    replica.go_on(2)

    def again() -> None:
        realm.cluster.delete(NAMESPACE, NAME)
        realm.cluster.create({**stored_object(), "metadata": {"namespace": NAMESPACE, "name": NAME, "uid": "another"}})

    realm.stage.sweep.says = worlds.regressed()
    realm.cluster.meanwhile = again
    replica.go_on()
    assert "status" not in realm.object
    replica.hear()
    assert [member.identity.uid for member in replica.loop.fleet.members()] == ["another"]


def test_somebody_who_never_stops_writing_does_not_make_us_tick_without_a_pause(realm: Realm, replica: Replica) -> None:
    def write() -> None:
        realm.overwrite({"incidents": realm.object.get("status", {}).get("incidents", 0) + 1})
        realm.cluster.meanwhile = write

    realm.cluster.meanwhile = write
    assert [replica.tick() for _ in range(4)] == [1, 1, 0, 0]
    realm.pass_time(INTERVAL_S)
    assert replica.tick() == 1


def test_a_baseline_that_is_deleted_in_its_own_tick_is_neither_swept_nor_exported(
    realm: Realm, replica: Replica
) -> None:
    replica.go_on(2)
    uid = realm.object["metadata"]["uid"]
    looked = realm.cluster.workload

    def deleted(ref: Any) -> Any:
        realm.cluster.delete(NAMESPACE, NAME)
        replica.hear()
        return looked(ref)

    realm.cluster.workload = deleted  # type: ignore[method-assign]
    realm.pass_time(INTERVAL_S)
    replica.loop.fleet.call(replica.loop.fleet.members()[0], realm.now_s)
    replica.tick()
    assert uid not in realm.stage.sweep.registered
    assert exported() == 0
    assert len(replica.loop.fleet) == 0


def exported() -> float:
    (count,) = (family for family in BASELINES.collect() if family.name == "mfu_operator_baselines")
    return float(count.samples[0].value)


def restore(realm: Realm, version: str) -> None:
    """etcd is an hour old again: a lower version, and what was edited since is another spec of the same generation."""
    stored = realm.object
    stored["metadata"]["resourceVersion"] = version
    stored["spec"]["suspend"] = True


@pytest.mark.parametrize("told", [True, False], ids=["the watch tells", "nobody tells"])
def test_what_is_lower_than_a_known_version_is_heard_after_etcd_was_restored(
    realm: Realm, replica: Replica, told: bool
) -> None:
    replica.go_on(8)
    restore(realm, "1")
    if told:
        replica.loop.saw(realm.object)
    else:
        realm.pass_time(CONFIRM_S + 1)
    assert replica.tick() == 1
    assert realm.object["status"]["conditions"][0]["reason"] == "Suspended"


def test_two_processes_that_tick_at_the_same_time_write_one_incident(realm: Realm, replica: Replica) -> None:
    other = Replica(realm)
    replica.go_on(2)
    other.hear()
    realm.stage.sweep.says = worlds.regressed()
    realm.cluster.meanwhile = other.go_on
    replica.go_on(3)
    assert realm.status.incidents == 1
    assert realm.status.history == ()

"""Two installations that serve the same baselines notice each other and say so in the same words."""

from dataclasses import replace

import pytest

from mfu_operator.adapters.cluster.neighbours import Installation
from mfu_operator.errors import Retry
from mfu_operator.process import telemetry
from mfu_operator.process.neighbours import ALIVE_S, EVERY_S, Neighbours
from tests.support.adapters_double import Stage


class Cluster:
    """Leases of installations, each renewed while it is in `alive`."""

    def __init__(self) -> None:
        self.steady_s = 0.0
        self.watches: dict[str, frozenset[str]] = {}
        self.alive: set[str] = set()
        self.renewals: dict[str, int] = {}
        self.fails: Retry | None = None

    def install(self, name: str, *watches: str) -> Neighbours:
        self.watches[name] = frozenset(watches)
        self.alive.add(name)
        return Neighbours(self.leases, name, watches, lambda: self.steady_s)

    def leases(self) -> list[Installation]:
        if self.fails is not None:
            raise self.fails
        return [Installation(name, watches, (self.renewals.get(name, 0),)) for name, watches in self.watches.items()]

    def go(self, *looking: Neighbours, minutes: int = 1) -> None:
        for _ in range(minutes):
            self.steady_s += EVERY_S
            for name in self.alive:
                self.renewals[name] = self.renewals.get(name, 0) + 1
            for each in looking:
                each.look()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_two_that_serve_every_namespace_see_each_other_and_say_the_same(cluster: Cluster) -> None:
    one, two = cluster.install("mfu-a/mfu-operator"), cluster.install("mfu-b/mfu-operator")
    cluster.go(one, two, minutes=2)
    assert one.of("team-a") == two.of("team-a") == ("mfu-a/mfu-operator", "mfu-b/mfu-operator")
    assert telemetry.NEIGHBOURS._value.get() == 1


def test_two_releases_in_one_namespace_see_each_other(cluster: Cluster) -> None:
    one, two = cluster.install("mfu/mfu-operator"), cluster.install("mfu/prod-mfu-operator")
    cluster.go(one, two, minutes=2)
    assert one.of("team-a") == two.of("team-a") == ("mfu/mfu-operator", "mfu/prod-mfu-operator")


def test_one_alone_sees_nobody(cluster: Cluster) -> None:
    one = cluster.install("mfu-a/mfu-operator")
    cluster.go(one, minutes=5)
    assert one.of("team-a") == ()


def test_only_the_namespaces_that_both_serve_are_served_twice(cluster: Cluster) -> None:
    one, two = cluster.install("a/mfu-operator", "team-a", "team-b"), cluster.install("b/mfu-operator", "team-b")
    cluster.go(one, two, minutes=2)
    assert (one.of("team-a"), two.of("team-b")) == ((), ("a/mfu-operator", "b/mfu-operator"))


def test_those_that_share_no_namespace_are_no_neighbours(cluster: Cluster) -> None:
    one, two = cluster.install("a/mfu-operator", "team-a"), cluster.install("b/mfu-operator", "team-b")
    cluster.go(one, two, minutes=2)
    assert (one.of("team-a"), two.of("team-b")) == ((), ())


def test_a_lease_that_was_left_behind_is_nobody(cluster: Cluster) -> None:
    one = cluster.install("a/mfu-operator")
    cluster.install("b/mfu-operator")
    cluster.alive.remove("b/mfu-operator")
    cluster.go(one, minutes=5)
    assert one.of("team-a") == ()


def test_one_that_ended_is_forgotten_within_minutes(cluster: Cluster) -> None:
    one = cluster.install("a/mfu-operator")
    cluster.install("b/mfu-operator")
    cluster.go(one, minutes=2)
    assert one.of("team-a") != ()
    cluster.alive.remove("b/mfu-operator")
    cluster.go(one, minutes=int(ALIVE_S / EVERY_S) + 1)
    assert one.of("team-a") == ()


def test_what_was_seen_stands_while_the_api_server_cannot_be_asked(cluster: Cluster) -> None:
    one = cluster.install("a/mfu-operator")
    cluster.install("b/mfu-operator")
    cluster.go(one, minutes=2)
    cluster.fails = Retry("ClusterUnreachable", "503")
    cluster.go(one)
    assert one.of("team-a") != ()


def test_it_is_said_at_the_baseline_while_it_is_so(stage: Stage) -> None:
    both = ("mfu-a/mfu-operator", "mfu-b/mfu-operator")
    found: list[tuple[str, ...]] = [both]
    stage.adapters = replace(stage.adapters, neighbours=lambda namespace: found[-1])
    stage.tick()
    condition = stage.holding("ServedTwice")
    assert condition.reason == "NeighbourFound"
    assert all(name in condition.message for name in both)
    found.append(())
    stage.tick()
    assert stage.condition("ServedTwice") is None

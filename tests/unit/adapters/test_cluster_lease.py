"""A renewal of the Lease is over before the Lease is."""

import socket
from threading import Thread

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster.lease import LABELS, LEASE_DURATION_S, REQUEST_TIMEOUT_S, Leadership
from mfu_operator.adapters.cluster.neighbours import _installation
from mfu_operator.errors import Retry
from tests.faults.lease_server import LeaseServer


def test_two_requests_that_hang_end_within_half_of_the_lease() -> None:
    assert 2 * REQUEST_TIMEOUT_S < LEASE_DURATION_S / 2


def test_a_server_that_hangs_up_is_asked_once_and_other_requests_keep_their_retries() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.05)
        configuration = client.Configuration()
        configuration.host = f"http://127.0.0.1:{server.getsockname()[1]}"
        api = client.ApiClient(configuration)
        asked = _asked(server, Leadership(api, "mfu", "lease", "me"))
    assert asked == 1
    assert api.configuration.retries is None


def _asked(server: socket.socket, leadership: Leadership) -> int:
    """How many connections one renewal makes while each is closed without an answer."""

    def renew() -> None:
        with pytest.raises(Retry):
            leadership.hold(0.0)

    renewal = Thread(target=renew)
    renewal.start()
    asked = 0
    while True:
        over = not renewal.is_alive()
        try:
            connection, _ = server.accept()
        except TimeoutError:
            if over:
                return asked
            continue
        connection.close()
        asked += 1


class Machine:
    """A replica on a machine of its own: `wall_s` is what its clock shows, `steady_s` what goes by on it."""

    def __init__(self, name: str, server: LeaseServer, wall_s: float = 1_790_000_000.0) -> None:
        self.wall_s, self.steady_s = wall_s, 500.0
        self.leadership = server.of(name, lambda: self.steady_s)

    def go(self, seconds: float) -> None:
        self.wall_s += seconds
        self.steady_s += seconds

    def hold(self) -> bool:
        return self.leadership.hold(self.wall_s)


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.mark.parametrize("skew_s", [-3600.0, -30.0, -12.0, 0.0, 12.0, 30.0, 3600.0])
def test_a_live_leader_keeps_its_lease_however_wrong_the_other_s_clock_is(server: LeaseServer, skew_s: float) -> None:
    leader = Machine("a", server)
    other = Machine("b", server, leader.wall_s + skew_s)
    for _ in range(60):
        assert leader.hold()
        assert not other.hold()
        leader.go(5.0)
        other.go(5.0)


@pytest.mark.parametrize("skew_s", [-3600.0, -30.0, 0.0, 30.0, 3600.0])
def test_a_dead_leader_is_replaced_within_the_lease_however_wrong_its_clock_was(
    server: LeaseServer, skew_s: float
) -> None:
    dead, other = Machine("a", server, 1_790_000_000.0 + skew_s), Machine("b", server)
    assert dead.hold()
    assert not other.hold()
    other.go(LEASE_DURATION_S - 0.1)
    assert not other.hold()
    other.go(0.2)
    assert other.hold()
    assert not dead.hold()


def test_a_clock_that_is_set_back_loses_no_lease(server: LeaseServer) -> None:
    leader, other = Machine("a", server), Machine("b", server)
    assert leader.hold()
    leader.wall_s -= 3600.0
    for _ in range(10):
        assert leader.hold()
        assert not other.hold()
        leader.go(5.0)
        other.go(5.0)


def test_a_lease_that_was_given_back_is_taken_at_once(server: LeaseServer) -> None:
    leader, other = Machine("a", server), Machine("b", server)
    assert leader.hold()
    leader.leadership.release()
    assert other.hold()


def test_a_lease_that_somebody_annotated_meanwhile_is_renewed_all_the_same(server: LeaseServer) -> None:
    leader = Machine("a", server)
    assert leader.hold()
    read = server.read_namespaced_lease

    def annotated(*what: str, **_: object) -> object:
        found = read(*what)
        server.read_namespaced_lease = read  # type: ignore[method-assign]
        server._store(found)
        return found

    server.read_namespaced_lease = annotated  # type: ignore[method-assign]
    assert leader.hold()


def test_a_lease_says_whose_it_is_and_which_namespaces_are_served(server: LeaseServer) -> None:
    leader = server.of("a", lambda: 0.0)
    leader._watches = "team-a,team-b"
    assert leader.hold(0.0)
    stored = server.read_namespaced_lease("mfu-operator", "mfu-system")
    assert stored.metadata.labels == LABELS
    found = _installation(stored)
    assert found.watches == {"team-a", "team-b"}
    assert (found.serves("team-b"), found.serves("team-c")) == (True, False)
    assert found.name == "mfu-system/mfu-operator"

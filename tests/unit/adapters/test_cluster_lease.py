"""A renewal of the Lease is over before the Lease is."""

import socket
from threading import Thread

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster.lease import LEASE_DURATION_S, REQUEST_TIMEOUT_S, Leadership
from mfu_operator.errors import Retry


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

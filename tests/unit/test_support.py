"""What tests on real servers rest on."""

import os
import socket

import pytest

from tests.support.held_port import held_port
from tests.support.listening import addresses


def test_a_held_port_is_nobodys_but_a_servers_that_asks_for_that_very_one() -> None:
    with held_port() as port, held_port() as other:
        assert port != other
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)) as server:
            assert server.getsockname()[1] == port


def test_where_a_process_listens_is_what_the_kernel_says() -> None:
    with socket.create_server(("127.0.0.2", 0)), socket.create_server(("", 0)):
        assert addresses(os.getpid()) >= {"127.0.0.2", "0.0.0.0"}
    assert "127.0.0.2" not in addresses(os.getpid())

"""A real Gitea for the contracts that can be held by one."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import preflight
from tests.cluster.gitea import Gitea


@pytest.fixture(scope="session")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    reason = preflight.why_not()
    if reason:
        pytest.skip(reason)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    state: Path = tmp_path_factory.mktemp("gitea")
    server = Gitea(state, host_address="127.0.0.1", port=port)
    server.start()
    try:
        server.ready()
        yield server
    finally:
        server.stop()

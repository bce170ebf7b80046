"""A real Gitea for the contracts that can be held by one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import preflight
from tests.cluster.gitea import Gitea
from tests.support.held_port import held_port


@pytest.fixture(scope="session")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    reason = preflight.why_not()
    if reason:
        pytest.skip(reason)
    state: Path = tmp_path_factory.mktemp("gitea")
    with held_port() as port:
        server = Gitea(state, host_address="127.0.0.1", port=port)
        try:
            server.start()
            server.ready()
            yield server
        finally:
            server.stop()

"""A real Gitea and a real cluster for the contracts that can be held by them."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kubernetes import client, config

from tests.cluster import preflight
from tests.cluster.gitea import Gitea
from tests.contracts.cluster_arenas import Arena, DoubleArena, RealArena
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


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> client.ApiClient:
    environment = request.getfixturevalue("environment")
    unproxied = client.Configuration(proxy="")
    kubeconfig = str(environment.cluster.kubeconfig)
    config.load_kube_config(kubeconfig, client_configuration=unproxied)  # type: ignore[no-untyped-call]
    return client.ApiClient(unproxied)


@pytest.fixture(scope="module")
def namespace(api: client.ApiClient) -> Iterator[str]:
    name = f"contract-{uuid4().hex[:8]}"
    core = client.CoreV1Api(api)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    yield name
    core.delete_namespace(name)


REAL = pytest.param("real", marks=pytest.mark.cluster)


@pytest.fixture(params=["double", REAL])
def arena(request: pytest.FixtureRequest) -> Arena:
    if request.param == "double":
        return DoubleArena()
    return RealArena(request.getfixturevalue("api"), request.getfixturevalue("namespace"))

"""What more than one test file of the command line asks for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.api_server import ApiServer
from tests.unit.cli.replaying import MANIFEST


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "baseline.yaml"
    path.write_text(MANIFEST)
    return path


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    server = ApiServer()
    kubeconfig = tmp_path / "kubeconfig"
    context = {"cluster": "c", "user": "u", "namespace": "team-a"}
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "current-context": "here",
                "contexts": [
                    {"name": "here", "context": context},
                    {"name": "there", "context": context | {"namespace": "team-b"}},
                ],
                "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(kubeconfig))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    yield server
    server.close()

"""What reaches helm, shown by a program in its place that prints what it was given."""

from pathlib import Path

import pytest

from tests.cluster import helm
from tests.cluster.helm import Helm

_ECHO = '#!/bin/sh\necho "arguments: $*"\necho "kubeconfig: $KUBECONFIG"\necho "values: $(cat)"\n'


@pytest.fixture
def echoing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(_ECHO)
    program.chmod(0o755)
    monkeypatch.setattr(helm, "go_binaries", lambda _: program.parent)
    return tmp_path


def test_values_travel_on_standard_input_only(echoing: Path) -> None:
    said = Helm(echoing, echoing / "kubeconfig").upgrade_install(
        "mfu", Path("chart"), "mfu-system", {"token": "s3cret"}
    )
    arguments, kubeconfig, values = said.splitlines()
    assert "s3cret" not in arguments
    assert values == 'values: {"token": "s3cret"}'
    assert kubeconfig == f"kubeconfig: {echoing / 'kubeconfig'}"


def test_rendering_without_a_cluster_cannot_reach_the_persons_own(echoing: Path) -> None:
    said = Helm(echoing).template("mfu", Path("chart"), "mfu-system")
    assert f"kubeconfig: {echoing}" in said
    assert "template mfu chart --namespace=mfu-system --values=-" in said

"""What more than one test file of the command line asks for."""

from pathlib import Path

import pytest

from tests.unit.cli.replaying import MANIFEST


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "baseline.yaml"
    path.write_text(MANIFEST)
    return path

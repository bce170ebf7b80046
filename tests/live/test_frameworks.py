"""The steps that real frameworks count, and the phases of their hooks, in a run of each one's own loop."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.live.conftest import Table
from tests.live.environment import python
from tests.live.job import PATIENCE_S, ROOT, SCRIPTS

pytestmark = pytest.mark.torch
ALL = {
    "lightning": ("checkpoint", "evaluation"),
    "transformers": ("checkpoint", "evaluation"),
    "accelerate": ("checkpoint",),
}
LOGS_ITS_LOSS = {"transformers"}


def ran(framework: str, way: str, folder: Path, port: int) -> dict[str, Any]:
    interpreter = str(python())
    script = [interpreter, str(SCRIPTS / "frameworks.py"), framework, way, str(folder)]
    command = [interpreter, "-m", "mfu_probe", "run", "--", *script] if way == "hook" else script
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator"), "MFU_PROBE_PORT": str(port)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.parametrize("framework", ALL)
def test_the_hook_counts_the_steps_that_the_framework_counts(
    framework: str, tmp_path: Path, port: int, table: Table
) -> None:
    """Two batches are accumulated for a step; the first end of a step begins the first whole one."""
    said = ran(framework, "hook", tmp_path, port)
    assert said["steps"] >= 20
    assert said["counted"] == said["steps"] - 1
    table.row("none", f"{framework}, mfu_probe run", 1, f"{said['steps']} steps, all counted")


@pytest.mark.parametrize("framework", ALL)
def test_the_framework_s_own_hook_marks_its_phases(framework: str, tmp_path: Path, port: int, table: Table) -> None:
    said = ran(framework, "callback", tmp_path, port)
    assert said["counted"] == said["steps"] - 1
    assert said["phases"] == {phase: phase for phase in ALL[framework]}
    assert said["loss"] == (framework in LOGS_ITS_LOSS)
    table.row("none", f"{framework}, its hook", 1, f"{said['steps']} steps; {' and '.join(sorted(said['phases']))}")

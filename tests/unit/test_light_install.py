"""A laptop has the command line without kopf; who asks it to run the operator learns what to install."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
WITHOUT_KOPF = "import sys; sys.modules['kopf'] = None; from mfu_operator.__main__ import main; main()"


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_KOPF, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command_line_needs_no_kopf() -> None:
    done = called("runbook", "NoSeries")
    assert (done.returncode, done.stderr) == (0, "")
    assert "NoSeries" in done.stdout
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [each for each in project["dependencies"] if each.startswith("kopf")] == []


def test_the_operator_says_what_it_lacks() -> None:
    done = called("run")
    assert done.returncode == 1
    assert "pip install 'mfu-operator[operator]'" in done.stderr

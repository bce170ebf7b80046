"""The command itself: what it offers, and how it fails."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator import __version__
from mfu_operator.cli import main as command
from mfu_operator.errors import Stall

ROOT = Path(__file__).parents[3]
TEXTS = (
    "operator/**/*.py",
    "operator/**/*.yaml",
    "runbooks/**/*.md",
    "charts/**/*.md",
    "charts/**/*.yaml",
    "crds/*.yaml",
)


def test_help_names_every_word() -> None:
    shown = CliRunner().invoke(command.cli, ["-h"]).output
    for word in command.WORDS:
        assert f"kubectl mfu {word}" in shown


def test_every_command_that_a_text_names_exists() -> None:
    pages = [ROOT / "README.md", *(page for pattern in TEXTS for page in ROOT.glob(pattern))]
    named = {word for page in pages for word in re.findall(r"`?kubectl mfu ([a-z]+)", page.read_text())}
    assert len(pages) > 300
    assert named - {*command.WORDS, *command.OF_JOBS} == {"cannot"}, "as in: a command of kubectl mfu cannot answer"


def test_it_tells_its_version() -> None:
    assert __version__ in CliRunner().invoke(command.cli, ["--version"]).output


def test_an_error_that_has_a_reason_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @command.cli.command("fail-for-the-test")
    def fail() -> None:
        raise Stall("NoCluster", "set KUBECONFIG")

    monkeypatch.setattr(sys, "argv", ["kubectl-mfu", "fail-for-the-test"])
    try:
        with pytest.raises(SystemExit) as ended:
            command.main()
    finally:
        del command.cli.commands["fail-for-the-test"]
    assert ended.value.code == 1
    assert capsys.readouterr().err == "kubectl-mfu: NoCluster: set KUBECONFIG\n"

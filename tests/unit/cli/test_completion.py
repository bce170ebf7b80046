"""Completion as shells and kubectl ask for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mfu_operator.cli import completion
from mfu_operator.cli.completion import completions
from mfu_operator.cli.main import WORDS, cli
from tests.support import worlds
from tests.unit.cli.api_server import ApiServer

ROOT = Path(__file__).parents[3]


def values(*words: str) -> list[str]:
    return [each.value for each in completions(list(words[:-1]), words[-1])]


def test_the_words_are_completed() -> None:
    assert values("re") == ["rerecord", "report", "reject", "reset", "replay"]
    assert set(values("")) == set(WORDS)


def test_options_and_their_choices_are_completed() -> None:
    assert {"--context", "--kubeconfig", "--namespace", "--output", "--watch"} <= set(values("status", "--"))
    assert values("status", "-o", "j") == ["json"]


def test_names_are_those_of_the_namespace_and_contexts_those_of_the_kubeconfig(api: ApiServer) -> None:
    api.keep(worlds.SETTLED)
    api.keep(worlds.SETTLED, "gpt-large")
    api.keep(worlds.SETTLED, "gpt-other", "team-b")
    assert values("explain", "gpt") == ["gpt-small", "gpt-large"]
    assert values("explain", "-n", "team-b", "") == ["gpt-other"]
    assert values("explain", "--context", "") == ["here", "there"]


def test_a_cluster_that_does_not_answer_completes_nothing(api: ApiServer) -> None:
    api.answers = 403
    assert values("explain", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_s_script_asks_this_program(shell: str) -> None:
    script = CliRunner().invoke(cli, ["completion", shell]).output
    assert "_KUBECTL_MFU_COMPLETE" in script
    assert "kubectl-mfu" in script


def test_bash_itself_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "kubectl-mfu"
    program.write_text(f"#!{sys.executable}\nfrom mfu_operator.cli.main import main\nmain()\n")
    program.chmod(0o755)
    asked = (
        "source <(kubectl-mfu completion bash) 2>/dev/null; COMP_WORDS=(kubectl-mfu run); COMP_CWORD=1; "
        '_kubectl_mfu_completion kubectl-mfu; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "operator")}
    done = subprocess.run(["bash", "-c", asked], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["runbook"]


def test_kubectl_is_answered_in_its_own_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-mfu", "status", "-o", "w"])
    completion.for_kubectl()
    assert capsys.readouterr().out == "wide\n:4\n"


def test_file_names_are_left_to_the_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-mfu", "analyze", ""])
    completion.for_kubectl()
    assert capsys.readouterr().out == ":0\n"

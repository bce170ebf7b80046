"""Completion: of `kubectl-mfu` in three shells, and of `kubectl mfu`, which asks a program beside it."""

import sys

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

PROGRAM, VARIABLE = "kubectl-mfu", "_KUBECTL_MFU_COMPLETE"

NO_FILES, FILES = 4, 0
"""Cobra's directives: whether file names are offered where nothing else is."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the script that completes kubectl-mfu in a shell.

    \b
    source <(kubectl-mfu completion bash)                                     in ~/.bashrc
    source <(kubectl-mfu completion zsh)                                      in ~/.zshrc
    kubectl-mfu completion fish > ~/.config/fish/completions/kubectl-mfu.fish

    `kubectl mfu` needs no script beside kubectl's own completion: kubectl asks kubectl_complete-mfu, which is installed
    with this command.
    """
    from mfu_operator.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, PROGRAM, VARIABLE).source())


def for_kubectl() -> None:
    """Answer kubectl, as kubectl_complete-mfu: the words so far are the arguments, the last of them incomplete."""
    words = sys.argv[1:] or [""]
    found = completions(words[:-1], words[-1])
    shown = [each for each in found if each.type == "plain"]
    for each in shown:
        print(f"{each.value}\t{each.help}" if each.help else each.value)
    print(f":{FILES if len(shown) < len(found) else NO_FILES}")


def completions(words: list[str], incomplete: str) -> list[CompletionItem]:
    """What may follow, as click knows it."""
    from mfu_operator.cli.main import cli

    return ShellComplete(cli, {}, PROGRAM, VARIABLE).get_completions(words, incomplete)

"""runbooks/reference-cli.md, from the commands: `python -m tests.docs.reference.cli_page` writes it."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from mfu_operator.cli.main import WORDS, cli

PAGE = Path(__file__).parents[3] / "runbooks" / "reference-cli.md"
PROGRAM = "kubectl mfu"
HEAD = """\
# Reference: kubectl mfu

Every command and its options, as `kubectl mfu COMMAND --help` prints them. `pip install .` installs `kubectl-mfu`, and
kubectl finds it as `kubectl mfu`. Every command takes `-h` and `--help`. Exit codes: 0 answered, 1 failed (the reason
is on standard error; `kubectl mfu runbook REASON` explains it), 2 wrong usage; others are with their command. This page
is made from the commands (`make generate`).
"""


def made() -> str:
    """The page as the commands are now."""
    index = "".join(f"| [{PROGRAM} {word}](#kubectl-mfu-{word}) | {_summary(word)} |\n" for word in WORDS)
    table = f"\n| command | what it does |\n|---|---|\n{index}"
    return HEAD + table + "".join(map(_section, WORDS))


def command_of(word: str) -> click.Command:
    """The command behind a word."""
    found = cli.get_command(click.Context(cli), word)
    assert found is not None
    return found


def _summary(word: str) -> str:
    first = inspect.cleandoc(command_of(word).help or "").split("\n\n")[0]
    return " ".join(first.split())


def _section(word: str) -> str:
    command = command_of(word)
    context = click.Context(command, info_name=word, parent=click.Context(cli, info_name=PROGRAM))
    usage = " ".join([f"{PROGRAM} {word}", *command.collect_usage_pieces(context)])
    parts = [f"\n## {PROGRAM} {word}", f"```\n{usage}\n```", *_text(word, command), *_options(command, context)]
    return "\n\n".join(parts) + "\n"


def _text(word: str, command: click.Command) -> Iterator[str]:
    """The help's paragraphs, its examples as code; where it has none, the one of the program's own help."""
    examples = False
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```\n{inspect.cleandoc(paragraph.removeprefix(chr(8)))}\n```"
            examples = True
        else:
            yield " ".join(paragraph.split())
    if not examples:
        yield from (f"```\n{line}\n```" for line in _examples(word))


def _examples(word: str) -> Iterator[str]:
    for line in inspect.cleandoc(cli.help or "").splitlines():
        if re.match(rf"{PROGRAM} {word}\b", line):
            yield line


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [each.get_help_record(context) for each in command.params if isinstance(each, click.Option)]
    rows = [f"| `{_cell(names)}` | {_cell(meaning)} |" for names, meaning in filter(None, records)]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(made(), encoding="utf-8")

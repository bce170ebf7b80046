"""`kubectl mfu`: one command, one word each for what a person asks."""

import sys

import click

from mfu_operator import __version__
from mfu_operator.cli.analyze import analyze_command
from mfu_operator.cli.doctor import doctor_command
from mfu_operator.cli.explain import explain_command
from mfu_operator.cli.replay import replay_command
from mfu_operator.cli.status import status_command
from mfu_operator.errors import MfuError

FAILED = 1


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="kubectl-mfu")
def cli() -> None:
    """Why training became slow, and which commit did it.

    \b
    kubectl mfu status               every baseline of the namespace, one line each
    kubectl mfu explain gpt-small    where the step's time went, and what changed
    kubectl mfu doctor gpt-small     which metrics are asked for, and what comes back
    kubectl mfu analyze trace.sqlite an nsys or torch.profiler trace, without a cluster
    kubectl mfu replay …             what the operator would have said about a series
    """


for command in (status_command, explain_command, doctor_command, analyze_command, replay_command):
    cli.add_command(command)


def main() -> None:
    """Run; an error that has a reason is one line on stderr."""
    try:
        cli()
    except MfuError as error:
        print(f"kubectl-mfu: {error.reason}: {error.message}", file=sys.stderr)
        sys.exit(FAILED)

"""`kubectl mfu`: one command, one word each for what a person asks."""

import gc
import sys
from collections.abc import Mapping
from importlib import import_module

import click

from mfu_operator import __version__
from mfu_operator.errors import MfuError
from mfu_operator.model.terminal_text import for_terminal

FAILED = 1

WORDS: Mapping[str, str] = {
    "tour": "tour_command",
    "onboard": "onboard_command",
    "status": "status_command",
    "explain": "explain_command",
    "timeline": "timeline_command",
    "runbook": "runbook_command",
    "doctor": "doctor_command",
    "rerecord": "rerecord_command",
    "report": "report_command",
    "approve": "answers.approve_command",
    "reject": "answers.reject_command",
    "snooze": "answers.snooze_command",
    "close": "close_command",
    "reset": "reset_command",
    "analyze": "analyze_command",
    "replay": "replay_command",
    "suspects": "suspects_command",
    "capture": "capture_command",
    "completion": "completion_command",
}
"""The command behind each word, in the module of its name unless another one is named."""

OF_JOBS: Mapping[str, str] = {"coordinate": "coordinate_command"}
"""What profiling pods run and no person types."""


class Words(click.Group):
    """Imports a word's module when it is asked for: the Kubernetes client alone takes half a second, and analyze, which
    runs in every profiling pod, does not need it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The words in the order of the help."""
        return list(WORDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a word."""
        words = {**WORDS, **OF_JOBS}
        if cmd_name not in words:
            return super().get_command(ctx, cmd_name)
        module, _, name = words[cmd_name].rpartition(".")
        command = getattr(import_module(f"mfu_operator.cli.{module or cmd_name}"), name)
        assert isinstance(command, click.Command)
        return command


@click.command(
    cls=Words, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}, no_args_is_help=True
)
@click.version_option(__version__, prog_name="kubectl-mfu")
def cli() -> None:
    """Why training became slow, and which commit did it.

    \b
    kubectl mfu tour                 one incident from the slow series to the pull request, without a cluster
    kubectl mfu onboard Job/gpt      the files for Git that put a job under watch, and the commands beside them
    kubectl mfu status               every baseline of the namespace, one line each
    kubectl mfu explain gpt-small    where the step's time went, and what changed
    kubectl mfu timeline gpt-small   what happened in its incidents, and when
    kubectl mfu runbook NoSeries     what a reason, an alert or a bottleneck means, and what to do
    kubectl mfu doctor gpt-small     which metrics are asked for, and what comes back
    kubectl mfu rerecord gpt-small --reason …  hold another level from now on, on purpose
    kubectl mfu report gpt-small     an incident from its detection to its recovery, for a change ticket
    kubectl mfu approve gpt-small    open its pull request now, whatever it waits for
    kubectl mfu reject gpt-small --reason …    do not undo this commit, now or later
    kubectl mfu snooze gpt-small --for 8h      no pull request for a while
    kubectl mfu close gpt-small --reason …     end its open incident, on purpose
    kubectl mfu reset gpt-small      start it over, on purpose
    kubectl mfu analyze trace.sqlite an nsys or torch.profiler trace, without a cluster
    kubectl mfu replay …             what the operator would have said about a series
    kubectl mfu suspects --repo . …  which commit between two revisions made a job slow
    kubectl mfu capture gpt-small    a few steps of the running job now (-f FILE --dry-run: any plan)
    kubectl mfu completion bash      the script that completes kubectl-mfu (zsh and fish, too)
    """


def main() -> None:
    """Run; an error that has a reason is one line on stderr.

    A command lives for seconds and leaves few cycles behind: looking for them, also at the end, takes a tenth of the
    time of a small trace's analysis.
    """
    gc.disable()
    try:
        cli()
    except MfuError as error:
        print(for_terminal(f"kubectl-mfu: {error.reason}: {error.message}"), file=sys.stderr)
        sys.exit(FAILED)
    finally:
        gc.freeze()

"""`-o` and `-w`: the same words in every command."""

import time
from collections.abc import Callable

import click

from mfu_operator.errors import Retry
from mfu_operator.model.terminal_text import for_terminal

LOOK_EVERY_S = 5.0
"""Between two looks of `--watch`."""


Command = Callable[..., None]


def output_option(*formats: str, default: str = "text", about: str = "What to print.") -> Callable[[Command], Command]:
    """Add `-o`; the command gets the format as `output`. Any other than `formats` is refused, and these are named."""
    return click.option("-o", "--output", type=click.Choice(formats), default=default, show_default=True, help=about)


def watch_option(command: Command) -> Command:
    """Add `-w`; the command gets the seconds between two looks as `look_every_s`, None without it."""
    return click.option(
        "-w",
        "--watch",
        "look_every_s",
        is_flag=True,
        flag_value=LOOK_EVERY_S,
        type=float,
        default=None,
        help=f"Print again whenever it changed, looking every {LOOK_EVERY_S:g} s.",
    )(command)


def show(printed: Callable[[], str], look_every_s: float | None) -> None:
    """Print what `printed` returns, and where it is watched, again whenever that changed.

    A cluster that does not answer for a while ends no watch: that is told on stderr, once until it answers again.

    Raises:
        MfuError: whatever `printed` raises; of a watch that printed before, anything but `Retry`.
    """
    last: str | None = None
    troubled = False
    while True:
        try:
            text, troubled = printed(), False
        except Retry as error:
            if look_every_s is None or last is None:
                raise
            if not troubled:
                click.echo(for_terminal(f"kubectl-mfu: {error.reason}: {error.message}"), err=True)
            text, troubled = last, True
        if text != last:
            click.echo(text)
            last = text
        if look_every_s is None:
            return
        time.sleep(look_every_s)


def refused_option(*names: str, because: str) -> Callable[[Command], Command]:
    """An option that other commands take and this one does not: refused with the reason, and not in the help.

    Args:
        names: as click has them ("-w", "--watch").
        because: a sentence for the person who wrote it.
    """

    def refuse(context: click.Context, option: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{'/'.join(option.opts)}: {because}", context)

    takes_none = "--watch" in names
    return click.option(*names, is_flag=takes_none, hidden=True, expose_value=False, callback=refuse, help=because)

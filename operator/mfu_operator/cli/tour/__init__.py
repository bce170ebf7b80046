"""`kubectl mfu tour`: one incident from the slow series to the pull request's text, on packaged data."""

import click
from rich.console import Console

from mfu_operator.cli.tour.screen import BESIDE, WIDEST, show
from mfu_operator.cli.tour.stages import toured


@click.command("tour")
@click.option("-o", "--output", type=click.Choice(["text", "markdown"]), default="text", show_default=True,
              help="The tour, or the text of its pull request alone.")  # fmt: skip
def tour_command(output: str) -> None:
    """Show one incident from the slow series to the pull request, in seconds, without a cluster or a network.

    Nothing is prepared: the code is the operator's own, and the data come with the package: two public torch.profiler
    traces of ResNet-50 on a V100, a series of step times drawn from their steps, and a small Git history.
    """
    tour = toured()
    if output == "markdown":
        click.echo(tour.proposal.body, nl=False)
        return
    terminal = Console()
    show(Console(width=min(WIDEST, terminal.width) if terminal.is_terminal else WIDEST), tour)
    click.echo(BESIDE)

"""`kubectl mfu reset`: a baseline starts over, on purpose."""

import time

import click

from mfu_operator.api.group import RESET_ANNOTATION
from mfu_operator.api.quantities import rfc3339
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options


@click.command("reset")
@click.argument("name", shell_complete=baseline_names)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
def reset_command(name: str, namespace: str | None) -> None:
    """Start a baseline over: what was found out about it is forgotten and found out again.

    A recorded level is recorded again, the healthy job profiled again, an open incident closed. The spec and the
    history of incidents stay.
    """
    found = baselines.one(namespace, name)
    baselines.patch(found["metadata"], {"metadata": {"annotations": {RESET_ANNOTATION: rfc3339(time.time())}}})
    click.echo(f"{name}: the operator starts it over; kubectl mfu status {name} shows how far it is")

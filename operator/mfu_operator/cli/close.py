"""`kubectl mfu close`: a person ends an incident, with the reason in its record."""

import click

from mfu_operator.api import status as codec
from mfu_operator.api.group import CLOSE_ANNOTATION
from mfu_operator.api.requests import asked_value
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.errors import AskPerson


@click.command("close")
@click.argument("name", shell_complete=baseline_names)
@click.option("--reason", required=True, help="Why the incident is closed; kept in its record.")
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
def close_command(name: str, reason: str, namespace: str | None) -> None:
    """Close a baseline's open incident.

    It goes into the history with this reason and the device hours that it cost. The same loss opens no other incident;
    one that begins after the readings recovered does. An open pull request is left as it is. To hold another level from
    now on, use rerecord.
    """
    found = baselines.one(namespace, name)
    incident = codec.salvage(found.get("status")).status.incident
    if incident is None:
        raise AskPerson(
            "NoOpenIncident", f"{name} has no open incident; `kubectl mfu status {name}` shows the past ones"
        )
    asked = {CLOSE_ANNOTATION: asked_value(incident.id, reason)}
    baselines.patch(found["metadata"], {"metadata": {"annotations": asked}})
    click.echo(f"{name}: the operator closes incident {incident.id}; kubectl mfu status {name} shows it")

"""`kubectl mfu report`: an incident as the record that a change ticket asks for."""

import json

import click

from mfu_operator.api import codec as plain
from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.record import record


@click.command("report")
@click.argument("name")
@click.option("--incident", "incident_id", help="A past incident, by its id; default: the open or the last one.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["markdown", "json"]),
    default="markdown",
    show_default=True,
    help="Markdown for people, or the record's fields as the status has them.",
)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
def report_command(name: str, incident_id: str | None, output: str, namespace: str | None) -> None:
    """Print the change record of one of NAME's incidents: what was measured and found, what was changed, what it cost.

    For example, into a ticket: kubectl mfu report gpt-small | pbcopy
    """
    found = baselines.one(namespace, name)
    status = codec.salvage(found.get("status")).status
    incidents = [*((status.incident,) if status.incident else ()), *status.history]
    if incident_id is not None:
        incidents = [each for each in incidents if each.id == incident_id]
    if not incidents:
        which = f"no incident {incident_id!r}" if incident_id is not None else "no incident"
        raise AskPerson("NoIncident", f"{name} has {which} on record; `kubectl mfu status {name}` lists them")
    if output == "json":
        click.echo(json.dumps(plain.encode(incidents[0]), indent=2, ensure_ascii=False))
        return
    healthy = status.healthy_profile.account if status.healthy_profile else None
    click.echo(record(incidents[0], f"{found['metadata']['namespace']}/{name}", healthy), nl=False)

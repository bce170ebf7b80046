"""`kubectl mfu report`: an incident as the record that a change ticket asks for."""

import click

from mfu_operator.api import codec as plain
from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.cli.output import as_json, as_page, as_yaml
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.record import record


@click.command("report")
@click.argument("name", shell_complete=baseline_names)
@click.option("--incident", "incident_id", help="A past incident, by its id; default: the open or the last one.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["markdown", "html", "json", "yaml"]),
    default="markdown",
    show_default=True,
    help="Markdown or a page of its own for people, or the record's fields as the status has them.",
)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
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
    if output in ("json", "yaml"):
        value = plain.encode(incidents[0])
        click.echo(as_json(value) if output == "json" else as_yaml(value))
        return
    healthy = status.healthy_profile.account if status.healthy_profile else None
    told = record(incidents[0], f"{found['metadata']['namespace']}/{name}", healthy)
    if output == "html":
        click.echo(as_page(f"Incident {incidents[0].id}", told))
    else:
        click.echo(told, nl=False)

"""The command, and its formats."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.cli.printing.objects import as_json, as_yaml
from mfu_operator.cli.printing.options import output_option, show, watch_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.cli.timeline.events import Reported, reported
from mfu_operator.cli.timeline.story import chapters
from mfu_operator.cli.timeline.text import BRIEF, WIDE, as_markdown, as_object, as_text
from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.model.terminal_text import for_terminal


@click.command("timeline")
@click.argument("name", shell_complete=baseline_names)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
@click.option("--incident", "incident_id", help="One incident, by its id; default: all that are on record.")
@output_option(
    "text", "wide", "json", "yaml", "markdown", "html", about="What to print; wide: also where each line is from."
)
@watch_option
def timeline_command(
    name: str, namespace: str | None, incident_id: str | None, output: str, look_every_s: float | None
) -> None:
    """Show what happened in NAME's incidents, and when: from the onset to the recovery.

    Facts and most times come from the status. Events, where you may list them and the API server still has them, date
    the rest and are listed among them.
    """
    excused: set[str] = set()

    def excuse(text: str) -> None:
        if text not in excused:
            click.echo(for_terminal(text), err=True)
        excused.add(text)

    show(lambda: _printed(name, namespace, incident_id, output, excuse), look_every_s)


def _printed(
    name: str, namespace: str | None, incident_id: str | None, output: str, excuse: Callable[[str], None]
) -> str:
    body = baselines.one(namespace, name)
    status = codec.salvage(body.get("status")).status
    incidents = [*((status.incident,) if status.incident else ()), *status.history]
    if incident_id is not None:
        incidents = [each for each in incidents if each.id == incident_id]
        if not incidents:
            raise AskPerson(
                "NoIncident", f"{name} has no incident {incident_id!r} on record; kubectl mfu timeline {name}"
            )
    metadata = body["metadata"]
    subject = f"{metadata['namespace']}/{metadata['name']}"
    found = chapters(incidents, _events(metadata, excuse) if incidents else ())
    match output:
        case "json":
            return as_json(as_object(subject, found))
        case "yaml":
            return as_yaml(as_object(subject, found))
        case "markdown":
            return as_markdown(subject, found)
        case "html":
            return as_page(f"Incidents of {subject}", as_markdown(subject, found))
        case _:
            return as_text(subject, found, WIDE if output == "wide" else BRIEF)


def _events(metadata: Mapping[str, Any], excuse: Callable[[str], None]) -> Sequence[Reported]:
    try:
        return reported(metadata)
    except MfuError as error:
        excuse(f"kubectl-mfu: without Events, so some lines have no time: {error.reason}: {error.message}")
        return ()

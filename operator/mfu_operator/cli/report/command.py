"""The command, and its formats."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from mfu_operator.api import codec as plain
from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.cli.printing.objects import as_json, as_yaml
from mfu_operator.cli.printing.options import output_option, show, watch_option
from mfu_operator.cli.report.page import incident_page
from mfu_operator.cli.timeline.events import Reported, reported
from mfu_operator.cli.timeline.story import chapters
from mfu_operator.errors import AskPerson, MfuError
from mfu_operator.gitops.record import record


@click.command("report")
@click.argument("name", shell_complete=baseline_names)
@click.option("--incident", "incident_id", help="A past incident, by its id; default: the open or the last one.")
@output_option(
    "markdown", "html", "json", "yaml", default="markdown",
    about="Markdown or a page of its own for people, or the record's fields as the status has them.",
)  # fmt: skip
@click.option("--html", "output", flag_value="html", help="The same as -o html: one page, which loads nothing.")
@watch_option
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
def report_command(
    name: str, incident_id: str | None, output: str, look_every_s: float | None, namespace: str | None
) -> None:
    """Print the change record of one of NAME's incidents: what was measured and found, what was changed, what it cost.

    \b
    kubectl mfu report gpt-small | pbcopy                       into a ticket
    kubectl mfu report gpt-small --html > incident.html         one page, with pictures and every moment
    """
    show(lambda: _printed(name, incident_id, output, namespace), look_every_s)


def _printed(name: str, incident_id: str | None, output: str, namespace: str | None) -> str:
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
        return as_json(value) if output == "json" else as_yaml(value)
    healthy = status.healthy_profile.account if status.healthy_profile else None
    told = record(incidents[0], f"{found['metadata']['namespace']}/{name}", healthy)
    if output == "html":
        (chapter,) = chapters(incidents[:1], _events(found["metadata"]))
        return incident_page(chapter, told, healthy)
    return told.rstrip("\n")


def _events(metadata: Mapping[str, Any]) -> Sequence[Reported]:
    """None where they may not be listed: the page then has fewer times."""
    try:
        return reported(metadata)
    except MfuError:
        return ()

"""`kubectl mfu explain`: where the step's time went, from what the operator wrote to the status."""

import click

from mfu_operator.api import codec as plain
from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.cli.printing.account import account_markdown
from mfu_operator.cli.printing.objects import as_json, as_yaml
from mfu_operator.cli.printing.options import output_option, show, watch_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.cli.render import account_text
from mfu_operator.errors import Wait


@click.command("explain")
@click.argument("name", shell_complete=baseline_names)
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
@output_option("text", "json", "yaml", "markdown", "html")
@watch_option
@click.option("--incident", "incident_id", help="A past incident, by its id; default: the open or the last one.")
def explain_command(
    name: str, namespace: str | None, output: str, look_every_s: float | None, incident_id: str | None
) -> None:
    """Show NAME's step, now over baseline, with the diagnosis and its evidence."""
    show(lambda: _printed(name, namespace, output, incident_id), look_every_s)


def _printed(name: str, namespace: str | None, output: str, incident_id: str | None) -> str:
    status = codec.decode(baselines.one(namespace, name).get("status"))
    healthy = status.healthy_profile.account if status.healthy_profile else None
    incidents = [*((status.incident,) if status.incident else ()), *status.history]
    if incident_id is not None:
        incidents = [each for each in incidents if each.id == incident_id]
        if not incidents:
            raise click.UsageError(f"{name} has no incident {incident_id!r} on record")
    explained = next((each for each in incidents if each.profile and each.profile.account), None)
    if explained is not None and explained.profile is not None and explained.profile.account is not None:
        now, before, diagnosis = explained.profile.account, healthy, explained.diagnosis
        title = f"incident {explained.id}"
    elif healthy is None:
        raise Wait("NotProfiled", f"{name} has no profile yet; kubectl mfu status {name} says what it waits for")
    else:
        now, before, diagnosis = healthy, None, None
        title = "No incident has been profiled; this is the healthy step."
    if output == "text":
        return f"{title}\n{account_text(now, before, diagnosis)}".rstrip("\n")
    if output in ("json", "yaml"):
        told = {"title": title, "now": now, "baseline": before, "diagnosis": diagnosis}
        value = {key: each if isinstance(each, str) else plain.encode(each) for key, each in told.items() if each}
        return as_json(value) if output == "json" else as_yaml(value)
    markdown = account_markdown(title, now, before, diagnosis)
    return markdown if output == "markdown" else as_page(f"{name}: {title}", markdown)

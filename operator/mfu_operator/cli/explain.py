"""`kubectl mfu explain`: where the step's time went, from what the operator wrote to the status."""

import click

from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.render import account_text
from mfu_operator.errors import Wait


@click.command("explain")
@click.argument("name")
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@click.option("--incident", "incident_id", help="A past incident, by its id; default: the open or the last one.")
def explain_command(name: str, namespace: str | None, incident_id: str | None) -> None:
    """Show NAME's step, now over baseline, with the diagnosis and its evidence."""
    status = codec.decode(baselines.one(namespace, name).get("status"))
    healthy = status.healthy_profile.account if status.healthy_profile else None
    incidents = [*((status.incident,) if status.incident else ()), *status.history]
    if incident_id is not None:
        incidents = [each for each in incidents if each.id == incident_id]
        if not incidents:
            raise click.UsageError(f"{name} has no incident {incident_id!r} on record")
    explained = next((each for each in incidents if each.profile and each.profile.account), None)
    if explained is not None and explained.profile is not None and explained.profile.account is not None:
        click.echo(f"incident {explained.id}")
        click.echo(account_text(explained.profile.account, healthy, explained.diagnosis), nl=False)
        return
    if healthy is None:
        raise Wait("NotProfiled", f"{name} has no profile yet; kubectl mfu status {name} says what it waits for")
    click.echo("No incident has been profiled; this is the healthy step.")
    click.echo(account_text(healthy, None, None), nl=False)

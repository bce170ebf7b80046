"""`kubectl mfu approve`, `reject` and `snooze`: a person's word on a proposal, which the operator takes note of."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from mfu_operator.api import quantities
from mfu_operator.api import status as codec
from mfu_operator.api.group import APPROVE_ANNOTATION, REJECT_ANNOTATION, SNOOZE_ANNOTATION
from mfu_operator.api.requests import asked_value, snooze_value
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.detect.formatting import clock
from mfu_operator.errors import AskPerson
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.incident import Incident
from mfu_operator.reconcile.proposed.hold import blamed_of, undoing

_OPTION = click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")


def _namespace(command: Callable[..., None]) -> Callable[..., None]:
    return _OPTION(connection_options(command))


@click.command("approve")
@click.argument("name", shell_complete=baseline_names)
@click.option("--reason", default="approved", show_default=True, help="Why it cannot wait; kept in the record.")
@_namespace
def approve_command(name: str, reason: str, namespace: str | None) -> None:
    """Have the pull request of a baseline's open incident opened now.

    Without it, a freeze (spec.remediation.freeze), a snooze and the cool-down are waited for. What makes a proposal
    safe is not skipped: one commit that stands out, rendered, within the operator's hourly limit. The mode must be
    PullRequest.
    """
    found = baselines.one(namespace, name)
    mode = ((found.get("spec") or {}).get("remediation") or {}).get("mode")
    if mode != RemediationMode.PULL_REQUEST:
        raise AskPerson(
            "NothingToApprove", f"spec.remediation.mode of {name} is {mode or 'not set'}: set it to PullRequest"
        )
    incident = _open(found, name)
    _ask(found, APPROVE_ANNOTATION, asked_value(incident.id, reason))
    click.echo(f"{name}: the pull request of incident {incident.id} waits for nothing that a person can end")


@click.command("reject")
@click.argument("name", shell_complete=baseline_names)
@click.option("--reason", required=True, help="Why it must stay; kept in the record.")
@_namespace
def reject_command(name: str, reason: str, namespace: str | None) -> None:
    """Say no to undoing the commit that is held responsible for a baseline's open incident, or to pinning what came
    with no commit.

    The operator closes its pull request, unless another baseline waits for it, and does not propose the same
    for this baseline again. The incident stays open until training recovers; to end it, use close.
    """
    found = baselines.one(namespace, name)
    incident = _open(found, name)
    blamed = blamed_of(incident)
    if blamed is None:
        raise AskPerson("NothingToReject", f"incident {incident.id} of {name} holds no commit and no pin responsible")
    _ask(found, REJECT_ANNOTATION, asked_value(incident.id, reason))
    click.echo(f"{name}: {undoing(*blamed)} is rejected; kubectl mfu status {name} shows it")


@click.command("snooze")
@click.argument("name", shell_complete=baseline_names)
@click.option(
    "--for", "duration", required=True, help='For how long, like "8h" or "90m"; "0s" ends it. At most 90 days.'
)
@click.option("--reason", default="no reason given", help="Why; kept in the status until then.")
@_namespace
def snooze_command(name: str, duration: str, reason: str, namespace: str | None) -> None:
    """Want no pull request for a baseline for a while.

    It is measured, profiled and explained meanwhile; what is found is proposed afterwards. A pull request that is open
    stays open.
    """
    try:
        until_s = time.time() + quantities.duration_s(duration)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--for") from None
    _ask(baselines.one(namespace, name), SNOOZE_ANNOTATION, snooze_value(until_s, reason))
    click.echo(f"{name}: no pull request is opened before {clock(until_s)}")


def _open(found: Mapping[str, Any], name: str) -> Incident:
    incident = codec.salvage(found.get("status")).status.incident
    if incident is None:
        raise AskPerson(
            "NoOpenIncident", f"{name} has no open incident; `kubectl mfu status {name}` shows the past ones"
        )
    return incident


def _ask(found: Mapping[str, Any], annotation: str, value: str) -> None:
    baselines.patch(found["metadata"], {"metadata": {"annotations": {annotation: value}}})

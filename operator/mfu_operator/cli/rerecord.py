"""`kubectl mfu rerecord`: the level no longer applies, on purpose; record it again."""

import json
from collections.abc import Mapping
from typing import Any

import click

from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.errors import AskPerson

GITOPS_MARKS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "argocd.argoproj.io/instance": "Argo CD",
    "app.kubernetes.io/instance": "Argo CD or Helm",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
}
"""Labels and annotations of objects that a GitOps tool keeps as Git has them."""


@click.command("rerecord")
@click.argument("name", shell_complete=baseline_names)
@click.option("--reason", required=True, help="Why the level no longer applies; kept in the history.")
@click.option("-n", "--namespace", help="The baseline's namespace; default: that of the current context.")
@connection_options
def rerecord_command(name: str, reason: str, namespace: str | None) -> None:
    """Record a baseline's level again, after a change that was meant.

    The level in force is kept in the status' history with this reason, and an incident against it is closed as
    accepted. Where Git deploys the baseline, nothing is patched: what to commit is printed instead.
    """
    found = baselines.one(namespace, name)
    metadata, record = found["metadata"], found["spec"]["baseline"].get("record")
    if record is None:
        raise AskPerson(
            "LevelDeclared",
            f"the level of {name} is declared, not recorded: write the new one into spec.baseline.values, or "
            "spec.baseline.record in its place",
        )
    generation = 1 + max(_generations(found))
    tool = _deployed_by(metadata)
    if tool is not None:
        raise AskPerson(
            "DeployedFromGit",
            f"{tool} deploys {name} and would undo a patch; commit this under spec.baseline.record instead:\n"
            f"  generation: {generation}\n  reason: {json.dumps(reason, ensure_ascii=False)}",
        )
    change = {"spec": {"baseline": {"record": {"generation": generation, "reason": reason}}}}
    baselines.patch(metadata, change)
    click.echo(
        f"{name}: generation {generation} is recorded from now on; kubectl mfu status {name} shows how far it is"
    )


def _generations(found: Mapping[str, Any]) -> list[int]:
    """Every number that a recording had, in the spec or in the status: an old one would bring its level back."""
    status = found.get("status") or {}
    levels = [found["spec"]["baseline"]["record"], status.get("baseline") or {}, *status.get("previousBaselines", [])]
    return [level.get("generation", 1) for level in levels]


def _deployed_by(metadata: Mapping[str, Any]) -> str | None:
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return next((tool for mark, tool in GITOPS_MARKS.items() if mark in marks), None)

"""`kubectl mfu status`: every baseline in one line, or one of them as a story."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.detect.formatting import clock, per_cent
from mfu_operator.gitops.message import picture_command
from mfu_operator.model.baseline import Baseline
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.vitals import Ailment
from mfu_operator.reconcile.level import FIRST, words
from mfu_operator.reconcile.symptoms import CONDITIONS

PIPED_WIDTH = 240
"""Columns of a line that goes into a pipe: nothing is cut there."""

COLOURS = {"Healthy": "green", "Regressed": "red", "NoData": "yellow", "NotComparable": "yellow"}
COLOURS |= dict.fromkeys(Ailment, "red")
COLUMNS = ("reading", "baseline", "change", "verdict", "bottleneck", "evidence", "progress", "pullRequest")
HEADINGS = ("NAME", "MODEL", "NOW", "BASELINE", "CHANGE", "VERDICT", "BOTTLENECK", "EVIDENCE", "DOING", "PULL REQUEST")


@click.command("status")
@click.argument("name", required=False)
@click.option("-n", "--namespace", help="The baselines' namespace; default: that of the current context.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Baselines of every namespace.")
def status_command(name: str | None, namespace: str | None, everywhere: bool) -> None:
    """Show how training is doing: one line per baseline, or with NAME its conditions and its incidents."""
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False, markup=False)
    if name is None:
        _list(console, baselines.several(namespace, everywhere), everywhere)
    else:
        _story(console, baselines.one(namespace, name))


def _list(console: Console, found: Sequence[Mapping[str, Any]], everywhere: bool) -> None:
    if not found:
        console.print("No TrainingBaseline here. Samples: crds/samples; all namespaces: kubectl mfu status -A")
        return
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading in ("NAMESPACE", *HEADINGS) if everywhere else HEADINGS:
        table.add_column(heading, no_wrap=True)
    for item in found:
        told = item.get("status", {}).get("summary", {})
        metadata = item["metadata"]
        cells = [metadata["name"], item["spec"]["comparable"]["model"], *(told.get(column, "") for column in COLUMNS)]
        row = [metadata["namespace"], *cells] if everywhere else cells
        table.add_row(*(Text(cell, style=COLOURS.get(cell, "")) for cell in row))
    console.print(table)


def _story(console: Console, item: Mapping[str, Any]) -> None:
    status = codec.decode(item.get("status"))
    metadata = item["metadata"]
    console.print(Text(f"{metadata['namespace']}/{metadata['name']}", style="bold"))
    judgement = status.judgement
    if judgement is not None:
        console.print(Text(f"{judgement.verdict}: {judgement.message}", style=COLOURS.get(judgement.verdict, "")))
        if judgement.smallest_visible_drop is not None:
            console.print(f"The smallest loss that would be seen is {judgement.smallest_visible_drop:.1%}.")
    for symptom in status.symptoms:
        console.print(Text(f"{symptom.reason}: {symptom.message}", style="red"), soft_wrap=True)
    _facts(console, status)
    told = {CONDITIONS[symptom.reason] for symptom in status.symptoms}
    for condition in (each for each in status.conditions if each.type not in told):
        console.print(f"  {condition.type}={condition.status} {condition.reason}: {condition.message}", soft_wrap=True)
    for incident in (*((status.incident,) if status.incident else ()), *status.history):
        _incident(console, incident, f"{metadata['namespace']}/{metadata['name']}")


def _facts(console: Console, status: Status) -> None:
    if status.baseline is not None:
        console.print(f"baseline: {_level(status.baseline)}", soft_wrap=True)
    for past in status.previous_baselines:
        until = clock(past.replaced_at) if past.replaced_at is not None else "an unknown time"
        console.print(f"  until {until}: {_level(past)}; {past.replaced_because or ''}", soft_wrap=True)
    if status.known_good is not None:
        known = status.known_good
        story = f"last known good: {known.revision or 'no revision'} {', '.join(known.images)}"
        console.print(story, soft_wrap=True)
    if status.healthy_profile is not None and status.healthy_profile.account is not None:
        account = status.healthy_profile.account
        console.print(f"healthy step: {account.mean_ns / 1e6:.2f} ms over {account.count} steps")


def _level(level: Baseline) -> str:
    spread = level.spread
    runs = f"{spread.runs} run{'s' if spread.runs > 1 else ''}, {per_cent(spread.within)} within"
    between = "" if spread.between is None else f", {per_cent(spread.between)} between"
    told = [f"{str(level.provenance).lower()} ({runs}{between})"]
    if level.recorded_at is not None:
        told.append(f"{clock(level.recorded_at)}, generation {level.generation or FIRST}")
    if level.revision is not None:
        told.append(f"revision {level.revision[:12]}")
    return f"{words(level.level)}, {', '.join(told)}"


def _incident(console: Console, incident: Incident, subject: str) -> None:
    console.print(Text(f"incident {incident.id}: {incident.drop:.1%} slower", style="bold"))
    if incident.diagnosis is not None:
        console.print(f"  {incident.diagnosis.bottleneck} / {incident.diagnosis.cause}")
    if incident.suspect is not None:
        console.print(
            f"  suspect {incident.suspect.sha[:12]} {incident.suspect.subject!r} by {incident.suspect.author}"
        )
    if incident.proposal is not None:
        where = incident.proposal.url or f"dry run: {incident.proposal.title}"
        console.print(f"  proposal {where} {incident.proposal.state or ''}", soft_wrap=True)
    if incident.accepted is not None:
        console.print(f"  accepted: {incident.accepted}", soft_wrap=True)
    if incident.superseded is not None:
        console.print(f"  superseded: {incident.superseded}", soft_wrap=True)
    if incident.closed is not None:
        console.print(f"  closed: {incident.closed[0]}: {incident.closed[1]}", soft_wrap=True)
    if incident.ended_at is not None:
        lost = f"{incident.gpu_hours_lost or 0.0:.3g} device-hours lost"
        console.print(f"  ended {clock(incident.ended_at)}: {lost}", soft_wrap=True)
    if incident.blocked is not None:
        console.print(f"  no proposal: {incident.blocked[0]}: {incident.blocked[1]}", soft_wrap=True)
    if incident.recovery is not None:
        recovery = incident.recovery
        console.print(
            f"  recovered: {recovery.signal} {recovery.before:.4g} before, {recovery.regressed:.4g} regressed, "
            f"{recovery.after:.4g} after; {recovery.gpu_hours_lost:.3g} device-hours lost; "
            f"{recovery.single_variable or ''}",
            soft_wrap=True,
        )
    console.print(f"  picture: {picture_command(subject, incident.onset_at)}", soft_wrap=True)

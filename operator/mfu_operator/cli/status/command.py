"""`kubectl mfu status`: every baseline in one line, or one of them as a story."""

import io
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mfu_operator.api import status as codec
from mfu_operator.cli import baselines
from mfu_operator.cli.connection import baseline_names, connection_options
from mfu_operator.cli.printing.account import block
from mfu_operator.cli.printing.objects import as_json, as_yaml, listed
from mfu_operator.cli.printing.options import output_option, show, watch_option
from mfu_operator.cli.printing.page import as_page
from mfu_operator.cli.status.next_steps import next_steps
from mfu_operator.detect.formatting import clock, per_cent
from mfu_operator.gitops import markdown
from mfu_operator.gitops.message import picture_command
from mfu_operator.model.baseline import Baseline
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.vitals import Ailment
from mfu_operator.reconcile.level import FIRST, words
from mfu_operator.reconcile.symptoms import CONDITIONS

PIPED_WIDTH = 240
"""Columns of a line that goes into a pipe: nothing is cut there."""

NONE_HERE = (
    "No TrainingBaseline here. To begin: kubectl mfu onboard KIND/NAME; samples: crds/samples; all namespaces: "
    "kubectl mfu status -A"
)
COLOURS = {"Healthy": "green", "Regressed": "red", "NoData": "yellow", "NotComparable": "yellow"}
COLOURS |= dict.fromkeys(Ailment, "red")
COLUMNS = ("reading", "baseline", "change", "verdict", "bottleneck", "evidence", "progress", "pullRequest")
HEADINGS = ("NAME", "MODEL", "NOW", "BASELINE", "CHANGE", "VERDICT", "BOTTLENECK", "EVIDENCE", "DOING", "PULL REQUEST")


@click.command("status")
@click.argument("name", required=False, shell_complete=baseline_names)
@click.option("-n", "--namespace", help="The baselines' namespace; default: that of the current context.")
@connection_options
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Baselines of every namespace.")
@output_option("text", "wide", "json", "yaml", "markdown", "html",
               about="wide: more columns; json, yaml: the objects as the API server has them.")  # fmt: skip
@watch_option
def status_command(
    name: str | None, namespace: str | None, everywhere: bool, output: str, look_every_s: float | None
) -> None:
    """Show how training is doing: one line per baseline, or with NAME its conditions, incidents and next steps."""
    show(lambda: _printed(name, namespace, everywhere, output), look_every_s)


def _printed(name: str | None, namespace: str | None, everywhere: bool, output: str) -> str:
    found = [baselines.one(namespace, name)] if name is not None else baselines.several(namespace, everywhere)
    if output in ("json", "yaml"):
        value = found[0] if name is not None else listed(found)
        return as_json(value) if output == "json" else as_yaml(value)
    if output in ("markdown", "html"):
        page = _markdown(found, name, everywhere)
        return page if output == "markdown" else as_page(name or "TrainingBaselines", page)
    console = _console(sys.stdout.isatty())
    if name is not None:
        _story(console, found[0])
    else:
        _list(console, found, everywhere, WIDE if output == "wide" else ())
    return _text(console)


def _console(on_terminal: bool) -> Console:
    width = Console().width if on_terminal else PIPED_WIDTH
    return Console(width=width, highlight=False, markup=False, file=io.StringIO(), force_terminal=on_terminal)


def _text(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().rstrip("\n")


def _markdown(found: Sequence[Mapping[str, Any]], name: str | None, everywhere: bool) -> str:
    """The story of one as it stands on a terminal; several as a table with every column."""
    if name is not None:
        console = _console(on_terminal=False)
        _story(console, found[0])
        return f"# {markdown.code(name)}\n\n{block(_text(console))}"
    if not found:
        return markdown.escape(NONE_HERE)
    head, rows = _rows(found, everywhere, WIDE)
    told = [tuple(markdown.escape(cell) for cell in row) for row in rows]
    return markdown.table(tuple(heading.lower() for heading in head), told)


def _rows(
    found: Sequence[Mapping[str, Any]], everywhere: bool, wide: Sequence[Callable[[Any], str]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The headings, and a row for each baseline."""
    more = [extra.__name__.strip("_").upper() for extra in wide]
    rows = []
    for item in found:
        told = item.get("status", {}).get("summary", {})
        metadata = item["metadata"]
        cells = [metadata["name"], item["spec"]["comparable"]["model"], *(told.get(column, "") for column in COLUMNS)]
        cells += [extra(item) for extra in wide]
        rows.append((metadata["namespace"], *cells) if everywhere else tuple(cells))
    return (*(("NAMESPACE",) if everywhere else ()), *HEADINGS, *more), rows


def _list(
    console: Console, found: Sequence[Mapping[str, Any]], everywhere: bool, wide: Sequence[Callable[[Any], str]]
) -> None:
    if not found:
        console.print(NONE_HERE)
        return
    head, rows = _rows(found, everywhere, wide)
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading in head:
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, style=COLOURS.get(cell, "")) for cell in row))
    console.print(table)


def _workload(item: Mapping[str, Any]) -> str:
    workload = item["spec"].get("workload") or {}
    return f"{workload.get('kind', '')}/{workload.get('name') or 'of a selector'}"


def _ready(item: Mapping[str, Any]) -> str:
    found = item.get("status", {}).get("conditions") or ()
    return next((each.get("reason", "") for each in found if each.get("type") == "Ready"), "NotSeen")


def _mode(item: Mapping[str, Any]) -> str:
    return str((item["spec"].get("remediation") or {}).get("mode") or "")


WIDE = (_workload, _ready, _mode)
"""Further columns, each with the function's name as its heading."""


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
    for step in next_steps(item, status, time.time()):
        console.print(f"→ {step}", soft_wrap=True)
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

"""The story in one screen."""

import shutil
import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mfu_operator.api import status as codec
from mfu_operator.cli.render import account_text
from mfu_operator.model.incident import Incident, Status
from tests.cluster.toolchain import go_binaries
from tests.demo.story import Story


def show(story: Story, ready_s: float, whole_s: float) -> None:
    """Print baseline, regression, diagnosis, pull request and recovery with their numbers."""
    console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
    status = codec.decode(story.recovered)
    incident = status.history[0]
    console.rule("the main job, once")
    for title, lines in _chapters(story, status, incident):
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(f"  {line}", soft_wrap=True)
    if incident.profile is not None and incident.profile.account is not None:
        healthy = status.healthy_profile.account if status.healthy_profile else None
        console.print(Text("where the step's time went", style="bold"))
        console.print(Text(account_text(incident.profile.account, healthy, None)), soft_wrap=True)
    _times(console, story, ready_s, whole_s)
    kubectl = "kubectl" if shutil.which("kubectl") else str(go_binaries("kubernetes") / "kubectl")
    console.print("The cluster stays up; make demo-down removes every trace. Look around:", soft_wrap=True)
    console.print(f"  {kubectl} get tb -A", soft_wrap=True)
    console.print(f"  {kubectl} describe tb -n training gpt-small", soft_wrap=True)
    console.print(
        "  PYTHONPATH=operator .venv/bin/python -m mfu_operator explain gpt-small -n training", soft_wrap=True
    )
    console.print(f"  {story.pull_request.get('html_url')}", soft_wrap=True)


def _chapters(story: Story, status: Status, incident: Incident) -> list[tuple[str, list[str]]]:
    assert status.baseline is not None and incident.diagnosis is not None
    assert incident.suspect is not None and incident.proposal is not None and incident.recovery is not None
    assert story.commits is not None
    level, recovery = status.baseline.level, incident.recovery
    diagnosis, suspect = incident.diagnosis, incident.suspect
    right = "the right one" if incident.suspect.sha == story.commits.guilty else "NOT the one that did it"
    return [
        (
            "baseline",
            [f"MFU {level.mfu:.4f}, step {1000 * (level.step_time_s or 0):.1f} ms, {level.throughput:.0f} tokens/s"],
        ),
        ("regression", [f"{incident.drop:.1%} slower: {incident.signal} {incident.regressed_value:.4f}"]),
        (
            "diagnosis",
            [
                f"{diagnosis.bottleneck} / {diagnosis.cause}, confidence {diagnosis.confidence:.0%}",
                *diagnosis.evidence,
            ],
        ),
        (
            "suspect",
            [
                f"{suspect.sha[:12]} {suspect.subject!r}, {right} of {suspect.candidates} commits",
                *suspect.changed,
            ],
        ),
        ("pull request", [f"{incident.proposal.title}", f"{incident.proposal.url} ({incident.proposal.state})"]),
        (
            "recovery",
            [
                (
                    f"{recovery.signal} {recovery.before:.4f} before, {recovery.regressed:.4f} regressed, "
                    f"{recovery.after:.4f} after"
                ),
                f"{recovery.gpu_hours_lost * 60:.2f} CPU-minutes lost",
                f"what changed: {recovery.single_variable}",
            ],
        ),
    ]


def _times(console: Console, story: Story, ready_s: float, whole_s: float) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("  cluster, services, images, operator", f"{ready_s:7.1f} s")
    for name, seconds in story.stages:
        table.add_row(f"  {name}", f"{seconds:7.1f} s")
    table.add_row("  in all", f"{whole_s:7.1f} s")
    console.print(Text("how long it took", style="bold"))
    console.print(table)

"""kubectl mfu analyze: where a step's time went, and what changed."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from mfu_operator.errors import Unreadable
from mfu_operator.profiling.nsys import NO_STEP
from mfu_operator.trace import answer
from mfu_operator.trace import termination_message as compact
from mfu_operator.trace.analyze import answer_of, mean_account, read_any
from mfu_operator.trace.columns.limits import MOST_EVENTS
from mfu_operator.trace.read import formats

UNREADABLE = 3
"""Exit code for a trace that cannot be read; wrong usage is 2, as click has it."""

LAST_WORDS = 1500
"""Characters of the recorder's log that travel: a termination message holds 4096 bytes."""

READ_WORDS = 16 * LAST_WORDS
"""Characters of it that are looked through for secrets: what hides one may stand in the lines above it."""

FORMATS = ("text", "json", "markdown", "html", "account")


@click.command("analyze")
@click.argument("traces", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TRACE...")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print.")
@click.option("--baseline", multiple=True, type=click.Path(path_type=Path), help="A trace to compare with; repeatable.")
@click.option("--step-range", metavar="NAME", help="The name of the step ranges, where it is not a usual one.")
@click.option(
    "--max-events",
    type=click.IntRange(min=1),
    default=MOST_EVENTS,
    show_default=True,
    help="Refuse a trace file of more events: each takes up to 180 bytes of memory.",
)
@click.option(
    "--termination-message",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the compact account (or the error) to this file, for a profiling pod.",
)
@click.option(
    "--recorder-log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What the recorder printed: its last lines join the error that a profiling pod leaves.",
)
def analyze_command(
    traces: tuple[Path, ...],
    output: str,
    baseline: tuple[Path, ...],
    step_range: str | None,
    max_events: int,
    termination_message: Path | None,
    recorder_log: Path | None,
) -> None:
    """Say where the step's time went; with --baseline, what changed.

    TRACE is an nsys SQLite export, an .nsys-rep, a Kineto (torch.profiler) JSON trace, or a folder of these.
    """
    try:
        with ExitStack() as stack:
            now, unread = read_any(_readable(stack, traces), step_range, max_events)
            if output == "account":
                printed = compact.encode(mean_account(now), _hardware_remarks())
            else:
                before, unread_before = read_any(_readable(stack, baseline), step_range, max_events)
                printed = _printed(answer_of(now, before, (*unread, *unread_before)), output)
    except Unreadable as error:
        words = _last_words(recorder_log)
        told = _no_step_seen() if NO_STEP in words else error
        _leave(termination_message, compact.encode_failure(told.reason, told.message + words))
        click.echo(f"kubectl-mfu: {' '.join(error.message.split())}", err=True)
        sys.exit(UNREADABLE)
    if termination_message is not None:
        _leave(termination_message, printed if output == "account" else compact.encode(mean_account(now)))
    click.echo(printed)


def _printed(found: answer.Answer, output: str) -> str:
    if output == "json":
        return answer.encode(found)
    if output == "markdown":
        from mfu_operator.trace import markdown

        return markdown.answer_page(found)
    if output == "html":
        from mfu_operator.trace import page

        return page.html_page(found)
    from mfu_operator.cli import render  # rich takes as long to import as a small trace to analyse

    return render.answer_text(found)


def _no_step_seen() -> Unreadable:
    return Unreadable(
        "NoStepSeen",
        "the copy reached no step that could be recorded, and was ended early: does its script import mfu_probe and "
        "step?",
    )


def _last_words(recorder_log: Path | None) -> str:
    if recorder_log is None or not recorder_log.is_file():
        return ""
    from mfu_operator.model.masking import masked  # many patterns to compile, for what rarely happens

    said = masked(recorder_log.read_text(encoding="utf-8", errors="replace")[-READ_WORDS:].strip())
    return f"; the recorder's last words: {said[-LAST_WORDS:]}" if said else "; the recorder said nothing"


def _hardware_remarks() -> tuple[str, ...]:
    """Faults of this node's GPUs that NVML shows; none where there is no driver to ask."""
    from mfu_operator.adapters import nvml  # only a profiling pod asks; a person's trace is not of this machine
    from mfu_operator.detect.hardware import rule_out

    found = rule_out(nvml.hardware(os.environ.get("MFU_NODE_NAME", "this node")).gpus)
    return tuple(f"{each.where}: {each.text}" for each in found.findings)


def _readable(stack: ExitStack, paths: tuple[Path, ...]) -> tuple[formats.TraceFile, ...]:
    """The files to read, with nsys' own reports among them exported to a folder that goes with `stack`."""
    if not any(path.is_dir() or formats.is_report(path) for path in paths):
        return formats.expand(paths)
    import tempfile  # this and what runs nsys take as long to import as a small trace to analyse

    from mfu_operator.adapters import nsys

    return nsys.exported(paths, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mfu-"))))


def _leave(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    analyze_command()

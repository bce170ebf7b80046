"""The incidents as people and programs read them."""

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mfu_operator.api.quantities import rfc3339
from mfu_operator.cli.timeline.story import Chapter, Line
from mfu_operator.detect.formatting import duration
from mfu_operator.gitops import markdown

PIPED_WIDTH = 240
"""Columns of a line that goes into a pipe: what is longer is continued in the next."""


def _nothing(subject: str) -> str:
    namespace, _, name = subject.partition("/")
    return f"No incident of {subject} is on record. How it is doing: kubectl mfu status {name} -n {namespace}"


def _headline(chapter: Chapter) -> str:
    told = [f"{chapter.incident.drop:.1%} slower"]
    if chapter.bottleneck:
        told.append(chapter.bottleneck)
    end_s, onset_s = chapter.end_s, chapter.incident.onset_at
    how = "recovered" if chapter.incident.recovery is not None else "ended"
    told.append("open" if end_s is None else f"{how} after {duration(end_s - onset_s)}")
    return f"incident {chapter.incident.id}: {', '.join(told)}"


Cell = Callable[[Chapter, Line], str]


def _of_time(_: Chapter, line: Line) -> str:
    written = f"{datetime.fromtimestamp(line.order_s, UTC):%Y-%m-%d %H:%M:%S}"
    return written if line.at_s is not None else f"after {written}"


def _since(chapter: Chapter, line: Line) -> str:
    return "" if line.at_s is None else f"+{duration(line.at_s - chapter.incident.onset_at)}"


def _source(_: Chapter, line: Line) -> str:
    return line.source


HEADINGS: Mapping[Cell, str] = {_of_time: "TIME (UTC)", _since: "SINCE ONSET", _source: "SOURCE"}


BRIEF: Sequence[Cell] = (_of_time, _since)
WIDE: Sequence[Cell] = (*BRIEF, _source)


def as_text(subject: str, found: Sequence[Chapter], cells: Sequence[Cell]) -> str:
    """A table for each incident, with the columns of `cells` before what happened."""
    if not found:
        return _nothing(subject)
    on_terminal = sys.stdout.isatty()
    file = io.StringIO()
    width = Console().width if on_terminal else PIPED_WIDTH
    console = Console(width=width, highlight=False, markup=False, file=file, force_terminal=on_terminal)
    for chapter in found:
        console.print(Text(_headline(chapter), style="bold"))
        table = Table(box=None, pad_edge=False, show_edge=False)
        for heading in (*(HEADINGS[cell] for cell in cells), "WHAT"):
            table.add_column(heading, no_wrap=True)
        table.add_column("DETAILS", overflow="fold")
        for line in chapter.lines:
            table.add_row(*(Text(each) for each in (*(cell(chapter, line) for cell in cells), line.what, line.told)))
        console.print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip("\n").split("\n"))


def as_markdown(subject: str, found: Sequence[Chapter]) -> str:
    """A section for each incident."""
    parts = [f"# Incidents of {markdown.code(subject)}"]
    if not found:
        return "\n\n".join([*parts, markdown.escape(_nothing(subject))])
    for chapter in found:
        parts += [f"## {markdown.escape(_headline(chapter))}", moments_table(chapter)]
    return "\n\n".join(parts)


def moments_table(chapter: Chapter) -> str:
    """What happened in one incident, as a Markdown table."""
    head = ("time (UTC)", "since onset", "what", "details")
    rows = [
        (_of_time(chapter, line), _since(chapter, line), line.what, markdown.escape(line.told))
        for line in chapter.lines
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, (":--",) * len(head), *rows))


def as_object(subject: str, found: Sequence[Chapter]) -> Mapping[str, Any]:
    """For programs; a time that is not known is null, and "after" is the earliest that it may be."""
    return {"baseline": subject, "incidents": [_incident(chapter) for chapter in found]}


def _incident(chapter: Chapter) -> Mapping[str, Any]:
    found = chapter.incident
    return {
        "id": found.id,
        "signal": found.signal,
        "drop": found.drop,
        "onset": rfc3339(found.onset_at),
        "end": None if chapter.end_s is None else rfc3339(chapter.end_s),
        "moments": [
            {
                "time": None if line.at_s is None else rfc3339(line.at_s),
                "after": rfc3339(line.after_s),
                "what": line.what,
                "message": line.told,
                "source": line.source,
            }
            for line in chapter.lines
        ],
    }

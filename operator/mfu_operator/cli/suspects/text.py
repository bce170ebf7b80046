"""The answer of `kubectl mfu suspects` for a person."""

from collections.abc import Iterator

from mfu_operator.gitops.blame.answer import Answer, FieldRow, ProposalRow, SuspectRow
from mfu_operator.gitops.rendered.leaf import Scalar

SHOWN = 10
"""Fields of one commit that are shown."""


def text(answer: Answer) -> str:
    """Lines of plain text."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield answer.because
    yield ""
    window = answer.window
    yield f"window    {window.good[:12]} → {window.bad[:12]}, {window.commits} commits"
    engine = f"{answer.renderer.name} {answer.renderer.version or ''}".strip() if answer.renderer.name else "none"
    yield f"renderer  {engine}: {answer.renderer.because}"
    if answer.rendered.changed:
        yield "changed   good → bad:"
        yield from _fields(answer.rendered.changed)
    for suspect in answer.suspects:
        yield ""
        yield from _suspect(suspect, suspect.sha == answer.chosen)
    if answer.proposal is not None:
        yield ""
        yield from _proposal(answer.proposal)


def _suspect(suspect: SuspectRow, chosen: bool) -> Iterator[str]:
    mark = "→" if chosen else " "
    yield f"{mark} {suspect.sha[:12]}  {suspect.verdict:9} {suspect.score:.2f}  {_line(suspect.subject)}"
    yield f"    {_line(suspect.author)}, {suspect.time}"
    yield from _fields(suspect.rendered)
    for reason in suspect.because[:SHOWN]:
        yield f"    because {_line(reason)}"


def _fields(rows: tuple[FieldRow, ...]) -> Iterator[str]:
    for row in rows[:SHOWN]:
        yield f"    {row.object} {row.field}: {shown(row.before)} → {shown(row.after)}"
    if len(rows) > SHOWN:
        yield f"    … and {len(rows) - SHOWN} more"


def _proposal(proposal: ProposalRow) -> Iterator[str]:
    base = proposal.base
    yield f"proposal  {proposal.kind} on {base.branch or 'no branch'} ({base.sha[:12]}) of {base.repository}"
    for rest in proposal.remaining[:SHOWN]:
        yield (
            f"    remains {rest.object} {rest.field}: {shown(rest.known_good)} known good, "
            f"{shown(rest.after_proposal)} after it"
        )
    for also in proposal.also_changes[:SHOWN]:
        yield f"    also changes {also.object} {also.field}"
    yield proposal.diff.rstrip("\n")


def shown(value: Scalar) -> str:
    """A value in one line, cut where it is long."""
    if value is None:
        return "(absent)"
    said = str(value).lower() if isinstance(value, bool) else _line(str(value))
    return said if len(said) <= 80 else f"{said[:79]}…"


def _line(told: str) -> str:
    """One line without control characters: what a repository says must not move a terminal's cursor."""
    return "".join(char if char.isprintable() else " " for char in " ".join(told.split()))

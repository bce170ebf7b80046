"""The answer of `kubectl mfu suspects` as Markdown."""

from collections.abc import Iterator

from mfu_operator.cli.printing.account import block
from mfu_operator.cli.suspects.text import SHOWN, shown
from mfu_operator.gitops.blame.answer import Answer, FieldRow, SuspectRow
from mfu_operator.gitops.markdown import code, escape
from mfu_operator.model.terminal_text import for_terminal


def markdown(answer: Answer) -> str:
    """A page: the conclusion, a section for each commit, and what is proposed."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    window = answer.window
    yield f"# {escape(answer.because)}"
    yield ""
    ends = f"{code(window.good[:12])} → {code(window.bad[:12])}"
    yield f"{ends}, {window.commits} commits; {escape(answer.renderer.because)}"
    if answer.rendered.changed:
        yield "\n## What changed, good → bad\n"
        yield from _fields(answer.rendered.changed)
    for suspect in answer.suspects:
        yield from _suspect(suspect, suspect.sha == answer.chosen)
    if answer.proposal is not None:
        proposal = answer.proposal
        yield f"\n## Proposed: {escape(proposal.kind)} on {code(proposal.base.branch or proposal.base.sha[:12])}\n"
        yield block(for_terminal(proposal.diff.rstrip("\n")))


def _suspect(suspect: SuspectRow, chosen: bool) -> Iterator[str]:
    mark = ": it did it" if chosen else ""
    yield f"\n## {code(suspect.sha[:12])} {code(suspect.subject)}{mark}\n"
    yield f"{escape(suspect.author)}, {escape(suspect.time)}; {escape(suspect.verdict)}, {suspect.score:.2f}\n"
    yield from _fields(suspect.rendered)
    yield from (f"- because {escape(reason)}" for reason in suspect.because[:SHOWN])


def _fields(rows: tuple[FieldRow, ...]) -> Iterator[str]:
    for row in rows[:SHOWN]:
        yield f"- {code(f'{row.object} {row.field}')}: {code(shown(row.before))} → {code(shown(row.after))}"
    if len(rows) > SHOWN:
        yield f"- … and {len(rows) - SHOWN} more"

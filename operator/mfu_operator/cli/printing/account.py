"""A step's account as Markdown."""

from mfu_operator.gitops.markdown import escape
from mfu_operator.gitops.telling.details import account_table
from mfu_operator.model.account import StepAccount
from mfu_operator.model.diagnosis import Diagnosis


def account_markdown(title: str, now: StepAccount, before: StepAccount | None, diagnosis: Diagnosis | None) -> str:
    """The table of the step's parts, and what was concluded from it."""
    lines = [f"# {escape(title)}", "", account_table(before, now)]
    if diagnosis is not None:
        named = f"{diagnosis.bottleneck or 'Nothing grew'}" + (f" / {diagnosis.cause}" if diagnosis.cause else "")
        lines += ["", f"**{named}**, confidence {diagnosis.confidence:.0%}", ""]
        lines += [f"- {escape(each)}" for each in diagnosis.evidence]
        advice = [f"1. {escape(each)}" for each in diagnosis.advice]
        lines += ["", "What to do:", "", *advice] if advice else []
    return "\n".join(lines)


def block(text: str) -> str:
    """Text as it stands, in Markdown: indented, so that nothing in it can end the block."""
    return "\n".join(f"    {line}" for line in text.split("\n"))

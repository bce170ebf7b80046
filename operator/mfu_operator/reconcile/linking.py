"""Where a reason is explained, in the message of its condition and of the Event that reports it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mfu_operator.model.condition import NOTE_BYTES, Condition, Event, within

AS_IT_SHOULD_BE = (("Ready", "True"), ("Regressed", "False"))
"""Conditions that need no explanation."""


def linked(condition: Condition, runbooks: str | None) -> Condition:
    """A condition whose message says where its reason is explained: under `runbooks` (the address of their folder), or
    by a command that needs no network."""
    if (condition.type, condition.status) in AS_IT_SHOULD_BE:
        return condition
    return replace(condition, message=f"{condition.message} ({_where(condition.reason, runbooks)})")


def explained(events: Sequence[Event], conditions: Sequence[Condition], runbooks: str | None) -> Iterator[Event]:
    """Each Event; one that gives the reason of a condition carries its link too, for which a long message is cut."""
    reasons = {each.reason for each in conditions if (each.type, each.status) not in AS_IT_SHOULD_BE}
    for event in events:
        if event.reason not in reasons:
            yield event
            continue
        link = f" ({_where(event.reason, runbooks)})"
        yield replace(event, message=within(event.message, NOTE_BYTES - len(link.encode())) + link)


def _where(reason: str, runbooks: str | None) -> str:
    return f"{runbooks.rstrip('/')}/reasons.md#{reason.lower()}" if runbooks else f"kubectl mfu runbook {reason}"

"""Where a condition's reason is explained, in its message."""

from dataclasses import replace

from mfu_operator.model.condition import Condition


def linked(condition: Condition, runbooks: str | None) -> Condition:
    """A condition whose message says where its reason is explained: under `runbooks` (the address of their folder), or
    by a command that needs no network. Ready needs no explanation."""
    if (condition.type, condition.status) == ("Ready", "True"):
        return condition
    where = f"kubectl mfu runbook {condition.reason}"
    if runbooks:
        where = f"{runbooks.rstrip('/')}/reasons.md#{condition.reason.lower()}"
    return replace(condition, message=f"{condition.message} ({where})")

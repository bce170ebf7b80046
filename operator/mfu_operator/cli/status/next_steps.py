"""Why a baseline has come no further, and what to do next."""

from collections.abc import Iterator, Mapping
from typing import Any

from mfu_operator.api.quantities import unix_s
from mfu_operator.cli.reasons import reasons
from mfu_operator.cli.status.next_commands import next_command
from mfu_operator.detect.formatting import duration
from mfu_operator.model.incident import Status

_SOON_S = 60.0
"""The operator hears of a new baseline within seconds; its first readings take a minute."""

_UNSEEN_S = 300.0
"""A watch that was cut off is back, and a busy operator has looked again, long before."""

_HINDRANCES = ("Stalled", "MeasurementFailed", "ProfilingFailed", "ProposalFailed", "Deprecated")


def next_steps(item: Mapping[str, Any], status: Status, now_s: float) -> Iterator[str]:
    """Sentences; none where nothing keeps the baseline from being measured and nothing awaits a person.

    Args:
        item: the TrainingBaseline as the API server has it.
        status: its status, decoded.
        now_s: the time now.
    """
    name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
    if not status.conditions:
        yield from _never_seen(item, now_s)
        return
    commands: dict[str, None] = {}
    yield from _unseen_edit(item, status, now_s)
    for condition in status.conditions:
        held = condition.type == "Ready" and condition.status != "True"
        row = reasons().reasons.get(condition.reason)
        hinders = condition.type in _HINDRANCES and condition.status == "True"
        if row is not None and (held or hinders):
            if (command := next_command(condition.reason, item)) is not None:
                commands[command] = None
            yield f"{condition.reason}: {row.remedy}"
            yield f"More: kubectl mfu runbook {condition.reason}"
    yield from (f"Next: {command}" for command in commands)
    if status.judgement is None and status.baseline is None:
        yield f"What is asked for its metrics, and what comes back: kubectl mfu doctor {name} -n {namespace}"


def _never_seen(item: Mapping[str, Any], now_s: float) -> Iterator[str]:
    """There is no status at all: no operator has looked at the object."""
    namespace, created = item["metadata"]["namespace"], item["metadata"].get("creationTimestamp")
    age_s = now_s - unix_s(created) if created else None
    if age_s is not None and age_s < _SOON_S:
        yield f"It was created {duration(max(0.0, age_s))} ago. The operator looks at it within a minute."
        return
    age = "" if age_s is None else f" in {duration(age_s)}"
    yield f"No operator has looked at this baseline{age}. Either none runs, or none watches the namespace {namespace}."
    yield from _where_to_look()


def _unseen_edit(item: Mapping[str, Any], status: Status, now_s: float) -> Iterator[str]:
    """The status is of an earlier spec: no operator has looked at the baseline since it was edited."""
    generation = item["metadata"].get("generation", 0)
    edited = [
        each["time"]
        for each in item["metadata"].get("managedFields") or ()
        if not each.get("subresource") and "time" in each
    ]
    if generation <= status.observed_generation or not edited:
        return
    age_s = now_s - max(unix_s(each) for each in edited)
    if age_s < _UNSEEN_S:
        return
    yield (
        f"The spec was edited {duration(age_s)} ago (generation {generation}), and no operator has looked at it since: "
        f"what stands here is of generation {status.observed_generation}. The operator is gone, or watches "
        f"the namespace {item['metadata']['namespace']} no longer."
    )
    yield from _where_to_look()


def _where_to_look() -> Iterator[str]:
    yield "Does it run? kubectl get pods -A -l app.kubernetes.io/name=mfu-operator"
    yield "Which namespaces does it watch? helm get values mfu-operator -n mfu-system (watchNamespaces; none: all)"
    yield "What does it say? kubectl logs -n mfu-system deploy/mfu-operator --tail=50"

"""The Events of a baseline, with the caller's own rights."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes import client

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.api.group import KIND
from mfu_operator.api.quantities import unix_s
from mfu_operator.cli.baselines import TIMEOUT_S
from mfu_operator.cli.connection import connected
from mfu_operator.model.terminal_text import for_terminal

MOST_EVENTS = 500
"""Of one object; an API server keeps them for an hour unless it is set otherwise."""


@dataclass(frozen=True, slots=True)
class Reported:
    """An Event: its reason, what it says, and when it was posted first."""

    reason: str
    told: str
    at_s: float


def reported(metadata: Mapping[str, Any]) -> tuple[Reported, ...]:
    """The Events of a TrainingBaseline, the oldest first.

    Args:
        metadata: its own; Events of an earlier object of the same name are left out.

    Raises:
        Stall: ClusterAccessDenied.
        Retry: ClusterUnreachable.
    """
    namespace, name = metadata["namespace"], metadata["name"]
    fields = f"involvedObject.kind={KIND},involvedObject.name={name}"
    with translated(f"listing the Events of {namespace}/{name}"):
        answer: Any = client.CoreV1Api(connected()).list_namespaced_event(
            namespace, field_selector=fields, limit=MOST_EVENTS, _preload_content=False, _request_timeout=TIMEOUT_S
        )
    items = json.loads(answer.data).get("items") or ()
    mine = [each for each in items if _is_of(each, metadata.get("uid"))]
    return tuple(sorted(_read(mine), key=lambda each: each.at_s))


def _is_of(item: Mapping[str, Any], uid: str | None) -> bool:
    return uid is None or (item.get("involvedObject") or {}).get("uid") in (uid, None)


def _read(items: list[Mapping[str, Any]]) -> Iterator[Reported]:
    for item in items:
        times = (item.get(field) for field in ("eventTime", "firstTimestamp", "lastTimestamp"))
        text = next((each for each in times if isinstance(each, str)), None)
        if text is not None:
            yield Reported(str(item.get("reason") or ""), for_terminal(str(item.get("message") or "")), unix_s(text))

"""What a person asks of one baseline by command: an annotation, since the status has one writer, and a GitOps tool
would heal the spec back. The operator takes note of a request in the status, and removes its annotation then."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mfu_operator.api.group import CLOSE_ANNOTATION, RESET_ANNOTATION

REQUESTS = (RESET_ANNOTATION, CLOSE_ANNOTATION)
MOST_CHARACTERS = 500
"""Of a reason: as much as a status keeps of it."""

Annotations = tuple[tuple[str, str], ...]
"""Names and values of the annotations that are requests."""


@dataclass(frozen=True, slots=True)
class Close:
    """Close an incident. None: the one that is open."""

    incident: str | None
    reason: str


def requests_of(metadata: Mapping[str, Any]) -> Annotations:
    """The requests among an object's annotations."""
    annotations = metadata.get("annotations") or {}
    return tuple((name, str(annotations[name])) for name in REQUESTS if name in annotations)


def digest(name: str, value: str) -> str:
    """What a status keeps of a request that was fulfilled, so that it is not fulfilled twice."""
    return sha256(f"{name}={value}".encode()).hexdigest()[:12]


def close_value(incident: str, reason: str) -> str:
    """The annotation that asks to close one incident and no other."""
    return json.dumps({"incident": incident, "reason": reason}, ensure_ascii=False)


def close_of(value: str) -> Close:
    """What an annotation asks for. A text that a person wrote by hand is the reason itself."""
    try:
        asked = json.loads(value)
        return Close(str(asked["incident"]), str(asked["reason"])[:MOST_CHARACTERS])
    except (ValueError, TypeError, KeyError, RecursionError):
        return Close(None, value[:MOST_CHARACTERS])

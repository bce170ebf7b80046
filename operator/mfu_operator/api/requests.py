"""What a person asks of one baseline by command: an annotation, since the status has one writer, and a GitOps tool
would heal the spec back. The operator takes note of a request in the status, and removes its annotation then."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mfu_operator.api import quantities
from mfu_operator.api.group import (
    APPROVE_ANNOTATION,
    CLOSE_ANNOTATION,
    REJECT_ANNOTATION,
    RESET_ANNOTATION,
    SNOOZE_ANNOTATION,
)

REQUESTS = (RESET_ANNOTATION, CLOSE_ANNOTATION, SNOOZE_ANNOTATION, APPROVE_ANNOTATION, REJECT_ANNOTATION)
MOST_CHARACTERS = 500
"""Of a reason: as much as a status keeps of it."""

Annotations = tuple[tuple[str, str], ...]
"""Names and values of the annotations that are requests."""


LONGEST_SNOOZE_S = 90 * 86400.0
"""A quarter: whoever wants no pull request for longer sets spec.remediation.mode."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for an incident (close, approve, reject), and why. None: for the one that is open."""

    incident: str | None
    reason: str


def requests_of(metadata: Mapping[str, Any]) -> Annotations:
    """The requests among an object's annotations."""
    annotations = metadata.get("annotations") or {}
    return tuple((name, str(annotations[name])) for name in REQUESTS if name in annotations)


def digest(name: str, value: str) -> str:
    """What a status keeps of a request that was fulfilled, so that it is not fulfilled twice."""
    return sha256(f"{name}={value}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Snoozing:
    """Want no pull request until then (Unix seconds), and why."""

    until_s: float
    reason: str


def asked_value(incident: str, reason: str) -> str:
    """The annotation that asks something for one incident and no other."""
    return json.dumps({"incident": incident, "reason": reason}, ensure_ascii=False)


def asked_of(value: str) -> Asked:
    """What an annotation asks for. A text that a person wrote by hand is the reason itself."""
    try:
        asked = json.loads(value)
        return Asked(str(asked["incident"]), str(asked["reason"])[:MOST_CHARACTERS])
    except (ValueError, TypeError, KeyError, RecursionError):
        return Asked(None, value[:MOST_CHARACTERS])


def snooze_value(until_s: float, reason: str) -> str:
    """The annotation that asks for no pull request until then."""
    return json.dumps({"until": quantities.rfc3339(until_s), "reason": reason}, ensure_ascii=False)


def snooze_of(value: str, now_s: float) -> Snoozing | None:
    """What an annotation asks for; None where it is not a time. A person may write a duration ("8h") by hand."""
    try:
        asked = json.loads(value)
        until_s, reason = quantities.unix_s(str(asked["until"])), str(asked["reason"])[:MOST_CHARACTERS]
    except (ValueError, TypeError, KeyError, RecursionError):
        try:
            until_s, reason = now_s + quantities.duration_s(value.strip()[:40]), "no reason given"
        except ValueError:
            return None
    return Snoozing(min(until_s, now_s + LONGEST_SNOOZE_S), reason)

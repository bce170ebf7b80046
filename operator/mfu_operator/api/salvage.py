"""What can be read of a stored status. A person, a restore or another version of the operator may have written it.

What cannot be read is set aside, as little as makes sense alone: an item of a list, a fact of an incident, a field of
the status. The facts are obtained again then, since each is obtained while it is missing.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from mfu_operator.api import codec
from mfu_operator.model.baseline import Signal
from mfu_operator.model.incident import Incident, ProfileFact, Status

FACTS = frozenset({"profile", "diagnosis", "suspect", "pin", "proposal", "blocked", "recovery", "proof", "closed"})
"""Facts of an incident that can be set aside alone."""

MOST_PARTS = 32
"""Where more than this cannot be read, nothing is: a status that the operator wrote has fewer parts."""

MOST_ATTEMPTS = 9999
"""A number of an attempt that a Job's name has room for."""

COMPLAINT_CHARACTERS = 200

_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The status that could be read, the stored fields that it was read from, and what was set aside, in words."""

    status: Status
    readable: Mapping[str, Any]
    set_aside: tuple[str, ...] = ()


def decode(stored: Mapping[str, Any] | None) -> Status:
    """The Status of what the API server has stored; nothing stored is an empty Status.

    Raises:
        Unreadable: (StatusUnreadable) where a field is missing or is not a value that this version knows.
    """
    status = codec.decode(Status, stored or {}, "status")
    for path, incident in _incidents(status):
        _require_sound(path, incident)
    if status.healthy_profile is not None:
        _require_attempt("status.healthyProfile", status.healthy_profile)
    return status


def salvage(stored: Mapping[str, Any] | None) -> Salvaged:
    """What can be read of what the API server has stored. Never raises."""
    readable = dict(stored or {})
    set_aside: list[str] = []
    for _ in range(MOST_PARTS):
        try:
            return Salvaged(decode(readable), readable, tuple(set_aside))
        except codec.UnreadableField as error:
            readable = _without(readable, _part(error.path))
            set_aside.append(_cut(error.message))
    return Salvaged(Status(), {}, (f"more than {MOST_PARTS} parts of the status cannot be read", *set_aside[:3]))


def _incidents(status: Status) -> Iterator[tuple[str, Incident]]:
    if status.incident is not None:
        yield "status.incident", status.incident
    for index, incident in enumerate(status.history):
        yield f"status.history[{index}]", incident


def _require_sound(path: str, incident: Incident) -> None:
    """Refuse what can be read and would name nothing."""
    if not _ID.fullmatch(incident.id):
        raise codec.UnreadableField(f"{path}.id", f"is {incident.id!r}, which is not an incident")
    if incident.signal not in set(Signal):
        raise codec.UnreadableField(f"{path}.signal", f"is {incident.signal!r}, which is not a signal")
    if incident.profile is not None:
        _require_attempt(f"{path}.profile", incident.profile)
    if incident.proof is not None and incident.proof.profile is not None:
        _require_attempt(f"{path}.proof.profile", incident.proof.profile)


def _require_attempt(path: str, profile: ProfileFact) -> None:
    if not 0 < profile.attempt <= MOST_ATTEMPTS:
        raise codec.UnreadableField(f"{path}.attempt", f"is {profile.attempt}, which no profile has")


def _part(path: str) -> Path:
    """The smallest part around a field that makes sense to be without."""
    steps: Path = tuple(int(index) if index else name for name, index in _STEP.findall(path))
    within = 2 if len(steps) > 1 and isinstance(steps[1], int) else 1
    part = steps[:within]
    if steps[:1] in (("incident",), ("history",)) and len(steps) > within and steps[within] in FACTS:
        part = steps[: within + 1]
    of_profile = part[-1] in ("profile", "healthyProfile")
    return (*part, "account") if of_profile and steps[len(part) :][:1] == ("account",) else part


def _without(stored: Mapping[str, Any], part: Path) -> dict[str, Any]:
    """A copy without one part."""
    copy: dict[str, Any] = deepcopy(dict(stored))
    place: Any = copy
    for step in part[:-1]:
        place = place[step]
    del place[part[-1]]
    return copy


def _cut(text: str) -> str:
    return text if len(text) <= COMPLAINT_CHARACTERS else f"{text[: COMPLAINT_CHARACTERS - 1]}…"

"""Conditions and Events as Kubernetes has them."""

from dataclasses import dataclass

NOTE_BYTES = 1024
"""What the API takes as the note of an Event, in bytes of UTF-8."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition's type, status ("True" | "False" | "Unknown"), reason (CamelCase) and message."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int = 0
    last_transition_time: float = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """An Event to be posted. kind is "Normal" or "Warning".

    `once` names what it tells of where that happens once, such as the end of a pull request: whoever finds it done
    after a crash tells it under the same name, whatever else was written in between. None: it is a transition of the
    status.
    """

    kind: str
    reason: str
    message: str
    once: str | None = None


def within(text: str, size: int) -> str:
    """As much of the beginning of a text as `size` bytes of UTF-8 hold."""
    return text.encode()[: max(0, size)].decode(errors="ignore")

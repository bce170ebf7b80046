"""Values of the spec that have another name now. The old ones are still taken, and said to be old.

`Off` without quotes is false to YAML 1.1: what kubectl sends then is refused by the API server, and what a file holds
reaches the command line as a boolean.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from mfu_operator.api.section import Section
from mfu_operator.model.baseline import ProfilingMode, RemediationMode

E = TypeVar("E", bound=StrEnum)

_OFF = "Off"
_NOW: Mapping[str, StrEnum] = {
    "spec.profiling.mode": ProfilingMode.NEVER,
    "spec.remediation.mode": RemediationMode.OBSERVE,
}
"""By path, what `Off` is called now."""


def choice(section: Section, name: str, choices: type[E]) -> E | None:
    """The field as one of the values of an enumeration, or of their old names.

    Raises:
        Stall: (InvalidSpec) it is neither.
    """
    now = _NOW.get(f"{section.path}.{name}")
    return choices(now) if now is not None and _is_off(section, name) else section.choice(name, choices)


def deprecated(root: Section) -> Iterator[str]:
    """What is written in the old words, and what to write instead."""
    for path, now in _NOW.items():
        _, below, name = path.split(".")
        if _is_off(root.section(below), name):
            yield f"{path}: Off is called {now} now; a later release refuses Off"


def _is_off(section: Section, name: str) -> bool:
    value = section.values.get(name)
    return value is False or value == _OFF

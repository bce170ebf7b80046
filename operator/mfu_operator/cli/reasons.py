"""The table of reasons and alerts, from `reasons.yaml`: what each means, its remedy and the page that explains it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("reasons.yaml")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason. `page` is the stem of a page in runbooks/, `then` a key of `Reasons.next`."""

    name: str
    page: str
    where: str
    meaning: str
    remedy: str
    then: str

    @property
    def anchor(self) -> str:
        """Its anchor in runbooks/reasons.md."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Reasons:
    """All reasons and alerts by name. `alerts` gives each alert's page, `next` what the operator does next by key."""

    reasons: Mapping[str, Reason]
    alerts: Mapping[str, str]
    next: Mapping[str, str]


@cache
def reasons() -> Reasons:
    """The table that comes with this version."""
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    found = {name: Reason(name, **row) for name, row in table["reasons"].items()}
    return Reasons(found, table["alerts"], table["next"])

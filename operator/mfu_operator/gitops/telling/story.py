"""The parts of a proposal's text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mfu_operator.gitops.markdown import code, visible
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.commit import Ranking, Source, Suspect
from mfu_operator.model.incident import Incident
from mfu_operator.model.investigation import Undoing
from mfu_operator.model.series import Course

CHANGES_SHOWN = 10
"""Lines of each list; how many more there are is said."""

LONGEST_LINE = 300
"""Characters of a line that others wrote."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a loss costs: device hours beyond the baseline in each hour, and until `at_s` (Unix seconds), of a run that
    has so many devices."""

    per_hour: float
    so_far: float
    devices: int
    at_s: float


@dataclass(frozen=True, slots=True)
class Story:
    """What the text of a proposal is made from. `subject` names the baseline ("training/gpt-small"), `installation` the
    operator's cluster; `suspect` is None where what is undone came with no commit; `runbooks` is the address of the
    folder of runbooks, "" where there is none. `forge` and `forge_address` are of the host where they are declared,
    `cost` is None where it is not known, `course` empty where nothing is known of it."""

    undoing: Undoing
    incident: Incident
    ranking: Ranking
    suspect: Suspect | None
    source: Source
    subject: str
    installation: str
    healthy: StepAccount | None
    runbooks: str
    cost: Cost | None = None
    forge: ForgeKind | None = None
    forge_address: str | None = None
    course: Course = ()


def token(text: str) -> str:
    """An id with nothing in it that ends a comment, a trailer or a ref name."""
    quiet = re.sub(r"[^A-Za-z0-9._/-]", "-", text)
    return re.sub(r"[-./]+", lambda run: "/" if "/" in run[0] else run[0][0], quiet).strip("-./")


def moved(incident: Incident) -> str:
    """How far the signal moved, with its sign ("−17.2 %")."""
    change = incident.regressed_value / incident.baseline_value - 1 if incident.baseline_value else 0.0
    return f"{'+' if change > 0 else '−'}{abs(change):.1%}".replace("%", " %")


def short(text: str) -> str:
    """One line of what others wrote, cut."""
    line = visible(text)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def listed(texts: Sequence[str]) -> list[str]:
    """A list of what others wrote, as code."""
    shown = [f"- {code(short(text))}" for text in texts[:CHANGES_SHOWN]]
    return [*shown, f"- and {len(texts) - CHANGES_SHOWN} more"] if len(texts) > CHANGES_SHOWN else shown

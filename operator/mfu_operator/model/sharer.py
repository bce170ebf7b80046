"""A baseline that a pull request is about. Several may be: one commit can slow many jobs down."""

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """SLOW: it waits for the pull request. RECOVERED: its readings hold the baseline again. EXONERATED: it was merged
    and rolled out, and the loss remained. UNDONE: it was merged, and a later commit took that back. ENDED: its incident
    was closed in another way."""

    SLOW = "Slow"
    RECOVERED = "Recovered"
    EXONERATED = "Exonerated"
    UNDONE = "Undone"
    ENDED = "Ended"


@dataclass(frozen=True, slots=True)
class Sharer:
    """One baseline's part in one pull request. Values are in the signal's unit; `since_at` is when its loss began,
    `staged_at` since when it is at its stage, both Unix seconds. `after` is its value since it recovered."""

    baseline: str
    url: str
    signal: str
    before: float
    slow: float
    since_at: float
    stage: Stage = Stage.SLOW
    staged_at: float | None = None
    after: float | None = None
    merged: bool = False
    merge_sha: str | None = None
    suspect: str = ""

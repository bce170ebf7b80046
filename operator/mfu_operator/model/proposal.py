"""What the operator proposes and what became of it."""

from dataclasses import dataclass
from enum import StrEnum


class ProposalKind(StrEnum):
    """REVERT undoes a commit; PIN sets the last known good image digest."""

    REVERT = "Revert"
    PIN = "Pin"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pull request to be: everything that a forge needs, nothing that it does not. `branch` is derived from the
    incident, so that doing it twice gives the same."""

    kind: ProposalKind
    branch: str
    base: str
    title: str
    body: str
    commit_message: str
    revert_sha: str | None = None
    pins: tuple[tuple[str, str, str], ...] = ()
    """(path, image without tag and digest, digest) for a PIN."""


class PullRequestState(StrEnum):
    """CLOSED means closed without merging: a person's no."""

    OPEN = "Open"
    MERGED = "Merged"
    CLOSED = "Closed"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge has it. `merge_sha` and `merged_at` (Unix seconds) are set once it is merged."""

    number: int
    url: str
    branch: str
    state: PullRequestState
    merge_sha: str | None = None
    merged_at: float | None = None

"""What the operator proposes and what became of it."""

from dataclasses import dataclass
from enum import StrEnum


class ProposalKind(StrEnum):
    """REVERT undoes a commit, MINIMAL_REVERT only the keys of it that are guilty; PIN_DIGEST sets the image that ran,
    PIN_CHART the chart version, PIN_PARAMETER a parameter. PIN is what earlier releases stored for PIN_DIGEST."""

    REVERT = "Revert"
    MINIMAL_REVERT = "MinimalRevert"
    PIN_DIGEST = "PinDigest"
    PIN_CHART = "PinChart"
    PIN_PARAMETER = "PinParameter"
    PIN = "Pin"


@dataclass(frozen=True, slots=True)
class Edit:
    """One file's text before and after a proposal; None: it is not there."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Review:
    """Whom a pull request asks, and what stands on it. Names are the forge's, without "@"; `org/team` is a team where
    the forge has teams. `code_owners`: those of the changed files are asked too, by the repository's own CODEOWNERS."""

    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    draft: bool = False
    code_owners: bool = True


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pull request to be: everything that a forge needs, nothing that it does not. `branch` is derived from
    what is undone and where, so that doing it twice, or for two baselines, gives the same. `base_sha` is the commit of
    `base` that it was rendered on; None: the head."""

    kind: ProposalKind
    branch: str
    base: str
    title: str
    body: str
    commit_message: str
    revert_sha: str | None = None
    base_sha: str | None = None
    edits: tuple[Edit, ...] = ()
    """What changes, where that is not a whole commit taken back."""
    review: Review = Review()


class Closing(StrEnum):
    """Why the operator closes a pull request. NOT_NEEDED is nobody's no and may be proposed again, REJECTED is a
    person's, given by command."""

    NOT_NEEDED = "NotNeeded"
    REJECTED = "Rejected"


class PullRequestState(StrEnum):
    """CLOSED means closed without merging: a person's no, unless the operator withdrew it."""

    OPEN = "Open"
    MERGED = "Merged"
    CLOSED = "Closed"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as the forge has it. `head` is its branch's newest commit (None: not told), `merge_sha` and
    `merged_at` (Unix seconds) are set once it is merged. `withdrawn`: the operator closed it, not a person. `unmet` is
    what the forge did not take of what was asked for when it was opened, as sentences."""

    number: int
    url: str
    branch: str
    state: PullRequestState
    title: str = ""
    head: str | None = None
    merge_sha: str | None = None
    merged_at: float | None = None
    withdrawn: bool = False
    unmet: tuple[str, ...] = ()

"""What a tick may do to the world, as values. Each is an *ensure*: done twice, it is done once."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mfu_operator.model.commit import Source
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import ProfileFact, ProposalFact, Status
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Closing, Proposal, PullRequest


class Subject(StrEnum):
    """Whose profile a Job records."""

    BASELINE = "baseline"
    INCIDENT = "incident"
    RECOVERY = "recovery"


@dataclass(frozen=True, slots=True)
class Record:
    """A fact that needed nothing from the world."""

    status: Status
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class EnsureJob:
    """Launch the profiling Job that `profile` names."""

    subject: Subject
    manifest: Mapping[str, Any]
    profile: ProfileFact


@dataclass(frozen=True, slots=True)
class Investigate:
    """Find which commit of the window (good, bad] did it."""

    question: Question


@dataclass(frozen=True, slots=True)
class Recheck:
    """Find whether a commit of the window (merge, what the pods read now] brings back what the merge took out."""

    question: Question


@dataclass(frozen=True, slots=True)
class PreviewProposal:
    """Try the proposal in a clone; nothing leaves the cluster."""

    source: Source
    proposal: Proposal


@dataclass(frozen=True, slots=True)
class EnsurePullRequest:
    """Push the proposal's branch and open its pull request."""

    source: Source
    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Close the operator's own pull request and remove its branch, because of something that a person reads there."""

    source: Source
    proposal: ProposalFact
    because: str
    closing: Closing = Closing.NOT_NEEDED


@dataclass(frozen=True, slots=True)
class Note:
    """Have the operator's comment on a pull request say `text`, of which `digest` is kept."""

    source: Source
    proposal: ProposalFact
    text: str
    digest: str


Effect = EnsureJob | Investigate | Recheck | PreviewProposal | EnsurePullRequest | Withdraw | Note
Step = Record | Effect


@dataclass(frozen=True, slots=True)
class JobEnsured:
    """The Job exists."""


@dataclass(frozen=True, slots=True)
class Investigated:
    """What was found."""

    findings: Findings


@dataclass(frozen=True, slots=True)
class Previewed:
    """The diff that the proposal would make."""

    diff: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """The pull request as the forge has it, the diff that it carries, and the commit that was pushed (None: none)."""

    pull_request: PullRequest
    diff: str
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The pull request as the forge has it now. `theirs`: a person pushed to its branch, so it was left alone."""

    pull_request: PullRequest
    theirs: bool = False


@dataclass(frozen=True, slots=True)
class Noted:
    """The comment says it, or the forge does not take it for the reason given."""

    refused: str | None = None


Outcome = JobEnsured | Investigated | Previewed | Proposed | Withdrawn | Noted

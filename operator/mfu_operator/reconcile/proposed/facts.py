"""The pull requests that a status names, and how a fact of one is changed wherever it stands."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from mfu_operator.model.incident import Incident, ProposalFact, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.sharer import Sharer, Stage
from mfu_operator.reconcile.proposed.hold import REJECTED

UNDONE = "Undone"
"""Why nothing more is proposed where a later commit took the merge back: an updater would do so again."""

SHORTEST_SHA = 7
"""Characters: Bitbucket tells twelve of a commit's."""


def same_commit(one: str | None, other: str | None) -> bool:
    """Whether two ids, of which either may be cut, are of one commit."""
    if one is None or other is None:
        return False
    length = min(len(one), len(other))
    return length >= SHORTEST_SHA and one[:length] == other[:length]


def incidents(status: Status) -> Iterator[Incident]:
    """The open incident, then those of the past, newest first."""
    if status.incident is not None:
        yield status.incident
    yield from status.history


def shares(status: Status, baseline: str) -> tuple[Sharer, ...]:
    """A baseline's part in each pull request that its status names, the newest first.

    Args:
        baseline: its namespace and name ("training/gpt-small").
    """
    found: dict[str, Sharer] = {}
    for incident in incidents(status):
        for each in _of(incident, baseline):
            found.setdefault(each.url, each)
    return tuple(found.values())


def _of(incident: Incident, baseline: str) -> Iterator[Sharer]:
    def sharer(proposal: ProposalFact, suspect: str) -> Sharer:
        return Sharer(
            baseline, proposal.url or "", incident.signal, incident.baseline_value, incident.regressed_value,
            incident.onset_at, merged=proposal.state is PullRequestState.MERGED, merge_sha=proposal.merge_sha,
            suspect=suspect,
        )  # fmt: skip

    if incident.proposal is not None and incident.proposal.url is not None:
        found = sharer(incident.proposal, incident.suspect.sha if incident.suspect else "")
        recovery = incident.recovery
        if recovery is not None:
            found = replace(found, stage=Stage.RECOVERED, staged_at=recovery.recovered_at, after=recovery.after)
        elif incident.blocked is not None and incident.blocked[0] == REJECTED:
            found = replace(found, stage=Stage.ENDED)
        elif incident.blocked is not None and incident.blocked[0] == UNDONE:
            found = replace(found, stage=Stage.UNDONE)
        elif incident.ended_at is not None:
            found = replace(found, stage=Stage.ENDED, staged_at=incident.ended_at)
        yield found
    for each in incident.exonerated:
        if each.proposal.url is not None:
            made = sharer(each.proposal, each.suspect.sha if each.suspect is not None else "")
            yield replace(made, stage=Stage.EXONERATED, staged_at=each.exonerated_at)


def proposals(status: Status) -> Iterator[tuple[Incident, ProposalFact]]:
    """Every pull request with its incident, newest first; dry runs are none, and neither is one whose number somebody
    took out of the status."""
    for incident in incidents(status):
        told = (each.proposal for each in reversed(incident.exonerated))
        for proposal in (incident.proposal, *told):
            if proposal is not None and proposal.url is not None and proposal.number is not None:
                yield incident, proposal


def with_proposal(status: Status, url: str | None, change: Callable[[ProposalFact], ProposalFact]) -> Status:
    """The status with the fact of one pull request changed, wherever it stands."""

    def changed(incident: Incident) -> Incident:
        proposal = incident.proposal
        if proposal is not None and proposal.url == url:
            proposal = change(proposal)
        past = tuple(
            replace(each, proposal=change(each.proposal)) if each.proposal.url == url else each
            for each in incident.exonerated
        )
        return replace(incident, proposal=proposal, exonerated=past)

    incident = None if status.incident is None else changed(status.incident)
    return replace(status, incident=incident, history=tuple(changed(each) for each in status.history))

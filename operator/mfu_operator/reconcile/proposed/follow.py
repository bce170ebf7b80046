"""What is still to do for a pull request that nobody waits for any more, or that several baselines share.

It is done after an incident has closed as well: a recovery is not kept open by a forge that does not answer. What could
not be done within a day is left for a person.
"""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from mfu_operator.detect.formatting import clock
from mfu_operator.gitops.note import note
from mfu_operator.model.baseline import BaselineSpec, RemediationMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, ProposalFact, Status
from mfu_operator.model.proposal import Closing, PullRequestState
from mfu_operator.model.sharer import Sharer, Stage
from mfu_operator.reconcile.effects import Note, Record, Step, Withdraw
from mfu_operator.reconcile.proposed.facts import incidents, proposals, shares, with_proposal
from mfu_operator.reconcile.proposed.hold import REJECTED
from mfu_operator.reconcile.world import World, seen

FOLLOWED_S = 24 * 3600.0
"""A forge or a repository that is away comes back within a day, or somebody has taken it away for good."""

NOTED = 12
"""Hexadecimal digits of the digest of what was said."""


def outstanding(spec: BaselineSpec, status: Status) -> bool:
    """Whether anything is to be done to a pull request beside hearing the answer to it."""
    if spec.remediation.secret is None:
        return False
    waiting = _may_tell(spec) and any(_untold(each) for each in incidents(status))
    return waiting or any(True for _ in _unwanted(spec, status))


def _may_tell(spec: BaselineSpec) -> bool:
    """Whether the operator may say anything on a pull request: in the other modes it touches nothing, but for what it
    takes back."""
    return spec.remediation.secret is not None and spec.remediation.mode is RemediationMode.PULL_REQUEST


def _untold(incident: Incident) -> bool:
    """Whether something was merged of which nothing was said on the request yet."""
    proposal = incident.proposal
    recovered = incident.recovery is not None and proposal is not None and proposal.state is PullRequestState.MERGED
    return (recovered and proposal is not None and proposal.noted is None) or any(
        each.proposal.noted is None for each in incident.exonerated
    )


def withdraw(world: World) -> Step | None:
    """Close a pull request that is not wanted any more, unless a person pushed to it or another baseline needs it."""
    source = seen(world.source)
    for incident, proposal, because in _unwanted(world.spec, world.status):
        if _given_up(world, incident):
            return _left(world, proposal)
        if source is None or world.spec.remediation.secret is None or _needed_by_others(world, proposal):
            continue
        rejected = incident.blocked is not None and incident.blocked[0] == REJECTED
        return Withdraw(source, proposal, because, Closing.REJECTED if rejected else Closing.NOT_NEEDED)
    return None


def tell(world: World) -> Step | None:
    """Have the operator's comment say whom the pull request is about and what became of each, where that is more than
    its description says. Of several baselines the first by name writes it."""
    source = seen(world.source)
    if source is None or world.sharers is None or not _may_tell(world.spec):
        return None
    own = f"{world.identity.namespace}/{world.identity.name}"
    every = (*shares(world.status, own), *world.sharers)
    for incident, proposal in proposals(world.status):
        about = sorted((each for each in every if each.url == proposal.url), key=lambda each: each.baseline)
        if not _worth_telling(about) or about[0].baseline != own or _given_up(world, incident):
            continue
        text = note(about)
        digest = sha256(text.encode()).hexdigest()[:NOTED]
        if digest != proposal.noted:
            return Note(source, proposal, text, digest)
    return None


def _worth_telling(about: list[Sharer]) -> bool:
    return len(about) > 1 or any(
        each.stage in (Stage.EXONERATED, Stage.UNDONE) or (each.stage is Stage.RECOVERED and each.merged)
        for each in about
    )


def _unwanted(spec: BaselineSpec, status: Status) -> Iterator[tuple[Incident, ProposalFact, str]]:
    incident = status.incident
    rejected = incident is not None and incident.blocked is not None and incident.blocked[0] == REJECTED
    if incident is not None and rejected and incident.blocked and incident.proposal and incident.proposal.ours:
        yield incident, incident.proposal, incident.blocked[1]
        return
    asked = spec.remediation.mode is RemediationMode.PULL_REQUEST
    if incident is not None and incident.proposal is not None and incident.proposal.ours and not asked:
        told = f"spec.remediation.mode is {spec.remediation.mode} now, so nothing is proposed any more"
        yield incident, incident.proposal, told
    for past in status.history:
        if past.recovery is not None and past.proposal is not None and past.proposal.ours:
            recovery = past.recovery
            values = f"{recovery.signal} {recovery.regressed:.4g} while slow, {recovery.after:.4g} now"
            told = f"training recovered at {clock(recovery.recovered_at)} before this was merged ({values})"
            yield past, past.proposal, told


def _needed_by_others(world: World, proposal: ProposalFact) -> bool:
    """Whether another baseline waits for it, or nobody knows yet."""
    if world.sharers is None:
        return True
    return any(each.url == proposal.url and each.stage is Stage.SLOW for each in world.sharers)


def _given_up(world: World, incident: Incident) -> bool:
    ended_s = incident.recovery.recovered_at if incident.recovery is not None else incident.ended_at
    return ended_s is not None and world.now_s > ended_s + FOLLOWED_S


def _left(world: World, proposal: ProposalFact) -> Record:
    status = with_proposal(world.status, proposal.url, lambda each: replace(each, theirs=True))
    told = f"{proposal.url} could not be withdrawn within a day: it is left for you to close"
    return Record(status, (Event("Warning", "LeftOpen", told),))

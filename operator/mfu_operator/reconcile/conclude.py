"""An effect's outcome, or its error, as facts. The one place where errors become conditions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mfu_operator.detect.formatting import clock
from mfu_operator.errors import AskPerson, MfuError, Stall, Wait
from mfu_operator.gitops.blame.scores import PLAUSIBLE
from mfu_operator.gitops.propose import propose
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, PinFact, ProposalFact, Status, SuspectFact
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.masking import masked
from mfu_operator.model.proposal import PullRequest, PullRequestState
from mfu_operator.reconcile.after.capture import missing
from mfu_operator.reconcile.after.proof import unproven, with_proof
from mfu_operator.reconcile.effects import (
    Effect,
    EnsureJob,
    EnsurePullRequest,
    Investigate,
    Investigated,
    JobEnsured,
    Note,
    Noted,
    Outcome,
    Previewed,
    PreviewProposal,
    Proposed,
    Recheck,
    Subject,
    Withdraw,
    Withdrawn,
)
from mfu_operator.reconcile.incident import opened
from mfu_operator.reconcile.proposed.exonerate import rechecked
from mfu_operator.reconcile.proposed.facts import with_proposal
from mfu_operator.reconcile.proposed.hold import blamed_of, refusal, refused
from mfu_operator.reconcile.recovery import cost_of
from mfu_operator.reconcile.world import World

FAILED_CONDITION: Mapping[type[Effect], str] = {
    EnsureJob: "ProfilingFailed",
    Investigate: "ProposalFailed",
    Recheck: "ProposalFailed",
    PreviewProposal: "ProposalFailed",
    EnsurePullRequest: "ProposalFailed",
    Withdraw: "ProposalFailed",
    Note: "ProposalFailed",
}
"""The condition that an effect's failure makes True."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that failed: the condition it makes True, why, and whether the spec itself is hopeless."""

    condition: str
    reason: str
    message: str
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The record after an effect, what to tell, and what to do at once because it rests on what was just read."""

    status: Status
    events: tuple[Event, ...] = ()
    then: Effect | None = None


def conclude(world: World, effect: Effect, outcome: Outcome) -> Conclusion:
    """The facts that an effect's outcome established."""
    match effect, outcome:
        case EnsureJob(), JobEnsured():
            return _launched(world, effect)
        case Investigate(), Investigated(findings):
            return _suspected(world, effect.question, findings)
        case Recheck(), Investigated(findings):
            after = rechecked(world, findings)
            return Conclusion(after.status, after.events)
        case PreviewProposal(), Previewed(diff):
            return _previewed(world, effect, diff)
        case EnsurePullRequest(), Proposed():
            return _proposed(world, effect, outcome)
        case Withdraw(), Withdrawn():
            return _withdrawn(world, effect, outcome)
        case Note(), Noted(refused):
            return _noted(world, effect, refused)
    raise TypeError(f"{type(outcome).__name__} is not an outcome of {type(effect).__name__}")


def failed(
    world: World, condition: str, error: MfuError, effect: Effect | None = None
) -> tuple[Status, Failure | None, tuple[Event, ...]]:
    """What an error leaves: waiting leaves nothing, a person's decision is final for the incident, the rest is a
    condition until the step succeeds. A capture after the recovery that is refused for good is done without.

    Args:
        world: what was known.
        condition: that the failure makes True.
        error: what stood in the way.
        effect: that failed; None: the decision itself.
    """
    if isinstance(error, Wait):
        return world.status, None, ()
    if isinstance(effect, EnsureJob) and effect.subject is Subject.RECOVERY and isinstance(error, Stall):
        without = missing(world, (error.reason, error.message))
        return without.status, None, without.events
    incident = world.status.incident
    event = Event("Warning", error.reason, error.message)
    if isinstance(error, AskPerson) and incident is not None and condition == "ProposalFailed":
        return replace(world.status, incident=replace(incident, blocked=(error.reason, error.message))), None, (event,)
    return world.status, Failure(condition, error.reason, error.message, isinstance(error, Stall)), (event,)


def _launched(world: World, effect: EnsureJob) -> Conclusion:
    name, attempt = effect.profile.job, effect.profile.attempt
    if effect.subject is Subject.BASELINE:
        event = Event("Normal", "ProfilingBaseline", f"Job {name} records the healthy job (attempt {attempt})", name)
        return Conclusion(replace(world.status, healthy_profile=effect.profile), (event,))
    if effect.subject is Subject.RECOVERY:
        return _launched_after(world, effect)
    event = Event("Normal", "Profiling", f"Job {name} records the slow job (attempt {attempt})", name)
    return Conclusion(replace(world.status, incident=replace(opened(world), profile=effect.profile)), (event,))


def _launched_after(world: World, effect: EnsureJob) -> Conclusion:
    last = unproven(world.status)
    assert last is not None and last.proof is not None
    name = effect.profile.job
    event = Event("Normal", "CapturingAgain", f"Job {name} records the job after incident {last.id}", name)
    return Conclusion(with_proof(world.status, replace(last.proof, profile=effect.profile)), (event,))


def _suspected(world: World, question: Question, findings: Findings) -> Conclusion:
    incident = replace(opened(world), good_revision=question.good, bad_revision=question.bad)
    ranking, chosen = findings.ranking, findings.ranking.chosen
    if chosen is None and findings.undoing is None:
        because = _no_suspect(findings, incident)
        blocked = (because.reason, because.message)
        return Conclusion(
            replace(world.status, incident=replace(incident, blocked=blocked)), (Event("Warning", *blocked),)
        )
    if chosen is None:
        return _unless_refused(world, question, findings, replace(incident, suspect=None, pin=_pin(findings)), ())
    fact = SuspectFact(
        sha=chosen.commit.sha,
        subject=chosen.commit.subject,
        author=chosen.commit.author,
        changed=chosen.changed,
        because=chosen.because,
        candidates=len(ranking.suspects),
    )
    found = replace(incident, suspect=fact, pin=None)
    events = (
        ()
        if incident.suspect == fact
        else (Event("Warning", "Suspected", f"commit {fact.sha[:12]}: {ranking.because}"),)
    )
    return _unless_refused(world, question, findings, found, events)


def _unless_refused(
    world: World, question: Question, findings: Findings, found: Incident, events: tuple[Event, ...]
) -> Conclusion:
    blamed = blamed_of(found)
    no = refusal(world.status, blamed[0]) if blamed is not None else None
    if no is None:
        return _to_propose(world, question, findings, found, events)
    return Conclusion(replace(world.status, incident=replace(found, blocked=no)), (*events, Event("Warning", *no)))


def _to_propose(
    world: World, question: Question, findings: Findings, found: Incident, events: tuple[Event, ...]
) -> Conclusion:
    """The proposal for what was found: for the chosen commit, or for what came with none."""
    healthy = world.status.healthy_profile
    try:
        proposal = propose(
            found,
            findings.ranking.chosen,
            findings,
            question.source,
            subject=f"{world.identity.namespace}/{world.identity.name}",
            installation=world.defaults.installation,
            healthy=healthy.account if healthy else None,
            runbooks=world.defaults.runbook_base_url or "",
            cost=cost_of(world, found),
            course=world.course,
            forge=world.spec.remediation.forge,
            forge_address=world.spec.remediation.forge_address,
            review=world.spec.remediation.review,
        )
    except AskPerson as error:
        blocked = (error.reason, error.message)
        return Conclusion(
            replace(world.status, incident=replace(found, blocked=blocked)), (*events, Event("Warning", *blocked))
        )
    if any(_is_of(proposal.branch, each.proposal.branch) for each in found.exonerated):
        because = _no_suspect(findings, found)
        blocked = (because.reason, because.message)
        return Conclusion(
            replace(world.status, incident=replace(found, suspect=None, pin=None, blocked=blocked)),
            (Event("Warning", *blocked),),
        )
    asked = world.spec.remediation.mode is RemediationMode.PULL_REQUEST
    source = question.source
    then: Effect = EnsurePullRequest(source, proposal) if asked else PreviewProposal(source, proposal)
    return Conclusion(replace(world.status, incident=found), events, then)


def _pin(findings: Findings) -> PinFact | None:
    undoing = findings.undoing
    return PinFact(undoing.pin, undoing.pins) if undoing is not None and undoing.pin else None


def _is_of(branch: str, known: str) -> bool:
    """Whether a known branch is of the same proposal: one that was withdrawn is opened again under a number."""
    return known == branch or known.startswith(f"{branch}-")


def _no_suspect(findings: Findings, incident: Incident) -> AskPerson:
    because = " ".join(filter(None, [findings.ranking.because, findings.declined[1] if findings.declined else ""]))
    if incident.exonerated:
        names = ", ".join(each.named for each in incident.exonerated)
        because = f"{because} ({names} did not do it: undone, and the loss remained)"
    if findings.not_rendered:
        return AskPerson("CannotRender", because)
    if any(suspect.score >= PLAUSIBLE for suspect in findings.ranking.suspects):
        return AskPerson("NoSingleSuspect", because)
    return AskPerson("NoSuspect", because)


def _answers(found: PullRequest, incident: Incident) -> bool:
    """Whether what was merged can have ended this loss: not where it was merged before the loss began."""
    return found.merged_at is not None and found.merged_at >= incident.onset_at


def _previewed(world: World, effect: PreviewProposal, diff: str) -> Conclusion:
    proposal = effect.proposal
    fact = ProposalFact(proposal.kind, proposal.branch, proposal.title, dry_run=True, diff=masked(diff))
    event = Event("Normal", "WouldPropose", f"DryRun: would open {proposal.title!r} from branch {proposal.branch}")
    return Conclusion(replace(world.status, incident=replace(opened(world), proposal=fact)), (event,))


def _proposed(world: World, effect: EnsurePullRequest, outcome: Proposed) -> Conclusion:
    proposal, found = effect.proposal, outcome.pull_request
    fact = ProposalFact(
        proposal.kind,
        found.branch or proposal.branch,
        found.title or proposal.title,
        dry_run=False,
        diff=masked(outcome.diff),
        url=found.url,
        number=found.number,
        state=found.state,
        opened_at=world.now_s,
        merged_at=found.merged_at,
        merge_sha=found.merge_sha,
        head=outcome.head,
    )
    incident = replace(opened(world), proposal=fact)
    if found.state is PullRequestState.CLOSED:
        blocked = ("PullRequestClosed", f"{found.url} was closed without merging, which is taken as a no")
        status = replace(world.status, incident=replace(incident, blocked=blocked))
        return Conclusion(_refused(status, found.url, world.now_s), (Event("Warning", *blocked),))
    if found.state is PullRequestState.MERGED and not _answers(found, incident):
        when = clock(found.merged_at) if found.merged_at is not None else "an unknown time"
        because = "the loss has another cause, or the merge was not rolled out to this run"
        blocked = (
            "AlreadyReverted",
            f"{found.url} was merged at {when}, before this loss began at {clock(incident.onset_at)}: {because}",
        )
        incident = replace(opened(world), blocked=blocked)
        return Conclusion(replace(world.status, incident=incident), (Event("Warning", *blocked),))
    events = [Event("Normal", "Proposed", f"{found.url}: {fact.title}", found.url)]
    if found.unmet:
        events.append(Event("Warning", "ReviewNotAsked", f"{found.url}: {'; '.join(found.unmet)}"))
    return Conclusion(replace(world.status, incident=incident), tuple(events))


def _refused(status: Status, url: str, now_s: float) -> Status:
    if status.incident is None:
        return status
    return refused(status, status.incident, f"{url} was closed without merging", now_s)


def _withdrawn(world: World, effect: Withdraw, outcome: Withdrawn) -> Conclusion:
    found, url = outcome.pull_request, effect.proposal.url
    if outcome.theirs:
        status = with_proposal(world.status, url, lambda each: replace(each, theirs=True))
        told = f"{url} holds a commit that a person pushed: it is theirs, and is left open ({effect.because})"
        return Conclusion(status, (Event("Normal", "TakenOver", told, url),))
    status = with_proposal(
        world.status,
        url,
        lambda each: replace(
            each,
            state=found.state,
            merged_at=found.merged_at,
            merge_sha=found.merge_sha,
            withdrawn=effect.because if found.withdrawn else None,
        ),
    )
    if found.state is not PullRequestState.CLOSED:
        return Conclusion(status)
    told = f"{url} is closed and its branch removed: {effect.because}"
    return Conclusion(status, (Event("Normal", "Withdrawn", told, url),))


def _noted(world: World, effect: Note, refused: str | None) -> Conclusion:
    status = with_proposal(world.status, effect.proposal.url, lambda each: replace(each, noted=effect.digest))
    if refused is None:
        return Conclusion(status)
    told = f"the forge refused a comment on {effect.proposal.url}: {refused}"
    return Conclusion(status, (Event("Warning", "NoteRefused", told, f"{effect.proposal.url} {effect.digest}"),))

"""The person's answer to a pull request."""

from dataclasses import replace

from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, ProposalFact
from mfu_operator.model.proposal import PullRequest, PullRequestState
from mfu_operator.reconcile.effects import Record, Step
from mfu_operator.reconcile.proposed.facts import same_commit
from mfu_operator.reconcile.proposed.hold import refused
from mfu_operator.reconcile.world import World, seen


def hear_answer(world: World) -> Step | None:
    """Note what became of the pull request. Closed without merging is a person's no, and final; a commit that a person
    pushed makes it theirs."""
    incident, answer = world.status.incident, seen(world.pull_request)
    if world.answer_problem is not None:
        raise world.answer_problem
    proposal = incident.proposal if incident is not None else None
    if incident is None or proposal is None or answer is None:
        return None
    if proposal.state is answer.state:
        return _taken_over(world, incident, proposal, answer)
    answered = replace(proposal, state=answer.state, merged_at=answer.merged_at, merge_sha=answer.merge_sha)
    if answer.withdrawn:
        withdrawn = replace(answered, withdrawn="the operator withdrew it in a tick that it did not live to write down")
        return _with(world, replace(incident, proposal=withdrawn), Event("Normal", "Withdrawn", answer.url))
    if answer.state is PullRequestState.CLOSED:
        blocked = ("PullRequestClosed", f"{answer.url} was closed without merging, which is taken as a no")
        return _with(_refused(world, incident, answer), replace(incident, proposal=answered, blocked=blocked),
                     Event("Warning", *blocked))  # fmt: skip
    event = Event("Normal", "Merged", f"{answer.url} was merged; watching for the recovery")
    return _with(world, replace(incident, proposal=answered), event)


def _refused(world: World, incident: Incident, answer: PullRequest) -> World:
    reason = f"{answer.url} was closed without merging"
    return replace(world, status=refused(world.status, incident, reason, world.now_s))


def _taken_over(world: World, incident: Incident, proposal: ProposalFact, answer: PullRequest) -> Step | None:
    if not proposal.ours or answer.head is None or same_commit(answer.head, proposal.head):
        return None
    told = f"{answer.url} holds {answer.head[:12]}, which a person pushed: it is theirs, and the operator only watches"
    return _with(world, replace(incident, proposal=replace(proposal, theirs=True)), Event("Normal", "TakenOver", told))


def _with(world: World, incident: Incident, event: Event) -> Record:
    return Record(replace(world.status, incident=incident), (event,))

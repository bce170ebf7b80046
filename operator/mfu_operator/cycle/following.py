"""What is done to a pull request that is there: it is withdrawn, or the operator's comment on it is kept."""

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.credentials import forge_credentials, forge_of
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.gitops.note import withdrawal
from mfu_operator.model.proposal import Closing, PullRequestState
from mfu_operator.reconcile.effects import Note, Noted, Withdraw, Withdrawn
from mfu_operator.reconcile.proposed.facts import same_commit
from mfu_operator.reconcile.world import World


def withdraw(adapters: Adapters, world: World, effect: Withdraw) -> Withdrawn:
    """Close it with the reason, then remove its branch; where a person pushed to it, neither. Done again after the
    process died between the two, it does what is left."""
    proposal, forge = effect.proposal, forge_of(adapters, world, effect.source)
    assert proposal.number is not None
    assert proposal.head is not None
    found = forge.get(proposal.number)
    if found.branch != proposal.branch:
        return Withdrawn(found, theirs=True)
    if found.state is PullRequestState.OPEN:
        if not same_commit(found.head, proposal.head):
            return Withdrawn(found, theirs=True)
        try:
            found = forge.withdraw(proposal.number, withdrawal(effect.because, effect.closing), effect.closing)
        except Stall as error:
            raise Retry(error.reason, error.message) from error
    if found.withdrawn or (found.state is PullRequestState.CLOSED and effect.closing is Closing.REJECTED):
        credentials = forge_credentials(adapters, world, effect.source)
        adapters.repository.remove_branch(effect.source, proposal.branch, proposal.head, credentials)
    return Withdrawn(found)


def note(adapters: Adapters, world: World, effect: Note) -> Noted:
    """Keep the comment. A token that may open pull requests and not comment on them, or a request that is locked, is no
    reason to try for ever."""
    proposal, forge = effect.proposal, forge_of(adapters, world, effect.source)
    assert proposal.number is not None
    if forge.get(proposal.number).branch != proposal.branch:
        return Noted(f"number {proposal.number} is another pull request there")
    try:
        forge.note(proposal.number, effect.text)
    except MfuError as error:
        if isinstance(error, Stall) or error.reason == "ForgeAccessDenied":
            return Noted(f"{error.reason}: {error.message}")
        raise
    return Noted()

"""Effects done to the world. Each is an ensure: the same effect twice leaves the same world."""

from dataclasses import replace

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.credentials import forge_credentials, forge_of
from mfu_operator.cycle.following import note, withdraw
from mfu_operator.cycle.profiling.slots import ProfilingSlot
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.message import trailers
from mfu_operator.model.incident import Launch
from mfu_operator.model.proposal import Proposal, PullRequest, PullRequestState
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import (
    Forge,
    Repository,
)
from mfu_operator.profiling.plan.training import accelerators
from mfu_operator.reconcile.effects import (
    Effect,
    EnsureJob,
    EnsurePullRequest,
    Investigate,
    Investigated,
    JobEnsured,
    Note,
    Outcome,
    Previewed,
    PreviewProposal,
    Proposed,
    Recheck,
    Subject,
    Withdraw,
)
from mfu_operator.reconcile.world import World

MOST_WITHDRAWN = 4
"""Times that one proposal is opened again after the operator withdrew it. A loss that comes and goes more often is
hardly the commit's."""


def perform(adapters: Adapters, world: World, effect: Effect) -> Outcome:
    """Do it.

    Raises:
        MfuError: what stood in the way; nothing is left half done that doing it again would not complete.
    """
    match effect:
        case EnsureJob():
            if effect.subject is not Subject.INCIDENT:
                adapters.slots.admit(f"{world.identity.namespace}/{effect.profile.job}", world.now_s)
            _charge(adapters, world, effect)
            adapters.cluster.ensure_job(effect.manifest)
            adapters.sweep.gate(world.identity.uid, Gate.PROFILING, world.now_s)
            return JobEnsured()
        case Investigate() | Recheck():
            credentials = forge_credentials(adapters, world, effect.question.source)
            return Investigated(adapters.repository.investigate(effect.question, credentials))
        case PreviewProposal():
            credentials = forge_credentials(adapters, world, effect.source)
            return Previewed(adapters.repository.preview(effect.source, effect.proposal, credentials))
        case EnsurePullRequest():
            with adapters.branches.alone(effect.proposal.branch):
                return _ensure_pull_request(adapters.repository, adapters, world, effect)
        case Withdraw():
            return withdraw(adapters, world, effect)
        case Note():
            return note(adapters, world, effect)


def _charge(adapters: Adapters, world: World, effect: EnsureJob) -> None:
    """Count the Job against the budgets, a copy with the accelerators of its largest container."""
    profiling, uid = world.spec.profiling, world.identity.uid
    pod = effect.manifest["spec"]["template"]["spec"]
    gpus = max((accelerators(each) for each in (*pod.get("initContainers", ()), *pod["containers"])), default=0)
    launch = Launch(effect.profile.job, world.now_s, world.now_s + profiling.deadline_s, gpus)
    adapters.budgets.charge(uid, launch, profiling.budget, world.steady_s)
    name = f"{world.identity.namespace}/{launch.job}"
    if not adapters.slots.knows(name):
        stay = ProfilingSlot(uid, None, launch.launched_at, launch.ends_at)
        adapters.slots.note(name, stay, world.now_s)


def _ensure_pull_request(
    repository: Repository, adapters: Adapters, world: World, effect: EnsurePullRequest
) -> Proposed:
    """Look for the pull request first: a closed one is a person's no, and nothing is pushed then.

    One that is found is adopted only where its branch's commit is ours, and an open one only where its branch holds
    what this proposal would push.
    """
    forge = forge_of(adapters, world, effect.source)
    credentials = forge_credentials(adapters, world, effect.source)
    proposal, known = _branch_not_withdrawn(forge, effect.proposal)
    namespace, branch = world.identity.namespace, proposal.branch
    if known is not None and known.state is not PullRequestState.OPEN:
        _require_ours(forge, known, proposal)
        return Proposed(known, "", known.head)
    if known is not None:
        head = repository.ensure_branch(effect.source, proposal, credentials)
        adapters.breaker.found(namespace, branch, effect.source.repository, world.steady_s)
        return Proposed(known, "", head)
    with adapters.breaker.opening(namespace, branch, effect.source.repository, world.now_s, world.steady_s):
        diff = repository.preview(effect.source, proposal, credentials)
        head = repository.ensure_branch(effect.source, proposal, credentials)
        return Proposed(forge.ensure(proposal), diff, head)


def _branch_not_withdrawn(forge: Forge, proposal: Proposal) -> tuple[Proposal, PullRequest | None]:
    """The proposal on the first of its branches whose pull request the operator has not withdrawn, and that request:
    what the operator closed itself is nobody's no, and may be proposed again."""
    found: PullRequest | None = None
    for nth in range(1, MOST_WITHDRAWN + 2):
        again = proposal if nth == 1 else replace(proposal, branch=f"{proposal.branch}-{nth}")
        found = forge.find(again.branch)
        if found is None or not found.withdrawn:
            return again, found
    raise AskPerson(
        "WithdrawnTooOften",
        f"this proposal was opened and withdrawn {MOST_WITHDRAWN + 1} times ({found.url if found else ''}): the loss "
        "comes and goes, so decide by hand whether the commit is to be undone",
    )


def _require_ours(forge: Forge, found: PullRequest, proposal: Proposal) -> None:
    """Raise AskPerson(BranchTouched) unless the commit of the pull request carries our trailers for this suspect."""
    said = forge.commit_message(found.head) if found.head is not None else None
    if said is None or trailers(said) != trailers(proposal.commit_message):
        raise AskPerson(
            "BranchTouched",
            f"{found.url} is of branch {found.branch} and its newest commit is not the operator's: it is a person's. "
            "Decide by hand whether the suspect is to be undone.",
        )

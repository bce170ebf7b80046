"""One tick of one baseline: observe, decide, perform, conclude. At most one effect, and what follows from it."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from mfu_operator.api.requests import Annotations
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.backoff import Backoff
from mfu_operator.cycle.observe import observe
from mfu_operator.cycle.perform import perform
from mfu_operator.errors import MfuError, Wait
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import BaselineSpec, ProfilingMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.reconcile.after.proof import awaited, unproven
from mfu_operator.reconcile.conclude import FAILED_CONDITION, Failure, conclude, failed
from mfu_operator.reconcile.conditions import awaits_person, conditions
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import Effect, EnsureJob, Record, Step, Subject
from mfu_operator.reconcile.ending import followed
from mfu_operator.reconcile.incident import opened
from mfu_operator.reconcile.known_good import known_good, newest_start_s, quiet
from mfu_operator.reconcile.level import renewed
from mfu_operator.reconcile.profile import by_their_names, profiler_image
from mfu_operator.reconcile.refresh import edited, refresh
from mfu_operator.reconcile.requested import obeyed
from mfu_operator.reconcile.world import Defaults, Identity, World

MOST_FACTS = 8
"""Facts that one tick may record without an effect: more than an incident has, so only a loop would reach it."""


class Pace(StrEnum):
    """How soon the next tick is of use, if the readings tell nothing new before it.

    BUSY: a fact is being obtained. WAITING: something stands in the way, which may end at any time. RESTING: all is
    known that can be.
    """

    BUSY = "busy"
    WAITING = "waiting"
    RESTING = "resting"


@dataclass(frozen=True, slots=True)
class Ticked:
    """What a tick leaves: the status to write, what to tell, what is failing, and how soon the next one is of use.

    `view` is what the sweep knew of it, which the tick went by, `nodes` where its pods are,
    `counted` the failures that came up in this tick.
    """

    status: Status
    events: tuple[Event, ...]
    failures: tuple[Failure, ...]
    pace: Pace = Pace.BUSY
    view: SweepView = field(default_factory=SweepView)
    nodes: frozenset[str] = frozenset()
    counted: tuple[Failure, ...] = ()


def tick(
    adapters: Adapters,
    defaults: Defaults,
    identity: Identity,
    spec: BaselineSpec,
    status: Status,
    backoff: Backoff,
    now_s: float,
    steady_s: float,
    asked: Annotations = (),
) -> Ticked:
    """Bring one baseline one step further. Never raises for what the world does: that becomes conditions.

    Args:
        adapters: what reaches into the world.
        defaults: what the settings say about every baseline.
        identity: the object.
        spec: what it declares.
        status: its status as it is stored.
        backoff: the failures and the waits of this baseline.
        now_s: the time, Unix seconds, for facts.
        steady_s: seconds on a clock that nobody sets, for pauses.
        asked: what a person asks for by command.
    """
    backoff.renew(identity.generation)
    adapters.budgets.recall(identity.uid, status.launches, now_s)
    status, heeded = obeyed(by_their_names(status, identity), asked, spec, now_s)
    status = edited(status, spec, identity.generation, now_s, profiler_image(spec, defaults))
    status, accepted = renewed(status, spec, now_s)
    others = adapters.neighbours(identity.namespace)
    name = f"{identity.namespace}/{identity.name}"
    unseen = World(
        now_s, identity, spec, status, defaults, steady_s=steady_s, neighbours=others,
        sharers=adapters.sharers.others(name, steady_s),
    )  # fmt: skip
    world, view = observe(adapters, unseen, backoff.pacing)
    status, events = refresh(world)
    status, over = followed(replace(world, status=status))
    world = replace(world, status=status)
    status, told = _step(adapters, world, backoff)
    adapters.sharers.note(name, status, steady_s)
    failures = backoff.standing()
    counted = (*backoff.newly_failed(), *_newly_unmeasured(world))
    world = replace(world, status=status)
    status = replace(
        status,
        launches=adapters.budgets.launched(identity.uid, now_s),
        conditions=conditions(world, status, failures, backoff.waiting()),
    )
    events = (*heeded, *accepted, *events, *over, *told)
    return Ticked(status, events, failures, _pace(world, backoff), view, _nodes(world), counted)


def _nodes(world: World) -> frozenset[str]:
    """The nodes that the workload's pods run on."""
    pods = world.workload.pods if world.workload is not None else ()
    return frozenset(pod.node for pod in pods if pod.node is not None)


def _pace(world: World, backoff: Backoff) -> Pace:
    status = world.status
    if world.spec.suspend:
        return Pace.RESTING
    if awaited(status) is not None:
        return Pace.BUSY
    if status.incident is not None:
        proposal = status.incident.proposal
        asked = proposal is not None and proposal.state is PullRequestState.OPEN
        return Pace.WAITING if awaits_person(world, status.incident) and not asked else Pace.BUSY
    if world.problem is not None or world.source_problem is not None or backoff.standing() or backoff.waiting():
        return Pace.WAITING
    if world.judgement is None or world.workload is None:
        return Pace.BUSY
    if not quiet(world.judgement) or unproven(status) is not None:
        return Pace.WAITING
    profile = status.healthy_profile
    started = newest_start_s(world.workload.pods) is not None
    profiled = world.spec.profiling.mode is ProfilingMode.NEVER or (profile is not None and profile.account is not None)
    return Pace.RESTING if profiled and (not started or known_good(world) is not None) else Pace.BUSY


def _newly_unmeasured(world: World) -> tuple[Failure, ...]:
    """What keeps a tick from measuring when it comes up, not while it stands."""
    problem = world.problem
    if problem is None or isinstance(problem, Wait):
        return ()
    known = any((each.type, each.reason) == ("MeasurementFailed", problem.reason) for each in world.status.conditions)
    if not known:
        return (Failure("MeasurementFailed", problem.reason, problem.message),)
    return ()


def _step(adapters: Adapters, world: World, backoff: Backoff) -> tuple[Status, tuple[Event, ...]]:
    events: tuple[Event, ...] = ()
    stored = world.status
    for _ in range(MOST_FACTS):
        try:
            step = decide(world)
        except MfuError as error:
            return _after_failure(world, _condition_of_decision(world), error, backoff, events)
        if step is None:
            if world.workload is not None:
                backoff.outlived_by(None)
            break
        if _is_ahead(world, step, stored):
            break
        if not isinstance(step, Record):
            backoff.outlived_by(FAILED_CONDITION[type(step)])
            status, told = _perform(adapters, world, step, backoff)
            return status, (*events, *told)
        world, events = replace(world, status=step.status), (*events, *step.events)
    return world.status, events


def _is_ahead(world: World, step: Step, stored: Status) -> bool:
    """Whether a step would do something in the name of an incident, or of its recovery, that is not stored yet. Should
    this tick's write be lost, the next one may find another onset, and with it another name, or no recovery."""
    if not isinstance(step, EnsureJob) or step.subject is Subject.BASELINE:
        return False
    if step.subject is Subject.RECOVERY:
        known, now = unproven(stored), unproven(world.status)
        return known is None or now is None or known.id != now.id
    return stored.incident is None or stored.incident.id != opened(world).id


def _perform(adapters: Adapters, world: World, effect: Effect, backoff: Backoff) -> tuple[Status, tuple[Event, ...]]:
    """Perform an effect and what its conclusion asks for at once."""
    events: tuple[Event, ...] = ()
    condition = FAILED_CONDITION[type(effect)]
    if not backoff.due(condition, world.steady_s):
        return world.status, events
    following: Effect | None = effect
    while following is not None:
        try:
            concluded = conclude(world, following, perform(adapters, world, following))
        except MfuError as error:
            return _after_failure(world, condition, error, backoff, events, following)
        world, events = replace(world, status=concluded.status), (*events, *concluded.events)
        following = concluded.then
    backoff.succeed(condition)
    return world.status, events


def _after_failure(
    world: World,
    condition: str,
    error: MfuError,
    backoff: Backoff,
    events: tuple[Event, ...],
    effect: Effect | None = None,
) -> tuple[Status, tuple[Event, ...]]:
    status, failure, told = failed(world, condition, error, effect)
    if isinstance(error, Wait):
        left_s = 0.0 if error.until_s is None else error.until_s - world.now_s
        backoff.wait(condition, error, left_s, world.steady_s)
        return status, (*events, *told)
    if failure is None:
        backoff.succeed(condition)
        return status, (*events, *told)
    known = failure in backoff.standing()
    if backoff.due(condition, world.steady_s):
        backoff.fail(failure, world.steady_s)
    return status, events if known else (*events, *told)


def _condition_of_decision(world: World) -> str:
    """A decision that fails while a diagnosis is there was about the proposal; before that, about the profile."""
    incident = world.status.incident
    return "ProposalFailed" if incident is not None and incident.diagnosis is not None else "ProfilingFailed"

"""Gathering one tick's world. What cannot be seen is None, with the reason beside it."""

from collections.abc import Collection
from dataclasses import replace

from mfu_operator.detect.comparable import completed, differences
from mfu_operator.detect.hardware import Ruling
from mfu_operator.detect.record import record
from mfu_operator.detect.workload_facts import facts_of
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import ApplicationRef, Baseline, BaselineSpec, Comparable
from mfu_operator.model.commit import Source
from mfu_operator.model.incident import ProfileFact, Recording, Status
from mfu_operator.model.verdict import Gate
from mfu_operator.model.workload import JobPhase, ProfilingJob, Workload
from mfu_operator.ports import Delivery
from mfu_operator.reconcile.level import as_recorded, declared_baseline, held_against
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.picture import awaited, span_of
from mfu_operator.reconcile.profile import awaits_job
from mfu_operator.reconcile.world import Need, World
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.looks import Looks
from mfu_operator.runtime.occupancy import Span, Stay
from mfu_operator.runtime.perform import forge_of, source_credentials


def observe(hands: Hands, world: World, looks: Looks) -> World:
    """The world filled in: the workload, its readings, and what the next decision needs besides, where it is due."""
    if world.spec.suspend:
        hands.sweep.forget(world.identity.uid)
        return replace(world, symptoms=())
    try:
        world = replace(world, workload=_workload(hands, world.spec))
        world = _measured(hands, world)
    except MfuError as error:
        world = replace(world, problem=error, symptoms=() if error.reason == "WorkloadNotFound" else None)
    if world.workload is None:
        return world
    for need in needs(world.spec, world.status, world.judgement):
        world = _looked(hands, world, need, looks)
    return _remembering(hands, world)


def _remembering(hands: Hands, world: World) -> World:
    """The world with the readings of an incident whose picture is to be drawn."""
    incident = awaited(world.status, world.now_s)
    if incident is None or world.status.incident is not None:
        return world
    return replace(world, past=hands.sweep.past(world.identity.uid, span_of(incident, world.spec)))


def _looked(hands: Hands, world: World, need: Need, looks: Looks) -> World:
    """The world after a look, or with what the last one failed with while the next is not due."""
    if not looks.due(need, world.now_s):
        return _with_problem(world, need, looks.problem(need))
    try:
        world, problem = _LOOKS[need](hands, world), None
    except MfuError as error:
        world, problem = _with_problem(world, need, error), error
    looks.made(need, problem, world.now_s)
    return world


def _with_problem(world: World, need: Need, problem: MfuError | None) -> World:
    match need:
        case Need.JOB:
            return replace(world, job_problem=problem)
        case Need.SOURCE:
            return replace(world, source_problem=problem)
        case Need.PULL_REQUEST:
            return replace(world, answer_problem=problem)


def _workload(hands: Hands, spec: BaselineSpec) -> Workload:
    ref = spec.workload
    found = hands.cluster.workload(ref)
    if found is None:
        raise Retry(
            "WorkloadNotFound",
            f"there is no {ref.kind} {ref.name!r} ({ref.api_version}) in namespace {ref.namespace!r}; create it or "
            "correct spec.workload",
        )
    return found


def _measured(hands: Hands, world: World) -> World:
    identity, spec, status = world.identity, world.spec, world.status
    baseline = declared_baseline(spec) or status.baseline
    since_s = recording_since_s(spec, status, world.now_s)
    assert world.workload is not None
    facts = facts_of(world.workload, spec.workload.container)
    keyed = as_recorded(spec, baseline)
    nodes = {pod.name: pod.node for pod in world.workload.pods if pod.node is not None}
    hands.sweep.register(
        identity.uid,
        keyed,
        baseline,
        credentials=source_credentials(hands.cluster, identity.namespace, spec.metrics),
        incident_since_s=status.incident.onset_at if status.incident else None,
        recording_since_s=since_s,
        gated={Gate.PROFILING: _disturbed(hands, world, nodes.values())},
        facts=facts,
    )
    if not hands.sweep.filled(identity.uid):
        return replace(world, problem=hands.sweep.source_problem(identity.uid))
    latest = hands.sweep.latest(identity.uid)
    info = latest.info if latest else {}
    unlike = differences(keyed.comparable, info, facts)
    open_now = status.incident is not None
    ruling = hands.sweep.ruling(identity.uid, nodes, _usual_nodes(status)) if open_now else Ruling()
    judgement = hands.sweep.judgement(identity.uid, world.now_s, unlike)
    return replace(
        world,
        recorded=_recorded(hands, world, since_s, unlike, completed(spec.comparable, info, facts)),
        unlike=unlike,
        findings=ruling.findings,
        unmeasured=ruling.unmeasured,
        supporting=ruling.supporting,
        symptoms=hands.sweep.symptoms(identity.uid, world.now_s),
        judgement=None if judgement is None else held_against(judgement, baseline, spec),
        problem=hands.sweep.source_problem(identity.uid),
    )


def _recorded(
    hands: Hands, world: World, since_s: float | None, unlike: tuple[str, ...], observed: Comparable
) -> Baseline | Recording | None:
    """What the readings amount to; those of another run than the baseline declares are none of them."""
    if since_s is None or world.spec.record is None:
        return None
    readings = hands.sweep.readings(world.identity.uid)
    recorded = record(readings, world.spec.record, since_s, world.spec.detection)
    if isinstance(recorded, Baseline):
        return replace(recorded, observed=observed)
    return replace(recorded, problem=f"not the baseline's job: {'; '.join(unlike)}") if unlike else recorded


def _usual_nodes(status: Status) -> tuple[str, ...]:
    return status.known_good.nodes if status.known_good is not None else ()


def recording_since_s(spec: BaselineSpec, status: Status, now_s: float) -> float | None:
    """When the recording in progress began; None where a baseline is declared or recorded already."""
    if spec.record is None or status.baseline is not None:
        return None
    return status.recording.started_at if status.recording is not None else now_s


def _see_job(hands: Hands, world: World) -> World:
    profile = _awaited(world.status)
    if profile is None:
        return world
    job = hands.cluster.profiling_job(world.identity.namespace, profile.job)
    _occupy(hands, world, profile, job)
    return replace(world, job=job)


def _awaited(status: Status) -> ProfileFact | None:
    profile = status.incident.profile if status.incident is not None else status.healthy_profile
    return profile if awaits_job(profile) else None


def _disturbed(hands: Hands, world: World, nodes: Collection[str]) -> tuple[Span, ...]:
    """When a profiling Job, ours or another baseline's, shared a node with the run.

    The status tells where a Job was that this process has not seen, and when; one that may run still is taken to run.
    """
    incidents = (world.status.incident, *world.status.history)
    profiles = (world.status.healthy_profile, *(each.profile for each in incidents if each is not None))
    for each in profiles:
        if each is not None and not (awaits_job(each) and hands.occupancy.knows(_name(world, each))):
            ends_s = each.finished_at if each.finished_at is not None else _deadline_s(world, each)
            _note(hands, world, each, each.node, each.created_at, ends_s)
    return hands.occupancy.spans(world.identity.uid, nodes)


def _occupy(hands: Hands, world: World, profile: ProfileFact, job: ProfilingJob | None) -> None:
    """Note where the Job is. A pod without a node has disturbed nobody yet; a Job that is gone does no more."""
    now_s, deadline_s = world.now_s, _deadline_s(world, profile)
    if job is None:
        _note(hands, world, profile, None, profile.created_at, now_s)
    elif job.phase is JobPhase.WAITING and job.node is None:
        _note(hands, world, profile, None, now_s, max(now_s, deadline_s))
    else:
        running = job.phase in (JobPhase.WAITING, JobPhase.RUNNING)
        ends_s = max(now_s, deadline_s) if running else job.finished_at or now_s
        _note(hands, world, profile, job.node, profile.created_at, ends_s)


def _note(hands: Hands, world: World, profile: ProfileFact, node: str | None, from_s: float, to_s: float) -> None:
    stay = Stay(world.identity.uid, node, from_s, to_s)
    hands.occupancy.note(_name(world, profile), stay, world.now_s)


def _name(world: World, profile: ProfileFact) -> str:
    return f"{world.identity.namespace}/{profile.job}"


def _deadline_s(world: World, profile: ProfileFact) -> float:
    """No Job runs longer than this: its own activeDeadlineSeconds ends it."""
    return profile.created_at + world.spec.profiling.deadline_s


def _see_source(hands: Hands, world: World) -> World:
    return replace(world, source=_source(hands, world))


def _source(hands: Hands, world: World) -> Source | None:
    assert world.workload is not None
    found = _delivered_by(hands, world)
    if found is None:
        return None
    delivery, application = found
    source = delivery.source(application, world.workload)
    remediation = world.spec.remediation
    return replace(
        source,
        repository=remediation.repository or source.repository,
        branch=remediation.branch or source.branch,
        path=source.path if remediation.path is None else remediation.path,
    )


def _delivered_by(hands: Hands, world: World) -> tuple[Delivery, ApplicationRef] | None:
    named = world.spec.remediation.application
    if named is not None:
        return hands.deliveries[named.kind], named
    assert world.workload is not None
    for delivery in hands.deliveries.values():
        application = delivery.application_of(world.workload)
        if application is not None:
            return delivery, application
    return None


def _see_pull_request(hands: Hands, world: World) -> World:
    incident = world.status.incident
    number = incident.proposal.number if incident is not None and incident.proposal is not None else None
    source = world.source or _source(hands, world)
    if number is None or source is None:
        return world
    return replace(world, source=source, pull_request=forge_of(hands, world, source).get(number))


_LOOKS = {Need.JOB: _see_job, Need.SOURCE: _see_source, Need.PULL_REQUEST: _see_pull_request}

"""Gathering one tick's world. What cannot be seen is None, with the reason beside it."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.credentials import forge_of, source_credentials
from mfu_operator.cycle.measuring import Inspected, level_in_force, recording_since_s, register, view_of
from mfu_operator.cycle.profiling.slots import ProfilingSlot
from mfu_operator.cycle.request_pacing import RequestPacing
from mfu_operator.detect.comparable import completed
from mfu_operator.detect.hardware import Ruling
from mfu_operator.detect.record import record
from mfu_operator.detect.workload_facts import facts_of
from mfu_operator.errors import MfuError, Retry
from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import ApplicationRef, Baseline, BaselineSpec
from mfu_operator.model.commit import Source
from mfu_operator.model.incident import ProfileFact, Recording, Status
from mfu_operator.model.series import TimeSpan
from mfu_operator.model.workload import JobPhase, ProfilingJob, Workload
from mfu_operator.ports import Delivery
from mfu_operator.reconcile.after.proof import awaited
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.profile import awaits_job
from mfu_operator.reconcile.world import Need, Unseen, World


def observe(adapters: Adapters, world: World, pacing: RequestPacing) -> tuple[World, SweepView]:
    """The world filled in: the workload, its readings, and what the next decision needs besides, where it is due; and
    what the sweep knew of it then."""
    if world.spec.suspend:
        adapters.sweep.forget(world.identity.uid)
        return replace(world, symptoms=()), SweepView()
    problem: MfuError | None = None
    try:
        world = _with_run(world, _workload(adapters, world.spec))
        inspected = _inspected(adapters, world)
        register(adapters, world.identity.uid, world.spec, world.status, world.now_s, inspected)
    except MfuError as error:
        problem = error
    level = level_in_force(world.spec, world.status)
    view = view_of(adapters, world.identity.uid, world.spec, level, world.now_s)
    world = replace(world, last_reading_s=view.latest.time_s if view.latest is not None else None)
    if problem is None:
        world = _measured(world, view, inspected.facts)
    else:
        world = replace(world, problem=problem, symptoms=() if problem.reason == "WorkloadNotFound" else None)
    if world.workload is None:
        return world, view
    for need in needs(world.spec, world.status, world.judgement):
        world = _looked(adapters, world, need, pacing)
    return world, view


def _looked(adapters: Adapters, world: World, need: Need, pacing: RequestPacing) -> World:
    """The world after a look, or with what the last one failed with while the next is not due."""
    if not pacing.due(need, world.steady_s):
        return _with_problem(world, need, pacing.problem(need))
    try:
        world, problem = _LOOKS[need](adapters, world), None
    except MfuError as error:
        world, problem = _with_problem(world, need, error), error
    pacing.made(need, problem, world.steady_s)
    return world


def _with_problem(world: World, need: Need, problem: MfuError | None) -> World:
    match need:
        case Need.JOB:
            return replace(world, job_problem=problem)
        case Need.SOURCE:
            return replace(world, source_problem=problem)
        case Need.PULL_REQUEST:
            return replace(world, answer_problem=problem)


def _workload(adapters: Adapters, spec: BaselineSpec) -> Workload:
    ref = spec.workload
    found = adapters.cluster.workload(ref)
    if found is None:
        raise Retry(
            "WorkloadNotFound",
            f"there is no {ref.title} ({ref.api_version}) in namespace {ref.namespace!r}; create it or correct "
            "spec.workload",
        )
    return found


def _with_run(world: World, workload: Workload) -> World:
    """The world with the workload; where labels follow runs, by the name of the one that is judged."""
    return replace(world, workload=workload, spec=world.spec.of_run(workload.name, workload.earlier_runs))


def _inspected(adapters: Adapters, world: World) -> Inspected:
    assert world.workload is not None
    credentials = source_credentials(adapters.cluster, world.identity.namespace, world.spec.metrics)
    disturbed = _disturbed(adapters, world, _nodes(world.workload).values())
    return Inspected(credentials, disturbed, facts_of(world.workload, world.spec.workload.container))


def _nodes(workload: Workload) -> dict[str, str]:
    """Node by pod."""
    return {pod.name: pod.node for pod in workload.pods if pod.node is not None}


def _measured(world: World, view: SweepView, facts: Mapping[str, str]) -> World:
    """The world with what the sweep knows of it."""
    if not view.filled:
        return replace(world, problem=view.problem)
    assert world.workload is not None
    open_now = world.status.incident is not None
    ruling = view.ruling(_nodes(world.workload), _usual_nodes(world.status)) if open_now else Ruling()
    incident = world.status.incident
    return replace(
        world,
        recorded=_recorded(world, view, facts),
        mismatches=view.mismatches,
        findings=ruling.findings,
        course=view.trail.course(incident.signal) if incident is not None else (),
        unmeasured=ruling.unmeasured,
        supporting=ruling.supporting,
        symptoms=view.symptoms,
        judgement=view.judgement,
        problem=view.problem,
    )


def _recorded(world: World, view: SweepView, facts: Mapping[str, str]) -> Baseline | Recording | None:
    """What the readings amount to; those of another run than the baseline declares are none of them."""
    spec = world.spec
    since_s = recording_since_s(spec, world.status, world.now_s)
    if since_s is None or spec.record is None:
        return None
    recorded = record(view.readings, spec.record, since_s, spec.detection)
    if isinstance(recorded, Baseline):
        info = view.latest.info if view.latest is not None else {}
        return replace(recorded, observed=completed(spec.comparable, info, facts))
    differ = f"not the baseline's job: {'; '.join(view.mismatches)}"
    return replace(recorded, problem=differ) if view.mismatches else recorded


def _usual_nodes(status: Status) -> tuple[str, ...]:
    return status.known_good.nodes if status.known_good is not None else ()


def _see_job(adapters: Adapters, world: World) -> World:
    profile = awaited(world.status)
    if profile is None:
        return world
    job = adapters.cluster.profiling_job(world.identity.namespace, profile.job)
    _occupy(adapters, world, profile, job)
    return replace(world, job=job)


def _disturbed(adapters: Adapters, world: World, nodes: Collection[str]) -> tuple[TimeSpan, ...]:
    """When a profiling Job, ours or another baseline's, shared a node with the run.

    The status tells where a Job was that this process has not seen, and when; one that may run still is taken to run.
    """
    known = [each for each in (world.status.incident, *world.status.history) if each is not None]
    after = (each.proof.profile for each in known if each.proof is not None)
    profiles = (world.status.healthy_profile, *(each.profile for each in known), *after)
    for each in profiles:
        if each is not None and not (awaits_job(each) and adapters.slots.knows(_name(world, each))):
            ends_s = each.finished_at if each.finished_at is not None else _deadline_s(world, each)
            _note(adapters, world, each, each.node, each.created_at, ends_s)
    return adapters.slots.spans(world.identity.uid, nodes)


def _occupy(adapters: Adapters, world: World, profile: ProfileFact, job: ProfilingJob | None) -> None:
    """Note where the Job is. A pod without a node has disturbed nobody yet; a Job that is gone does no more."""
    now_s, deadline_s = world.now_s, _deadline_s(world, profile)
    if job is None:
        _note(adapters, world, profile, None, profile.created_at, now_s)
    elif job.phase is JobPhase.WAITING and job.node is None:
        _note(adapters, world, profile, None, now_s, max(now_s, deadline_s))
    else:
        running = job.phase in (JobPhase.WAITING, JobPhase.RUNNING)
        ends_s = max(now_s, deadline_s) if running else job.finished_at or now_s
        _note(adapters, world, profile, job.node, profile.created_at, ends_s)


def _note(adapters: Adapters, world: World, profile: ProfileFact, node: str | None, from_s: float, to_s: float) -> None:
    stay = ProfilingSlot(world.identity.uid, node, from_s, to_s)
    adapters.slots.note(_name(world, profile), stay, world.now_s)
    adapters.budgets.until(world.identity.uid, profile.job, to_s)


def _name(world: World, profile: ProfileFact) -> str:
    return f"{world.identity.namespace}/{profile.job}"


def _deadline_s(world: World, profile: ProfileFact) -> float:
    """No Job runs longer than this: its own activeDeadlineSeconds ends it."""
    return profile.created_at + world.spec.profiling.deadline_s


def _see_source(adapters: Adapters, world: World) -> World:
    return replace(world, source=_source(adapters, world))


def _source(adapters: Adapters, world: World) -> Source | None:
    assert world.workload is not None
    found = _delivered_by(adapters, world)
    if found is None:
        return None
    delivery, application = found
    source = delivery.source(application, world.spec.workload, world.workload)
    remediation = world.spec.remediation
    return replace(
        source,
        repository=remediation.repository or source.repository,
        branch=remediation.branch or source.branch,
        path=source.path if remediation.path is None else remediation.path,
        objects=source.objects if remediation.path is None else (),
    )


def _delivered_by(adapters: Adapters, world: World) -> tuple[Delivery, ApplicationRef] | None:
    named = world.spec.remediation.application
    if named is not None:
        return adapters.deliveries[named.kind], named
    assert world.workload is not None
    for delivery in adapters.deliveries.values():
        application = delivery.application_of(world.workload)
        if application is not None:
            return delivery, application
    return None


def _see_pull_request(adapters: Adapters, world: World) -> World:
    incident = world.status.incident
    number = incident.proposal.number if incident is not None and incident.proposal is not None else None
    source = _source(adapters, world) if isinstance(world.source, Unseen) else world.source
    if number is None or source is None:
        return world
    return replace(world, source=source, pull_request=forge_of(adapters, world, source).get(number))


_LOOKS = {Need.JOB: _see_job, Need.SOURCE: _see_source, Need.PULL_REQUEST: _see_pull_request}

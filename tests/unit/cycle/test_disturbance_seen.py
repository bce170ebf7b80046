"""When a profiling Job disturbed which run, by what a look at the cluster shows and by what the status tells."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.cycle.observe import observe
from mfu_operator.cycle.profiling.slots import ProfilingSlot, ProfilingSlots
from mfu_operator.cycle.request_pacing import RequestPacing
from mfu_operator.model.baseline import Profiling
from mfu_operator.model.incident import ProfileFact, Status
from mfu_operator.model.verdict import Gate
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.worlds import NOW_S, SETTLED, UID, spec

WAITING, RUNNING, SUCCEEDED, FAILED = JobPhase
FROM_S = NOW_S - 300
LAUNCHED = ProfileFact("mfu-a1", 1, FROM_S)
DEADLINE_S = 600.0
SPEC = replace(spec(), profiling=Profiling(deadline_s=DEADLINE_S))


def look(stage: Stage, status: Status, now_s: float = NOW_S) -> World:
    before = World(now_s, worlds.IDENTITY, SPEC, status, worlds.DEFAULTS)
    return observe(stage.adapters, before, RequestPacing(15.0))[0]


def told(stage: Stage) -> Any:
    """When the run's readings do not count, as the sweep was told."""
    return (stage.sweep.registered[UID]["gated"] or {})[Gate.PROFILING]


def awaiting(profile: ProfileFact = LAUNCHED) -> Status:
    return replace(SETTLED, healthy_profile=profile)


def place(job: ProfilingJob | None, now_s: float = NOW_S, profile: ProfileFact = LAUNCHED) -> Any:
    """Where and when the Job is held to be once it is seen: the spans of node-1, and those of the run itself."""
    stage = Stage()
    if job is not None:
        stage.cluster.jobs["team-a", "mfu-a1"] = job
    world = look(stage, awaiting(profile), now_s)
    assert world.job == job
    slots = stage.adapters.slots
    return slots.spans("another", ["node-1"]), slots.spans(UID, [])


def job(phase: JobPhase, node: str | None = "node-1", **changes: Any) -> ProfilingJob:
    return replace(ProfilingJob("mfu-a1", phase, FROM_S, node=node), **changes)


@pytest.mark.parametrize("phase", [WAITING, RUNNING])
def test_one_that_runs_disturbs_its_node_until_its_deadline_or_until_now(phase: JobPhase) -> None:
    assert place(job(phase)) == (((FROM_S, FROM_S + DEADLINE_S),), ())
    late_s = FROM_S + DEADLINE_S + 60
    assert place(job(phase), late_s) == (((FROM_S, late_s),), ())


@pytest.mark.parametrize("phase", [SUCCEEDED, FAILED])
def test_one_that_ended_disturbed_its_node_until_then(phase: JobPhase) -> None:
    assert place(job(phase, finished_at=NOW_S - 100)) == (((FROM_S, NOW_S - 100),), ())
    assert place(job(phase)) == (((FROM_S, NOW_S),), ()), "until now at the latest"


def test_one_without_a_node_has_disturbed_nobody_yet() -> None:
    assert place(job(WAITING, None)) == ((), ((NOW_S, FROM_S + DEADLINE_S),))
    late_s = FROM_S + DEADLINE_S + 60
    assert place(job(WAITING, None), late_s) == ((), ((late_s, late_s),))


def test_one_that_runs_on_an_unknown_node_disturbs_its_own_run_from_its_launch() -> None:
    assert place(job(RUNNING, None)) == ((), ((FROM_S, FROM_S + DEADLINE_S),))


def test_one_that_is_gone_disturbs_nobody_any_more() -> None:
    assert place(None) == ((), ((FROM_S, NOW_S),))


def test_the_job_of_an_incident_is_looked_for_while_it_is_open() -> None:
    stage = Stage()
    stage.cluster.jobs["team-a", "mfu-a1"] = job(RUNNING)
    stage.cluster.jobs["team-b", "mfu-a1"] = job(FAILED)
    world = look(stage, worlds.ailing(worlds.incident(profile=LAUNCHED)))
    assert world.job == job(RUNNING)


def test_a_status_tells_of_the_jobs_that_this_process_has_not_seen() -> None:
    ended = replace(LAUNCHED, account=worlds.FAST_STEP, node="node-1", finished_at=NOW_S - 100)
    cases: list[tuple[Status, Any]] = [
        (awaiting(ended), ((FROM_S, NOW_S - 100),)),
        (awaiting(replace(ended, finished_at=None)), ((FROM_S, FROM_S + DEADLINE_S),)),
        (awaiting(LAUNCHED), ((FROM_S, FROM_S + DEADLINE_S),)),
        (awaiting(replace(ended, node="node-2")), ()),
        (replace(SETTLED, healthy_profile=None), ()),
        (replace(SETTLED, healthy_profile=None, incident=worlds.incident(profile=ended)), ((FROM_S, NOW_S - 100),)),
        (replace(SETTLED, healthy_profile=None, history=(worlds.incident(profile=ended),)), ((FROM_S, NOW_S - 100),)),
        (replace(SETTLED, healthy_profile=None, history=(worlds.incident(),)), ()),
    ]
    for status, spans in cases:
        stage = Stage()
        look(stage, status)
        assert told(stage) == spans


def test_what_was_seen_of_a_job_that_is_awaited_stands() -> None:
    stage = Stage()
    stage.adapters.slots.note("team-a/mfu-a1", ProfilingSlot(UID, "node-1", FROM_S, NOW_S - 50), NOW_S)
    look(stage, awaiting())
    assert told(stage) == ((FROM_S, NOW_S - 50),)
    stage.adapters = replace(stage.adapters, slots=ProfilingSlots())
    stage.adapters.slots.note("team-a/another", ProfilingSlot(UID, "node-1", FROM_S, NOW_S - 50), NOW_S)
    look(stage, awaiting())
    assert told(stage) == ((FROM_S, NOW_S - 50), (FROM_S, FROM_S + DEADLINE_S))


def test_a_job_of_another_baseline_on_a_node_of_the_run_disturbs_it() -> None:
    stage = Stage()
    for number, node in enumerate(("node-1", "node-2")):
        stage.adapters.slots.note(f"b/{number}", ProfilingSlot("bert", node, FROM_S + number, NOW_S), NOW_S)
    look(stage, replace(SETTLED, healthy_profile=None))
    assert told(stage) == ((FROM_S, NOW_S),)

"""A recovered job is captured once more, whatever becomes of the operator meanwhile; nothing waits for it."""

from dataclasses import replace

import pytest

from mfu_operator.cycle.profiling.slots import ProfilingSlots
from mfu_operator.cycle.tick import Pace
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import Budget
from mfu_operator.model.incident import Proof
from mfu_operator.model.workload import JobPhase
from tests.support import worlds
from tests.support.adapters_double import Stage

BACK = worlds.account(idleInput=0.3, loaderThreads=4.0, loader="workers")


@pytest.fixture
def recovered(stage: Stage) -> Stage:
    """The incident is closed; its revert runs since ten minutes."""
    stage.regress()
    stage.tick()
    stage.merge()
    stage.tick(600)
    assert stage.status.incident is None
    return stage


def proof(stage: Stage) -> Proof:
    found = stage.status.history[0].proof
    assert found is not None
    return found


def test_the_step_is_captured_and_the_gap_is_gone(recovered: Stage) -> None:
    launched = len(recovered.cluster.jobs)
    recovered.tick()
    assert (len(recovered.cluster.jobs), recovered.job) == (
        launched + 1,
        f"mfu-{recovered.status.history[0].id}-after-a1",
    )
    recovered.finish(recovered.job, BACK)
    recovered.ticks(3)
    assert (proof(recovered).slow_ns, proof(recovered).after_ns, proof(recovered).gone) == (64e6, 0.3e6, True)
    assert recovered.reasons()[-2:] == ["CapturingAgain", "CapturedAgain"]
    assert len(recovered.cluster.jobs) == launched + 1


def test_nothing_is_launched_before_the_recovery_is_stored(recovered: Stage) -> None:
    """Should the write be lost, the incident may not have recovered at all."""
    assert not any("-after-" in name for _, name in recovered.cluster.jobs)
    assert recovered.tick().pace is Pace.BUSY


def test_a_process_that_dies_between_launches_none_besides(recovered: Stage) -> None:
    kept = recovered.stored
    recovered.tick()
    recovered.stored = kept
    recovered.restart()
    recovered.tick()
    assert [name for _, name in recovered.cluster.jobs if "-after-" in name] == [recovered.job]
    recovered.finish(recovered.job, BACK)
    recovered.restart()
    recovered.tick()
    assert proof(recovered).gone


def test_its_time_on_the_node_counts_as_a_disturbance_after_a_restart(recovered: Stage) -> None:
    recovered.tick()
    recovered.cluster.becomes(recovered.job, phase=JobPhase.RUNNING, node="node-1")
    recovered.tick()
    recovered.finish(recovered.job, BACK)
    recovered.tick()
    recovered.restart()
    recovered.tick()
    spans = recovered.adapters.slots.spans(worlds.UID, ["node-1"])
    assert (proof(recovered).profile or worlds.PROFILED).finished_at in {end_s for _, end_s in spans}


def test_a_spent_budget_delays_it_and_keeps_nothing_open(recovered: Stage) -> None:
    spent = replace(recovered.spec.profiling, budget=Budget(captures=2))
    recovered.edit(lambda spec: replace(spec, profiling=spent))
    ticked = recovered.tick()
    assert (recovered.status.incident, proof(recovered).is_missing, ticked.pace) == (None, True, Pace.WAITING)
    assert recovered.condition("ProfilingFailed") is None
    recovered.tick(86_400)
    assert not proof(recovered).is_missing


def test_it_waits_for_a_place_as_the_healthy_jobs_profile_does(recovered: Stage) -> None:
    recovered.adapters = replace(recovered.adapters, slots=ProfilingSlots())
    for number in range(6):
        recovered.adapters.slots.admit(f"team-a/job-{number}", recovered.now_s + 15)
    launched = len(recovered.cluster.jobs)
    recovered.tick()
    assert len(recovered.cluster.jobs) == launched
    recovered.tick(60)
    assert len(recovered.cluster.jobs) == launched + 1


def test_a_cluster_that_refuses_the_job_leaves_the_reason_in_the_record(recovered: Stage) -> None:
    def refused(manifest: object) -> None:
        raise Stall("ProfilingForbidden", "an admission webhook said no")

    recovered.cluster.ensure_job = refused  # type: ignore[method-assign]
    recovered.ticks(3)
    assert proof(recovered).missing == ("ProfilingForbidden", "an admission webhook said no")
    assert recovered.condition("ProfilingFailed") is None
    assert recovered.reasons().count("NotCapturedAgain") == 1


def test_a_loss_that_ended_by_itself_is_proven_as_well(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.tick(600)
    assert stage.status.history[0].recovery is not None
    stage.tick()
    assert "-after-" in stage.job
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.tick()
    assert (proof(stage).gone, proof(stage).after_ns) == (False, 64e6)

"""Our own Job gates the runs on its node, while it is there and after a restart too."""

from dataclasses import replace

from mfu_operator.model.baseline import ProfilingMode
from mfu_operator.model.verdict import Gate
from mfu_operator.model.workload import JobPhase
from tests.support import worlds
from tests.support.adapters_double import Stage


def test_readings_are_gated_while_the_copy_shares_the_node_and_no_longer(stage: Stage) -> None:
    stage.tick()
    launched_s = stage.now_s
    assert stage.sweep.gates[Gate.PROFILING] == (launched_s, None)
    stage.cluster.becomes(stage.job, phase=JobPhase.RUNNING, node="node-1")
    stage.ticks(2)
    assert gated(stage) == ((launched_s, launched_s + stage.spec.profiling.deadline_s),)
    stage.finish(stage.job, worlds.FAST_STEP)
    finished_s = stage.now_s
    stage.ticks(2)
    assert gated(stage) == ((launched_s, finished_s),)


def test_a_copy_on_another_node_disturbs_nobody(stage: Stage) -> None:
    stage.tick()
    stage.cluster.becomes(stage.job, phase=JobPhase.RUNNING, node="node-2")
    stage.ticks(2)
    assert gated(stage) == ()


def test_a_copy_whose_pod_is_not_placed_yet_has_disturbed_nobody_so_far(stage: Stage) -> None:
    stage.ticks(2)
    seen_s = stage.now_s
    stage.tick()
    assert [from_s for from_s, _ in gated(stage)] == [seen_s]


def test_another_run_on_the_node_is_gated_too_and_one_elsewhere_is_not(stage: Stage) -> None:
    stage.tick()
    launched_s = stage.now_s
    stage.cluster.becomes(stage.job, phase=JobPhase.RUNNING, node="node-2")
    stage.tick()
    for node, expected in (("node-2", ((launched_s, launched_s + stage.spec.profiling.deadline_s),)), ("node-3", ())):
        neighbour = Stage()
        neighbour.adapters = replace(neighbour.adapters, slots=stage.adapters.slots)
        neighbour.identity = replace(neighbour.identity, uid="another", name="bert")
        unprofiled = replace(neighbour.spec.profiling, mode=ProfilingMode.NEVER)
        neighbour.spec = replace(neighbour.spec, profiling=unprofiled)  # a Job of its own would gate it as well
        run = worlds.workload(pods=(worlds.pod(node=node),))
        neighbour.cluster.workloads["Job", "team-a", "gpt-small"] = run
        neighbour.tick()
        assert neighbour.sweep.registered["another"]["gated"] == {Gate.PROFILING: expected}


def test_after_a_restart_the_status_says_when_our_job_was_on_which_node(stage: Stage) -> None:
    stage.tick()
    launched_s = stage.now_s
    stage.ticks(2)
    stage.finish(stage.job, worlds.FAST_STEP)
    finished_s = stage.now_s
    stage.tick()
    assert stage.status.healthy_profile is not None
    assert (stage.status.healthy_profile.node, stage.status.healthy_profile.finished_at) == ("node-1", finished_s)
    stage.restart()
    stage.tick()
    assert gated(stage) == ((launched_s, finished_s),)


def test_a_job_that_may_still_run_after_a_restart_gates_until_its_deadline(stage: Stage) -> None:
    stage.tick()
    launched_s = stage.now_s
    stage.restart()
    stage.tick()
    assert gated(stage) == ((launched_s, launched_s + stage.spec.profiling.deadline_s),)


def gated(stage: Stage) -> tuple[tuple[float, float], ...]:
    """The spans in which our own Job disturbed the run, as the last tick told the sweep."""
    found = stage.sweep.registered[worlds.UID]["gated"]
    assert found is not None
    return tuple(found[Gate.PROFILING])

"""Each failure of a profiling Job has its reason and remedy, and is tried again."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.cycle.profiling.slots import MOST_OF_A_NAMESPACE
from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.baseline import ProfilingMode
from mfu_operator.model.workload import JobPhase
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.adapters_double import Stage


def test_a_cluster_that_cannot_be_asked_for_the_job_is_told_and_does_not_end_the_tick(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.ticks(2)
    seen = stage.cluster.profiling_job
    stage.cluster.profiling_job = raising(Retry("ClusterUnreachable", "is the API server reachable?"))  # type: ignore[method-assign]
    stage.tick(300)
    assert stage.holding("ProfilingFailed").reason == "ClusterUnreachable"
    stage.cluster.profiling_job = seen  # type: ignore[method-assign]
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.ticks(2)
    assert stage.condition("ProfilingFailed") is None
    assert stage.status.incident is not None
    assert stage.status.incident.diagnosis is not None


def test_a_loss_is_profiled_though_every_place_for_healthy_jobs_is_taken(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    for number in range(MOST_OF_A_NAMESPACE):
        stage.adapters.slots.admit(f"{stage.identity.namespace}/job-{number}", stage.now_s)
    stage.ticks(2)
    assert stage.job == f"mfu-{stage.incident.id}-a1"
    assert stage.condition("ProfilingFailed") is None


def raising(error: MfuError) -> Any:
    def call(*_: object) -> object:
        raise error

    return call


JOB_FAILURES = [
    ("JobEvicted", "its pod was evicted: low on memory; it runs at low priority, so retry"),
    ("JobUnschedulable", "no node takes its pod: 0/1 nodes are available"),
    ("ImagePullFailed", "image registry.example/gpt: not found"),
    ("DeadlineExceeded", "it did not finish within spec.profiling.deadline: raise it"),
    ("JobFailed", "a container ended with exit code 1"),
]


@pytest.mark.parametrize(("reason", "message"), JOB_FAILURES, ids=[reason for reason, _ in JOB_FAILURES])
def test_a_failed_profiling_job_is_told_and_tried_again(stage: Stage, reason: str, message: str) -> None:
    stage.settle()
    stage.slow_down()
    stage.ticks(2)
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason=reason, message=message)
    stage.tick()
    found = stage.holding("ProfilingFailed")
    assert found.reason == reason
    assert message in found.message
    stage.tick(stage.spec.detection.sustain_s)
    assert stage.job == f"mfu-{stage.incident.id}-a2"
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.tick()
    assert stage.condition("ProfilingFailed") is None


def test_a_job_that_waits_says_for_what_while_it_waits(stage: Stage) -> None:
    stage.tick()
    stage.cluster.becomes(stage.job, reason="JobUnschedulable", message="no node takes its pod: insufficient gpu")
    stage.tick()
    assert "insufficient gpu" in stage.holding("ProfilingFailed").message


def test_why_it_never_started_outlives_the_pod_that_the_deadline_deletes(stage: Stage) -> None:
    stage.tick()
    stage.cluster.becomes(stage.job, reason="JobUnschedulable", message="no node takes its pod: insufficient gpu")
    stage.tick()
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason="DeadlineExceeded", message="too late")
    stage.tick()
    assert stage.holding("ProfilingFailed").reason == "JobUnschedulable"


def test_what_the_analysis_itself_said_wins(stage: Stage) -> None:
    stage.tick()
    said = compact.encode_failure("NoSteps", "the trace holds no step; mark it with a range named step")
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, result=said, reason="JobFailed", message="exit code 1")
    stage.tick()
    assert stage.holding("ProfilingFailed").reason == "NoSteps"


def test_three_failed_jobs_are_an_inconclusive_diagnosis_and_no_fourth(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.confirm()
    for _ in range(7):
        stage.tick(1800)
        stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason="JobFailed", message="exit code 1")
    assert stage.job == f"mfu-{stage.incident.id}-a3"
    assert stage.holding("Regressed").reason == "Inconclusive"
    assert stage.forge.pulls == []


def test_a_deleted_job_is_told_apart_from_one_that_is_young(stage: Stage) -> None:
    stage.tick()
    stage.cluster.jobs.clear()
    stage.tick()
    assert stage.condition("ProfilingFailed") is None
    stage.tick(60)
    assert stage.holding("ProfilingFailed").reason == "JobGone"


def test_a_missing_profiler_image_stalls_profiling_and_nothing_else(stage: Stage) -> None:
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = replace(
        worlds.workload(), template={"spec": {"containers": [{"name": "train"}]}}
    )
    stage.tick()
    assert stage.holding("Stalled").reason == "CommandRequired"
    assert "spec.profiling.command" in stage.holding("ProfilingFailed").message
    assert stage.holding("Ready").status == "True"


def test_where_profiling_is_off_no_loss_launches_a_job_and_the_diagnosis_says_so(stage: Stage) -> None:
    stage.edit(lambda spec: replace(spec, profiling=replace(spec.profiling, mode=ProfilingMode.NEVER)))
    stage.ticks(2)
    stage.slow_down()
    stage.ticks(4)
    assert stage.cluster.jobs == {}
    assert stage.incident.diagnosis is not None
    assert stage.incident.diagnosis.evidence == ("spec.profiling.mode is Never, so no step was recorded",)


def test_a_hopeless_template_is_retried_when_the_spec_changes(stage: Stage) -> None:
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = replace(
        worlds.workload(), template={"spec": {"containers": [{"name": "train"}]}}
    )
    stage.tick()
    stage.edit(lambda spec: replace(spec, profiling=replace(spec.profiling, command=("python", "train.py"))))
    stage.tick()
    assert stage.condition("Stalled") is None
    assert len(stage.cluster.jobs) == 1


def test_a_copy_that_came_to_no_step_is_not_tried_again(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.ticks(2)
    stage.cluster.becomes(
        stage.job, phase=JobPhase.FAILED, result=compact.encode_failure("NoStepSeen", "the copy came to no step")
    )
    stage.tick()
    assert stage.holding("ProfilingFailed").reason == "NoStepSeen"
    stage.tick(86_400)
    assert stage.job == f"mfu-{stage.incident.id}-a1"

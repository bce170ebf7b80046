"""A profiling Job counts for the incident that it was launched for, and for nothing else."""

from dataclasses import replace

import pytest

from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.adapters_double import Stage


def foreign(name: str, **marks: str | None) -> ProfilingJob:
    """A finished Job under a name of ours."""
    found = ProfilingJob(name, JobPhase.SUCCEEDED, worlds.NOW_S, result=compact.encode(worlds.SLOW_STEP))
    return replace(found, **marks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "marks",
    [{}, {"owner": worlds.UID}, {"owner": "another", "subject": "it"}],
    ids=["nobody's", "another incident's", "another baseline's"],
)
def test_a_job_of_our_name_that_is_not_ours_is_told_and_never_read(stage: Stage, marks: dict[str, str]) -> None:
    stage.settle()
    stage.slow_down()
    stage.tick()
    name = f"mfu-{stage.incident.id}-a1"
    marks = {key: stage.incident.id if value == "it" else value for key, value in marks.items()}
    stage.cluster.jobs["team-a", name] = foreign(name, **marks)
    stage.ticks(2)
    assert stage.holding("ProfilingFailed").reason == "JobNotOurs"
    assert stage.incident.profile is not None
    assert stage.incident.profile.account is None
    stage.tick(stage.spec.detection.sustain_s)
    assert stage.job == f"mfu-{stage.incident.id}-a2", "another name is tried"
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.tick()
    assert stage.condition("ProfilingFailed") is None


def test_nothing_is_launched_in_the_name_of_an_incident_that_is_not_stored(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stored, launched = stage.stored, len(stage.cluster.jobs)
    stage.tick()
    assert len(stage.cluster.jobs) == launched
    assert stage.sweep.says is not None
    stage.stored = stored  # the write was lost, and another process finds another onset
    stage.sweep.says = replace(stage.sweep.says, onset_s=stage.now_s - 10)
    stage.explain()
    assert len(stage.cluster.jobs) == launched + 1


def test_the_healthy_profile_is_found_again_after_the_status_was_lost(stage: Stage) -> None:
    stage.settle()
    stage.stored = {}
    stage.restart()
    stage.ticks(3)
    assert len(stage.cluster.jobs) == 1
    assert stage.status.healthy_profile is not None
    assert stage.status.healthy_profile.account == worlds.FAST_STEP


def test_an_account_of_the_pod_before_is_not_the_healthy_profile_of_this_one(stage: Stage) -> None:
    stage.settle()
    stage.now_s += 3600
    stage.deploy()
    stage.stored = {}
    stage.restart()
    stage.ticks(3)
    assert "JobOverlapsChange" in stage.reasons()
    assert stage.status.healthy_profile is not None
    assert (stage.status.healthy_profile.attempt, stage.status.healthy_profile.account) == (2, None)


def test_the_profile_of_an_incident_is_found_again_after_the_status_was_lost(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    opened, jobs = stage.incident, list(stage.cluster.jobs)
    stage.stored = {key: value for key, value in stage.stored.items() if key != "incident"}
    stage.restart()
    stage.ticks(4)
    assert stage.incident.id == opened.id
    assert stage.incident.profile is not None and opened.profile is not None
    assert stage.incident.profile.account == opened.profile.account
    assert list(stage.cluster.jobs) == jobs


def test_a_later_loss_takes_nothing_of_an_earlier_one_after_the_status_was_lost(stage: Stage) -> None:
    """Its ids were counted once: the first incident after a lost status had the name of the first one ever."""
    stage.settle()
    stage.slow_down()
    stage.explain()
    first = stage.incident.id
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.tick()
    stage.stored = {}
    stage.ticks(2)
    stage.slow_down()
    stage.ticks(2)
    assert stage.incident.id != first
    assert stage.incident.profile is not None
    assert stage.incident.profile.account is None

"""Every incident ends, each with its record, and the hours it cost are hours that its pods ran."""

from dataclasses import replace

import pytest

from mfu_operator.errors import Stall
from mfu_operator.model.incident import Incident
from mfu_operator.model.series import Reading
from mfu_operator.reconcile.ending import GONE_S, IDLE_S
from tests.support import worlds
from tests.support.adapters_double import Stage

HOUR_S = 3600.0
KEY = ("Job", "team-a", "gpt-small")
PER_HOUR = 0.172 * 8
"""Device hours that the story's loss costs in an hour: worlds.regressed() on eight GPUs."""


@pytest.fixture
def slow(stage: Stage) -> Stage:
    """A stage with an open incident, its last reading at the onset."""
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.sweep.held = (Reading(stage.incident.onset_at, {}),)
    return stage


def read(stage: Stage, after_s: float) -> None:
    """The pods run for so long and are read all the while."""
    stage.tick(after_s)
    stage.sweep.held = (Reading(stage.now_s, {}),)


def closed(stage: Stage) -> Incident:
    assert stage.status.incident is None
    return stage.status.history[0]


def test_a_workload_that_is_deleted_ends_its_incident_and_no_hour_is_counted_after_it(slow: Stage) -> None:
    read(slow, HOUR_S)
    onset_s, last_s = slow.incident.onset_at, slow.now_s
    slow.cluster.workloads.clear()
    slow.tick()
    assert slow.status.incident is not None, "it may be deployed again"
    slow.tick(GONE_S)
    ended = closed(slow)
    assert ended.closed is not None
    assert ended.closed[0] == "WorkloadGone"
    assert ended.gpu_hours_lost == pytest.approx(PER_HOUR * (last_s - onset_s) / HOUR_S)
    assert "WorkloadGone" in slow.reasons()


def test_a_month_in_which_nobody_looked_counts_no_hours_either(slow: Stage) -> None:
    read(slow, HOUR_S)
    onset_s, last_s = slow.incident.onset_at, slow.now_s
    slow.cluster.workloads.clear()
    slow.tick(30 * 24 * HOUR_S)
    slow.tick(GONE_S)
    assert closed(slow).gpu_hours_lost == pytest.approx(PER_HOUR * (last_s - onset_s) / HOUR_S)


def test_a_workload_that_is_deployed_anew_keeps_its_incident_and_the_gap_costs_nothing(slow: Stage) -> None:
    read(slow, HOUR_S)
    opened, last_s = slow.incident, slow.now_s
    slow.cluster.workloads.clear()
    slow.tick(600)
    slow.deploy()
    slow.tick(HOUR_S)
    assert slow.incident.id == opened.id
    slow.sweep.says = worlds.judgement(recovered=True)
    slow.tick()
    recovery = slow.status.history[0].recovery
    assert recovery is not None
    ran_s = (last_s - opened.onset_at) + (recovery.recovered_at - (last_s + 600 + 5))
    assert recovery.gpu_hours_lost == pytest.approx(PER_HOUR * ran_s / HOUR_S)


def test_a_workload_that_finished_ends_its_incident(slow: Stage) -> None:
    found = slow.cluster.workloads[KEY]
    slow.cluster.workloads[KEY] = replace(found, pods=(), finished=True)
    slow.tick()
    slow.tick(GONE_S)
    ended = closed(slow)
    assert ended.closed is not None
    assert ended.closed[0] == "WorkloadEnded"


def test_a_job_that_waits_for_its_turn_keeps_its_incident_for_a_day(slow: Stage) -> None:
    slow.cluster.workloads[KEY] = replace(slow.cluster.workloads[KEY], pods=())
    slow.tick()
    slow.tick(GONE_S)
    assert slow.status.incident is not None
    slow.tick(IDLE_S)
    assert closed(slow).closed is not None


def test_what_nobody_can_see_is_not_gone(slow: Stage) -> None:
    slow.cluster.fails = Stall("ClusterAccessDenied", "403")
    slow.tick(30 * 24 * HOUR_S)
    slow.cluster.fails = None
    assert slow.status.incident is not None
    assert slow.status.incident.stopped_at is None


def test_a_loss_after_the_end_is_another_incident_from_when_its_pod_started(slow: Stage) -> None:
    """The readings still tell of the loss before, which has ended."""
    first = slow.incident.id
    slow.cluster.workloads.clear()
    slow.tick()
    slow.tick(GONE_S)
    slow.deploy(slow.now_s + 60)
    slow.tick(120)
    assert slow.incident.id != first
    assert slow.incident.onset_at == slow.now_s - 120 + 60 + 5


def test_an_accepted_loss_has_its_hours_in_its_record(slow: Stage) -> None:
    onset_s = slow.incident.onset_at
    slow.edit(lambda spec: replace(spec, declared=replace(worlds.LEVEL, mfu=0.38)))
    slow.sweep.says = worlds.judgement()
    slow.tick()
    ended = closed(slow)
    assert ended.accepted is not None
    assert ended.gpu_hours_lost == pytest.approx(PER_HOUR * (slow.now_s - onset_s) / HOUR_S)

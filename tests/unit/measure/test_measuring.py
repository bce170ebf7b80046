"""What keeps a job from being measured has its reason and remedy, and is forgotten once cured."""

from dataclasses import replace

from mfu_operator.errors import Retry, Wait
from mfu_operator.model.baseline import MetricsSource, RecordPlan, SecretRef
from tests.support import worlds
from tests.support.adapters_double import Stage


def test_a_workload_that_is_not_there_is_named_with_what_to_do(stage: Stage) -> None:
    stage.cluster.workloads.clear()
    stage.tick()
    found = stage.holding("MeasurementFailed")
    assert found.reason == "WorkloadNotFound"
    assert "create it or correct spec.workload" in found.message
    assert stage.holding("Ready").status == "False"


def test_a_workload_that_appears_cures_it(stage: Stage) -> None:
    found = dict(stage.cluster.workloads)
    stage.cluster.workloads.clear()
    stage.tick()
    stage.cluster.workloads.update(found)
    stage.tick()
    assert stage.condition("MeasurementFailed") is None
    assert stage.holding("Ready").status == "True"


def test_a_kind_that_is_unknown_stalls(stage: Stage) -> None:
    stage.spec = replace(stage.spec, workload=replace(worlds.REF, kind="Spaceship"))
    stage.tick()
    assert stage.holding("Stalled").reason == "UnknownKind"


def test_a_prometheus_out_of_reach_is_told(stage: Stage) -> None:
    stage.sweep.problem = Retry(
        "PrometheusUnreachable", "http://prometheus:9090 does not answer; is the address right?"
    )
    stage.tick()
    assert stage.holding("MeasurementFailed").reason == "PrometheusUnreachable"
    assert stage.holding("Ready").status == "False"


def test_metrics_credentials_that_are_missing_stall(stage: Stage) -> None:
    stage.spec = replace(stage.spec, metrics=MetricsSource(secret=SecretRef("prometheus")))
    stage.tick()
    assert stage.holding("Stalled").reason == "CredentialsMissing"


def test_a_job_under_way_is_not_given_up_while_measuring_fails(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.tick()
    stage.spec = replace(stage.spec, metrics=MetricsSource(secret=SecretRef("gone")))
    stage.tick(300)
    incident = stage.status.incident
    assert incident is not None
    assert incident.profile is not None
    assert incident.profile.failure is None
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.tick()
    assert stage.status.incident is not None
    assert stage.status.incident.diagnosis is not None


def test_an_incident_is_not_blocked_for_good_while_measuring_fails(stage: Stage) -> None:
    stage.regress()
    incident = stage.status.incident
    assert incident is not None
    stage.stored["incident"]["confirmedAt"] = "2026-09-21T14:14:20Z"
    stage.spec = replace(stage.spec, metrics=MetricsSource(secret=SecretRef("gone")))
    stage.tick()
    assert stage.status.incident is not None
    assert stage.status.incident.blocked is None


def test_an_edit_from_a_declared_level_to_a_recording_starts_one(stage: Stage) -> None:
    stage.settle()
    plan = RecordPlan(1800.0, 300.0)
    stage.edit(lambda spec: replace(spec, declared=None, declared_spread=None, record=plan))
    stage.tick()
    assert stage.holding("Ready").reason == "BaselineRecording"
    assert stage.sweep.registered[worlds.UID]["recording_since_s"] == stage.now_s


def test_a_suspended_baseline_is_left_alone(stage: Stage) -> None:
    stage.spec = replace(stage.spec, suspend=True)
    stage.ticks(3)
    assert stage.cluster.jobs == {}
    assert stage.sweep.registered == {}
    assert (stage.holding("Ready").status, stage.holding("Ready").reason) == ("Unknown", "Suspended")


def test_a_baseline_that_was_not_measured_yet_is_unknown_and_not_failing(stage: Stage) -> None:
    stage.sweep.fills, stage.sweep.says = False, None
    stage.tick()
    assert (stage.holding("Ready").status, stage.holding("Ready").reason) == ("Unknown", "NotMeasured")
    assert stage.condition("MeasurementFailed") is None


def test_waiting_for_the_first_series_is_told_as_what_it_is(stage: Stage) -> None:
    stage.sweep.problem = Wait("NoSeries", "the metrics source has no series of this job")
    stage.tick()
    assert stage.holding("MeasurementFailed").reason == "NoSeries"

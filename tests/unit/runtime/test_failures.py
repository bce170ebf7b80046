"""What the world does to a tick: each failure has its reason and remedy, is retried, and forgotten once cured."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, MfuError, Retry, Stall, Wait
from mfu_operator.model.baseline import (
    ApplicationRef,
    MetricsSource,
    RecordPlan,
    Remediation,
    RemediationMode,
    SecretRef,
)
from mfu_operator.model.condition import Condition
from mfu_operator.model.verdict import Gate
from mfu_operator.model.workload import JobPhase
from mfu_operator.trace import compact
from tests.support import worlds
from tests.support.hands_double import APPLICATION, Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


def condition(stage: Stage, kind: str) -> Condition:
    found = stage.condition(kind)
    assert found is not None, [each.type for each in stage.status.conditions]
    return found


def test_a_workload_that_is_not_there_is_named_with_what_to_do(stage: Stage) -> None:
    stage.cluster.workloads.clear()
    stage.tick()
    found = condition(stage, "MeasurementFailed")
    assert found.reason == "WorkloadNotFound"
    assert "create it or correct spec.workload" in found.message
    assert condition(stage, "Ready").status == "False"


def test_a_workload_that_appears_cures_it(stage: Stage) -> None:
    found = dict(stage.cluster.workloads)
    stage.cluster.workloads.clear()
    stage.tick()
    stage.cluster.workloads.update(found)
    stage.tick()
    assert stage.condition("MeasurementFailed") is None
    assert condition(stage, "Ready").status == "True"


def test_a_kind_that_is_unknown_stalls(stage: Stage) -> None:
    stage.spec = replace(stage.spec, workload=replace(worlds.REF, kind="Deployment"))
    stage.tick()
    assert condition(stage, "Stalled").reason == "UnknownKind"


def test_a_prometheus_out_of_reach_is_told(stage: Stage) -> None:
    stage.sweep.problem = Retry(
        "PrometheusUnreachable", "http://prometheus:9090 does not answer; is the address right?"
    )
    stage.tick()
    assert condition(stage, "MeasurementFailed").reason == "PrometheusUnreachable"
    assert condition(stage, "Ready").status == "False"


def test_metrics_credentials_that_are_missing_stall(stage: Stage) -> None:
    stage.spec = replace(stage.spec, metrics=MetricsSource(secret=SecretRef("prometheus")))
    stage.tick()
    assert condition(stage, "Stalled").reason == "CredentialsMissing"


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


def test_a_cluster_that_cannot_be_asked_for_the_job_is_told_and_does_not_end_the_tick(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.tick()
    seen = stage.cluster.profiling_job
    stage.cluster.profiling_job = raising(Retry("ClusterUnreachable", "is the API server reachable?"))  # type: ignore[method-assign]
    stage.tick(300)
    assert condition(stage, "ProfilingFailed").reason == "ClusterUnreachable"
    stage.cluster.profiling_job = seen  # type: ignore[method-assign]
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.ticks(2)
    assert stage.condition("ProfilingFailed") is None
    assert stage.status.incident is not None
    assert stage.status.incident.diagnosis is not None


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
    stage.tick()
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason=reason, message=message)
    stage.tick()
    found = condition(stage, "ProfilingFailed")
    assert found.reason == reason
    assert message in found.message
    stage.tick(stage.spec.detection.sustain_s)
    assert stage.job == "mfu-gpt-small-3f2a91c0-1-a2"
    stage.finish(stage.job, worlds.SLOW_STEP)
    stage.tick()
    assert stage.condition("ProfilingFailed") is None


def test_a_job_that_waits_says_for_what_while_it_waits(stage: Stage) -> None:
    stage.tick()
    stage.cluster.becomes(stage.job, reason="JobUnschedulable", message="no node takes its pod: insufficient gpu")
    stage.tick()
    assert "insufficient gpu" in condition(stage, "ProfilingFailed").message


def test_why_it_never_started_outlives_the_pod_that_the_deadline_deletes(stage: Stage) -> None:
    stage.tick()
    stage.cluster.becomes(stage.job, reason="JobUnschedulable", message="no node takes its pod: insufficient gpu")
    stage.tick()
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason="DeadlineExceeded", message="too late")
    stage.tick()
    assert condition(stage, "ProfilingFailed").reason == "JobUnschedulable"


def test_what_the_analysis_itself_said_wins(stage: Stage) -> None:
    stage.tick()
    said = compact.encode_failure("NoSteps", "the trace holds no step; mark it with a range named step")
    stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, result=said, reason="JobFailed", message="exit code 1")
    stage.tick()
    assert condition(stage, "ProfilingFailed").reason == "NoSteps"


def test_three_failed_jobs_are_an_inconclusive_diagnosis_and_no_fourth(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.confirm()
    for _ in range(6):
        stage.tick(1800)
        stage.cluster.becomes(stage.job, phase=JobPhase.FAILED, reason="JobFailed", message="exit code 1")
    assert stage.job == "mfu-gpt-small-3f2a91c0-1-a3"
    assert condition(stage, "Regressed").reason == "Inconclusive"
    assert stage.forge.pulls == []


def test_a_deleted_job_is_told_apart_from_one_that_is_young(stage: Stage) -> None:
    stage.tick()
    stage.cluster.jobs.clear()
    stage.tick()
    assert stage.condition("ProfilingFailed") is None
    stage.tick(60)
    assert condition(stage, "ProfilingFailed").reason == "JobGone"


def test_a_missing_profiler_image_stalls_profiling_and_nothing_else(stage: Stage) -> None:
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = replace(
        worlds.workload(), template={"spec": {"containers": [{"name": "train"}]}}
    )
    stage.tick()
    assert condition(stage, "Stalled").reason == "CommandRequired"
    assert "spec.profiling.command" in condition(stage, "ProfilingFailed").message
    assert condition(stage, "Ready").status == "True"


def test_a_hopeless_template_is_retried_when_the_spec_changes(stage: Stage) -> None:
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = replace(
        worlds.workload(), template={"spec": {"containers": [{"name": "train"}]}}
    )
    stage.tick()
    stage.edit(lambda spec: replace(spec, profiling=replace(spec.profiling, command=("python", "train.py"))))
    stage.tick()
    assert stage.condition("Stalled") is None
    assert len(stage.cluster.jobs) == 1


@pytest.mark.parametrize(
    ("port", "error"),
    [
        ("repository", Retry("RepositoryUnreachable", "the host does not answer; check spec.remediation.repository")),
        ("repository", Stall("RepositoryAccessDenied", "the token was refused; renew the Secret")),
        ("forge", Stall("ForgeAccessDenied", "the token was refused; it needs write:repository")),
        ("forge", Retry("ForgeUnreachable", "the forge does not answer")),
    ],
    ids=lambda value: getattr(value, "reason", value),
)
def test_a_repository_or_forge_that_fails_is_told_and_tried_again(stage: Stage, port: str, error: MfuError) -> None:
    stage.regress()
    double: Any = getattr(stage, port)
    double.fails = error
    stage.tick()
    found = condition(stage, "ProposalFailed")
    assert (found.reason, found.message) == (error.reason, error.message)
    assert (stage.condition("Stalled") is not None) is isinstance(error, Stall)
    double.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None
    assert stage.condition("Stalled") is None
    assert len(stage.forge.pulls) == 1


def test_forge_credentials_that_are_missing_are_read_again_once_they_are_there(stage: Stage) -> None:
    stage.regress()
    kept = stage.cluster.secrets.pop(("team-a", "forge"))
    stage.tick()
    assert condition(stage, "ProposalFailed").reason == "CredentialsMissing"
    stage.cluster.secrets["team-a", "forge"] = kept
    stage.tick()
    assert len(stage.forge.pulls) == 1


@pytest.mark.parametrize("data", [{}, {"username": "bot"}, {"token": ""}])
def test_a_secret_without_the_keys_says_which_it_needs(stage: Stage, data: dict[str, str]) -> None:
    stage.regress()
    stage.cluster.secrets["team-a", "forge"] = data
    stage.tick()
    found = condition(stage, "ProposalFailed")
    assert found.reason == "CredentialsMissing"
    assert "key token" in found.message


def test_a_source_that_cannot_be_read_is_told_and_forgotten_once_it_can(stage: Stage) -> None:
    stage.regress()
    stage.delivery.fails = Retry("ClusterUnreachable", "reading the application: the API server answered 503")
    stage.tick()
    assert condition(stage, "ProposalFailed").reason == "ClusterUnreachable"
    stage.delivery.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None


def test_an_answer_that_could_not_be_had_is_forgotten_once_it_can(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    stage.tick()
    assert condition(stage, "ProposalFailed").reason == "ForgeUnreachable"
    stage.forge.fails = None
    stage.tick()
    assert stage.condition("ProposalFailed") is None


def test_a_recovery_leaves_no_failure_behind(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.ticks(2)
    assert stage.condition("ProposalFailed") is None


def test_the_pause_after_a_failure_doubles_up_to_five_minutes(stage: Stage) -> None:
    stage.regress()
    asked: list[float] = []

    def commits(*_: object) -> object:
        asked.append(stage.now_s)
        raise Retry("RepositoryUnreachable", "the host does not answer")

    stage.repository.commits = commits  # type: ignore[method-assign, assignment]
    stage.ticks(120)
    pauses = [after - before for before, after in itertools.pairwise(asked)]
    assert pauses[:6] == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0]
    assert max(pauses) == 300.0


def test_the_pause_grows_too_where_only_the_last_of_several_requests_fails(stage: Stage) -> None:
    stage.regress()
    stage.forge.fails = Retry("ForgeUnreachable", "the forge does not answer")
    stage.ticks(30)
    assert len(stage.asked_with) == 5


def test_a_persons_decision_takes_the_place_of_an_older_failure(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.tick()
    stage.repository.fails = AskPerson("RevertConflict", "the revert does not apply cleanly")
    stage.tick()
    assert condition(stage, "ProposalFailed").reason == "RevertConflict"


def test_a_new_generation_forgets_the_pause(stage: Stage) -> None:
    stage.regress()
    stage.repository.fails = Retry("RepositoryUnreachable", "the host does not answer")
    stage.ticks(10)
    stage.repository.fails = None
    stage.edit(lambda spec: replace(spec, suspend=False))
    stage.tick()
    assert len(stage.forge.pulls) == 1


def test_a_workload_that_no_tool_deploys_needs_the_application_named_and_takes_it(stage: Stage) -> None:
    stage.spec = worlds.spec()
    stage.regress()
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = worlds.workload(stage.now_s - 600)
    stage.tick()
    found = condition(stage, "ProposalFailed")
    assert found.reason == "NotManagedByGitOps"
    assert "spec.remediation.application" in found.message
    named = ApplicationRef("Application", APPLICATION.namespace, APPLICATION.name)
    stage.edit(lambda spec: replace(spec, remediation=replace(spec.remediation, application=named)))
    stage.ticks(2)
    assert len(stage.forge.pulls) == 1


def test_a_persons_no_outlives_an_edit_of_the_spec(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.close(1)
    stage.tick()
    stage.edit(lambda spec: replace(spec, detection=replace(spec.detection, warmup_s=60)))
    stage.ticks(3)
    assert condition(stage, "ProposalFailed").reason == "PullRequestClosed"
    assert len(stage.forge.pulls) == 1


def test_a_conflict_is_for_a_person_and_is_not_tried_over_and_over(stage: Stage) -> None:
    stage.regress()
    stage.repository.commit({"apps/gpt/train.yaml": "num_workers: 0\nseed: 1\n"}, "Set a seed")
    stage.ticks(5)
    assert condition(stage, "ProposalFailed").reason == "RevertConflict"
    assert stage.reasons().count("RevertConflict") == 1
    assert stage.forge.pulls == []


def test_the_cool_down_is_waited_for_without_an_alarm(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.merge()
    stage.tick(600)
    stage.slow_down()
    stage.explain()
    stage.confirm()
    stage.ticks(3)
    assert len(stage.forge.pulls) == 1
    assert stage.condition("ProposalFailed") is None
    assert "waiting: CoolDown: " in condition(stage, "Reconciling").message
    stage.tick(stage.spec.remediation.cool_down_s)
    assert len(stage.forge.pulls) == 2


def test_an_edit_from_a_declared_level_to_a_recording_starts_one(stage: Stage) -> None:
    stage.settle()
    plan = RecordPlan(1800.0, 300.0)
    stage.edit(lambda spec: replace(spec, declared=None, declared_spread=None, record=plan))
    stage.tick()
    assert condition(stage, "Ready").reason == "BaselineRecording"
    assert stage.sweep.registered[worlds.UID]["recording_since_s"] == stage.now_s


def test_a_suspended_baseline_is_left_alone(stage: Stage) -> None:
    stage.spec = replace(stage.spec, suspend=True)
    stage.ticks(3)
    assert stage.cluster.jobs == {}
    assert stage.sweep.registered == {}
    assert (condition(stage, "Ready").status, condition(stage, "Ready").reason) == ("Unknown", "Suspended")


def test_a_baseline_that_was_not_measured_yet_is_unknown_and_not_failing(stage: Stage) -> None:
    stage.sweep.fills, stage.sweep.says = False, None
    stage.tick()
    assert (condition(stage, "Ready").status, condition(stage, "Ready").reason) == ("Unknown", "NotMeasured")
    assert stage.condition("MeasurementFailed") is None


def test_waiting_for_the_first_series_is_told_as_what_it_is(stage: Stage) -> None:
    stage.sweep.problem = Wait("NoSeries", "the metrics source has no series of this job")
    stage.tick()
    assert condition(stage, "MeasurementFailed").reason == "NoSeries"


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
        neighbour.hands = replace(neighbour.hands, occupancy=stage.hands.occupancy)
        neighbour.identity = replace(neighbour.identity, uid="another", name="bert")
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
    found: dict[Gate, tuple[tuple[float, float], ...]] = stage.sweep.registered[worlds.UID]["gated"]
    return found[Gate.PROFILING]


def test_remediation_off_asks_for_no_credentials(stage: Stage) -> None:
    stage.spec = replace(stage.spec, remediation=Remediation(RemediationMode.OFF, secret=SecretRef("gone")))
    stage.regress()
    stage.ticks(3)
    assert stage.condition("ProposalFailed") is None
    assert stage.condition("Stalled") is None


def test_a_delivery_tool_that_fails_is_asked_less_and_less_and_its_problem_stands_meanwhile(stage: Stage) -> None:
    asked = []

    def fail() -> None:
        asked.append(stage.now_s)
        raise Retry("ClusterUnreachable", "503")

    stage.delivery._fail = fail  # type: ignore[method-assign]
    stage.ticks(20)
    assert [round(later - earlier) for earlier, later in itertools.pairwise(asked)] == [15, 30, 60, 120]

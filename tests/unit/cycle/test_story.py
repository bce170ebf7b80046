"""The main job from a healthy run to the proven recovery, in memory, one tick after the other."""

from dataclasses import replace

import pytest

from mfu_operator.api import status as codec
from mfu_operator.detect.hardware import Ruling
from mfu_operator.measure.trail import NO_TRAIL
from mfu_operator.model.baseline import Baseline, Comparable, Provenance, RecordPlan, RemediationMode, Signal
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.series import Reading
from tests.support import worlds
from tests.support.adapters_double import Stage

OTHER_BATCH = Comparable("gpt-small", global_batch=256)


def test_every_fact_is_obtained_in_order_and_the_incident_is_closed(stage: Stage) -> None:
    culprit = stage.regress()
    stage.tick()
    stage.merge()
    stage.tick(600)
    assert stage.reasons() == [
        "BaselineDeclared", "Healthy", "KnownGood", "ProfilingBaseline", "BaselineProfiled", "Regressed", "Profiling",
        "Profiled", "Diagnosed", "Confirmed", "Suspected", "Proposed", "Merged", "Recovered", "KnownGood",
    ]  # fmt: skip
    (closed,) = stage.status.history
    assert stage.status.incident is None
    assert stage.status.known_good is not None
    assert stage.status.known_good.revision == stage.repository.line[-1].sha
    assert closed.suspect is not None
    assert closed.suspect.sha == culprit
    assert closed.diagnosis is not None
    assert (closed.diagnosis.bottleneck, closed.diagnosis.cause) == (Bottleneck.INPUT_STARVED, "DataLoaderWorkers")
    assert closed.recovery is not None
    assert (closed.recovery.before, closed.recovery.regressed, closed.recovery.after) == (0.46, 0.381, 0.458)
    assert closed.recovery.single_variable is not None
    assert culprit[:12] in closed.recovery.single_variable


def test_what_it_left_in_the_world_is_two_jobs_one_branch_and_one_pull_request(stage: Stage) -> None:
    culprit = stage.regress()
    stage.ticks(5)
    assert [name for _, name in stage.cluster.jobs] == [
        "mfu-gpt-small-3f2a91c0-healthy-a1",
        f"mfu-{stage.incident.id}-a1",
    ]
    (proposal,) = stage.forge.proposals.values()
    assert list(stage.repository.branches) == [proposal.branch]
    assert culprit[:12] in proposal.branch
    assert proposal.revert_sha == culprit
    assert {shown.password for shown in stage.asked_with if shown} == {"t0ken"}


def test_the_request_shows_the_course_of_the_signal_around_the_onset(stage: Stage) -> None:
    stage.regress()
    trail, onset_s = NO_TRAIL, stage.incident.onset_at
    for minutes in range(-60, 60, 10):
        trail = trail.passed(Signal.MFU, onset_s + 60 * minutes, 0.46 if minutes < 0 else 0.381)
    stage.sweep.trail = trail
    stage.tick()
    (proposal,) = stage.forge.proposals.values()
    assert "0.460 ████████████\n" in proposal.body
    assert "0.381 ████████████▆▆▆▆▆▆▆▆▆▆▆▆\n                  ^ slow since " in proposal.body


def test_nothing_is_proposed_before_the_loss_is_confirmed(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.ticks(10)
    assert stage.forge.pulls == []
    assert stage.status.incident is not None
    assert stage.status.incident.suspect is None


@pytest.mark.parametrize("mode", [RemediationMode.OBSERVE, RemediationMode.DRY_RUN])
def test_nothing_leaves_the_cluster_unless_asked_for(mode: RemediationMode) -> None:
    stage = Stage(worlds.spec(mode))
    stage.regress()
    stage.ticks(5)
    assert (stage.forge.pulls, stage.repository.branches) == ([], {})
    incident = stage.status.incident
    assert incident is not None
    assert (incident.proposal is not None) is (mode is RemediationMode.DRY_RUN)


def test_a_dry_run_shows_what_would_be_proposed() -> None:
    stage = Stage(worlds.spec(RemediationMode.DRY_RUN))
    stage.regress()
    stage.tick()
    incident = stage.status.incident
    assert incident is not None
    assert incident.proposal is not None
    assert "+num_workers: 4" in (incident.proposal.diff or "")
    assert stage.stored["summary"]["pullRequest"] == "dry run"


def test_a_dry_run_becomes_a_pull_request_once_a_person_asks_for_one() -> None:
    stage = Stage(worlds.spec(RemediationMode.DRY_RUN))
    stage.regress()
    stage.tick()
    stage.edit(lambda spec: worlds.spec(RemediationMode.PULL_REQUEST))
    stage.ticks(2)
    assert len(stage.forge.pulls) == 1
    incident = stage.status.incident
    assert incident is not None
    assert incident.proposal is not None
    assert (incident.proposal.dry_run, incident.proposal.state) == (False, PullRequestState.OPEN)


def test_a_closed_pull_request_is_a_no_and_final(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.close(1)
    stage.ticks(20)
    assert len(stage.forge.pulls) == 1
    failed = stage.condition("ProposalFailed")
    assert failed is not None
    assert failed.reason == "PullRequestClosed"


def test_the_loss_ends_by_itself_and_the_incident_is_closed_without_a_proposal(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.tick()
    assert stage.status.incident is None
    assert stage.status.history[0].recovery is not None
    assert stage.holding("Regressed").reason == "NoIncident"


def test_a_second_incident_has_a_name_of_its_own(stage: Stage) -> None:
    stage.regress()
    first = stage.incident.id
    stage.ticks(2)
    stage.merge()
    stage.ticks(2)
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s)
    stage.tick()
    assert stage.incident.id != first


def test_a_loss_that_a_person_accepts_ends_the_incident_and_another_level_is_recorded(stage: Stage) -> None:
    stage.regress()
    held = Baseline(worlds.LEVEL, worlds.BASELINE.spread, Provenance.RECORDED, worlds.STARTED_S, generation=1)
    stage.stored = codec.encode(replace(stage.status, baseline=held))
    accepted = RecordPlan(1800.0, 300.0, generation=2, reason="NCCL 2.27 stays")
    stage.edit(lambda spec: replace(spec, declared=None, declared_spread=None, record=accepted))
    stage.sweep.says = None
    stage.ticks(2)
    assert (stage.status.incident, stage.status.baseline) == (None, None)
    assert stage.status.history[0].accepted == "NCCL 2.27 stays"
    assert stage.status.previous_baselines[0].replaced_because == "NCCL 2.27 stays"
    assert stage.status.recording is not None
    assert stage.status.recording.generation == 2
    ready = stage.condition("Ready")
    assert ready is not None
    assert ready.reason == "BaselineRecording"
    assert stage.reasons().count("BaselineReplaced") == stage.reasons().count("LossAccepted") == 1
    assert stage.forge.pulls == []


def test_how_busy_the_gpus_are_stands_beside_the_diagnosis_and_changes_nothing_of_it(stage: Stage) -> None:
    stage.sweep.rules = Ruling(supporting=("SMs active 30% of the time",))
    stage.regress()
    diagnosis = stage.incident.diagnosis
    assert diagnosis is not None
    assert diagnosis.bottleneck is Bottleneck.INPUT_STARVED
    assert diagnosis.evidence[-1] == "SMs active 30% of the time"


def test_a_recording_of_another_configuration_says_so_and_goes_on_waiting(stage: Stage) -> None:
    stage.edit(lambda spec: replace(spec, declared=None, record=RecordPlan(600, 60), comparable=OTHER_BATCH))
    stage.sweep.says = None
    stage.sweep.held = (Reading(stage.now_s, {Signal.MFU: 0.4}, info={"global_batch": "512"}),)
    stage.tick()
    assert stage.status.baseline is None
    assert stage.status.recording is not None
    assert stage.status.recording.problem == "not the baseline's job: global batch 512 instead of 256"


def test_what_the_workloads_object_says_goes_to_the_sweep(stage: Stage) -> None:
    workload = stage.cluster.workloads["Job", "team-a", "gpt-small"]
    marked = replace(workload, labels={**workload.labels, "mfu-operator.io/global-batch": "512"})
    stage.cluster.workloads["Job", "team-a", "gpt-small"] = marked
    stage.tick()
    (registered,) = stage.sweep.registered.values()
    assert registered["facts"] is not None
    assert registered["facts"]["global_batch"] == "512"


@pytest.mark.parametrize("set_by_s", [-3600.0, 3600.0])
@pytest.mark.parametrize("after", ["settle", "slow_down", "explain", "confirm"])
def test_a_clock_that_is_set_in_the_middle_ends_in_no_final_answer(stage: Stage, set_by_s: float, after: str) -> None:
    for step in ("settle", "slow_down", "explain", "confirm"):
        getattr(stage, step)()
        if step == after:
            stage.set_by_s = set_by_s
    stage.ticks(3)
    assert stage.incident.blocked is None
    assert "JobGone" not in stage.reasons()
    stage.set_by_s = 0.0
    stage.ticks(3)
    assert len(stage.forge.pulls) == 1

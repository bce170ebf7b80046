"""The main job from a healthy run to the proven recovery, in memory, one tick after the other."""

from dataclasses import replace

import pytest

from mfu_operator.api import status as codec
from mfu_operator.detect.hardware import Ruling
from mfu_operator.model.baseline import Baseline, Comparable, Provenance, RecordPlan, RemediationMode, Signal
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.series import Reading
from mfu_operator.model.vitals import Ailment, Symptom
from tests.support import worlds
from tests.support.hands_double import Stage

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
        "mfu-gpt-small-3f2a91c0-1-a1",
    ]
    assert list(stage.repository.branches) == ["mfu-operator/gpt-small-3f2a91c0-1"]
    (proposal,) = stage.forge.proposals.values()
    assert proposal.revert_sha == culprit
    assert {shown.password for shown in stage.asked_with if shown} == {"t0ken"}


def test_nothing_is_proposed_before_the_loss_is_confirmed(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.ticks(10)
    assert stage.forge.pulls == []
    assert stage.status.incident is not None
    assert stage.status.incident.suspect is None


@pytest.mark.parametrize("mode", [RemediationMode.OFF, RemediationMode.DRY_RUN])
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


class Killed(BaseException):
    """The operator dies here."""


STEPS = ("settle", "slow_down", "explain", "confirm", "tick", "tick", "merge", "tick", "tick")


def tell(stage: Stage) -> None:
    for step in STEPS:
        getattr(stage, step)()


def left(stage: Stage) -> tuple[object, ...]:
    """What the world and the record hold in the end, whatever happened on the way."""
    (closed,) = stage.status.history
    return (
        sorted(stage.cluster.jobs), stage.repository.branches, stage.forge.pulls, stage.status.incident,
        stage.status.incidents, closed.suspect, closed.diagnosis, closed.profile and closed.profile.account,
        closed.proposal and closed.proposal.branch,
    )  # fmt: skip


EFFECTS = [
    ("cluster", "ensure_job"),
    ("repository", "commits"),
    ("repository", "preview"),
    ("repository", "ensure_branch"),
    ("forge", "ensure"),
    ("forge", "get"),
]


class Dying:
    """Stands before a double and dies once, after the call of `method` number `at` was made or before it was."""

    def __init__(self, inner: object, method: str, at: int, after: bool) -> None:
        self._inner, self._method, self._at, self._after, self._calls = inner, method, at, after, 0

    def __getattr__(self, name: str) -> object:
        found = getattr(self._inner, name)
        if name != self._method:
            return found

        def call(*arguments: object) -> object:
            self._calls += 1
            if self._calls != self._at:
                return found(*arguments)
            if self._after:
                found(*arguments)
            raise Killed

        return call


def unkillable(stage: Stage) -> None:
    """Every tick that dies is made again by another process, from what was stored."""
    alive = stage.tick

    def tick(after_s: float = 15.0) -> object:
        try:
            return alive(after_s)
        except Killed:
            stage.restart()
            return alive(0.0)

    stage.tick = tick  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize(("port", "method"), EFFECTS, ids=[method for _, method in EFFECTS])
def test_dying_at_any_effect_changes_nothing_of_the_outcome(port: str, method: str, at: int, after: bool) -> None:
    calm = Stage()
    tell(calm)
    stage = Stage()
    dying = Dying(getattr(stage, port), method, at, after)
    forge = dying if port == "forge" else stage.forge
    changed = {"forge": lambda *_: forge} if port == "forge" else {port: dying}
    stage.hands = replace(stage.hands, **changed)  # type: ignore[arg-type]
    unkillable(stage)
    tell(stage)
    assert left(stage) == left(calm)


def test_a_restart_between_any_two_ticks_changes_nothing_of_the_outcome() -> None:
    calm = Stage()
    tell(calm)
    for restarted in range(len(STEPS)):
        stage = Stage()
        for index, step in enumerate(STEPS):
            if index == restarted:
                stage.restart()
            getattr(stage, step)()
        assert left(stage) == left(calm)


def test_two_replicas_that_both_act_make_one_of_everything(stage: Stage) -> None:
    """The Lease is a courtesy: each tick is made twice, the second time from what was stored before the first."""
    alive = stage.tick

    def twice(after_s: float = 15.0) -> object:
        before = stage.stored
        alive(after_s)
        stage.stored = before
        return alive(0.0)

    stage.tick = twice  # type: ignore[method-assign, assignment]
    tell(stage)
    assert len(stage.cluster.jobs) == 2
    assert (len(stage.repository.branches), len(stage.forge.pulls), stage.status.incidents) == (1, 1, 1)


def test_a_closed_pull_request_is_a_no_and_final(stage: Stage) -> None:
    stage.regress()
    stage.tick()
    stage.forge.close(1)
    stage.ticks(20)
    assert len(stage.forge.pulls) == 1
    failed = stage.condition("ProposalFailed")
    assert failed is not None
    assert failed.reason == "PullRequestClosed"


def test_a_pull_request_that_a_person_closed_before_the_crash_is_found(stage: Stage) -> None:
    stage.regress()
    before = stage.stored
    stage.tick()
    stage.forge.close(1)
    stage.stored = before
    stage.ticks(3)
    assert len(stage.forge.pulls) == 1
    incident = stage.status.incident
    assert incident is not None
    assert incident.blocked is not None
    assert incident.blocked[0] == "PullRequestClosed"


def test_the_loss_ends_by_itself_and_the_incident_is_closed_without_a_proposal(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.explain()
    stage.sweep.says = worlds.judgement(recovered=True)
    stage.tick()
    assert stage.status.incident is None
    assert stage.status.history[0].recovery is not None
    assert stage.condition("Regressed") is None


def test_a_second_incident_has_a_name_of_its_own(stage: Stage) -> None:
    tell(stage)
    stage.sweep.says = worlds.regressed(onset_s=stage.now_s)
    stage.tick()
    assert stage.status.incident is not None
    assert stage.status.incident.id == "gpt-small-3f2a91c0-2"


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


LEAK = Symptom(
    Ailment.MEMORY_LEAK,
    "device memory … full at 18:40",
    worlds.NOW_S,
    0.8,
    "gpt-small-x",
    full_at=worlds.NOW_S + 36_000,
)
LOST = Symptom(Ailment.LOSS_NOT_FINITE, "the loss of gpt-small-x is NaN", worlds.NOW_S, 7.0, "gpt-small-x")


def test_a_symptom_is_a_condition_an_event_and_the_verdict_and_nothing_else(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST, LEAK)
    stage.ticks(5)
    lost, creeping = stage.condition("NotLearning"), stage.condition("MemoryCreeping")
    assert lost is not None
    assert (lost.status, lost.reason, lost.message) == ("True", "LossNotFinite", LOST.message)
    assert creeping is not None
    assert creeping.reason == "MemoryLeak"
    assert stage.stored["summary"]["verdict"] == "LossNotFinite"
    assert stage.reasons()[-2:] == ["LossNotFinite", "MemoryLeak"]
    assert stage.status.incident is None
    assert (len(stage.cluster.jobs), stage.forge.pulls) == (1, [])
    ready = stage.condition("Ready")
    assert ready is not None
    assert ready.status == "True"


def test_a_symptom_that_goes_takes_its_condition_with_it(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.sweep.ails = ()
    stage.tick()
    assert stage.condition("NotLearning") is None
    assert stage.reasons()[-1] == "SymptomGone"
    assert stage.stored["summary"]["verdict"] == "Healthy"


def test_a_symptom_that_hardly_moves_is_not_written_again(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LEAK,)
    stage.tick()
    before = stage.stored["symptoms"]
    stage.sweep.ails = (replace(LEAK, message="other words", measured=0.81, full_at=worlds.NOW_S + 34_000),)
    stage.tick()
    assert stage.stored["symptoms"] == before
    stage.sweep.ails = (replace(LEAK, message="soon", since_at=worlds.NOW_S + 9, full_at=worlds.NOW_S + 9_000),)
    stage.tick()
    assert stage.stored["symptoms"] != before
    assert stage.status.symptoms[0].since_at == LEAK.since_at


def test_after_a_restart_a_symptom_stays_until_more_is_known(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.restart()
    stage.sweep.ails = None
    stage.tick()
    assert stage.condition("NotLearning") is not None
    stage.sweep.ails = (LOST,)
    stage.tick()
    assert stage.reasons().count("LossNotFinite") == 1


def test_a_symptom_ends_with_its_workload_and_with_suspension(stage: Stage) -> None:
    stage.settle()
    stage.sweep.ails = (LOST,)
    stage.tick()
    stage.edit(lambda spec: replace(spec, suspend=True))
    stage.tick()
    assert stage.status.symptoms == ()
    stage.edit(lambda spec: replace(spec, suspend=False))
    stage.tick()
    assert stage.status.symptoms == (LOST,)
    stage.cluster.workloads.clear()
    stage.tick()
    assert stage.status.symptoms == ()


def test_a_regression_is_said_before_a_symptom_and_both_are_told(stage: Stage) -> None:
    stage.settle()
    stage.slow_down()
    stage.sweep.ails = (LEAK,)
    stage.explain()
    assert stage.stored["summary"]["verdict"] == "Regressed"
    assert stage.condition("MemoryCreeping") is not None
    assert stage.condition("Regressed") is not None


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
    assert registered["facts"]["global_batch"] == "512"

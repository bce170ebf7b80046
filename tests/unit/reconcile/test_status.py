"""What a tick leaves in the status: conditions that mean what they say, and writes only for what is worth telling."""

import random
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, Retry, Stall, Wait
from mfu_operator.model.baseline import BaselineSpec, Level, Provenance, RecordPlan, RemediationMode, Signal
from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Condition
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, ProfileFact, Recording, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.series import Reading
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.conclude import Failure, failed
from mfu_operator.reconcile.conditions import conditions
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsureJob
from mfu_operator.reconcile.recovery import device_hours_lost, recovered, single_variable
from mfu_operator.reconcile.refresh import edited, refresh
from mfu_operator.reconcile.world import World
from mfu_operator.runtime.sweep import Sweep
from tests.support import worlds
from tests.support.metrics_double import MetricsDouble, SourcesDouble
from tests.support.worlds import ailing, explained, incident, judgement, regressed, spec, world

ABNORMAL = ("Reconciling", "Stalled", "Regressed", "MeasurementFailed", "ProfilingFailed", "ProposalFailed",
            "RecoveryFailed")  # fmt: skip
MERGED = replace(worlds.PROPOSED, state=PullRequestState.MERGED, merged_at=worlds.NOW_S, merge_sha="f" * 40)


def told(seen: World, *failures: Failure) -> dict[str, Condition]:
    return {each.type: each for each in conditions(seen, seen.status, failures)}


def test_a_job_that_is_well_has_one_condition() -> None:
    assert list(told(world())) == ["Ready"]
    assert told(world())["Ready"].status == "True"


@pytest.mark.parametrize(
    "of",
    [incident(), explained(), explained(proposal=worlds.PROPOSED), explained(proposal=MERGED),
     explained(blocked=("NoSingleSuspect", "two commits"))],
)  # fmt: skip
def test_a_regression_leaves_the_baseline_ready(of: Incident) -> None:
    found = told(world(ailing(of), judgement=regressed()))
    assert found["Ready"].status == "True"
    assert found["Regressed"].status == "True"


def test_ready_says_that_the_source_cannot_be_seen_where_a_proposal_would_need_it() -> None:
    problem = Stall("DeliveryForbidden", "grant get on applications")
    assert "DeliveryForbidden: grant get" in told(world(source=None, source_problem=problem))["Ready"].message
    off = world(source=None, source_problem=problem, spec=spec(RemediationMode.OFF))
    assert "DeliveryForbidden" not in told(off)["Ready"].message


def test_a_cool_down_is_told_as_what_the_proposal_waits_for() -> None:
    seen = world(ailing(explained()), judgement=regressed())
    waits = (Wait("CoolDown", "the next proposal may follow at 12:00"),)
    found = {each.type: each for each in conditions(seen, seen.status, (), waits)}
    assert "waiting: CoolDown: the next proposal may follow at 12:00" in found["Reconciling"].message


def test_what_is_abnormal_is_there_only_while_it_is_true() -> None:
    problem = Stall("UnknownKind", "use Job")
    seen = world(ailing(explained(proposal=MERGED)), now_s=worlds.NOW_S + 1e6, problem=problem)
    found = told(seen, Failure("ProfilingFailed", "JobEvicted", ""), Failure("ProposalFailed", "RevertConflict", ""))
    assert set(found) == {"Ready", *ABNORMAL}
    assert {found[kind].status for kind in ABNORMAL} == {"True"}
    assert found["Ready"].status == "False"


def test_a_regression_is_told_by_its_numbers_and_then_by_its_cause() -> None:
    before = told(world(ailing(incident())))["Regressed"]
    after = told(world(ailing(explained())))["Regressed"]
    assert (before.reason, after.reason) == ("LossSustained", "InputStarved")
    assert "mfu 0.381 against the baseline's 0.46 (17.2% slower)" in before.message
    assert "DataLoaderWorkers: input wait 64 of 85 ms per step" in after.message


NOT_READY: list[tuple[dict[str, Any], Status, str, str]] = [
    ({"problem": Retry("PrometheusUnreachable", "is the address right?")}, worlds.SETTLED, "False",
     "PrometheusUnreachable"),
    ({}, replace(worlds.SETTLED, baseline=None), "False", "BaselineRecording"),
    ({}, replace(worlds.SETTLED, judgement=None), "Unknown", "NotMeasured"),
    ({}, replace(worlds.SETTLED, judgement=judgement(Verdict.NO_DATA, reason="Stale")), "False", "Stale"),
    ({}, replace(worlds.SETTLED, judgement=judgement(Verdict.NOT_COMPARABLE, reason="UnitChanged")), "False",
     "UnitChanged"),
    ({"spec": replace(spec(), suspend=True)}, worlds.SETTLED, "Unknown", "Suspended"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "status", "value", "reason"), NOT_READY, ids=[row[3] for row in NOT_READY])
def test_ready_says_why_it_is_not(changes: dict[str, Any], status: Status, value: str, reason: str) -> None:
    ready = told(world(status, **changes))["Ready"]
    assert (ready.status, ready.reason) == (value, reason)


DOING = [
    (incident(), "recording a profile of the slow job"),
    (explained(confirmed_at=None), "confirming that the loss lasts (1.0 of 30.0 min)"),
    (explained(), "looking for the commit"),
    (explained(proposal=MERGED), "waiting for the readings to hold the baseline"),
]


@pytest.mark.parametrize(("of", "doing"), DOING, ids=[row[1] for row in DOING])
def test_reconciling_names_the_fact_that_is_missing(of: Incident, doing: str) -> None:
    assert doing in told(world(ailing(of), judgement=regressed()))["Reconciling"].message


def test_reconciling_says_what_the_next_fact_waits_for() -> None:
    seen = world(ailing(explained()), judgement=regressed())
    found = conditions(seen, seen.status, (), (Wait("CoolDown", "the next may follow at noon"),))
    (reconciling,) = (each for each in found if each.type == "Reconciling")
    assert reconciling.message.endswith("looking for the commit; waiting: CoolDown: the next may follow at noon")


def test_a_dry_run_is_no_answer_where_a_pull_request_is_asked_for() -> None:
    rehearsed = explained(proposal=replace(worlds.PROPOSED, dry_run=True, state=None))
    found = told(world(ailing(rehearsed), judgement=regressed()))["Reconciling"]
    assert "looking for the commit" in found.message


@pytest.mark.parametrize("of", [explained(proposal=worlds.PROPOSED), explained(blocked=("NoSingleSuspect", ""))])
def test_nothing_is_reconciling_while_a_person_is_waited_for(of: Incident) -> None:
    assert "Reconciling" not in told(world(ailing(of), judgement=regressed()))


def test_the_transition_time_is_of_the_status_not_of_the_words() -> None:
    before = Condition("Ready", "False", "Stale", "old", 1, 1000.0)
    seen = world(replace(worlds.SETTLED, judgement=None, conditions=(before,)))
    assert told(replace(seen, problem=Retry("PrometheusUnreachable", "")))["Ready"].last_transition_time == 1000.0
    assert told(world(replace(worlds.SETTLED, conditions=(before,))))["Ready"].last_transition_time == worlds.NOW_S


def test_every_condition_carries_the_generation_that_it_speaks_of() -> None:
    seen = world(ailing(explained()), identity=replace(worlds.IDENTITY, generation=7))
    assert {each.observed_generation for each in told(seen).values()} == {7}


def test_a_failed_profile_is_told_with_its_attempt() -> None:
    of = incident(profile=ProfileFact("job", 2, 0.0, failure=("JobEvicted", "its pod was evicted")))
    found = told(world(ailing(of)))["ProfilingFailed"]
    assert (found.reason, found.message) == ("JobEvicted", "attempt 2: its pod was evicted")


def test_a_job_that_waits_for_a_node_is_told() -> None:
    job = ProfilingJob("mfu-a1", JobPhase.WAITING, 0.0, reason="JobUnschedulable", message="no node takes its pod")
    assert told(world(job=job))["ProfilingFailed"].reason == "JobUnschedulable"
    assert "ProfilingFailed" not in told(world(job=replace(job, reason=None)))


def test_why_there_is_no_proposal_matters_only_to_who_asked_for_one() -> None:
    status = ailing(explained(blocked=("NoSingleSuspect", "two commits are plausible")))
    assert told(world(status))["ProposalFailed"].message == "two commits are plausible"
    assert "ProposalFailed" not in told(world(status, spec=spec(RemediationMode.OFF)))


@pytest.mark.parametrize(("error", "stalled"), [(Retry("A", "a"), False), (Stall("B", "b"), True)])
def test_an_error_becomes_the_condition_of_what_failed(error: Any, stalled: bool) -> None:
    status, failure, events = failed(world(), "ProposalFailed", error)
    assert failure == Failure("ProposalFailed", error.reason, error.message, stalled)
    assert status == worlds.SETTLED
    assert [event.kind for event in events] == ["Warning"]
    assert ("Stalled" in told(world(), failure)) is stalled


def test_waiting_is_no_failure() -> None:
    assert failed(world(), "ProposalFailed", Wait("CoolDown", "")) == (worlds.SETTLED, None, ())


def test_what_a_person_must_decide_is_final_for_the_incident() -> None:
    status, failure, _ = failed(world(ailing(explained())), "ProposalFailed", AskPerson("RevertConflict", "by hand"))
    assert failure is None
    assert status.incident is not None
    assert status.incident.blocked == ("RevertConflict", "by hand")


@pytest.mark.parametrize(("after_s", "failing"), [(300 + 120 + 3 * 600 - 1, False), (300 + 120 + 3 * 600, True)])
def test_a_loss_that_outlives_the_merge_exonerates_the_commit(after_s: float, failing: bool) -> None:
    status = ailing(explained(suspect=worlds.SUSPECT, proposal=MERGED))
    found = told(world(status, now_s=worlds.NOW_S + after_s, judgement=regressed(True)))
    assert ("RecoveryFailed" in found) is failing
    if failing:
        assert f"{worlds.SLOW[:12]} is exonerated" in found["RecoveryFailed"].message


def test_the_recovery_holds_before_regressed_after_and_what_it_cost() -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=MERGED)
    closed = recovered(world(ailing(of)), of, judgement(value=0.458))
    assert closed.recovery is not None
    assert (closed.recovery.before, closed.recovery.regressed, closed.recovery.after) == (0.46, 0.381, 0.458)
    assert closed.recovery.gpu_hours_lost == pytest.approx(0.172 * 8 * 1200 / 3600)


def test_lost_hours_count_gpus_or_else_processes_and_are_never_negative() -> None:
    def lost(drop: float, **comparable: Any) -> float:
        seen = world(spec=replace(spec(), comparable=replace(worlds.COMPARABLE, **comparable)))
        return device_hours_lost(seen, incident(drop=drop))

    assert lost(0.3) == pytest.approx(0.3 * 8 / 3)
    assert lost(0.3, world_size=2) == pytest.approx(0.3 * 2 / 3)
    pair = worlds.workload(pods=(worlds.pod(), worlds.pod(name="gpt-small-y")))
    for gpu_count, devices in ((8, 16), (None, 2)):
        declared = replace(spec(), comparable=replace(worlds.COMPARABLE, gpu_count=gpu_count))
        assert device_hours_lost(world(spec=declared, workload=pair), incident(drop=0.3)) == pytest.approx(
            0.3 * devices / 3
        )
    assert lost(0.3, gpu_count=None) == pytest.approx(0.3 / 3)
    assert lost(-0.1) == 0.0


UNDONE = "commit 222222222222 undone by ffffffffffff (num_workers: 4 → 0)"
BAD, MERGE, OTHER = (
    Deployed(sha * 40, worlds.NOW_S - before_s) for sha, before_s in (("3", 900), ("f", 300), ("9", 600))
)
AFTER_MERGE = [
    ("the merge alone", (BAD, MERGE), ""),
    ("one more revision in between", (BAD, OTHER, MERGE), " and other changes between 333333333333 and ffffffffffff"),
    ("another revision than the merge", (BAD, OTHER), " and other changes between 333333333333 and 999999999999"),
    ("a history that begins later", (MERGE,), " and other changes between 333333333333 and ffffffffffff"),
]


@pytest.mark.parametrize(("deployed", "beside"), [row[1:] for row in AFTER_MERGE], ids=[row[0] for row in AFTER_MERGE])
def test_the_merge_is_the_one_variable_only_where_nothing_else_was_deployed(
    deployed: tuple[Deployed, ...], beside: str
) -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=MERGED, bad_revision=worlds.QUIET)
    seen = world(ailing(of), source=worlds.source(deployed=deployed), workload=worlds.workload(worlds.NOW_S - 60))
    assert single_variable(seen, of) == UNDONE + beside


def test_without_a_source_the_merge_is_not_called_the_one_variable() -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=MERGED, bad_revision=worlds.QUIET)
    assert single_variable(world(ailing(of), source=None), of) == (
        UNDONE + ", and perhaps more: which revision the pods read is not known"
    )


def test_a_person_who_deploys_another_revision_is_told_as_the_one_variable() -> None:
    of = explained(bad_revision=worlds.QUIET)
    assert single_variable(world(ailing(of)), of) == "revision 333333333333 → 111111111111"


def test_a_recovery_without_any_change_names_no_variable() -> None:
    of = explained(bad_revision=worlds.GOOD)
    assert single_variable(world(ailing(of)), of) is None
    assert single_variable(world(ailing(of), source=None), of) is None


def wrote(before: Status, now: Judgement) -> bool:
    status, _ = refresh(world(before, judgement=now))
    return status != before


@pytest.mark.parametrize(
    ("changes", "worth"),
    [
        ({"value": 0.463}, False),
        ({"value": 0.45}, True),
        ({"message": "MFU 0.4601"}, False),
        ({"last_usable_s": worlds.NOW_S + 30}, False),
        ({"evidence_s": 59.0}, False),
        ({"evidence_s": 61.0}, True),
        ({"gates": (Gate.CHECKPOINT,)}, True),
        ({"verdict": Verdict.NO_DATA}, True),
        ({"recovered": True}, True),
    ],
    ids=str,
)
def test_the_judgement_is_written_when_it_tells_more(changes: dict[str, Any], worth: bool) -> None:
    assert wrote(worlds.SETTLED, judgement(**changes)) is worth


def test_a_turn_of_the_verdict_is_told_once() -> None:
    silent = judgement(Verdict.NO_DATA, reason="Stale", message="the last reading is 6 min old")
    status, events = refresh(world(judgement=silent))
    assert [(event.kind, event.reason) for event in events] == [("Warning", "NoData")]
    assert refresh(world(status, judgement=silent))[1] == ()
    assert [event.reason for event in refresh(world(status))[1]] == ["Healthy"]


def test_a_loss_that_was_not_seen_for_a_while_is_told_again_and_its_end_by_the_recovery_alone() -> None:
    silent = judgement(Verdict.NO_DATA, reason="Stale", message="the last reading is 6 min old")
    status, _ = refresh(world(ailing(incident()), judgement=silent))
    assert [event.reason for event in refresh(world(status, judgement=regressed()))[1]] == ["Regressed"]
    assert refresh(world(status))[1] == ()


def test_a_healthy_job_at_noise_level_writes_nothing_for_hours() -> None:
    """With the real sweep and detection: two hours of readings that move by half a per cent."""
    noise, now_s = random.Random(7), worlds.NOW_S
    metrics = MetricsDouble()
    sweep = Sweep(SourcesDouble(metrics), lambda: now_s, 30.0)
    sweep.register(worlds.UID, spec(), worlds.BASELINE)
    status, writes = worlds.SETTLED, 0
    for tick in range(300):
        now_s += 30.0
        metrics.add(worlds.REF, Reading(now_s, {Signal.MFU: 0.46 * (1 + noise.gauss(0, 0.005))}, incarnation="a"))
        sweep.run_once()
        after, _ = refresh(world(status, now_s=now_s, judgement=sweep.judgement(worlds.UID, now_s)))
        writes += tick >= 60 and after != status
        status = after
    assert writes == 0


def recording(seen: Status, recorded: Any, wanted: BaselineSpec | None = None) -> Status:
    plan = replace(spec(), declared=None, declared_spread=None, record=RecordPlan(1800.0, 300.0))
    return refresh(world(seen, spec=wanted or plan, recorded=recorded))[0]


def test_progress_of_a_recording_is_written_in_tenths() -> None:
    empty = replace(worlds.SETTLED, baseline=None)
    started = recording(empty, Recording(worlds.NOW_S, 0.0, 1800.0, 1, 1))
    assert started.recording is not None
    assert recording(started, replace(started.recording, collected_s=170.0)) == started
    assert recording(started, replace(started.recording, collected_s=180.0)) != started
    assert recording(started, replace(started.recording, problem="restarted")) != started


def test_a_recorded_baseline_is_kept_until_another_level_is_declared() -> None:
    recorded = replace(worlds.BASELINE, provenance=Provenance.RECORDED, generation=1, comparable=worlds.COMPARABLE)
    status = recording(replace(worlds.SETTLED, baseline=None), recorded)
    assert (status.baseline, status.recording) == (recorded, None)
    assert recording(status, replace(recorded, level=Level(mfu=0.1))) == status
    declared = refresh(world(status))[0]
    assert declared.baseline == worlds.BASELINE
    assert [past.level for past in declared.previous_baselines] == [recorded.level]


def test_a_declared_level_gives_way_to_a_recording_that_is_asked_for() -> None:
    plan = replace(spec(), declared=None, declared_spread=None, record=RecordPlan(1800.0, 300.0))
    assert edited(worlds.SETTLED, plan, 1, worlds.NOW_S) == worlds.SETTLED
    started = edited(worlds.SETTLED, plan, 2, worlds.NOW_S)
    assert started.baseline is None
    assert [past.level for past in started.previous_baselines] == [worlds.LEVEL]


OTHER_CONFIGURATIONS = [
    {"workload": replace(worlds.REF, name="gpt-large")},
    {"comparable": replace(worlds.COMPARABLE, gpu_count=4)},
    {"declared": Level(mfu=0.4)},
]


@pytest.mark.parametrize("changes", OTHER_CONFIGURATIONS, ids=lambda changes: str(next(iter(changes))))
def test_what_was_learnt_of_another_configuration_is_dropped_and_told_once(changes: dict[str, Any]) -> None:
    settled, told_first = refresh(world())
    assert told_first == ()
    assert (settled.healthy_profile, settled.known_good) == (worlds.HEALTHY_PROFILE, worlds.KNOWN_GOOD)
    edited_spec = replace(spec(), **changes)
    dropped, events = refresh(world(settled, spec=edited_spec))
    assert events[0].reason == "ConfigurationChanged"
    assert dropped.known_good is None
    assert dropped.healthy_profile is not None
    assert (dropped.healthy_profile.account, dropped.healthy_profile.failure is None) == (None, False)
    assert [each.reason for each in refresh(world(dropped, spec=edited_spec))[1]] == []


def test_an_edit_of_anything_else_keeps_what_was_learnt() -> None:
    settled = refresh(world())[0]
    for other in (spec(RemediationMode.OFF), replace(spec(), detection=replace(spec().detection, sustain_s=300.0))):
        assert refresh(world(settled, spec=other))[0].known_good == worlds.KNOWN_GOOD


THRICE_FAILED = ProfileFact("mfu-gpt-small-3f2a91c0-1-a3", 3, worlds.NOW_S, failure=("JobFailed", ""), image="old")
GIVEN_UP = Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, ("3 profiling Jobs failed",))


@pytest.mark.parametrize(("generation", "image"), [(2, "old"), (1, "new")])
def test_three_failures_are_final_only_until_the_spec_or_the_profiler_is_another(generation: int, image: str) -> None:
    stuck = incident(profile=THRICE_FAILED, diagnosis=GIVEN_UP, blocked=("Inconclusive", "no profile"))
    status = ailing(stuck, healthy_profile=THRICE_FAILED)
    assert edited(status, spec(), 1, worlds.NOW_S, "old") == status
    anew = edited(status, spec(), generation, worlds.NOW_S, image)
    assert anew.incident is not None
    assert (anew.incident.diagnosis, anew.incident.blocked) == (None, None)
    step = decide(world(anew, judgement=regressed()))
    assert isinstance(step, EnsureJob)
    assert (step.profile.attempt, step.profile.earlier_attempts) == (4, 3)
    healthy = decide(world(replace(anew, incident=None)))
    assert isinstance(healthy, EnsureJob)
    assert healthy.profile.attempt == 4
    assert edited(anew, spec(), generation, worlds.NOW_S, image).healthy_profile == anew.healthy_profile


def test_a_diagnosis_that_an_account_led_to_outlives_an_edit() -> None:
    found = replace(GIVEN_UP, evidence=("graphs hide the kernels",))
    status = ailing(explained(diagnosis=found))
    assert edited(status, spec(), 2, worlds.NOW_S, "new").incident == explained(diagnosis=found)

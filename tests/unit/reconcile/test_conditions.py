"""Conditions that mean what they say: what is abnormal is there while it is true, with its reason."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import AskPerson, Retry, Stall, Wait
from mfu_operator.model.baseline import RemediationMode
from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Condition
from mfu_operator.model.incident import Incident, ProfileFact, Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.conclude import Failure, failed
from mfu_operator.reconcile.conditions import conditions
from mfu_operator.reconcile.world import World
from tests.support import worlds
from tests.support.worlds import ailing, explained, incident, judgement, regressed, spec, world

ABNORMAL = ("Reconciling", "Stalled", "Regressed", "MeasurementFailed", "ProfilingFailed", "ProposalFailed",
            "RecoveryFailed")  # fmt: skip


def told(seen: World, *failures: Failure) -> dict[str, Condition]:
    return {each.type: each for each in conditions(seen, seen.status, failures)}


def test_a_job_that_is_well_is_ready_and_not_regressed() -> None:
    found = told(world())
    assert {kind: each.status for kind, each in found.items()} == {"Ready": "True", "Regressed": "False"}
    assert (found["Regressed"].reason, found["Regressed"].message) == ("NoIncident", "no incident is open")


@pytest.mark.parametrize(
    "seen",
    [
        world(),
        world(Status()),
        world(spec=replace(spec(), suspend=True)),
        world(problem=Stall("UnknownKind", "use Job")),
        world(replace(worlds.SETTLED, baseline=None)),
        world(ailing(incident())),
    ],
    ids=["well", "new", "suspended", "not measured", "recording", "slow"],
)
def test_that_an_incident_is_over_can_be_waited_for_whatever_else_holds(seen: World) -> None:
    assert told(seen)["Regressed"].status == ("True" if seen.status.incident else "False")


def test_the_end_of_an_incident_is_a_transition_and_what_follows_is_none() -> None:
    slow = told(world(ailing(incident())))["Regressed"]
    over = replace(worlds.SETTLED, conditions=(slow,))
    ended = told(world(over, now_s=worlds.NOW_S + 60))["Regressed"]
    assert ended.last_transition_time == worlds.NOW_S + 60
    later = told(world(replace(over, conditions=(ended,)), now_s=worlds.NOW_S + 120))["Regressed"]
    assert later == ended


@pytest.mark.parametrize(
    "of",
    [incident(), explained(), explained(proposal=worlds.PROPOSED), explained(proposal=worlds.MERGED),
     explained(blocked=("NoSingleSuspect", "two commits"))],
)  # fmt: skip
def test_a_regression_leaves_the_baseline_ready(of: Incident) -> None:
    found = told(world(ailing(of), judgement=regressed()))
    assert found["Ready"].status == "True"
    assert found["Regressed"].status == "True"


def test_ready_says_that_the_source_cannot_be_seen_where_a_proposal_would_need_it() -> None:
    problem = Stall("DeliveryForbidden", "grant get on applications")
    assert "DeliveryForbidden: grant get" in told(world(source=None, source_problem=problem))["Ready"].message
    off = world(source=None, source_problem=problem, spec=spec(RemediationMode.OBSERVE))
    assert "DeliveryForbidden" not in told(off)["Ready"].message


def test_an_old_value_of_the_spec_is_said_until_it_is_gone() -> None:
    old = world(spec=replace(spec(), deprecated=("spec.profiling.mode: Off is called Never now",)))
    found = told(old)["Deprecated"]
    assert (found.reason, found.message[:20]) == ("OldValue", "spec.profiling.mode:")
    assert told(old)["Ready"].status == "True"
    assert "Deprecated" not in told(world())


def test_what_is_abnormal_is_there_only_while_it_is_true() -> None:
    problem = Stall("UnknownKind", "use Job")
    seen = world(ailing(explained(proposal=worlds.MERGED)), now_s=worlds.NOW_S + 1e6, problem=problem)
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
    (explained(proposal=worlds.MERGED), "waiting for the readings to hold the baseline"),
]


@pytest.mark.parametrize(("of", "doing"), DOING, ids=[row[1] for row in DOING])
def test_reconciling_names_the_fact_that_is_missing(of: Incident, doing: str) -> None:
    assert doing in told(world(ailing(of), judgement=regressed()))["Reconciling"].message


def test_reconciling_says_what_the_next_fact_waits_for() -> None:
    seen = world(ailing(explained()), judgement=regressed())
    found = conditions(seen, seen.status, (), (Wait("CoolDown", "the next may follow at noon"),))
    (reconciling,) = (each for each in found if each.type == "Reconciling")
    assert "looking for the commit; waiting: CoolDown: the next may follow at noon" in reconciling.message


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
    assert found.reason == "JobEvicted"
    assert found.message == "attempt 2: its pod was evicted (https://runbooks.example/reasons.md#jobevicted)"


def test_a_job_that_waits_for_a_node_is_told() -> None:
    job = ProfilingJob("mfu-a1", JobPhase.WAITING, 0.0, reason="JobUnschedulable", message="no node takes its pod")
    assert told(world(job=job))["ProfilingFailed"].reason == "JobUnschedulable"
    assert "ProfilingFailed" not in told(world(job=replace(job, reason=None)))


def test_why_there_is_no_proposal_matters_only_to_who_asked_for_one() -> None:
    status = ailing(explained(blocked=("NoSingleSuspect", "two commits are plausible")))
    assert told(world(status))["ProposalFailed"].message.startswith("two commits are plausible (")
    assert "ProposalFailed" not in told(world(status, spec=spec(RemediationMode.OBSERVE)))


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
def test_a_loss_that_outlives_the_merge_is_told_once_it_should_be_over(after_s: float, failing: bool) -> None:
    status = ailing(explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED))
    found = told(world(status, now_s=worlds.NOW_S + after_s, judgement=regressed(True)))
    assert ("RecoveryFailed" in found) is failing
    if failing:
        assert found["RecoveryFailed"].reason == "NotRolledOut"


def test_a_loss_that_remains_where_the_merge_runs_is_about_to_exonerate_the_commit() -> None:
    status = ailing(explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED))
    synced = Deployed("f" * 40, worlds.NOW_S + 10)
    source = worlds.source(deployed=(*worlds.source().deployed, synced))
    run = worlds.workload(worlds.NOW_S + 30)
    found = told(world(status, now_s=worlds.NOW_S + 3000, judgement=regressed(True), source=source, workload=run))
    assert found["RecoveryFailed"].reason == "NotRecovered"
    assert f"{worlds.SLOW[:12]} is exonerated once" in found["RecoveryFailed"].message


def test_a_condition_says_where_its_reason_is_explained_unless_all_is_well() -> None:
    ailing_world = world(ailing(explained(blocked=("NoSuspect", "none fits"))))
    assert told(ailing_world)["ProposalFailed"].message == "none fits (https://runbooks.example/reasons.md#nosuspect)"
    offline = replace(ailing_world, defaults=replace(ailing_world.defaults, runbook_base_url=None))
    assert told(offline)["ProposalFailed"].message == "none fits (kubectl mfu runbook NoSuspect)"
    ready = told(offline)["Ready"]
    assert (ready.status, "runbook" in ready.message) == ("True", False)

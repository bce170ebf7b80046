"""After a recovery the step is captured once more, and the record says whether what had grown is back."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.errors import Retry, Stall, Wait
from mfu_operator.model.account import StepAccount
from mfu_operator.model.baseline import Profiling, ProfilingMode
from mfu_operator.model.condition import Event
from mfu_operator.model.incident import Incident, ProfileFact, Proof, Status
from mfu_operator.model.verdict import Gate, Judgement, Verdict
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.after.capture import WITHIN_S, capture_again
from mfu_operator.reconcile.after.proof import awaited, begun
from mfu_operator.reconcile.conclude import conclude, failed
from mfu_operator.reconcile.effects import EnsureJob, JobEnsured, Record, Step, Subject
from mfu_operator.reconcile.healthy import open_incident, profile_once
from mfu_operator.reconcile.incident import close_recovered
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.profile import by_their_names
from mfu_operator.reconcile.world import Need, World
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.worlds import FAST_STEP, NOW_S, SETTLED, SLOW_STEP, account, explained, judgement, regressed, world

NEVER = Profiling(mode=ProfilingMode.NEVER)
JOB = "mfu-gpt-small-3f2a91c0-1-after-a1"
SUBJECT = "gpt-small-3f2a91c0-1-after"
GROWN = Proof("idleInput", 0.2e6, 64e6)
LAUNCHED = ProfileFact(JOB, 1, NOW_S - 120)
CLOSED = explained(recovery=worlds.RECOVERY, proof=GROWN)
BACK = account(idleInput=0.3, loaderThreads=4.0, loader="workers")


def after(proof: Proof | None = GROWN, **changes: Any) -> World:
    """A tick of a job that recovered, with what is known of the proof."""
    facts: dict[str, Any] = {"status": replace(SETTLED, history=(replace(CLOSED, proof=proof),))}
    return replace(world(), **(facts | changes))


def captured(brought: StepAccount | None = BACK, **changes: Any) -> World:
    """A tick after the Job ended."""
    ended = ProfilingJob(JOB, JobPhase.SUCCEEDED, NOW_S - 110, NOW_S - 10, "node-7", owner=worlds.UID, subject=SUBJECT)
    result = compact.encode(brought) if brought is not None else None
    return after(replace(GROWN, profile=LAUNCHED), **({"job": replace(ended, result=result)} | changes))


def proof_of(step: Step | None) -> Proof:
    assert isinstance(step, Record)
    found = step.status.history[0].proof
    assert found is not None
    return found


def test_the_part_that_had_grown_most_is_noted_when_the_incident_closes() -> None:
    step = close_recovered(world(worlds.ailing(explained())))
    assert proof_of(step) == Proof("idleInput", 200_000.0, 64_000_000.0)


NOTHING_TO_CAPTURE: list[tuple[str, Incident, dict[str, Any]]] = [
    ("ProfilingNever", explained(), {"spec": worlds.spec(profiling=NEVER)}),
    ("SlowStepUnknown", explained(profile=None), {}),
    ("SlowStepUnknown", explained(profile=replace(worlds.PROFILED, account=None)), {}),
    ("HealthyStepUnknown", explained(), {"status": replace(SETTLED, healthy_profile=None)}),
    ("StepNotGrown", explained(profile=replace(worlds.PROFILED, account=FAST_STEP)), {}),
    (
        "NotComparable",
        explained(profile=replace(worlds.PROFILED, account=replace(SLOW_STEP, account_from="gpu"))),
        {},
    ),
]


@pytest.mark.parametrize(("reason", "of", "changes"), NOTHING_TO_CAPTURE)
def test_an_incident_of_which_no_part_is_known_to_have_grown_says_so(
    reason: str, of: Incident, changes: dict[str, Any]
) -> None:
    found = begun(replace(world(), **changes), of)
    assert found.missing is not None and found.missing[0] == reason
    assert capture_again(after(found)) is None


def test_growth_that_no_diagnosis_would_name_is_none() -> None:
    for grown_ms, part in ((0.52, None), (0.54, "idleInput")):
        slow = account(idleInput=0.2 + grown_ms)
        assert begun(world(), explained(profile=replace(worlds.PROFILED, account=slow))).part == part


def test_one_job_is_launched_that_is_named_after_the_incident() -> None:
    step = capture_again(after())
    assert isinstance(step, EnsureJob)
    assert (step.subject, step.profile.job, step.profile.attempt) == (Subject.RECOVERY, JOB, 1)
    assert step.manifest["metadata"]["labels"]["mfu-operator.io/incident"] == SUBJECT
    concluded = conclude(after(), step, JobEnsured())
    assert concluded.status.history[0].proof == replace(GROWN, profile=step.profile)
    told = f"Job {JOB} records the job after incident {CLOSED.id}"
    assert concluded.events == (Event("Normal", "CapturingAgain", told, JOB),)


def test_the_id_of_a_capture_fits_into_a_label_however_long_the_incidents_is() -> None:
    step = capture_again(after(status=replace(SETTLED, history=(replace(CLOSED, id="a" * 63),))))
    assert isinstance(step, EnsureJob)
    label = step.manifest["metadata"]["labels"]["mfu-operator.io/incident"]
    assert len(label) == 63 and label.endswith("-after")
    assert len(step.profile.job) <= 63


NOT_NOW: list[tuple[str, World]] = [
    ("never an incident", world()),
    ("closed by an earlier release", after(None)),
    ("nothing grew", after(Proof())),
    ("closed without a recovery", after(status=replace(SETTLED, history=(replace(CLOSED, recovery=None),)))),
    ("captured already", after(replace(GROWN, after_ns=1.0))),
    ("given up", after(replace(GROWN, missing=("JobGone", "deleted")))),
    ("slow again", after(status=worlds.ailing(worlds.INCIDENT, history=(CLOSED,)))),
    ("a trace of loss", after(judgement=judgement(evidence_s=1.0))),
    ("gated", after(judgement=judgement(gates=(Gate.CHECKPOINT,)))),
    ("nothing judged", after(judgement=None)),
    ("the pods started just now", after(workload=worlds.workload(NOW_S - 60))),
    (
        "the healthy job is profiled",
        after(
            status=replace(SETTLED, history=(CLOSED,), healthy_profile=replace(worlds.HEALTHY_PROFILE, account=None))
        ),
    ),
]


@pytest.mark.parametrize("here", [row[1] for row in NOT_NOW], ids=[row[0] for row in NOT_NOW])
def test_nothing_is_launched(here: World) -> None:
    assert capture_again(here) is None


def test_the_healthy_job_is_not_profiled_beside_it() -> None:
    outdated = replace(worlds.HEALTHY_PROFILE, account=account(analysis=1.0), image="old")
    status = replace(SETTLED, history=(CLOSED,), healthy_profile=outdated)
    assert isinstance(profile_once(after(status=status)), EnsureJob)
    beside = replace(CLOSED, proof=replace(GROWN, profile=LAUNCHED))
    assert profile_once(after(status=replace(status, history=(beside,)))) is None


def test_a_job_that_can_be_profiled_no_more_leaves_the_reason_in_the_record() -> None:
    several = worlds.workload(pods=(worlds.pod(), worlds.pod(name="gpt-small-y")), pod_count=2)
    step = capture_again(after(workload=several))
    missing = proof_of(step).missing
    assert missing is not None and missing[0] == "NotInstrumented"
    assert isinstance(step, Record)
    assert step.events[0].reason == "NotCapturedAgain"


def test_what_could_not_be_captured_within_a_day_is_not_waited_for() -> None:
    end_s = worlds.RECOVERY.recovered_at + WITHIN_S
    waiting = judgement(evidence_s=1.0)
    assert capture_again(after(now_s=end_s, judgement=waiting)) is None
    missing = proof_of(capture_again(after(now_s=end_s + 1, judgement=waiting))).missing
    assert missing is not None and missing[0] == "NotInTime"


def test_profiling_that_was_switched_off_since_launches_nothing() -> None:
    missing = proof_of(capture_again(after(spec=worlds.spec(profiling=NEVER)))).missing
    assert missing == ("ProfilingNever", "spec.profiling.mode is Never")


def test_a_launch_that_is_refused_for_good_is_done_without_and_one_that_failed_is_tried_again() -> None:
    effect = capture_again(after())
    assert isinstance(effect, EnsureJob)
    status, failure, events = failed(after(), "ProfilingFailed", Stall("ClusterRefused", "no"), effect)
    assert status.history[0].proof == replace(GROWN, missing=("ClusterRefused", "no"))
    assert (failure, [each.reason for each in events]) == (None, ["NotCapturedAgain"])
    status, failure, _ = failed(after(), "ProfilingFailed", Retry("ClusterUnreachable", "503"), effect)
    assert status == after().status and failure is not None
    assert failed(after(), "ProfilingFailed", Wait("BudgetSpent", "tomorrow"), effect) == (after().status, None, ())


def test_what_the_step_takes_after_the_recovery_is_told() -> None:
    step = capture_again(captured())
    ended = replace(LAUNCHED, node="node-7", finished_at=NOW_S - 10)
    assert proof_of(step) == replace(GROWN, after_ns=300_000.0, gone=True, profile=ended)
    told = "idleInput took 0.2 / 64.0 / 0.3 ms in the healthy, the slow and the recovered step: the gap is gone"
    assert isinstance(step, Record)
    assert step.events == (Event("Normal", "CapturedAgain", told),)


def test_what_is_left_of_the_gap_is_not_called_gone() -> None:
    for left_ms, gone in ((0.52, True), (0.54, False)):
        assert proof_of(capture_again(captured(account(idleInput=0.2 + left_ms)))).gone is gone


def test_a_capture_that_cannot_be_held_against_the_healthy_step_says_so() -> None:
    missing = proof_of(capture_again(captured(replace(BACK, account_from="gpu")))).missing
    assert missing is not None and missing[0] == "NotComparable"
    forgotten = captured().status
    step = capture_again(captured(status=replace(forgotten, healthy_profile=None)))
    missing = proof_of(step).missing
    assert missing is not None and missing[0] == "HealthyStepUnknown"


def test_a_job_that_failed_is_the_end_of_it() -> None:
    job = ProfilingJob(JOB, JobPhase.FAILED, NOW_S - 110, NOW_S, reason="JobEvicted", message="low on memory",
                       owner=worlds.UID, subject=SUBJECT)  # fmt: skip
    found = proof_of(capture_again(captured(job=job)))
    assert found.missing is not None and found.missing[0] == "JobEvicted"
    assert capture_again(after(found)) is None


def test_a_job_of_another_name_is_not_taken_for_it() -> None:
    found = proof_of(capture_again(captured(job=replace(captured().job, subject="gpt-small-3f2a91c0-1"))))  # type: ignore[type-var]
    assert found.missing is not None and found.missing[0] == "JobNotOurs"


DOUBTED: list[Judgement | None] = [None, judgement(evidence_s=1.0), judgement(Verdict.NO_DATA), regressed()]


@pytest.mark.parametrize("judged", DOUBTED, ids=["not judged", "a trace of loss", "silent", "slow"])
def test_what_was_captured_counts_once_the_job_is_known_to_be_well(judged: Judgement | None) -> None:
    assert capture_again(captured(judgement=judged)) is None


def test_another_loss_ends_the_wait_for_it() -> None:
    for proof in (GROWN, replace(GROWN, profile=LAUNCHED)):
        step = open_incident(after(proof, judgement=regressed()))
        assert isinstance(step, Record) and step.status.incident is not None
        told = f"another loss set in before, incident {step.status.incident.id}"
        assert step.status.history[0].proof == replace(proof, missing=("SlowAgain", told))


def test_its_job_is_looked_at_while_it_is_under_way() -> None:
    status = captured().status
    assert awaited(status) == LAUNCHED
    assert Need.JOB in needs(worlds.spec(), status, judgement())
    assert awaited(after().status) is None
    assert Need.JOB not in needs(worlds.spec(), after().status, judgement())


def test_its_name_follows_from_the_incident_whatever_somebody_wrote_there() -> None:
    renamed = replace(GROWN, profile=replace(LAUNCHED, job="mfu-somebody-elses-a1"))
    status: Status = replace(SETTLED, history=(replace(CLOSED, proof=renamed),))
    assert by_their_names(status, worlds.IDENTITY).history[0].proof == replace(GROWN, profile=LAUNCHED)

"""What each step of an open incident takes, and what it leaves to the next one."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.detect.hardware import NODES_CHANGED, Finding
from mfu_operator.errors import AskPerson, MfuError, Retry, Wait
from mfu_operator.model.baseline import Profiling, ProfilingMode, RemediationMode
from mfu_operator.model.commit import Deployed
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Exoneration, Incident, KnownGood, Recovery
from mfu_operator.model.verdict import Verdict
from mfu_operator.model.workload import JobPhase
from mfu_operator.reconcile import incident as steps
from mfu_operator.reconcile.effects import EnsureJob, Investigate, Record, Step, Subject
from mfu_operator.reconcile.world import UNSEEN, World
from tests.support import worlds
from tests.support.worlds import NOW_S, ailing, explained, incident, judgement, pod, regressed, source, spec, workload
from tests.unit.reconcile.stories import FINISHED, LAUNCHED

OFF = replace(spec(), profiling=Profiling(ProfilingMode.NEVER))
PAIR = workload(pods=(pod(), pod(name="gpt-small-y")))
FAILED = replace(LAUNCHED, failure=("JobFailed", "exit code 1"), created_at=NOW_S - 7200)
THRICE = replace(FAILED, attempt=4, earlier_attempts=1)


def slow(of: Incident, known: KnownGood | None = worlds.KNOWN_GOOD, **changes: Any) -> World:
    """A tick while the incident is open."""
    return worlds.world(ailing(of, known_good=known), **({"judgement": regressed()} | changes))


def record(step: Step | None) -> tuple[Incident, Event]:
    """The incident after a step that needed nothing from the world, and what was told."""
    assert isinstance(step, Record)
    assert step.status.incident is not None
    (event,) = step.events
    return step.status.incident, event


def raised(world: World) -> MfuError:
    with pytest.raises(MfuError) as caught:
        steps.propose(world)
    return caught.value


def test_an_incident_is_closed_when_the_readings_hold_the_baseline_and_not_before() -> None:
    of = explained(suspect=worlds.SUSPECT, proposal=worlds.MERGED, bad_revision=worlds.QUIET)
    for judged in (None, regressed(), judgement(Verdict.NO_DATA)):
        assert steps.close_recovered(slow(of, judgement=judged)) is None
    past = explained(id="before")
    here = slow(of, judgement=judgement(value=0.4581))
    step = steps.close_recovered(replace(here, status=replace(here.status, history=(past,))))
    assert isinstance(step, Record)
    closed = step.status.history[0]
    assert (step.status.incident, step.status.history[1:]) == (None, (past,))
    assert isinstance(closed.recovery, Recovery)
    assert step.events == (
        Event(
            "Normal",
            "Recovered",
            "incident gpt-small-3f2a91c0-1: mfu 0.46 before, 0.381 regressed, 0.4581 after, 0.459 device-hours lost; "
            "what changed: commit 222222222222 undone by ffffffffffff (num_workers: 4 → 0) and other changes between "
            "333333333333 and 111111111111",
        ),
    )


def test_a_recovery_without_a_cause_names_none_and_the_history_is_bounded() -> None:
    here = slow(incident(), judgement=judgement(value=0.458))
    many = tuple(explained(id=str(number)) for number in range(50))
    step = steps.close_recovered(replace(here, status=replace(here.status, history=many)))
    assert isinstance(step, Record)
    assert step.events[0].message.endswith("0.459 device-hours lost")
    assert len(step.status.history) < 50
    assert [each.id for each in step.status.history[:2]] == [worlds.INCIDENT.id, "0"]


@pytest.mark.parametrize(
    ("of", "changes"),
    [
        (incident(), {"spec": OFF}),
        (incident(profile=FAILED), {"spec": OFF}),
        (incident(diagnosis=worlds.STARVED), {}),
        (incident(diagnosis=worlds.STARVED, profile=LAUNCHED), {"job": FINISHED}),
        (incident(profile=worlds.PROFILED), {}),
        (incident(profile=worlds.PROFILED), {"job": replace(FINISHED, phase=JobPhase.FAILED)}),
        (incident(profile=LAUNCHED), {"job": replace(FINISHED, phase=JobPhase.RUNNING)}),
        (incident(profile=replace(FAILED, created_at=NOW_S)), {}),
        (incident(profile=THRICE), {}),
        (incident(), {"workload": PAIR}),
    ],
    ids=["off", "off since", "diagnosed", "diagnosed since", "there", "there, whatever the Job says", "under way",
         "failed just now", "failed for good", "no way"],
)  # fmt: skip
def test_no_profile_is_taken(of: Incident, changes: dict[str, Any]) -> None:
    assert steps.take_profile(slow(of, **changes)) is None


def test_the_slow_job_is_profiled_and_again_after_a_failure() -> None:
    first, again = steps.take_profile(slow(incident())), steps.take_profile(slow(incident(profile=FAILED)))
    assert isinstance(first, EnsureJob) and isinstance(again, EnsureJob)
    assert (first.subject, first.profile.job) == (Subject.INCIDENT, f"mfu-{worlds.INCIDENT.id}-a1")
    assert (again.subject, again.profile.attempt) == (Subject.INCIDENT, 2)


def test_what_the_job_came_to_is_noted() -> None:
    of, event = record(steps.take_profile(slow(incident(profile=LAUNCHED), job=FINISHED)))
    assert of.profile is not None and of.profile.account is not None
    assert event == Event("Normal", "Profiled", f"Job {LAUNCHED.job} brought the slow step's account")
    broken = replace(FINISHED, phase=JobPhase.FAILED, result=None, reason="JobEvicted", message="the node is full")
    of, event = record(steps.take_profile(slow(incident(profile=LAUNCHED), job=broken)))
    assert of.profile is not None
    assert event == Event("Warning", "JobEvicted", f"profiling Job {LAUNCHED.job}: the node is full")


def diagnosis(world: World) -> Diagnosis:
    of, event = record(steps.explain(world))
    assert of.diagnosis is not None
    assert (event.kind, event.reason) == ("Warning", "Diagnosed")
    return of.diagnosis


INCONCLUSIVE: list[tuple[str, Incident, dict[str, Any], str]] = [
    ("profiling is off", incident(), {"spec": OFF}, "spec.profiling.mode is Never, so no step was recorded"),
    ("profiling is off since", incident(profile=LAUNCHED), {"spec": OFF}, "spec.profiling.mode is Never, so no step"),
    ("no way", incident(), {"workload": PAIR}, "NotInstrumented: "),
    ("no way any more", incident(profile=FAILED), {"workload": PAIR}, "NotInstrumented: "),
    ("given up", incident(profile=THRICE), {}, "3 profiling Jobs failed, the last with JobFailed: exit code 1"),
]


@pytest.mark.parametrize(
    ("of", "changes", "told"), [row[1:] for row in INCONCLUSIVE], ids=[row[0] for row in INCONCLUSIVE]
)
def test_without_an_account_the_loss_is_inconclusive_and_says_why(
    of: Incident, changes: dict[str, Any], told: str
) -> None:
    found = diagnosis(slow(of, **changes))
    assert (found.bottleneck, found.cause, found.confidence) == (Bottleneck.INCONCLUSIVE, None, 0.0)
    assert found.runbook == "runbooks/inconclusive.md"
    assert found.evidence[0].startswith(told)


@pytest.mark.parametrize(
    ("of", "changes"),
    [
        (explained(), {}),
        (incident(), {}),
        (incident(profile=LAUNCHED), {}),
        (incident(profile=LAUNCHED), {"workload": PAIR}),
        (incident(profile=replace(LAUNCHED, attempt=3)), {}),
        (incident(profile=FAILED), {}),
        (incident(), {"workload": workload(pods=(pod(), pod(NOW_S - 5)))}),
    ],
    ids=[
        "explained",
        "not tried",
        "under way",
        "under way, and no way since",
        "the third under way",
        "to be tried again",
        "rolling out",
    ],
)
def test_nothing_is_explained_while_a_profile_may_come(of: Incident, changes: dict[str, Any]) -> None:
    assert steps.explain(slow(of, **changes)) is None


def test_the_account_is_set_against_the_healthy_one_where_there_is_one() -> None:
    of = incident(profile=worlds.PROFILED)
    here = slow(of)
    assert diagnosis(here).cause == "DataLoaderWorkers"
    assert set(diagnosis(here).delta_ns) != set()
    for healthy in (None, FAILED):
        assert diagnosis(replace(here, status=replace(here.status, healthy_profile=healthy))).delta_ns == {}


def test_what_was_not_measured_stands_behind_the_evidence_of_an_account_of_gpus() -> None:
    account = replace(worlds.SLOW_STEP, gpu="H100")
    missing = ("XID not measured", "clocks not measured")
    told = "hardware is not ruled out: XID not measured; clocks not measured"
    here = slow(incident(profile=replace(worlds.PROFILED, account=account)), unmeasured=missing)
    healthy = replace(worlds.HEALTHY_PROFILE, account=replace(worlds.FAST_STEP, gpu="H100"))
    here = replace(here, status=replace(here.status, healthy_profile=healthy), supporting=("GPUs are busy 40 %",))
    assert diagnosis(here).evidence[-2:] == (told, "GPUs are busy 40 %")
    assert len(diagnosis(here).evidence) > 2
    on_cpus = slow(incident(profile=worlds.PROFILED), unmeasured=missing)
    for known in (replace(here, unmeasured=()), on_cpus):
        assert not any("ruled out" in said for said in diagnosis(known).evidence)


def test_a_diagnosis_is_told_with_bottleneck_cause_confidence_and_evidence() -> None:
    hot = Finding(Bottleneck.STRAGGLER, "SlowNode", "node-1", "slow")
    _, event = record(steps.explain(slow(incident(profile=worlds.PROFILED), findings=(hot,))))
    assert event.message == "Straggler (SlowNode), confidence 90%: node-1: slow"
    _, event = record(steps.explain(slow(incident(), spec=OFF, supporting=("GPUs are busy",))))
    assert event.message == (
        "Inconclusive, confidence 0%: spec.profiling.mode is Never, so no step was recorded; GPUs are busy"
    )
    same = replace(worlds.PROFILED, account=worlds.FAST_STEP)
    _, event = record(steps.explain(slow(incident(profile=same))))
    assert event.message.startswith("nothing grew, confidence ")


HOT = Finding(Bottleneck.STRAGGLER, "SlowNode", "node-1", "slow")
XID = Finding(Bottleneck.HARDWARE_DEGRADED, "Xid", "node-2", "XID 79")
MOVED = Finding(Bottleneck.HARDWARE_DEGRADED, NODES_CHANGED, "node-9", "the run is on node-9")


def test_what_the_hardware_shows_is_named_by_its_first_finding_with_every_one_as_evidence() -> None:
    found = steps.outside_of_commits(slow(incident(), findings=(MOVED, HOT, XID)))
    assert found == Diagnosis(
        Bottleneck.STRAGGLER, "SlowNode", 0.9, ("node-1: slow", "node-2: XID 79"), runbook="runbooks/straggler.md"
    )
    assert steps.outside_of_commits(slow(incident(), findings=(MOVED,))) is None


def test_the_profile_s_own_look_at_the_gpus_counts_for_what_it_did_not_see_on_the_healthy_job() -> None:
    of = incident(profile=replace(LAUNCHED, hardware=("width 8", "capped")))
    here = slow(of)
    usual = replace(worlds.HEALTHY_PROFILE, hardware=("capped",))
    found = steps.outside_of_commits(replace(here, status=replace(here.status, healthy_profile=usual)))
    degraded, runbook = Bottleneck.HARDWARE_DEGRADED, "runbooks/hardware-degraded.md"
    assert found == Diagnosis(degraded, "HardwareFault", 0.9, ("width 8",), runbook=runbook)
    alone = steps.outside_of_commits(replace(here, status=replace(here.status, healthy_profile=None)))
    assert alone is not None and alone.evidence == ("width 8", "capped")
    assert steps.outside_of_commits(slow(incident())) is None


def test_a_run_that_moved_may_be_slow_for_its_node_unless_only_a_program_does_what_is_seen() -> None:
    slower = incident(profile=replace(worlds.PROFILED, account=worlds.account(compute=40.0)))
    found = diagnosis(slow(slower, findings=(XID, MOVED)))
    assert found.cause == "Xid"
    found = diagnosis(slow(slower, findings=(MOVED,)))
    assert (found.bottleneck, found.cause, found.confidence) == (Bottleneck.HARDWARE_DEGRADED, NODES_CHANGED, 0.5)
    assert found.evidence[0] == "node-9: the run is on node-9" and len(found.evidence) > 1
    assert found.runbook == "runbooks/hardware-degraded.md"
    assert diagnosis(slow(incident(profile=worlds.PROFILED), findings=(MOVED,))).cause == "DataLoaderWorkers"


LASTED = explained(confirmed_at=None)


def test_a_loss_is_confirmed_with_what_it_is_by_now() -> None:
    of, event = record(steps.confirm(slow(LASTED, judgement=regressed(True, value=0.37, drop=0.2))))
    assert of == replace(LASTED, confirmed_at=NOW_S, regressed_value=0.37, drop=0.2)
    assert event == Event("Warning", "Confirmed", regressed().message)
    of, _ = record(steps.confirm(slow(LASTED, judgement=regressed(True, value=None, drop=None))))
    assert of == replace(LASTED, confirmed_at=NOW_S)


@pytest.mark.parametrize(
    ("of", "judged"),
    [
        (explained(), regressed(True)),
        (LASTED, None),
        (LASTED, regressed()),
        (replace(LASTED, opened_at=NOW_S), regressed(True)),
        (LASTED, judgement(Verdict.NOT_COMPARABLE, confirmed=True)),
    ],
    ids=["confirmed before", "not judged", "too short", "judged before it was opened", "not comparable"],
)
def test_a_loss_is_not_confirmed(of: Incident, judged: Any) -> None:
    assert steps.confirm(slow(of, judgement=judged)) is None


def test_a_loss_that_began_later_by_a_clock_that_was_set_back_is_confirmed() -> None:
    assert steps.confirm(slow(replace(LASTED, opened_at=NOW_S + 60), judgement=regressed(True))) is not None


HARDWARE = explained(diagnosis=Diagnosis(Bottleneck.HARDWARE_DEGRADED, "Xid", 0.9, ("XID 79",)))


def test_what_carries_no_proposal_is_said_by_the_hardware_first() -> None:
    of, event = record(steps.rule_out(slow(HARDWARE)))
    assert of.blocked == ("HardwareDegraded", "no commit did this: XID 79")
    assert event == Event("Warning", *of.blocked)
    of, _ = record(steps.rule_out(slow(HARDWARE, findings=(HOT,))))
    assert of.blocked == ("Straggler", "no commit did this: node-1: slow")


@pytest.mark.parametrize(
    "here",
    [
        slow(explained()),
        slow(incident(), findings=(HOT,)),
        slow(HARDWARE, spec=spec(RemediationMode.OBSERVE)),
        slow(replace(HARDWARE, blocked=("Rejected", "no"))),
        slow(replace(HARDWARE, proposal=worlds.PROPOSED)),
    ],
    ids=["a commit may have done it", "not diagnosed", "no proposal is wanted", "said before", "proposed before"],
)
def test_nothing_is_ruled_out(here: World) -> None:
    assert steps.rule_out(here) is None


MISSING: list[tuple[str, Incident, RemediationMode, bool]] = [
    ("none", explained(), RemediationMode.PULL_REQUEST, True),
    ("none, and none is wanted", explained(), RemediationMode.OBSERVE, False),
    ("none, for good", explained(blocked=("A", "")), RemediationMode.PULL_REQUEST, False),
    ("a rehearsal", explained(proposal=replace(worlds.PROPOSED, dry_run=True, number=None)),
     RemediationMode.DRY_RUN, False),
    ("a rehearsal for a request", explained(proposal=replace(worlds.PROPOSED, dry_run=True)),
     RemediationMode.PULL_REQUEST, True),
    ("a request", explained(proposal=worlds.PROPOSED), RemediationMode.PULL_REQUEST, False),
    ("a request, where a rehearsal is asked for", explained(proposal=worlds.PROPOSED), RemediationMode.DRY_RUN, False),
    ("a request without its number", explained(proposal=replace(worlds.PROPOSED, number=None)),
     RemediationMode.PULL_REQUEST, True),
    ("one that the operator withdrew", explained(proposal=replace(worlds.PROPOSED, withdrawn="was not needed")),
     RemediationMode.DRY_RUN, True),
]  # fmt: skip


@pytest.mark.parametrize(("of", "mode", "missing"), [row[1:] for row in MISSING], ids=[row[0] for row in MISSING])
def test_a_proposal_is_missing_until_it_is_what_is_asked_for(
    of: Incident, mode: RemediationMode, missing: bool
) -> None:
    assert steps.proposal_missing(spec(mode), of) is missing
    here = slow(of, spec=spec(mode))
    assert isinstance(steps.propose(here), Investigate) is missing


def test_the_window_is_asked_about_with_the_cause_and_the_images_of_both_sides() -> None:
    other = "registry.example/gpt@sha256:" + "b" * 64
    run = workload(pods=(pod(), pod(images=(other, worlds.IMAGE))))
    undone = Exoneration(replace(worlds.SUSPECT, sha="4" * 40), worlds.MERGED, NOW_S)
    step = steps.propose(slow(explained(exonerated=(undone,)), workload=run))
    expected = replace(worlds.QUESTION, bad_images=(worlds.IMAGE, other), exonerated=("4" * 40,))
    assert step == Investigate(expected)


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (worlds.STARVED, "DataLoaderWorkers"),
        (replace(worlds.STARVED, cause=None), "InputStarved"),
        (replace(worlds.STARVED, cause=None, bottleneck=None), None),
    ],
)
def test_a_cause_that_is_not_known_is_asked_about_as_its_bottleneck(found: Diagnosis, cause: str | None) -> None:
    step = steps.propose(slow(explained(diagnosis=found)))
    assert isinstance(step, Investigate)
    assert step.question.cause == cause


def test_nothing_is_asked_before_it_is_confirmed_or_by_who_has_not_looked() -> None:
    assert steps.propose(slow(LASTED, source_problem=Retry("ClusterUnreachable", ""))) is None
    assert steps.propose(slow(incident(confirmed_at=NOW_S), source=None)) is None
    assert steps.propose(slow(explained(), source=UNSEEN)) is None
    assert isinstance(steps.propose(slow(explained(), judgement=None)), Investigate)


def test_a_proposal_waits_for_readings_that_can_be_compared_and_for_its_source() -> None:
    other = judgement(Verdict.NOT_COMPARABLE, reason="ConfigurationDiffers", message="gpuCount")
    waits = raised(slow(explained(), judgement=other, source=None))
    assert isinstance(waits, Wait) and (waits.reason, waits.message) == ("ConfigurationDiffers", "gpuCount")
    problem = Retry("ClusterUnreachable", "503")
    assert raised(slow(explained(), source=None, source_problem=problem)) is problem
    assert raised(slow(explained(), source=None)).reason == "NotManagedByGitOps"


def test_three_that_were_undone_in_vain_are_enough() -> None:
    undone = tuple(Exoneration(replace(worlds.SUSPECT, sha=sha * 40), worlds.MERGED, NOW_S) for sha in "456")
    assert isinstance(steps.propose(slow(explained(exonerated=undone[:2]))), Investigate)
    error = raised(slow(explained(exonerated=undone)))
    assert isinstance(error, AskPerson) and error.reason == "NoSuspect"
    assert error.message.startswith("444444444444, 555555555555, 666666666666 were undone in turn and the loss")


def test_a_hold_comes_before_what_a_person_has_to_find() -> None:
    here = slow(explained(), None)
    recent = replace(explained(proposal=worlds.MERGED), recovery=replace(worlds.RECOVERY, recovered_at=NOW_S))
    assert raised(replace(here, status=replace(here.status, history=(recent,)))).reason == "CoolDown"
    of, event = record(steps.propose(here))
    assert of.blocked == (
        "KnownGoodUnknown", "no revision is known under which readings held the baseline; find the commit by hand",
    )  # fmt: skip
    assert event == Event("Warning", *of.blocked)


BUILT = "registry.example/gpt@sha256:" + "b" * 64
STILL = source(deployed=(Deployed(worlds.GOOD, worlds.STARTED_S - 10),), synced_revision=worlds.GOOD)


def test_an_image_that_was_rebuilt_is_asked_about_within_one_revision() -> None:
    step = steps.propose(slow(explained(), source=STILL, workload=workload(pods=(pod(images=(BUILT,)),))))
    assert isinstance(step, Investigate)
    assert (step.question.good, step.question.bad) == (worlds.GOOD, worlds.GOOD)


@pytest.mark.parametrize(("after_good_s", "asked"), [(5.0, True), (-5.0, False), (1e6, False)])
def test_a_chart_that_moved_between_the_last_good_reading_and_the_onset_is_asked_about_within_one_revision(
    after_good_s: float, asked: bool
) -> None:
    moved = replace(STILL, beside=(Deployed("1.1.0", worlds.KNOWN_GOOD.time_s + after_good_s),))
    world = slow(explained(), source=moved)
    if not asked:
        assert raised(world).reason == "NoRevisionChanged"
        return
    step = steps.propose(world)
    assert isinstance(step, Investigate)
    question = step.question
    assert (question.good, question.bad) == (worlds.GOOD, worlds.GOOD)
    assert question.good_s is not None and question.bad_s is not None
    assert question.good_s <= worlds.KNOWN_GOOD.time_s < question.bad_s


@pytest.mark.parametrize(
    ("known", "run", "deployed", "reason"),
    [
        (worlds.KNOWN_GOOD, workload(), STILL.deployed, "NoRevisionChanged"),
        (replace(worlds.KNOWN_GOOD, revision=None), workload(pods=(pod(images=(BUILT,)),)), STILL.deployed,
         "NoRevisionChanged"),
        (replace(worlds.KNOWN_GOOD, revision=None, time_s=0.0), workload(pods=(pod(images=(BUILT,)),)), STILL.deployed,
         "KnownGoodUnknown"),
        (replace(worlds.KNOWN_GOOD, revision=None), workload(pods=(pod(images=(BUILT,)),)), (), "KnownGoodUnknown"),
        (replace(worlds.KNOWN_GOOD, time_s=0.0), workload(pods=(pod(images=(BUILT,)),)), STILL.deployed,
         "KnownGoodUnknown"),
    ],
    ids=["no image changed", "the revision is not known", "too young a history", "no history", "deployed since"],
)  # fmt: skip
def test_where_neither_a_revision_nor_an_image_changed_a_person_is_asked(
    known: KnownGood, run: Any, deployed: Any, reason: str
) -> None:
    error = raised(slow(explained(), known, source=replace(STILL, deployed=deployed), workload=run))
    assert isinstance(error, AskPerson)
    assert error.reason == reason
